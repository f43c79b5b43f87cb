"""Settings and places: where the store is, as the environment says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def store_root(given: str | None, env: Mapping[str, str]) -> Path:
    """`--store DIR`, else `$MUNIMENT_STORE`, else the user's data folder."""
    if given or env.get("MUNIMENT_STORE"):
        return Path(given or env["MUNIMENT_STORE"]).expanduser().absolute()
    data_home = env.get("XDG_DATA_HOME")
    if data_home and Path(data_home).is_absolute():
        return Path(data_home) / "muniment"
    return Path(env.get("HOME") or Path.home()) / ".local" / "share" / "muniment"
