"""The canonical form in an agent's own format: regenerated, resumable, with an account of what did not fit."""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from msgspec import Struct, structs

from muniment import files, sources
from muniment.before import Before
from muniment.errors import Conflict, NotFound, StoreError, Unsupported
from muniment.model import Facts, Loss, Message, Round, Tool
from muniment.restore import inside
from muniment.sources import Named, Renaming
from muniment.sources.base import Move, Source
from muniment.sources.lines import records
from muniment.store import escape, evidence, page, parse, rounds
from muniment.store.layout import Shelf


class Request(Struct, frozen=True):
    """What to export, and where to."""

    source: str
    """Name of a source, or of its family of agents."""
    to: Path | None = None
    """A folder in place of the agent's home."""
    file: Path | None = None
    """One file, by name; side files are left out."""
    cwd: str | None = None
    new_id: bool = False
    first: int | None = None
    last: int | None = None
    document_only: bool = False
    """Use nothing but the document: ids are minted, signatures are missing."""
    force: bool = False

    @property
    def whole(self) -> bool:
        """Whether all of the session is asked for."""
        return self.first is None and self.last is None


class Exported(Struct, frozen=True):
    """What was written."""

    paths: tuple[str, ...]
    session_id: str
    losses: tuple[Loss, ...]
    resume: str
    """The command that resumes it."""
    tools: tuple[Named, ...] = ()
    """How the tool calls of another agent's session are called now, and which were kept as they are."""
    belongs: str | None = None
    """Where it must be put before it can be resumed, if it was written elsewhere."""
    edited: str | None = None
    """The document, if somebody edited its messages and they are not in what was written."""
    continues: str | None = None
    """The session that it was written from, if it has an identity of its own."""
    known_as: str = ""
    """The id that the archive will know it by."""
    rounds: int = 0
    """How many rounds it begins with, as its agent's files tell them; counted if it continues another."""
    note: str = ""
    """What did not work beside it."""


def export(
    shelf: Shelf,
    facts: Facts,
    sidechains: Mapping[str, Facts],
    request: Request,
    env: Mapping[str, str],
    before: Before | None = None,
) -> Exported:
    """Write a session in another agent's format, or its own; what comes `before` it in other sessions goes first."""
    before = before or Before()
    target = sources.writable(request.source)
    _refuse_nothing(facts, len(sidechains), before)
    # Half a session must not lie where the agent had the whole: it would be taken for the transcript itself.
    new_id = request.new_id or facts.prompts_only
    move = Move(session_id=str(uuid.uuid4()) if new_id else None, cwd=request.cwd)
    losses = [Loss("conversation", "answer", "only the prompts are left", facts.prompts)] if facts.prompts_only else []
    base = request.to.absolute() if request.to else target.homes(env)[0]
    losses += _left_before(before, request)
    sidechains = _begun_in(shelf, facts, sidechains, request)
    calls = sources.renaming(facts, target)
    paths = [_write(shelf, facts, target, move, request, base, losses, calls, before)]
    with_sides = request.file is None and facts.source == target.name
    whole = structs.replace(request, first=None, last=None)  # the rounds asked for are the session's, not a subagent's
    for id_, side in sidechains.items() if with_sides else ():
        paths.append(_write(shelf.sidechain(id_), side, target, move, whole, base, losses, calls, Before()))
    losses += _left_beside(shelf, 0 if with_sides else len(sidechains))
    session_id = target.identity(facts, move)
    resume = target.resuming(session_id, paths[0])
    belongs = target.belongs(paths[0], facts, move, env)
    edited = None if request.document_only else _edited(shelf)
    made = Exported(tuple(paths), session_id, _summed(losses), resume, calls.account(), belongs, edited)
    if move.session_id is None:
        return made
    rounds_ = _rounds_in(target, Facts(move.session_id, target.name, native_id=session_id), Path(paths[0]))
    return structs.replace(made, continues=facts.session_id, known_as=move.session_id, rounds=rounds_)


def _rounds_in(target: Source, facts: Facts, path: Path) -> int:
    """How many rounds will be found in a file that was written. Formats differ in what begins one."""
    return sum(1 for _ in target.read(records(files.chunks(path)), facts))


def _edited(shelf: Shelf) -> str | None:
    """The document, if it says something else than the rounds that are exported."""
    try:
        return str(shelf.document) if page.is_edited(shelf.document) else None
    except Unsupported:  # one of a newer version, which cannot be looked at
        return None


def _begun_in(shelf: Shelf, facts: Facts, sidechains: Mapping[str, Facts], request: Request) -> Mapping[str, Facts]:
    """The subagents that began in the chosen rounds: the call tells, else the time."""
    if request.whole or not sidechains:
        return sidechains
    first, last = request.first or 1, request.last or facts.rounds
    starts: list[str] = []
    called: dict[str, int] = {}
    for round_ in rounds.load_all(shelf):
        starts.append(round_.started or "")
        called |= {call.sidechain: round_.number for call in round_.of(Tool) if call.sidechain}
    begun = {
        id_: called.get(id_) or max(1, bisect_right(starts, side.started or "")) for id_, side in sidechains.items()
    }
    return {id_: side for id_, side in sidechains.items() if first <= begun[id_] <= last}


def _summed(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Each loss once, that of the session and those of its subagents together."""
    counts: dict[Loss, int] = {}
    for loss in losses:
        one = structs.replace(loss, count=1)
        counts[one] = counts.get(one, 0) + loss.count
    return tuple(structs.replace(one, count=count) for one, count in counts.items())


def _refuse_nothing(facts: Facts, sidechains: int, before: Before) -> None:
    """A session without a conversation has nothing to go on from; one may be left with its subagents alone."""
    if facts.messages or before.earlier:
        return
    if not sidechains:
        raise NotFound(f"session {facts.session_id} holds no conversation", "`restore` gives its files back")
    if not facts.rounds:
        left = "1 subagent is" if sidechains == 1 else f"{sidechains} subagents are"
        told = f"session {facts.session_id} holds no conversation of its own"
        raise NotFound(told, f"{left} left of it: `restore` gives the files back")


def _left_before(before: Before, request: Request) -> list[Loss]:
    """What of the beginning of a session is not there, or not in its document."""
    what = "the history before the fork"
    if request.whole and request.document_only and before.earlier:
        return [Loss("before it", what, f"it is in the document of session {before.earlier[-1].facts.session_id}")]
    if request.whole and before.missing:
        return [Loss("before it", what, f"it is in session {before.missing}, which is not in the archive")]
    if request.whole and (short := before.short):
        return [Loss("before it", f"the end of {what}", f"session {short} was inscribed before it came so far")]
    return []


def _left_beside(shelf: Shelf, sidechains: int) -> list[Loss]:
    """What an export does not make: subagents' sessions for another agent, overflow of large outputs, file backups."""
    manifest = evidence.load(shelf.evidence)
    files = sum(1 for kept in manifest.files if kept.role == "side") if manifest else 0
    left = [
        Loss("beside it", "session of a subagent", "it is no part of the conversation; kept in the store", sidechains),
        Loss("beside it", "side file", "only a restore gives it back", files),
    ]
    return [loss for loss in left if loss.count]


def _write(
    shelf: Shelf,
    facts: Facts,
    target: Source,
    move: Move,
    request: Request,
    base: Path,
    losses: list[Loss],
    calls: Renaming,
    before: Before,
) -> str:
    path = request.file.absolute() if request.file else inside(base, target.place(facts, move))
    temporary = files.temporary_beside(path)
    files.make_folder(path.parent)
    chosen = calls.session(_chosen(shelf, facts, request, before))
    shelves = [shelf, *(one.shelf for one in before.earlier)]
    try:
        with files.open_new(temporary) as out:
            out.writelines(target.write(chosen, facts, move, lambda name: _media(shelves, name), losses))
        if temporary.stat().st_size == 0:
            raise NotFound(f"{target.title} can hold nothing of session {facts.session_id}", "`show` tells what it is")
        _refuse_overwrite(path, temporary, request.force)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return str(path)


def _refuse_overwrite(path: Path, new: Path, force: bool) -> None:
    if force or not path.exists() or path.read_bytes() == new.read_bytes():
        return
    raise Conflict(f"{path} exists and differs", "nothing was written; --force replaces it, -o writes elsewhere")


def _chosen(shelf: Shelf, facts: Facts, request: Request, before: Before) -> Iterable[Round]:
    first = 1 if request.first is None else request.first
    last = facts.rounds if request.last is None else request.last
    if not 1 <= first <= last <= max(facts.rounds, 1):
        raise NotFound(f"no rounds {first}-{last}", f"the session has {facts.rounds}")
    if not request.document_only:
        _require_rounds(shelf, last)
    made = from_document(shelf) if request.document_only else rounds.load_all(shelf)
    own = (r for r in made if first <= r.number <= last)
    if not before.earlier or not request.whole or request.document_only:
        return own
    return (structs.replace(r, number=number) for number, r in enumerate(chain(before.rounds(), own), 1))


def _require_rounds(shelf: Shelf, last: int) -> None:
    """What is missing of a session must not be missing from what is written of it without a word."""
    missing = [number for number in range(1, last + 1) if not shelf.round_file(number).exists()]
    if missing:
        told = f"{shelf.round_file(missing[0])}: the round file is missing"
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise StoreError(told + more, "`muniment reindex` rebuilds it; --from-document does without")


def from_document(shelf: Shelf) -> Iterator[Round]:
    """The rounds as far as the document tells: a new one begins at every human message."""
    messages: list[Message] = []
    number, prompted = 1, False
    for message in parse.parse(escape.from_bytes(page.load_body(shelf.document))):
        human = message.role == "user" and not message.queued and not message.sidechain
        if human and prompted:
            yield Round(number, tuple(messages), prompted)
            number, messages = number + 1, []
        prompted = prompted or human
        messages.append(message)
    if messages:
        yield Round(number, tuple(messages), prompted)


def _media(shelves: list[Shelf], name: str) -> bytes:
    """Media of a session, or of one that it begins in."""
    return load_media(next((one for one in shelves if (one.media / name).exists()), shelves[0]), name)


def load_media(shelf: Shelf, name: str) -> bytes:
    """The bytes of an image or document of a session."""
    try:
        return (shelf.media / name).read_bytes()
    except FileNotFoundError:
        raise NotFound(
            f"{shelf.media / name}: missing", "`muniment reindex` brings it back from the evidence"
        ) from None
