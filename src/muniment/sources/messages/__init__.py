"""Requests and answers of model APIs, as programs write them down: Anthropic Messages, OpenAI Chat Completions and
Responses.

    {"model":"…","system":"…","messages":[{"role":"user","content":"hello"},…]}     one JSON document
    [{"role":"user","content":"hello"},…]                                           only its messages
    {"role":"user","content":"hello"}                                               one message per line
    {"request":{…},"response":{…}}                                                  one exchange per line
    {"type":"assistant","message":{…},"session_id":"…"}                             what `claude -p` prints as a stream,
                                                                                    and Gemini CLI, opencode, Cursor

A file is one session. Only a stream names it; else what was said up to the first answer does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from muniment.sources.base import Claim, Found
from muniment.sources.loose import LooseSource
from muniment.sources.messages import claims, exchanges, find, told


class Messages(LooseSource):
    """Conversations in the form of the public model APIs."""

    name = find.NAME
    title = "API messages"
    family = "messages"
    named_by_content = True
    tell = staticmethod(told.tell)

    def matches(self, path: Path, head: bytes) -> bool:
        return find.matches(path, head)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return find.gather(paths, root)

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return exchanges.lines(pieces)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)


SOURCE = Messages()
