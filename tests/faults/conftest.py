"""How much is tried: `make test` tries little, `make faults` and `make soak` as much as the conformance kit says."""

from __future__ import annotations

from muniment.record.conformance.plugin import counts

__all__ = ["counts"]
