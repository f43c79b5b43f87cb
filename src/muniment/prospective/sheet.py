"""One `engagement.md`: YAML frontmatter, then a log for people.

    ---
    id: "login-page-3f9a"
    phase: "in-progress"
    …
    ---
    # Make the login page work
    - 2026-03-19T10:00:00Z · started · Reed

Other hands edit these files too. A change of the frontmatter replaces the lines of the fields that changed and no
others, comments included; what follows the frontmatter is kept byte for byte and only added to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import yaml
from msgspec import Struct

from muniment.errors import StoreError
from muniment.model import codec
from muniment.prospective import record
from muniment.prospective.record import Record

MAX_FRONT = 1 << 16
MAX_FILE = 4 << 20
MAX_DEPTH = 5
_PARTS = re.compile(rb"\A(\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)^(---[ \t]*\r?(?:\n|\Z))", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:")


class Sheet(Struct, frozen=True):
    """A file in its two parts, as they stand."""

    front: str
    rest: bytes
    """From the second rule on."""
    values: dict[str, Any]

    @property
    def record(self) -> Record:
        """Raises StoreError if it has no usable id or phase."""
        return record.read(self.values)


def parse(data: bytes) -> Sheet:
    """The parts of a file. Raises StoreError if it has no frontmatter, or one that may not be read."""
    match = _PARTS.match(data) if len(data) <= MAX_FILE else None
    if match is None or len(match[2]) > MAX_FRONT:
        raise StoreError("not an engagement file: no frontmatter, or too long", "it begins with a line `---`")
    try:
        front = match[2].decode()
    except UnicodeDecodeError:
        raise StoreError("the frontmatter is not UTF-8") from None
    return Sheet(front, data[match.start(3) :], load(front))


def load(front: str) -> dict[str, Any]:
    """Plain values only: an alias or a deep nest in a frontmatter is an attack."""
    try:
        _refuse_tricks(cast("Iterable[object]", yaml.parse(front, Loader=yaml.CSafeLoader)))  # pyright: ignore[reportUnknownMemberType]
        return codec.mapping(yaml.load(front, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise StoreError(f"the frontmatter cannot be read: {error}".split("\n")[0]) from None


def _refuse_tricks(events: Iterable[object]) -> None:
    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise StoreError("frontmatter with YAML aliases", "write values out in full")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise StoreError("frontmatter nested too deep")


# -- writing


def new(made: Record, line: str) -> bytes:
    """The file of a new engagement."""
    front = "".join(_line(name, value) for name, value in record.fields(made).items())
    return f"---\n{front}---\n\n# {made.topic}\n\n{line}\n".encode()


def changed(old: Sheet, made: Record, line: str) -> bytes:
    """The file with what changed in the record, and one more line of its log."""
    before, after = record.fields(old.record), record.fields(made)
    changes = {name: value for name, value in after.items() if value != before[name]}
    front = "".join(_edited(old.front, changes))
    if not _says(front, old.values | changes):  # the fields are written in some other way than one below the other
        front = "".join(_line(name, value) for name, value in (old.values | after).items())
    ended = b"" if old.rest.endswith(b"\n") else b"\n"
    return b"---\n" + front.encode() + old.rest + ended + line.encode() + b"\n"


def _says(front: str, wanted: dict[str, Any]) -> bool:
    try:
        return load(front) == wanted
    except StoreError:
        return False


def _edited(front: str, changes: dict[str, Any]) -> Iterator[str]:
    left = dict(changes)
    for name, lines in _chunks(front):
        if name not in left:
            yield from lines
            continue
        yield _line(name, left.pop(name))
        yield from _remarks(lines)
    yield from (_line(name, value) for name, value in left.items())


def _chunks(front: str) -> Iterator[tuple[str, list[str]]]:
    """Every field with its lines; what stands before the first has no name."""
    name, lines = "", list[str]()
    for line in front.splitlines(keepends=True):
        if match := _FIELD.match(line):
            yield name, lines
            name, lines = match[1], []
        lines.append(line)
    yield name, lines


def _remarks(lines: list[str]) -> list[str]:
    """Comments and empty lines behind a field belong to what follows it."""
    at = len(lines)
    while at > 1 and lines[at - 1].lstrip()[:1] in ("", "#"):
        at -= 1
    return lines[at:]


def _line(name: str, value: Any) -> str:
    return f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}\n"
