"""Whether the files of the archive that belong to no session are what they were.

The records of people and of extraction (`edits.jsonl`, `engagements.jsonl`) have a checksum in each line. The roster
may be written by hand and by other programs: of that, only what cannot be read shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from muniment.errors import MunimentError
from muniment.model import Problem, codec
from muniment.model.engagements import Ingested
from muniment.store import engagements, listings, sealed
from muniment.store.edits import Edit
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.session_table import Listed


def check_records(layout: Layout) -> Iterator[Problem]:
    """What is wrong with the records and the roster; quick enough for every diagnosis."""
    yield from _check_lines(layout.edits, Edit)
    yield from _check_lines(layout.engagements, Ingested)
    yield from _check_lines(layout.roster, None)
    yield from _check_size(layout)


def _check_lines(path: Path, shape: type[Any] | None) -> Iterator[Problem]:
    at = 0
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        yield Problem(str(path), 0, f"it cannot be read: {error.strerror}")
        return
    for line in data.split(b"\n"):
        if line.strip() and not _is_whole(line, shape):
            yield Problem(str(path), at, "the line is damaged", len(line))
        at += len(line) + 1


def _is_whole(line: bytes, shape: type[Any] | None) -> bool:
    try:
        if shape is None:
            return isinstance(codec.loads(line), dict)
        codec.decode(line, shape)
        known = {field.encode_name for field in msgspec.structs.fields(shape)} | {sealed.NAME}
        return not sealed.is_broken(line) and (sealed.is_sealed(line) or codec.loads(line).keys() <= known)
    except (msgspec.MsgspecError, ValueError):
        return False


def _check_size(layout: Layout) -> Iterator[Problem]:
    """A file that only grows must not be shorter than the index saw it."""
    try:
        with Index(layout) as known:
            (size,) = (known.rows("SELECT size FROM grown WHERE name = ?", layout.edits.name) or [(0,)])[0]
    except MunimentError:
        return  # the index itself is told of elsewhere
    try:
        there = layout.edits.stat().st_size
    except OSError:
        there = 0
    if there < size:
        yield Problem(str(layout.edits), there, f"it was cut off: it had {size:,} bytes", size - there)


# -- the index, and what is made from it


def check_index(layout: Layout) -> Iterator[Problem]:
    """What is wrong with the index, the listings made from it, and what it knows of the records."""
    try:
        with Index(layout) as known:
            said = [text for (text,) in known.rows("PRAGMA integrity_check(5)")]
            if said != ["ok"]:
                yield Problem(str(layout.database), 0, f"the index is damaged: {said[0]}")
                return
            rows = list(known.sessions())
            understood = {id_ for (id_,) in known.rows("SELECT session_id FROM main.ingested")}
    except (MunimentError, msgspec.MsgspecError, ValueError, TypeError) as error:
        yield Problem(str(layout.database), 0, f"the index cannot be read: {error}")
        return
    recorded = {record.session_id for record in engagements.load(layout)}
    if lost := understood - recorded:
        yield Problem(str(layout.engagements), 0, f"what was understood of {len(lost):,} sessions is missing")
    yield from _check_listings(layout, rows)


def _check_listings(layout: Layout, rows: Iterable[Listed]) -> Iterator[Problem]:
    wanted = dict(listings.archive_listings(layout, rows))
    if layout.engagements.exists():
        wanted[layout.engagements_listing] = engagements.listing(engagements.load(layout))
    for path, data in wanted.items():
        try:
            same = path.read_bytes() == data
        except OSError:
            same = False
        if not same:
            yield Problem(str(path), 0, "the listing differs from the index")
