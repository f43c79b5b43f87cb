"""Conversations that lie wherever somebody put them: the formats of no agent that has a home on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from muniment.model import Facts, Round
from muniment.sources import chats
from muniment.sources.base import Source
from muniment.sources.lines import Record


class LooseSource(Source):
    """A format whose files are found where somebody points. Subclasses say how a file is opened into lines."""

    tell: chats.Tell
    """What a line says."""

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        return []

    def candidates(self, home: Path) -> Iterator[Path]:
        return iter(())

    def packed(self, name: str) -> bool:
        return True

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return chats.read(records, facts, self.tell)
