"""Which standing instructions a session worked under: `CLAUDE.md`, `AGENTS.md` and their like, at every level.

    instructions.read(layout, session, env)      what is known of one session, beside the one before it

Three witnesses are heard: the transcript itself, files that nobody has changed since, and the history of the repository
that the session worked in (`git`). `look` puts them together, `imports` follows `@path`. What none of them tells is
unknown, and is said to be.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, structs

from muniment import sources
from muniment.ingest.skeleton import act
from muniment.instructions import git
from muniment.instructions.look import Look
from muniment.instructions.values import Change as Change
from muniment.instructions.values import Instruction as Instruction
from muniment.instructions.values import Instructions as Instructions
from muniment.model import Event, Facts, Round, Tool
from muniment.secrets import Redactor
from muniment.sources import finding
from muniment.sources.base import Source
from muniment.store import rounds as stored
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.session_table import Listed

_PREVIOUS = """SELECT session_id FROM sessions WHERE cwd = ? AND source = ? AND started < ? AND session_id <> ?
  ORDER BY started DESC LIMIT 1"""


def read(layout: Layout, session: Listed, env: Mapping[str, str]) -> Instructions:
    """The instructions of a session, and what changed since the session before it in the same project, without
    secrets."""
    redactor = Redactor()
    with Index(layout) as index:
        before = index.rows(_PREVIOUS, session.cwd, session.source, session.started, session.session_id)
        now = _alone(layout, index.facts(session.session_id), session, env)
        if not before:
            return redactor.struct(now)
        former = index.find(before[0][0])
        then = _alone(layout, index.facts(former.session_id), former, env)
    changes = tuple(compare(then.files, now.files, redactor)) if _comparable(then, now) else ()
    return redactor.struct(structs.replace(now, previous=former.session_id, changes=changes))


def _comparable(then: Instructions, now: Instructions) -> bool:
    """Whether a file that one has and the other has not was not there: both were looked for in git, or neither."""
    return (then.commit is None) == (now.commit is None)


def _alone(layout: Layout, facts: Facts, session: Listed, env: Mapping[str, str]) -> Instructions:
    source = sources.named(session.source)
    told = listen(stored.load_all(layout.shelf(session.agent_id, session.session_id)), source)
    folder = facts.first_cwd or facts.cwd
    repository = git.open_at(folder, env) if folder else None
    started = _moment(facts.started)
    commit, how = _checked_out(repository, facts, told.commit)
    unknown = [*_unknown(folder, repository, commit, started, source)]
    found: tuple[Instruction, ...] = ()
    if started:
        homes = [str(home) for home in finding.known_homes(source, env)]
        look = Look(source.instruction_files, started, repository, commit, env.get("HOME", "/"), homes)
        look.home()
        if folder and Path(folder).is_dir():
            look.project(folder, [str(Path(folder, path).parent) for path in told.touched])
        found = tuple(look.found.values())
    return Instructions(facts.session_id, facts.started, folder, commit, how, (*told.recorded, *found), tuple(unknown))


# -- what the transcript tells


class Told(Struct, frozen=True):
    """What a transcript tells of its surroundings."""

    recorded: tuple[Instruction, ...]
    commit: str | None
    touched: frozenset[str]
    """Paths that tools were given."""


def listen(rounds: Iterable[Round], source: Source) -> Told:
    """What rounds tell; one at a time is in memory."""
    recorded: dict[tuple[str, str | None], Instruction] = {}
    commit: str | None = None
    touched: set[str] = set()
    for round_ in rounds:
        for block in round_.blocks():
            if isinstance(block, Tool) and block.name and source.instruction_files.when_touched:
                touched.update(path for path in act(block).paths if "\0" not in path)
            elif isinstance(block, Event):
                hints = source.hints(block)
                commit = commit or hints.commit
                for path, text in hints.instructions:
                    one = _recorded(path, text, round_.number)
                    recorded.setdefault((path, one.sha256), one)
    return Told(tuple(recorded.values()), commit, frozenset(touched))


def _recorded(path: str, text: str, number: int) -> Instruction:
    data = text.encode("utf-8", "surrogatepass")
    sha256 = hashlib.sha256(data).hexdigest()
    why = "as the model got it, by the transcript"
    return Instruction(path, "recorded", "recorded", sha256, len(data), why=why, round=number, text=text)


# -- what was checked out


def _checked_out(repository: git.Repository | None, facts: Facts, told: str | None) -> tuple[str | None, str]:
    """The commit that the session began at, and what that rests on."""
    if repository is None or not facts.started:
        return None, ""
    if told and (commit := repository.resolve(told)):
        return commit, "the transcript names the commit"
    tip = repository.tip(facts.branch) if facts.branch else None
    commit = repository.before(tip or "HEAD", facts.started)
    if commit is None:
        return None, ""
    if tip:
        return commit, f"the last commit on {facts.branch} before the session"
    gone = f"; its branch {facts.branch} is gone" if facts.branch else ""
    return commit, f"the last commit before the session on what is checked out now{gone}"


def _unknown(
    folder: str | None, repository: git.Repository | None, commit: str | None, started: datetime | None, source: Source
) -> Iterator[str]:
    """What cannot be known, in words."""
    if not source.instruction_files.names:
        yield f"where {source.title} looks for instructions is not known here"
    if started is None:
        yield "the session has no time, so nothing can be told from files or git"
    if not folder:
        yield "the session names no folder"
    elif not Path(folder).is_dir():
        yield f"{folder} is gone, or was never on this machine: unknown what lay there"
    elif repository is None:
        yield f"{folder} is in no git repository that can be read: only files that have not changed since are known"
    elif commit is None:
        yield "the repository has no commit from before the session: only files that have not changed since are known"
    else:
        yield "whether files had changes that were not committed when the session began"


def _moment(time: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(time or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# -- beside the session before


def compare(
    then: Iterable[Instruction], now: Iterable[Instruction], redactor: Redactor | None = None
) -> Iterator[Change]:
    """What became of each file from one session to the next; the last that was recorded of a path counts."""
    before = {(one.known == "recorded", one.path): one for one in then}
    after = {(one.known == "recorded", one.path): one for one in now}
    hide = redactor or Redactor()
    for key in dict.fromkeys([*after, *before]):
        left, right = before.get(key), after.get(key)
        if None in (left, right) and key[0]:
            yield Change(key[1], "unknown")  # an agent does not record what it did not need
        else:
            yield _change(key[1], left, right, hide)


def _change(path: str, left: Instruction | None, right: Instruction | None, hide: Redactor) -> Change:
    if (left and left.text is None) or (right and right.text is None):
        return Change(path, "unknown")
    if left and right and left.sha256 == right.sha256:
        return Change(path, "same")
    diff = "\n".join(difflib.unified_diff(_lines(left, hide), _lines(right, hide), "before", "now", lineterm=""))
    return Change(path, "changed" if left and right else "new" if right else "gone", diff)


def _lines(one: Instruction | None, hide: Redactor) -> list[str]:
    """Without secrets, which are looked for in the whole text: lines of a difference hold half a key."""
    return hide.text(one.text).splitlines() if one and one.text else []
