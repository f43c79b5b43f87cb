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


def registered(env: Mapping[str, str]) -> list[Path]:
    """The folders, each once; a line that is damaged or names none is passed over."""
    home = config.recorder_home(env)
    path = home / REGISTER
    if source_file(path, home, "side") is None:
        return []
    lines = objects(b"".join(files.chunks(path)).split(b"\n"))
    found = [Path(named) for line in lines if isinstance(named := line.get("path"), str)]
    return list(dict.fromkeys(folder for folder in found if folder.is_absolute()))


def objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The lines that are JSON objects."""
    for line in lines:
        try:
            value = codec.mapping(codec.loads(line))
        except ValueError:
            continue
        if value:
            yield value
