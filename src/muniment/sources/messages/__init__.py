"""Requests and answers of model APIs, as programs write them down: Anthropic Messages, OpenAI Chat Completions and
Responses.

    {"model":"…","system":"…","messages":[{"role":"user","content":"hello"},…]}     one JSON document
    [{"role":"user","content":"hello"},…]                                           only its messages
    {"role":"user","content":"hello"}                                               one message per line
    {"request":{…},"response":{…}}                                                  one exchange per line

A file is one session. It names none, so what was said up to the first answer does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Facts, Round
from muniment.sources import chats
from muniment.sources.base import Claim, Found, Record, Source
from muniment.sources.messages import claims, exchanges, find, told


class Messages(Source):
    """Conversations in the form of the public model APIs."""

    name = find.NAME
    title = "API messages"
    family = "messages"

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        """None: every program has its own place for them."""
        return []

    def candidates(self, home: Path) -> Iterator[Path]:
        return iter(())

    def matches(self, path: Path, head: bytes) -> bool:
        return find.matches(path, head)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return find.gather(paths, root)

    def packed(self, name: str) -> bool:
        return True

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return exchanges.lines(pieces)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return chats.read(records, facts, told.tell)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)


SOURCE = Messages()
