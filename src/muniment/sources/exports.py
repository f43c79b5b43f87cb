"""Data exports: one JSON array that holds all conversations of an account.

Every conversation is a session, and the file is divided among them: the part of a session is its own object with what
stands between it and the one before, and the last has what follows too. So every byte is kept exactly once, with the
conversation that it belongs to. A restore gives each part a file of its own, named by where it began:

    conversations.json.parts/000000000000-<id>.json
    conversations.json.parts/000000018231-<id>.json

All of them, put one behind the other in the order of their names, are the export. Programs that fetch conversations put
an object around the array: what stands before it belongs to the first of them, and what stands behind it to the last.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import structs

from muniment import files
from muniment.model import codec
from muniment.sources.base import Found, SourceFile, bytes_of, found_session, head_of, source_file
from muniment.sources.lines import MAX_LINE_BYTES
from muniment.sources.raw_json import (
    AROUND,
    DAMAGE,
    Span,
    apart,
    elements,
    fields,
    objects,
    one_object,
    place_of,
    unmarked,
)

_UNSAFE = re.compile(r"[^\w.-]+")
_HEAD_BYTES = 8192
_MAX_ID = 128


def gather(source: str, paths: Iterable[Path], root: Path, names: tuple[str, ...], within: str = "") -> Iterator[Found]:
    """Every conversation of these exports; `names` are those of the field that holds its id, and `within` is that of
    an object around them."""
    for path in paths:
        if whole := source_file(path, root, "main"):
            list_at = place_of_list(head_of(path), within) if within else 0
            yield from _sessions(source, whole, root, names, list_at)


def place_of_list(head: bytes, within: str) -> int:
    """Where the conversations begin in an object that holds them; 0 for one that does not, and for an array."""
    return place_of(head, within) if unmarked(head).lstrip().startswith(b"{") else 0


def _sessions(source: str, whole: SourceFile, root: Path, names: tuple[str, ...], list_at: int) -> Iterator[Found]:
    found = _listed(whole, names, list_at) if list_at else _conversations(whole, names)
    begin = 0
    met: dict[str, int] = {}
    for number, (span, own) in enumerate(found):
        end = whole.size if number == len(found) - 1 else span.end
        met[own] = met.get(own, 0) + 1
        native_id = own if met[own] == 1 else f"{own} {met[own]}"
        part = whole if len(found) == 1 else _part(whole, begin, end, native_id)
        yield found_session(source, native_id, root, False, (part,))
        begin = end


def _conversations(whole: SourceFile, names: tuple[str, ...]) -> list[tuple[Span, str]]:
    """Where the conversations of an export lie, and the id of each."""
    if whole.size > MAX_LINE_BYTES:
        return [(span, _id(_read(whole, span), names)) for span in objects(bytes_of(whole))]
    data = b"".join(bytes_of(whole))
    alone = data.strip(AROUND)
    if (known := one_object(alone)) is not None:
        return [(Span(0, whole.size), _id(alone, names, known))]
    return [(span, _id(data[span.start : span.end], names)) for span in elements(data) or objects([data])]


def _listed(whole: SourceFile, names: tuple[str, ...], list_at: int) -> list[tuple[Span, str]]:
    """The same of those in an object, whose list begins there."""
    spans = objects(bytes_of(whole, list_at), of_one_list=True)
    moved = (Span(span.start + list_at, span.end + list_at) for span in spans)
    return [(span, _id(_read(whole, span), names)) for span in moved]


def _read(whole: SourceFile, span: Span) -> bytes:
    """An object of an export, as much of it as may be held."""
    return b"".join(files.chunks(Path(whole.path), span.start, min(span.end, span.start + MAX_LINE_BYTES)))


def _part(whole: SourceFile, begin: int, end: int, native_id: str) -> SourceFile:
    name = f"{whole.name}.parts/{begin:012d}-{_UNSAFE.sub('-', native_id)}.json"
    return structs.replace(whole, name=name, size=end - begin, start=begin)


def _id(raw: bytes, names: tuple[str, ...], known: Mapping[str, msgspec.Raw] | None = None) -> str:
    """The conversation's own id, else a hash of it; `known` are its fields, where they were taken apart before."""
    told = _strings(raw, names, known)
    own = next((told[name] for name in names if told.get(name)), "")
    return own if own and len(own) <= _MAX_ID and own.isprintable() else hashlib.sha256(raw).hexdigest()


def _strings(raw: bytes, names: tuple[str, ...], known: Mapping[str, msgspec.Raw] | None) -> dict[str, str]:
    """Fields of an object, wherever in it they stand; of a damaged one those at its beginning."""
    try:
        found = apart(raw) if known is None else known
        values = {name: codec.loads(bytes(found[name])) for name in names if name in found}
    except DAMAGE:
        return fields(raw[:_HEAD_BYTES])
    return {name: value for name, value in values.items() if isinstance(value, str)}
