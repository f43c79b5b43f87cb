"""The register of folders in which sessions were recorded, so that they are found and inscribed.

{"path":"/proj/shop"}
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from muniment.model import codec
from muniment.model.events import Written
from muniment.record.log import Log


class _Place(Struct):
    path: str


class _Form:
    """A folder is registered once."""

    def identify(self, line: bytes) -> tuple[str, int] | None:
        try:
            return codec.decode(line, _Place).path, 0
        except (msgspec.MsgspecError, ValueError):
            return None

    def flag(self, line: bytes) -> bytes:
        return line

    def recovery(self, offset: int, length: int, sha256: str) -> bytes | None:
        return None


def remember(home: Path, folder: Path) -> None:
    """Note that sessions are recorded in this folder."""
    log = Log(home / "places.jsonl", _Form())
    try:
        log.append(Written(codec.encode(_Place(str(folder))), str(folder), 0))
    finally:
        log.close()
