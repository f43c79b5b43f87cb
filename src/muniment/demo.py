"""Small sample sessions, written for the project: `muniment up --demo` shows what an archive looks like."""

from __future__ import annotations

import os
from pathlib import Path

from muniment import config

SAMPLES = Path(__file__).parent / "samples"


def store(given: str | None) -> Path:
    """The store of the demo: the one that was asked for, else one beside the real store, never the real one."""
    if given:
        return Path(given)
    real = config.store_root(None, os.environ)
    return real.with_name(f"{real.name}-demo")


def sessions(_root: Path) -> Path:
    """Where the samples lie."""
    return SAMPLES
