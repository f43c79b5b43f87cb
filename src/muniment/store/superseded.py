"""Whether a later state of a file says all that an earlier one said, so that the earlier one need not be kept whole.

Agents that keep a session as one document or in a database write it anew whenever it grows: the title changes, the last
message is finished, numbers are brought up to date. What was said stands in the later state, word for word or
continued; the few records that do not stand there as they were are kept, so that nothing is lost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, cast

from msgspec import Struct

from muniment.sources import salvage
from muniment.sources.base import DOCUMENT, Source
from muniment.sources.lines import Record, records
from muniment.store.rows import NOTHING, Span

CHANGED_BYTES = 4 << 20
"""A file of which more than this has changed was written anew, and does not merely go on."""

Pieces = Callable[[], Iterable[bytes]]
"""The records' bytes of a file, as often as they are asked for."""


class Grown(Struct, frozen=True):
    """A later state that says all that an earlier one said."""

    former: tuple[bytes, ...]
    """The lines of the earlier state that it does not have."""
    same: Span
    """What is known of these records holds as it is."""


def grown(source: Source, earlier: Pieces, later: Pieces) -> Grown | None:
    """How a file goes on from an earlier state of it; None if something that was said is gone."""
    lines = _missing(records(earlier()), records(later()))
    objects = _missing(source.objects(records(earlier())), source.objects(records(later())))
    if lines is None or objects is None:
        return None
    gone = [Record(0, raw, len(raw)) for raw in objects]
    said = {(c.key, c.field): c.value for one in gone for c in salvage.claims(source, one) if _is_said(c.field)}
    if said and not _goes_on(source, said, later):
        return None
    return Grown(tuple(lines), _same(source, earlier, later))


def _same(source: Source, earlier: Pieces, later: Pieces) -> Span:
    """The records behind the head of a document, up to the first that has changed."""
    pairs = zip(source.objects(records(earlier())), source.objects(records(later())), strict=False)
    was, now = next(pairs, (Record(0, b"", 0), Record(0, b"", 0)))
    if was.raw != now.raw and any(_is_said(claim.field) for claim in source.claims(was.raw)):
        return NOTHING
    found: Span | None = None
    for was, now in pairs:
        moved = now.offset - was.offset
        if was.raw != now.raw or (found and found.moved != moved):
            break
        found = Span(found.start if found else was.offset, was.offset + max(1, was.length), moved)
    return found or NOTHING


def _missing(earlier: Iterable[Record], later: Iterable[Record]) -> list[bytes] | None:
    """What the one has and the other has not; None if that is too much, or if a record cannot be looked at."""
    there = {_digest(record) for record in later}
    missing: list[bytes] = []
    size = 0
    for record in earlier:
        unseen = not record.raw and record.length
        if unseen or _digest(record) not in there:
            missing.append(record.raw)
            size += len(record.raw)
        if unseen or size > CHANGED_BYTES:
            return None
    return missing


def _digest(record: Record) -> bytes:
    return hashlib.blake2b(record.raw, digest_size=16).digest()


def _is_said(field: str) -> bool:
    """Claims that a reader would miss; the rest are numbers and states, which agents bring up to date."""
    return field in DOCUMENT or field.startswith("part:")


def _goes_on(source: Source, said: dict[tuple[str, str], Any], later: Pieces) -> bool:
    """Whether everything that was said is said under the same name in the later state, perhaps with more behind it."""
    left = dict(said)
    for record in source.objects(records(later())):
        for claim in salvage.claims(source, record):
            name = claim.key, claim.field
            if name in left and continues(left[name], claim.value):
                del left[name]
                if not left:
                    return True
    return not left


def continues(before: Any, now: Any) -> bool:
    """Whether a value is the former one, finished: words with more behind them, fields or entries that were added.

    Blanks at the end of what was being written do not count: agents take them off when a message is whole."""
    if before is None or before == now:
        return True
    if isinstance(before, str) and isinstance(now, str):
        return now.startswith(before.rstrip())
    if isinstance(before, dict) and isinstance(now, dict):
        was, is_ = cast("dict[str, Any]", before), cast("dict[str, Any]", now)
        return all(name in is_ and continues(value, is_[name]) for name, value in was.items())
    if isinstance(before, (list, tuple)) and isinstance(now, (list, tuple)):
        return _each_continues(cast("list[Any]", before), cast("list[Any]", now))
    return False


def _each_continues(before: list[Any], now: list[Any]) -> bool:
    return len(before) <= len(now) and all(continues(*pair) for pair in zip(before, now, strict=False))
