"""Settings and places: where the store is, as the environment says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


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


def _data_home(env: Mapping[str, str]) -> Path:
    given = env.get("XDG_DATA_HOME")
    if given and Path(given).is_absolute():
        return Path(given)
    return Path(env.get("HOME") or Path.home()) / ".local" / "share"
