"""The recorder: what a harness calls while it runs an agent.

    with Recorder.start(cwd=".", agent="reviewer", model="claude-opus-4-6") as rec:
        rec.user("Fix the login bug")
        call = rec.tool_call("bash", {"command": "pytest -q"})
        rec.tool_result(call, "3 failed", is_error=True)
        rec.assistant("The token check is inverted.")

Every call returns once its event is *accepted* (it survives the death of the process); prompts, the end of a sidechain
and the end of the session are *durable* (they survive a power cut), everything else is within 50 ms. The three channels
fail alone: a history that cannot be written does not stop the transcript. In an event loop, `await rec.settled()` waits
for the disk and lets the loop go on.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from muniment import files
from muniment.errors import MunimentError
from muniment.model.codec import mapping
from muniment.model.events import (
    ANSWERS,
    ASSISTANT,
    BRANCH,
    CHECKPOINT,
    COMPACTION,
    RESTRICTION,
    SIDECHAIN,
    SUMMARY,
    TERMINATOR,
    THINKING,
    TOOL_CALL,
    TOOL_RESULT,
    USER,
    Event,
)
from muniment.record import sidechains
from muniment.record.chain import Chain, Unanswered, last_messages, unanswered
from muniment.record.checkpoints import Checkpoint, Checkpoints
from muniment.record.clock import now
from muniment.record.history import History
from muniment.record.log import Log
from muniment.record.permissions import Ledger, Rule, refuse_grants, restrictions_in
from muniment.record.places import remember
from muniment.record.sidechains import Result, Sidechain
from muniment.record.starting import Parent, branch_of, carried, home_of, new_header, root_of, who_runs
from muniment.record.transcript import Transcript, ancestry, dialect_named, dialect_of, find, load, safe_id, torn_ends
from muniment.record.values import Call, Closed, Outputs, Recorded
from muniment.sources.dialect import Dialect

if TYPE_CHECKING:
    from muniment.record.settling import Settling

FORKED_MESSAGES = 20


class Recorder:
    """One session while it goes on. Made by `start`, `resume` or `fork`."""

    def __init__(self, cwd: Path, root: Path, home: Path, dialect: Dialect, path: Path, seal: bool = False) -> None:
        self.cwd = cwd
        self.root = root
        self.home = home
        self.dialect = dialect
        self.path = path
        self.session_id = path.stem
        self.problems: list[str] = []
        """What went wrong without stopping the session: damage that was met, prompts missing from the history, and that
        the history is nearly full."""
        self.unanswered: list[Unanswered] = []
        """Of a resumed session: the calls whose results were never recorded, for the harness to run again."""
        self._log = Log(path, dialect, seal=seal)
        self._history = History(home / "history.jsonl")
        self._history_offset: int | None = None
        self._history_warned = False
        self._chain = Chain()
        self._counts: Counter[str] = Counter()
        self._last: str | None = None
        self._who: dict[str, Any] = {}
        self._checkpoints: Checkpoints | None = None
        self._closed: Closed | None = None
        self._mutex = threading.Lock()
        self._settling: Settling | None = None
        self.permissions = Ledger(record=self._forbid)

    # -- beginning

    @classmethod
    def start(
        cls,
        cwd: str | Path = ".",
        agent: str | None = None,
        model: str | None = None,
        *,
        session_id: str | None = None,
        dialect: str = "native",
        root: str | Path | None = None,
        home: str | Path | None = None,
        seal: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> Recorder:
        """Begin a session.

        `root` is where the channels lie (the working folder, unless the dialect has a place of its own), `home` the
        recorder's own folder, `seal` adds a hash chain, and `about` is kept in the header."""
        folder = Path(cwd).absolute()
        spoken = dialect_named(dialect)
        id_ = str(uuid.uuid4()) if session_id is None else session_id
        header = new_header(id_, folder, agent, model, about=about)
        return cls._begun(spoken, root_of(root, folder, spoken), home_of(home), header, seal)

    @classmethod
    def resume(
        cls,
        session: str | Path = "last",
        cwd: str | Path = ".",
        *,
        dialect: str | None = None,
        root: str | Path | None = None,
        home: str | Path | None = None,
        seal: bool = False,
    ) -> Recorder:
        """Go on from a session, named by path, id prefix or `last`: with its chain and restrictions, and no grants.

        A new session begins that says where it came from. Formats that cannot say so go on in the same file."""
        folder = Path(cwd).absolute()
        asked = dialect_named(dialect or "native")
        base = root_of(root, folder, asked)
        path = find(base, str(session), asked)
        spoken = dialect_of(path)
        line = ancestry(base, load(path, spoken))
        if spoken.resumes_in_place:
            made = cls(folder, base, home_of(home), spoken, path, seal)
        else:
            header = new_header(str(uuid.uuid4()), folder, resumed_from=line[-1].session_id, about=carried(line[-1]))
            made = cls._begun(spoken, base, home_of(home), header, seal)
        made._take_over(line)
        return made

    @classmethod
    def branch(
        cls, parent: Parent, root: Path, home: Path, dialect: Dialect, last: int = FORKED_MESSAGES, summary: str = ""
    ) -> Recorder:
        """Begin a session with the last messages of another; a call and its result stay together."""
        about = {"forked_from": parent.session_id, **parent.who}
        header = new_header(str(uuid.uuid4()), parent.cwd, about=about)
        child = cls._begun(dialect, root, home, header, seal=False)
        copies = last_messages(parent.chain, last)
        child._record([child._new(BRANCH, branch_of(parent, copies, summary))])
        for event in copies:
            child._record([structs.replace(event, prev_uuid=child._last)])
        for rule in parent.restrictions:
            child.permissions.deny(rule.tool, rule.pattern)
        child.flush()
        return child

    @classmethod
    def _begun(cls, dialect: Dialect, root: Path, home: Path, header: Event, seal: bool) -> Recorder:
        made = cls(Path(header.payload["cwd"]), root, home, dialect, dialect.place(root, header), seal)
        made.session_id = header.payload["session_id"]
        made._who = who_runs(header.payload)
        if dialect.ignored_by_git:
            files.write_if_changed(dialect.folder(root) / ".gitignore", b"*\n")
        made._record([header], durable=True)
        with made._told("the register of places"):
            remember(home, root)
        return made

    def _take_over(self, line: Sequence[Transcript]) -> None:
        """What was said and forbidden before; nothing of it is read again."""
        for transcript in line:
            for event in transcript.events:
                self._chain.add(event)
            told = (*transcript.problems, *torn_ends(transcript.path))
            self.problems += [str(problem) for problem in told]
        events = [event for transcript in line for event in transcript.events]
        self.unanswered = unanswered(self._chain.events)
        self.permissions = Ledger(restrictions_in(events), self._forbid)
        if self.dialect.resumes_in_place and events:
            self._last = events[-1].uuid
            self.session_id = line[-1].session_id
            self._who = carried(line[-1])

    # -- what happens

    def user(self, text: str | Sequence[Mapping[str, Any]], *, durable: bool = True, **more: Any) -> Recorded:
        """A prompt: durable when this returns, unless that is not asked for, and in the history."""
        made = self._said(USER, text, more, durable)
        if isinstance(text, str):
            with self._told("the history"):
                ack = self._history.append(text, self.session_id, now(), made.uuid, durable)
                self._history_offset = ack.byte_offset
                self._warn_of_history(self._history.nearly_full(ack.byte_offset, ack.line_number))
        return made

    def _warn_of_history(self, warning: str) -> None:
        """Once in a session."""
        if warning and not self._history_warned:
            self._history_warned = True
            self.problems.append(warning)

    def assistant(self, text: str | Sequence[Mapping[str, Any]], **more: Any) -> Recorded:
        """An answer; `model`, `provider`, `usage`, `stop_reason` and what else the provider says may be given."""
        return self._said(ASSISTANT, text, more)

    def thinking(self, text: str, **more: Any) -> Recorded:
        return self._said(THINKING, text, more)

    def tool_call(self, name: str, input: Any, id: str | None = None) -> Call:
        """A call, before it runs: should the process die, the next one knows that it has no result."""
        id = id or f"call_{uuid.uuid4().hex[:24]}"
        return Call(id, name, self.event(TOOL_CALL, {"id": id, "name": name, "input": input}))

    def tool_result(self, call: Call | Unanswered, output: Any, is_error: bool = False, **more: Any) -> Recorded:
        """What a call came to."""
        if self._checkpoints:
            self._checkpoints.settle()
        said = {"id": call.id, "name": call.name, "output": output, "is_error": is_error, **more}
        return self.event(TOOL_RESULT, said)

    def event(self, type: str, payload: Any = None, durable: bool = False, uuid: str | None = None) -> Recorded:
        """Anything else, by any name except that of a grant. The same `uuid` again changes nothing."""
        refuse_grants(type, payload)
        return self._record([self._new(type, payload, uuid)], durable)

    def compact(self, summary: str, first_kept: str | None = None, tokens_before: int | None = None) -> Recorded:
        """From now on the agent sees `summary` in place of everything before `first_kept`, or of everything."""
        uuids = [event.uuid for event in self._chain.events]
        end = uuids.index(first_kept) if first_kept else len(uuids)
        if not end:
            raise ValueError("nothing to compact: the chain is empty before that event")
        summed = self._new(SUMMARY, {"text": summary})
        said = {
            "headUuid": uuids[0],
            "anchorUuid": self._chain.events[0].prev_uuid,
            "tailUuid": uuids[end - 1],
            "summary_event_uuid": summed.uuid,
            "first_kept": first_kept,
            "tokens_before": tokens_before,
        }
        return self._record([summed, self._new(COMPACTION, said, prev=summed.uuid)], durable=True)

    def before_edit(self, path: str | Path) -> Checkpoint:
        """Keep a file as it is now; `muniment rewind-files` brings it back. Durable before it returns."""
        if self._checkpoints is None:
            self._checkpoints = Checkpoints(self.home / "checkpoints" / self.session_id, self.cwd, self.path)
        event_id = self.dialect.new_id()
        kept = self._checkpoints.before_edit(Path(path).absolute(), event_id)
        said = {"path": str(kept.path), "sha256": kept.sha256, "mode": kept.mode}
        self.event(CHECKPOINT, said, uuid=event_id)
        return kept

    @contextlib.contextmanager
    def sidechain(self, task_id: str | None = None, max_bytes: int = sidechains.MAX_BYTES) -> Generator[Sidechain]:
        """A subagent's own record. Set its `summary`; however it ends, the parent's transcript says so."""
        folder = self.root / sidechains.FOLDER
        files.write_if_changed(folder / ".gitignore", b"*\n")
        task = safe_id(task_id or f"task-{uuid.uuid4().hex[:12]}")
        made = Sidechain(folder, task, dialect_named("native"), self.session_id, max_bytes)
        with sidechains.run(made, self._sidechain_ended):
            yield made

    def _sidechain_ended(self, result: Result) -> None:
        self.event(SIDECHAIN, result.said)

    def _forbid(self, rule: Rule) -> None:
        self.event(RESTRICTION, {"tool": rule.tool, "pattern": rule.pattern}, durable=True)

    # -- what there is

    @property
    def chain(self) -> list[Event]:
        """The conversation as the agent sees it, kept in memory."""
        return list(self._chain.events)

    @property
    def outputs(self) -> Outputs:
        hash_ = self._checkpoints.hash if self._checkpoints else ""
        return Outputs(self.path, self._history_offset, hash_)

    @property
    def damage(self) -> list[str]:
        """What was found wrong with the transcript's file."""
        return self._log.damage

    def fork(self, last: int = FORKED_MESSAGES, summary: str = "") -> Recorder:
        """A new session with the last messages of this one; this one is not touched, and may go on."""
        restrictions = self.permissions.restrictions
        parent = Parent(self.session_id, self.path, self.cwd, self._chain.events, restrictions, self._who)
        return Recorder.branch(parent, self.root, self.home, self.dialect, last, summary)

    # -- ending

    def flush(self) -> None:
        """Everything so far survives a power cut when this returns."""
        self._log.flush()

    async def settled(self) -> None:
        """The same for an event loop, which goes on meanwhile. Tasks that wait together share one sync."""
        settling = self._settling
        if settling is None or not settling.is_here():
            from muniment.record.settling import Settling  # asyncio takes as long to import as all else here

            settling = self._settling = Settling(self.flush)
        await settling.wait()

    def close(self, status: str = "completed") -> Closed:
        """End the session: the last line is written and everything is durable. Closing twice is closing once."""
        if self._closed:
            return self._closed
        if self._checkpoints:
            self._checkpoints.settle()
            self._checkpoints.close()
        statistics = {"events": sum(self._counts.values()), **self._counts}
        try:
            self.event(TERMINATOR, {"end_ts": now(), "status": status, "statistics": statistics}, durable=True)
        finally:
            with self._told("the history"):
                self._history.close()
            self._log.close()
        missing = any(problem.startswith("the history") for problem in self.problems)
        self._closed = Closed(transcript_flushed=True, history_appended=not missing)
        return self._closed

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close("completed" if kind is None else "failed")

    async def __aenter__(self) -> Recorder:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close, "completed" if kind is None else "failed")

    # -- recording

    def _said(self, type_: str, text: str | Sequence[Mapping[str, Any]], more: Any, durable: bool = False) -> Recorded:
        said = {"text": text} if isinstance(text, str) else {"content": list(text)}
        return self._record([self._new(type_, said | dict(more))], durable)

    def _new(self, type_: str, payload: Any, id_: str | None = None, prev: str | None = None) -> Event:
        if self.dialect.answers_name_model and type_ in ANSWERS:
            payload = {name: self._who[name] for name in ("model", "provider") if name in self._who} | mapping(payload)
        return Event(type_, now(), id_ or self.dialect.new_id(), prev or self._last, payload)

    def _record(self, events: Sequence[Event], durable: bool = False) -> Recorded:
        """Into the file, then into the chain: what is in memory is never more than what is on disk."""
        ack = None
        for written in self.dialect.lines(events):
            ack = self._log.append(written, durable)
        last = events[-1].uuid
        if ack is None or not ack.duplicate:
            with self._mutex:
                for event in events:
                    self._chain.add(event)
                    self._counts[event.type] += 1
                self._last = last if ack else self._last
        if ack is None:
            return Recorded(last)
        return Recorded(last, ack.byte_offset, ack.line_number, ack.duplicate, ack.conflict)

    @contextlib.contextmanager
    def _told(self, what: str) -> Generator[None]:
        """Another channel's trouble is told, and does not stop this one."""
        try:
            yield
        except (MunimentError, OSError) as error:
            self.problems.append(f"{what}: {error}")
