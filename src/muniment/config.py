"""Settings and places: where the store is, as the environment says, and how many processes work for one command."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

WORKERS = 2
SMALL_BYTES = 8 << 20
"""Less than this is done without workers: starting them would cost more."""


def store_root(given: str | None, env: Mapping[str, str]) -> Path:
    """`--store DIR`, else `$MUNIMENT_STORE`, else the user's data folder."""
    if given or env.get("MUNIMENT_STORE"):
        return Path(given or env["MUNIMENT_STORE"]).expanduser().absolute()
    return _data_home(env) / "muniment"


def recorder_home(env: Mapping[str, str]) -> Path:
    """`$MUNIMENT_RECORDER`, else beside the store: prompt history, checkpoints, and where sessions were recorded."""
    if given := env.get("MUNIMENT_RECORDER"):
        return Path(given).expanduser().absolute()
    return _data_home(env) / "muniment" / "recorder"


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def installing(extra: str) -> str:
    """What a person types to install an extra into the environment that runs this, also from a clone; uv puts no pip
    into those that it makes."""
    named = shlex.quote(sys.executable)
    pip = f"{named} -m pip install" if has_pip() else f"uv pip install --python {named}"
    return f"{pip} 'muniment[{extra}]'"


def has_pip() -> bool:
    """Not by `find_spec`: whoever asks that for pip can build nothing with setuptools any more in the same process."""
    from importlib.machinery import PathFinder

    return PathFinder.find_spec("pip") is not None


def _data_home(env: Mapping[str, str]) -> Path:
    given = env.get("XDG_DATA_HOME")
    if given and Path(given).is_absolute():
        return Path(given)
    return Path(env.get("HOME") or Path.home()) / ".local" / "share"
