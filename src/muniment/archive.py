"""The archive as a program sees it: what the command line can do, `import muniment` can do.

from muniment import Archive
archive = Archive()                       # where `muniment` keeps its store
archive.inscribe([Path("~/.claude").expanduser()], print)
archive.restore("last")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import structs

from muniment import (
    batch,
    before,
    config,
    export,
    files,
    moving,
    reindex,
    rescue,
    restore,
    sources,
    tagging,
)
from muniment.errors import Ambiguous, NotFound
from muniment.export import Exported, Request
from muniment.inscribe import Outcome, key_path
from muniment.model import Facts, Round, codec
from muniment.model.engagements import Ingested
from muniment.restore import Restored, Target
from muniment.sources import finding
from muniment.sources.base import Found
from muniment.store import carried, engagements, index, roster, rounds
from muniment.store.damage_table import Damage
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf
from muniment.store.roster import Roster
from muniment.store.rows import fit
from muniment.store.session_table import Listed

if TYPE_CHECKING:  # what the methods that need them import: others start sooner without
    from muniment import budget, check, doctor, instructions, lineage
    from muniment.bundle import Packed, Placed
    from muniment.context import Pack
    from muniment.context import Request as Wanted
    from muniment.ingest import pipeline
    from muniment.ingest.planning import Choice, Plan
    from muniment.ingest.skeleton import Skeleton
    from muniment.render.html import Request as Page
    from muniment.render.html import Written
    from muniment.search import FoundEngagement, Hit, Query


class Archive:
    """One store, and everything that can be done with it."""

    def __init__(self, root: str | Path | None = None, env: Mapping[str, str] = os.environ) -> None:
        os.umask(0o077)
        self.env = env
        self.unreadable: dict[Path, str] = {}
        """Files, folders and parts of databases that the latest search could not read, and why."""
        self.not_rebuilt: list[Outcome] = []
        """Sessions that could not be built anew wholly with the index; the next run reports them."""
        self.layout = Layout(config.store_root(str(root) if root else None, env))

    # -- in

    def find(self, paths: Sequence[Path] = ()) -> list[Found]:
        """The sessions below these paths; without any, in every place the agents of this machine use."""
        self.unreadable.clear()
        with files.noting_refused(self.unreadable):
            if not paths:
                return list(sources.find_everywhere(self.env))
            return [found for path in paths for found in sources.find_in(path, self.env)]

    def plan(self, found: Iterable[Found]) -> batch.Plan:
        """What of it is new or has changed. An index that is lost or too old is built anew first."""
        lost = not index.exists(self.layout) and self.layout.holds_sessions()
        if lost or index.is_outdated(self.layout):
            self.reindex(self._rebuilt)
        return batch.plan(self.layout, found)

    def _rebuilt(self, outcome: Outcome) -> None:
        if outcome.what in ("failed", "damaged"):
            self.not_rebuilt.append(outcome)

    def run(
        self, plan: batch.Plan, report: Callable[[Outcome], None], waiting: Callable[[], None] = lambda: None
    ) -> None:
        """Inscribe what is planned."""
        while self.not_rebuilt:
            report(self.not_rebuilt.pop())
        batch.run(self.layout, plan, report, waiting)

    def take_up(
        self,
        found: Iterable[Found] = (),
        report: Callable[[Outcome], None] = lambda _: None,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """Put sessions into the index that a run which was cut off left in the store without it, and mend those that
        are damaged, with what was found of their sources."""
        if index.exists(self.layout):
            reindex.take_up(self.layout, found, report, waiting)

    def inscribe(self, paths: Sequence[Path] = (), report: Callable[[Outcome], None] = lambda _: None) -> int:
        """Find, and inscribe what is new; gives the number of sessions found."""
        found = self.find(paths)
        self.run(self.plan(found), report)
        self.take_up(found, report)
        return len(found)

    # -- looking

    def require(self) -> None:
        """Raises NotFound where there is no archive so far, for those that only read one."""
        index.require_archive(self.layout)

    def sessions(self) -> list[Listed]:
        """Every session of the archive, the latest first."""
        if not index.exists(self.layout):
            index.require(self.layout)
            return []
        with Index(self.layout) as known:
            return list(known.sessions())

    def session(self, name: str) -> Listed:
        """A session by UUID, unique prefix, id of its agent's own, path of its source, or `last`."""
        with Index(self.layout) as known:
            path = fit(str(files.full_path(Path(name))))
            found = list(known.sessions("WHERE path = ?", path)) if "/" in name or name.endswith(".jsonl") else []
            if not found and (seen := known.seen().get(path or "")):
                return known.find(seen[0])
            return found[0] if found else known.find(name)

    @contextmanager
    def reading(self, name: str) -> Generator[tuple[Archive, Listed]]:
        """A session by any of its names, and the archive to read it from.

        For a transcript of which this archive has nothing, or not yet all, that is one made for the moment: it is gone
        afterwards, and this one is as it was."""
        path = Path(name)
        is_path = ("/" in name or "." in name) and path.is_file()
        found = [task.found for task in batch.plan(self.layout, self.find([path])).tasks] if is_path else []
        if not found:
            yield self, self.session(name)
            return
        own = next((one for one in found if one.main and one.main.path == str(path.absolute())), found[0])
        with TemporaryDirectory(prefix="muniment-") as folder:
            passing = Archive(folder, self.env)
            passing.run(passing.plan([own]), lambda _: None)
            yield passing, passing.session(own.session_id)

    def short_ids(self, ids: Iterable[str]) -> dict[str, str]:
        """What to show of session ids: the beginning of each that names one session of the archive."""
        if not (wanted := set(ids)):
            return {}
        with Index(self.layout) as known:
            return known.short_ids(wanted)

    def shelf(self, session: Listed) -> Shelf:
        """Where the files of a session lie. A move that was cut off may have left them in another bucket than the
        index says, until the next run brings it to its end."""
        shelf = self.layout.shelf(session.agent_id, session.session_id)
        return shelf if shelf.folder.exists() else self.layout.find_shelf(session.session_id) or shelf

    def facts(self, session: Listed) -> tuple[Facts, dict[str, Facts]]:
        """What is known of a session and of its subagents."""
        with Index(self.layout) as known:
            sql = "SELECT c.id, c.facts FROM sidechains c JOIN sessions s ON s.id = c.session WHERE s.session_id = ?"
            sides = {id_: codec.decode(text.encode(), Facts) for id_, text in known.rows(sql, session.session_id)}
            return known.facts(session.session_id), sides

    def subagent(self, session: Listed, name: str) -> str:
        """The id of a subagent of a session, by it or a beginning of it that no other has."""
        known = sorted(self.facts(session)[1])
        found = [name] if name in known else [id_ for id_ in known if id_.startswith(name)]
        if not found:
            raise NotFound(f"the session has no subagent {name!r}", f"it has {', '.join(known) or 'none'}")
        if len(found) > 1:
            raise Ambiguous(f"{name!r} could be {len(found)} subagents: {', '.join(found)}", "give more of the id")
        return found[0]

    def versions(self, session: Listed) -> dict[str, Facts]:
        """Older and diverging versions of a session, by name."""
        sql = "SELECT v.hash8, v.facts FROM versions v JOIN sessions s ON s.id = v.session WHERE s.session_id = ?"
        with Index(self.layout) as known:
            return {name: codec.decode(text.encode(), Facts) for name, text in known.rows(sql, session.session_id)}

    def rounds(self, session: Listed, first: int = 1) -> Iterator[Round]:
        """The stored rounds of a session."""
        return rounds.load_all(self.shelf(session), first)

    def search(self, query: Query) -> list[Hit]:
        """Blocks that have what is looked for, best first."""
        from muniment import search

        return search.search(self.layout, query)

    def find_engagements(self, query: Query) -> list[FoundEngagement]:
        """Engagements that pass the filters and have the words, the latest first."""
        from muniment import search

        return search.find_engagements(self.layout, query)

    def lineage(self, name: str | None = None, only_explicit: bool = False) -> lineage.Lineage:
        """Which sessions continue, copy or belong to which: all of them, or the family of one."""
        from muniment import lineage

        graph = lineage.read(self.layout, only_explicit)
        return graph if name is None else lineage.family(graph, self.session(name).session_id)

    def instructions(self, name: str) -> instructions.Instructions:
        """Which standing instructions a session worked under, and what changed since the one before it."""
        from muniment import instructions

        return instructions.read(self.layout, self.session(name), self.env)

    def budget(self, name: str) -> budget.Budget:
        """How full the window of a session was, round by round, and what it cost at list prices."""
        from muniment import budget

        return budget.read(self.layout, self.session(name), self.env)

    # -- out

    def restore(
        self, name: str, target: Target | None = None, alone: bool = False, version: str | None = None
    ) -> list[Restored]:
        """Give the original files back, or those of one version.

        Unless it is asked for `alone`, those of the sessions that this one begins in come along."""
        session = self.session(name)
        shelf, (facts, _) = self.shelf(session), self.facts(session)
        if version is not None:
            version = restore.choose_version(version, self.versions(session))
            shelf, facts = shelf.version(version), self.versions(session)[version]
        earlier = before.find(self.layout, session)
        earlier = before.Before(missing=earlier.missing) if alone else earlier
        restored = restore.restore(shelf, facts, target or Target(), self.env, earlier)
        if restored and target and (new := target.move.session_id):
            told = carried.note(self.layout, new, facts.session_id, facts.rounds)
            restored[-1] = structs.replace(restored[-1], note="; ".join(filter(None, (restored[-1].note, told))))
        return restored

    def export(self, name: str, request: Request) -> Exported:
        """Write a session in an agent's format, from its beginning even where that lies in another session.

        One that gets an identity of its own is noted as a continuation."""
        session = self.session(name)
        facts, sides = self.facts(session)
        earlier = before.find(self.layout, session)
        made = export.export(self.shelf(session), facts, sides, request, self.env, earlier)
        if made.continues is None:
            return made
        return structs.replace(made, note=carried.note(self.layout, made.known_as, made.continues, made.rounds))

    def bundle(
        self, names: Sequence[str], target: Path, redact: bool = False, force: bool = False, alone: bool = False
    ) -> Packed:
        """Pack sessions into one file for another machine; without secrets if asked.

        Unless they are asked for `alone`, the sessions that they begin in come along."""
        from muniment import bundle

        chosen = {session.session_id: session for session in map(self.session, names)}
        earlier = () if alone else [e for session in chosen.values() for e in before.find(self.layout, session).earlier]
        begun_in = {one.facts.session_id: self.session(one.facts.session_id) for one in earlier}
        return bundle.bundle(self.layout, list((begun_in | chosen).values()), target, redact, force)

    def unbundle(self, path: Path, dry_run: bool = False) -> list[Placed]:
        """Take the sessions of a bundle in, once all of it is verified."""
        from muniment import bundle

        return bundle.unbundle(self.layout, path, dry_run=dry_run)

    def html(self, name: str, path: Path, request: Page) -> Written:
        """Write a session as one page."""
        from muniment.render import html, known

        with self.reading(name) as (archive, session):
            return html.write(known.find(archive.layout, session), path, request)

    def context(self, request: Wanted, form: str = "markdown") -> Pack:
        """What a new agent should know of past sessions, within a budget."""
        from muniment import context

        return context.build(self.layout, request, form)

    # -- understanding

    def ingest_plan(self, choice: Choice, by: str | None = None) -> Plan:
        """Which sessions there are to understand."""
        from muniment.ingest import offline, planning

        by = by or offline.NAME
        return planning.plan(self.layout, choice, by, self.env) if index.exists(self.layout) else planning.Plan((), 0)

    def ingest(
        self,
        choice: Choice | None = None,
        report: Callable[[pipeline.Outcome], None] = lambda _: None,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """Understand sessions as engagements, offline; what has not changed is left as it is, unless asked for."""
        from muniment.ingest.planning import Choice

        choice = choice or Choice(skip_existing=True)
        self.run_ingest(self.ingest_plan(choice), choice, report, waiting)

    def run_ingest(
        self,
        plan: Plan,
        choice: Choice,
        report: Callable[[pipeline.Outcome], None],
        waiting: Callable[[], None],
        extract: pipeline.Extract | None = None,
    ) -> None:
        """Carry out a plan, offline or with another extractor."""
        from muniment.ingest import pipeline

        if extract:
            pipeline.run_with(self.layout, plan, choice, extract, report, waiting)
        else:
            pipeline.run(self.layout, plan, choice, report, waiting)

    def ingest_sizes(self, plan: Plan, choice: Choice) -> Iterator[pipeline.Sized]:
        """How much there would be to read of each session of a plan, and which would be ghosts."""
        from muniment.ingest import pipeline

        return (pipeline.sized(self.layout, job, choice.strict_ghosts) for job in plan.jobs)

    def skeletons(self, plan: Plan) -> Iterator[Skeleton]:
        """What extraction reads of the sessions of a plan."""
        from muniment.ingest import pipeline

        return (pipeline.read(self.layout, job) for job in plan.jobs)

    def engagements(self) -> Iterator[Ingested]:
        """Every session that was understood, with its engagements."""
        return engagements.load(self.layout)

    # -- what people decide

    def tag(self, name: str, rounds: Sequence[int], engagement_id: str | None) -> None:
        """Say which engagement rounds belong to; None takes the tag away. Round files are not touched."""
        tagging.tag(self.layout, self.session(name), rounds, engagement_id)

    def summarise(self, name: str, text: str) -> str:
        """Write a summary line as by hand; empty gives it back to the machine. Gives the line as it stands."""
        return tagging.summarise(self.layout, self.session(name), text)

    def set_tags(self, name: str, tags: Iterable[str]) -> tuple[str, ...]:
        """Call a session by these tags and no others."""
        return tagging.set_tags(self.layout, self.session(name), tags)

    def tags(self, name: str) -> tuple[str, ...]:
        """What people call a session."""
        return tagging.tags_of(self.layout, self.session(name))

    def roster(self) -> Roster:
        """Which session was which agent, as people registered it."""
        return roster.load(self.layout)

    def register(self, name: str, agent_name: str | None, role: str | None) -> Listed:
        """Say who a session was."""
        from muniment import registering

        session = self.session(name)
        registering.add(self.layout, session.session_id, agent_name, role)
        return session

    def unregister(self, name: str) -> bool:
        """Take a session out of the roster, by any name or its registered prefix; tells whether it was there."""
        from muniment import registering

        return registering.remove(self.layout, name, lambda given: self.session(given).session_id)

    def movable(self) -> list[str]:
        """Sessions that lie in another bucket than that of their registered role."""
        known = self.roster()
        roles = [(row, entry.role) for row in self.sessions() if (entry := known.of(row.session_id)) and entry.role]
        return [row.session_id for row, role in roles if row.agent_id != moving.bucket(role)]

    def move(self, name: str) -> str:
        """Put a session into the bucket of its registered role; gives the bucket."""
        return moving.to_role(self.layout, self.session(name))

    # -- care

    def check(self, paths: Sequence[Path]) -> Iterator[check.Checked]:
        """Check sessions on disk, writing nothing."""
        from muniment import check

        for found in self.find(paths):
            try:
                yield from list(check.check_found(found))
            except Exception as error:  # a session that cannot be checked is named, and the others are
                with files.noting_refused(self.unreadable):
                    finding.note(sources.named(found.source), Path(key_path(found)), error)

    def check_stored(
        self, names: Sequence[str] = (), waiting: Callable[[], None] = lambda: None
    ) -> Iterator[check.Checked]:
        """Check what is in the archive: all of it, or these sessions. Damage is marked in the index."""
        from muniment import integrity, verifying

        chosen = [self.session(name) for name in names]
        keys = [(session.agent_id, session.session_id) for session in chosen]
        found = integrity.check_archive(self.layout, keys if names else None, waiting)
        return verifying.remember(self.layout, found)

    def damage(self, session: Listed) -> list[Damage]:
        """What is known to be damaged of a session."""
        with Index(self.layout) as known:
            return [one for one in known.damage() if one.session_id == session.session_id]

    def doctor(self, thorough: bool = False) -> doctor.Diagnosis:
        """What is at risk on this machine and in this archive; damage and secrets are looked for if asked for."""
        from muniment import doctor

        found = self.find()
        with files.noting_refused(self.unreadable):
            return doctor.diagnose(self.layout, found, self.env, self.unreadable, thorough)

    def lost(self) -> list[Found]:
        """Sessions of which only what an agent's history has is left; `plan` and `run` put that into the archive."""
        found = self.find()
        with files.noting_refused(self.unreadable):
            return rescue.lost(self.layout, found, self.env)

    def reindex(self, report: Callable[[Outcome], None] = lambda _: None) -> int:
        """Build every index, document and round file anew from the evidence; gives the number of sessions."""
        return reindex.reindex(self.layout, report)

    def forget(self, name: str) -> Listed:
        """Delete one session from the archive: the only deletion there is."""
        from muniment import forgetting

        session = self.session(name)
        forgetting.forget(self.layout, session)
        return session

    def left_at(self, name: str) -> list[str]:
        """Where the files that a session was inscribed from still are; forgotten, it would be taken in from there."""
        from muniment import forgetting

        return forgetting.left_at(self.layout, self.session(name))
