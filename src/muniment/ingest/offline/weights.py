"""What each feature of `features` counts for: what `python -m tests.quality --fit` prints. Not to be edited by hand."""

from __future__ import annotations

WEIGHTS = (-6.0, 4.11, 3.18, 3.34, -1.41, -1.39, 0.72, 1.94, 1.44, -1.13, 0.96)

THRESHOLD = 0.4
"""Below one half, because a boundary that is missed joins two engagements under one name."""
