"""The recorder's register of folders in which sessions were recorded.

{"path":"/proj/shop"}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from muniment import config, files
from muniment.model import codec
from muniment.sources.base import source_file

REGISTER = "places.jsonl"
_LOOKED_AT = 20


def registered(env: Mapping[str, str]) -> list[Path]:
    """The folders, each once; a line that is damaged or names none is passed over."""
    home = config.recorder_home(env)
    path = home / REGISTER
    if source_file(path, home, "side") is None:
        return []
    lines = objects(b"".join(files.chunks(path)).split(b"\n"))
    found = [Path(named) for line in lines if isinstance(named := line.get("path"), str)]
    return list(dict.fromkeys(folder for folder in found if folder.is_absolute()))


def first_objects(head: bytes) -> Iterator[dict[str, Any]]:
    """The first lines of a file that are whole JSON objects: enough to tell its format and find its header."""
    return objects(head.split(b"\n", _LOOKED_AT)[:_LOOKED_AT])


def objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The lines that are JSON objects."""
    for line in lines:
        try:
            value = codec.mapping(codec.loads(line))
        except ValueError:
            continue
        if value:
            yield value
