"""The example of `docs/adding-a-source.md`, broken on purpose, each time as somebody might have written it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import structs

from muniment import files
from muniment.model import Message, Ref, Text, Thinking, Tool
from muniment.sources.base import SourceFile, bytes_of, found_session

from . import example

wren: Any = ModuleType("wren")
exec(compile(example.module(), str(example.DOCUMENT), "exec"), wren.__dict__)


class Broken(wren.Wren):
    """Sound as it stands."""


# -- finding


class TakesEverything(Broken):
    def matches(self, path, head):
        return True


class TakesAnyLines(Broken):
    def matches(self, path, head):
        return head.startswith(b"{")


class FollowsLinks(Broken):
    def gather(self, paths, root, homes):
        for path in paths:
            status = path.stat()
            name = path.relative_to(root).as_posix()
            main = SourceFile(str(path), name, "main", status.st_size, status.st_mtime_ns, status.st_ino)
            yield found_session("wren", path.stem, root, root in homes, [main])


class NamesByPlace(Broken):
    """An id that depends on the folder that was given."""

    def gather(self, paths, root, homes):
        for session in super().gather(paths, root, homes):
            yield found_session("wren", session.files[0].name, root, root in homes, session.files)


class NamesByTheFolderAbove(Broken):
    """An id that depends on where the home lies."""

    def gather(self, paths, root, homes):
        for session in super().gather(paths, root, homes):
            path = Path(session.files[0].path)
            yield found_session("wren", f"{path.parents[1]} {path.stem}", root, root in homes, session.files)


class LooksInItsOwnHome(Broken):
    def homes(self, env):
        return [Path.home() / ".wren"]


class LooksInTheWrongFolder(Broken):
    def candidates(self, home):
        return (Path(entry.path) for entry in files.walk(home / "sessions"))


class FailsWhereNobodyIs(Broken):
    def candidates(self, home):
        return iter(sorted((home / "talks").iterdir()))


class IdIsAFolder(Broken):
    """Side files in a folder that is named by what the file says."""

    def gather(self, paths, root, homes):
        for session in super().gather(paths, root, homes):
            folder = root / "talks" / (session.native_id or session.session_id)
            found = [Path(entry.path) for entry in files.walk(folder)] if folder.is_dir() else []
            sides = [SourceFile(str(p), os.path.relpath(p, root), "side", p.stat().st_size, 0) for p in found]
            yield structs.replace(session, files=(*session.files, *sides))


class CutsTheLastNewline(Broken):
    def content(self, file, start=0, end=None):
        return (b"".join(bytes_of(file)).rstrip(b"\n")[start:end],)


class IgnoresWhereToBegin(Broken):
    def content(self, file, start=0, end=None):
        return bytes_of(file)


class KeepsACache(Broken):
    def candidates(self, home):
        if home.is_dir():
            (home / ".seen").write_text("now")
        return super().candidates(home)

    def gather(self, paths, root, homes):
        (root / ".seen").write_text("now")
        return super().gather(paths, root, homes)


# -- reading


class LeavesOutWhatItDoesNotKnow(Broken):
    def read(self, records, facts):
        known = (r for r in records if r.torn or {"wren", "who"} & wren.fields_of(r.raw).keys() or b'"torn' in r.raw)
        return super().read(known, facts)


class LeavesOutWhatIsBroken(Broken):
    def read(self, records, facts):
        return super().read((r for r in records if r.torn or wren.fields_of(r.raw)), facts)


class ThrowsAwayTheWholeLine(Broken):
    """A line that is not one record is damaged from its beginning to its end."""

    def read(self, records, facts):
        return super().read((r if r.torn or wren.fields_of(r.raw) else self.blackened(r) for r in records), facts)

    def blackened(self, record):
        return structs.replace(record, raw=b"x" * len(record.raw))


class RaisesOnWhatIsBroken(Broken):
    def read(self, records, facts):
        for record in (kept := list(records)):
            if record.raw.strip() and not record.torn and not wren.fields_of(record.raw):
                raise ValueError(f"no JSON at {record.offset}")
        return super().read(kept, facts)


class TrustsEveryField(Broken):
    def read(self, records, facts):
        for round_ in super().read(records, facts):
            for message in round_.messages:
                assert message.at is None or message.at.startswith("2026"), "no year"
            yield round_


class ReadsHalfALine(Broken):
    def read(self, records, facts):
        return super().read((structs.replace(record, torn=False) for record in records), facts)


class ReadsAllAtOnce(Broken):
    def read(self, records, facts):
        return super().read(list(records), facts)


class NumbersFromOne(Broken):
    def read(self, records, facts):
        return super().read(records, structs.replace(facts, rounds=0))


class RemembersTheFirstRound(Broken):
    """Says with every message what only the beginning tells."""

    def read(self, records, facts):
        folder = None
        for round_ in super().read(records, facts):
            folder = folder or next((m.cwd for m in round_.messages if m.cwd), None)
            yield structs.replace(round_, messages=tuple(structs.replace(m, cwd=folder) for m in round_.messages))


class AsksTheClock(Broken):
    def read(self, records, facts):
        for round_ in super().read(records, facts):
            now = str(time.time_ns())
            yield structs.replace(round_, messages=tuple(structs.replace(m, at=now) for m in round_.messages))


class RefusesHalves(Broken):
    """What a quick decoder refuses is left out."""

    def read(self, records, facts):
        return super().read((record for record in records if b"\\ud83d" not in record.raw), facts)


class KnowsItself(Broken):
    """A cycle for every file."""

    def read(self, records, facts):
        reader = {"lines": list(records)}
        reader["itself"] = reader
        return super().read(reader["lines"], facts)


class SaysNotWhere(Broken):
    def read(self, records, facts):
        return (
            each_block(round_, lambda block: structs.replace(block, ref=Ref()))
            for round_ in super().read(records, facts)
        )


class ThinksNothing(Broken):
    def read(self, records, facts):
        return (
            each_block(round_, lambda block: structs.replace(block, text="") if isinstance(block, Thinking) else block)
            for round_ in super().read(records, facts)
        )


class TidiesUpTexts(Broken):
    def read(self, records, facts):
        return (
            each_block(
                round_, lambda b: structs.replace(b, output=(Text("…"),)) if isinstance(b, Tool) and b.output else b
            )
            for round_ in super().read(records, facts)
        )


class OpensByThePiece(Broken):
    """Takes every piece for whole lines."""

    def open(self, name, pieces):
        return (piece.rstrip(b"\n") + b"\n" for piece in pieces)


class ClaimsNothing(Broken):
    def claims(self, line):
        return iter(())


class ClaimsOnlyWhatWasAnswered(Broken):
    def claims(self, line):
        return iter(()) if b'"human"' in line else super().claims(line)


class FailsOnAClaim(Broken):
    def claims(self, line):
        wren.codec.loads(line)
        return super().claims(line)


# -- writing


class LosesCalls(Broken):
    def write(self, rounds, facts, move, media, losses):
        kept = [each_message(round_, lambda block: not isinstance(block, Tool)) for round_ in rounds]
        return super().write(kept, facts, move, media, losses)


class SaysNothingOfALoss(Broken):
    def write(self, rounds, facts, move, media, losses):
        return super().write(rounds, facts, move, media, [])


class LosesThinkingSilently(Broken):
    def write(self, rounds, facts, move, media, losses):
        kept = [each_message(round_, lambda block: not isinstance(block, Thinking)) for round_ in rounds]
        return super().write(kept, facts, move, media, losses)


class GivesNoReason(Broken):
    def write(self, rounds, facts, move, media, losses):
        yield from super().write(rounds, facts, move, media, losses)
        losses[:] = [structs.replace(loss, why="") for loss in losses]


class KeepsItsOldName(Broken):
    def write(self, rounds, facts, move, media, losses):
        return super().write(rounds, facts, structs.replace(move, session_id=None), media, losses)


class WritesWhereNobodyLooks(Broken):
    def place(self, facts, move):
        return f"written/{self.identity(facts, move)}.jsonl"


class WritesAnotherFileEachTime(Broken):
    def write(self, rounds, facts, move, media, losses):
        return super().write(rounds, structs.replace(facts, started=str(time.time_ns())), move, media, losses)


class MergesWhatWasSaid(Broken):
    """Two messages of one speaker become one."""

    def write(self, rounds, facts, move, media, losses):
        rounds = [structs.replace(round_, messages=tuple(merged(round_.messages))) for round_ in rounds]
        return super().write(rounds, facts, move, media, losses)


def each_block(round_: Any, change: Any) -> Any:
    messages = [structs.replace(m, blocks=tuple(change(block) for block in m.blocks)) for m in round_.messages]
    return structs.replace(round_, messages=tuple(messages))


def each_message(round_: Any, keep: Any) -> Any:
    messages = [structs.replace(m, blocks=tuple(filter(keep, m.blocks))) for m in round_.messages]
    return structs.replace(round_, messages=tuple(messages))


def merged(messages: tuple[Message, ...]) -> list[Message]:
    made: list[Message] = []
    for message in messages:
        if made and made[-1].role == message.role == "assistant":
            made[-1] = structs.replace(made[-1], blocks=made[-1].blocks + message.blocks)
        else:
            made.append(message)
    return made
