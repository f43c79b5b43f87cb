"""`muniment html`: a session as one self-contained page.

The conversation is written to a file without a name first, because the head tells what only the whole walk knows; then
head, conversation and foot are put in place at once. Memory holds one round, however long the session.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct, structs

from muniment import files
from muniment.errors import Conflict, NotFound
from muniment.render import page
from muniment.render.body import Body
from muniment.render.inspection import redact_markup
from muniment.render.known import Known
from muniment.render.shown import WHOLE, Limits
from muniment.render.visible import one_line
from muniment.secrets import Redactor, new_key

CLIPPED = Limits(output=10_000)
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class Request(Struct, frozen=True):
    """What of a session to write, and how."""

    title: str | None = None
    first: int | None = None
    last: int | None = None
    engagement: str | None = None
    redact: bool = True
    full: bool = False
    """Nothing is clipped."""
    force: bool = False
    key: bytes | None = None
    """What secrets are told apart by; a new one for every page, unless pages shall share it."""

    def redactor(self) -> Redactor:
        """Return what takes the secrets out of a page."""
        return Redactor(self.key or new_key(), active=self.redact)

    @property
    def whole(self) -> bool:
        return self.first is None and self.last is None and self.engagement is None

    def span(self, rounds: int) -> tuple[int, int]:
        """The first and the last round that are asked for, of so many."""
        return (1 if self.first is None else self.first), (rounds if self.last is None else self.last)


class Written(Struct, frozen=True):
    """What became of a page."""

    path: str
    bytes: int
    rounds: int
    redacted: int | None
    """How many different secrets were taken out; None if nobody looked for any."""


def default_name(known: Known) -> str:
    """`2026-03-19-console-work.html`"""
    day = (known.facts.started or "undated")[:10]
    name = Redactor().line(known.facts.slug or "") or known.listed.session_id[:8]
    return f"{_NAME.sub('-', f'{day}-{name}').strip('-.')[:100]}.html"


def write(known: Known, path: Path, request: Request) -> Written:
    """One page at a path; a file that is not ours is left alone."""
    refuse_overwrite(path, request.force)
    files.make_folder(path.absolute().parent)
    made = _Making(known, request)
    with tempfile.TemporaryFile(dir=path.absolute().parent) as spool:
        files.write_atomic(path.absolute(), made.pieces(spool))
    return made.written(str(path))


def write_to(known: Known, out: IO[bytes], request: Request) -> Written:
    """One page into an open file."""
    made = _Making(known, request)
    with tempfile.TemporaryFile() as spool:
        out.writelines(made.pieces(spool))
    return made.written("-")


def refuse_overwrite(path: Path, force: bool) -> None:
    """Raise if something is there that we did not write, or that no file can replace."""
    if path.is_dir():
        raise Conflict(f"{path} is a folder", "nothing was written; give the name of a file")
    if force or not os.path.lexists(path):
        return
    if not is_ours(path):
        raise Conflict(f"{path} exists and is no page of muniment", "nothing was written; --force replaces it")


def is_ours(path: Path) -> bool:
    return _begin(path).startswith(page.MARK)


def stamp(known: Known, request: Request) -> str:
    """What a page is made from; as long as it is the same, so is the page."""
    return known.stamp(structs.replace(request, key=None, force=False), page.asset("page.css"), page.asset("page.js"))


def stamp_of(path: Path) -> str:
    """What the page at a path was made from; empty if there is none of ours."""
    begin = _begin(path)
    return begin[len(page.MARK) :].split("-->")[0].strip() if begin.startswith(page.MARK) else ""


def _begin(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(200).decode("utf-8", "replace")


class _Making:
    """A page while it is made."""

    def __init__(self, known: Known, request: Request) -> None:
        self.given, self.request = known, request
        self.size = 0
        self.redactor = request.redactor()
        self.body = Body(known, self.redactor, WHOLE if request.full else CLIPPED)
        self.known = self.body.known

    def pieces(self, spool: IO[bytes]) -> Iterator[bytes]:
        """The page, piece by piece."""
        spool.writelines(map(_bytes, self.body.pieces(self._chosen(), self.request.whole)))
        if not self.body.entries and not self.request.whole:
            raise NotFound(f"no {self._told()}", f"the session has {self.known.facts.rounds}")
        self._opening()  # the head says how many secrets there were, its own among them
        yield self._counted(self._opening())
        spool.seek(0)
        while piece := spool.read(files.CHUNK_BYTES):
            yield self._counted(piece)
        yield self._counted(_bytes(page.closing(self.known)))

    def _opening(self) -> bytes:
        made_from = stamp(self.given, self.request)
        head, *rest = page.opening(self.body, self._title(), made_from, self.redactor.count, self._told())
        return _bytes(head + redact_markup("".join(rest), self.redactor))

    def _title(self) -> str:
        """A title made of the first prompt is cut: taken from where it was whole, no secret is cut with it."""
        if self.request.title:
            return self.redactor.line(self.request.title)
        own = one_line(self.known.title, 200)
        if self.known.facts.title or not self.body.entries or self.body.entries[0].round > 1:
            return own
        return self.body.entries[0].preview or own

    def _chosen(self) -> Callable[[int], bool]:
        request, tags = self.request, self.given.tags
        first, last = request.span(self.known.facts.rounds)
        return lambda number: (
            first <= number <= last and (request.engagement is None or tags.get(number) == request.engagement)
        )

    def _told(self) -> str:
        request = self.request
        if request.whole:
            return ""
        rounds = "rounds {}–{}".format(*request.span(self.known.facts.rounds))
        return f"{rounds} of engagement {request.engagement}" if request.engagement else rounds

    def _counted(self, piece: bytes) -> bytes:
        self.size += len(piece)
        return piece

    def written(self, path: str) -> Written:
        return Written(path, self.size, len(self.body.entries), self.redactor.count)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
