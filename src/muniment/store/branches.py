"""Rewinds: rounds that follow another one than the round before them."""

from __future__ import annotations

from muniment.model import Block, Event, Round, Tool
from muniment.model.codec import mapping
from muniment.store import rounds, versions
from muniment.store.layout import Shelf


def find_branch(shelf: Shelf, previous: Round | None, round_: Round) -> int | None:
    """Return the round that this one follows, if that is another than the previous one."""
    if undone := _taken_back(round_):
        return _find_before(shelf, undone, round_.number - 1)
    if not round_.parent or not previous or round_.number == 1:
        return None
    if any(_holds(block, round_.parent) for block in previous.blocks()):
        return None
    return versions.round_with(shelf, round_.parent, round_.number - 1)


def _find_before(shelf: Shelf, record_id: str, last: int) -> int | None:
    """Return the round that stood before the one that a record opened."""
    opened = versions.round_with(shelf, record_id, last)
    undone = _taken_back(rounds.load(shelf, opened)) if opened else None
    if opened is None or undone is None:
        return opened and opened - 1
    return _find_before(shelf, undone, opened - 1)


def _taken_back(round_: Round) -> str | None:
    """The prompt that a source says was taken back, with all that followed from it."""
    told = [mapping(event.detail).get("before") for event in round_.of(Event) if event.kind == "rewind"]
    return next((record for record in reversed(told) if isinstance(record, str)), None)


def _holds(block: Block, record_id: str) -> bool:
    result = block.result if isinstance(block, Tool) else None
    return block.ref.id == record_id or (result is not None and result.id == record_id)
