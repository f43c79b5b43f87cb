"""Forks that are pointers to their parents: they come back with them, and are exported from the beginning."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from muniment import before
from muniment.archive import Archive
from muniment.export import Exported, Request
from muniment.model import Text
from muniment.restore import Target
from muniment.sources.base import Move
from tests.conftest import tree
from tests.sources.codex.rollouts import line

ORIGIN, FORK, SECOND = (f"01a00000-0000-7000-8000-00000000000{n}" for n in (1, 2, 3))


class Thread:
    """A rollout as today's client writes it: every record has an ordinal, and a fork goes on from its parent's."""

    def __init__(self, id_: str, parent: Thread | None = None) -> None:
        self.id = id_
        self.next = parent.next if parent else 0
        self.lines: list[bytes] = []
        head: dict[str, Any] = {"id": id_, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/proj/app"}
        head |= {"originator": "codex_exec", "cli_version": "0.166.0", "history_mode": "paginated"}
        if parent:
            base = {"thread_id": parent.id, "end_ordinal_exclusive": parent.next, "end_byte_offset": len(parent.data)}
            head |= {"forked_from_id": parent.id, "history_base": base}
        self.add("session_meta", head)

    def add(self, type_: str, payload: dict[str, Any]) -> None:
        self.lines.append(line(type_, payload, ordinal=self.next).replace(b": ", b":"))
        self.next += 1

    def turn(self, words: str) -> Thread:
        """A prompt and an answer to it."""
        said = {"type": "UserMessage", "content": [{"type": "text", "text": words}]}
        for role, kind, text in (("user", "input_text", words), ("assistant", "output_text", f"re {words}")):
            self.add("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
            if role == "user":
                self.add("event_msg", {"type": "item_completed", "item": said})
        self.add("event_msg", {"type": "task_complete"})
        return self

    @property
    def data(self) -> bytes:
        return b"\n".join(self.lines) + b"\n"

    def write(self, user: Path) -> Path:
        path = user / ".codex" / "sessions" / "2026" / "01" / "02" / f"rollout-2026-01-02T03-04-05-{self.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path


@pytest.fixture
def user(home: Path) -> Path:
    return home.parent


@pytest.fixture
def threads(archive: Archive, user: Path) -> dict[str, Path]:
    """A session, a fork of it and a fork of that, all of which went on; in the archive and gone from the disk."""
    origin = Thread(ORIGIN).turn("one")
    fork = Thread(FORK, origin).turn("two")
    second = Thread(SECOND, fork).turn("three")
    paths = {thread.id: thread.write(user) for thread in (origin.turn("elsewhere"), fork.turn("away"), second)}
    archive.inscribe()
    for path in paths.values():
        path.unlink()
    return paths


def said(archive: Archive, exported: Exported, tmp_path: Path) -> list[str]:
    """The words of what was written, as they are read again."""
    again = Archive(tmp_path / "again", archive.env)
    again.inscribe([Path(exported.paths[0])])
    (session,) = again.sessions()
    blocks = (block for round_ in again.rounds(session) for block in round_.blocks())
    return [block.text for block in blocks if isinstance(block, Text)]


def told_losses(exported: Exported) -> list[tuple[str, str]]:
    return [(loss.what, loss.why) for loss in exported.losses if loss.where == "before it"]


def test_a_fork_comes_back_with_all_that_it_begins_in(archive: Archive, threads: dict[str, Path]) -> None:
    restored = archive.restore(SECOND)
    assert [Path(file.path) for file in restored] == [threads[ORIGIN], threads[FORK], threads[SECOND]]
    assert [file.what for file in restored] == ["written"] * 3
    assert not any(file.note for file in restored)


def test_alone_it_comes_back_alone(archive: Archive, threads: dict[str, Path]) -> None:
    assert [Path(file.path) for file in archive.restore(SECOND, alone=True)] == [threads[SECOND]]


def test_what_lies_at_the_parents_place_is_left_as_it_is(archive: Archive, threads: dict[str, Path]) -> None:
    threads[ORIGIN].write_text("mine\n")
    what = {Path(file.path): file.what for file in archive.restore(SECOND, Target(force=True))}
    assert what == {threads[ORIGIN]: "other", threads[FORK]: "written", threads[SECOND]: "written"}
    assert threads[ORIGIN].read_text() == "mine\n"


def test_a_conflict_is_found_before_any_parent_is_written(
    archive: Archive, threads: dict[str, Path], user: Path
) -> None:
    threads[SECOND].write_text("mine\n")
    with pytest.raises(Exception, match="exists and differs"):
        archive.restore(SECOND)
    assert tree(user) == {str(threads[SECOND].relative_to(user)): b"mine\n"}


def test_parents_move_along_and_keep_their_ids(archive: Archive, threads: dict[str, Path]) -> None:
    new = "01a00000-0000-7000-8000-0000000000ff"
    archive.restore(FORK, Target(move=Move(session_id=new, cwd="/new/app")))
    assert b'"cwd":"/new/app"' in threads[ORIGIN].read_bytes()
    assert f'"thread_id":"{ORIGIN}"' in threads[FORK].with_name(threads[FORK].name.replace(FORK, new)).read_text()


def test_a_parent_that_is_not_there_is_named(archive: Archive, user: Path) -> None:
    Thread(FORK, Thread(ORIGIN).turn("one")).turn("two").write(user)
    archive.inscribe()
    (file,) = archive.restore(FORK)
    assert f"goes on from session {ORIGIN}, which is not in the archive" in file.note
    exported = archive.export(FORK, Request(source="pi"))
    assert told_losses(exported) == [
        ("the history before the fork", f"it is in session {ORIGIN}, which is not in the archive")
    ]


def test_a_parent_that_was_inscribed_too_early_is_named(archive: Archive, user: Path) -> None:
    origin = Thread(ORIGIN).turn("one")
    path = origin.write(user)
    archive.inscribe()
    fork = Thread(FORK, origin.turn("two")).turn("three").write(user)
    path.unlink()
    archive.inscribe()
    exported = archive.export(FORK, Request(source="pi"))
    assert told_losses(exported) == [
        ("the end of the history before the fork", f"session {ORIGIN} was inscribed before it came so far")
    ]
    fork.unlink()
    assert f"session {ORIGIN}, which was inscribed before it came so far" in archive.restore(FORK)[-1].note


def test_of_a_parent_without_numbers_nothing_is_said(archive: Archive, user: Path) -> None:
    origin = Thread(ORIGIN).turn("one")
    path = origin.write(user)
    path.write_bytes(re.sub(rb'"ordinal":\d+,?', b"", origin.data))
    Thread(FORK, origin).turn("two").write(user)
    archive.inscribe()
    assert b"ordinal" not in path.read_bytes()
    assert told_losses(archive.export(FORK, Request(source="pi"))) == []


@pytest.mark.parametrize("agent", ["codex", "claude-code", "pi", "opencode", "atif"])
def test_an_export_begins_where_the_first_session_began(
    archive: Archive, threads: dict[str, Path], agent: str, tmp_path: Path
) -> None:
    exported = archive.export(SECOND, Request(source=agent, new_id=True, to=tmp_path / "to"))
    assert said(archive, exported, tmp_path) == ["one", "re one", "two", "re two", "three", "re three"]
    assert told_losses(exported) == []


def test_chosen_rounds_are_those_of_the_session_itself(
    archive: Archive, threads: dict[str, Path], tmp_path: Path
) -> None:
    exported = archive.export(SECOND, Request(source="codex", to=tmp_path / "to", first=1))
    assert said(archive, exported, tmp_path) == ["three", "re three"]


def test_a_document_has_only_what_is_its_own(archive: Archive, threads: dict[str, Path], tmp_path: Path) -> None:
    exported = archive.export(SECOND, Request(source="codex", to=tmp_path / "to", document_only=True))
    assert said(archive, exported, tmp_path) == ["three", "re three"]
    assert told_losses(exported) == [("the history before the fork", f"it is in the document of session {FORK}")]


def test_an_exported_fork_tells_its_own_parent(archive: Archive, threads: dict[str, Path], tmp_path: Path) -> None:
    archive.export(SECOND, Request(source="codex", file=tmp_path / "one.jsonl"))
    head = (tmp_path / "one.jsonl").read_text().split("\n")[0]
    assert f'"id":"{SECOND}"' in head
    assert f'"forked_from_id":"{FORK}"' in head
    assert "history_base" not in head


def test_a_session_that_is_said_to_begin_in_itself_ends_the_search(archive: Archive, user: Path) -> None:
    origin = Thread(ORIGIN).turn("one")
    fork = Thread(FORK, origin).turn("two")
    Thread(ORIGIN, fork).turn("three").write(user)
    fork.write(user)
    archive.inscribe()
    found = before.find(archive.layout, archive.session(FORK))
    assert ([one.facts.session_id for one in found.earlier], found.missing) == ([ORIGIN], FORK)


def test_pictures_of_the_parent_go_along(archive: Archive, user: Path, tmp_path: Path) -> None:
    origin = Thread(ORIGIN)
    parts = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
    ]
    origin.add("response_item", {"type": "message", "role": "user", "content": parts})
    origin.turn("one").write(user)
    Thread(FORK, origin).turn("two").write(user)
    archive.inscribe()
    exported = archive.export(FORK, Request(source="claude-code", to=tmp_path / "to"))
    assert '"data":"iVBORw=="' in Path(exported.paths[0]).read_text()


def test_copies_of_the_parent_stay_where_they_are_not(
    archive: Archive, threads: dict[str, Path], user: Path, tmp_path: Path
) -> None:
    archive.restore(ORIGIN)
    copy = tmp_path / "backup" / threads[ORIGIN].name
    copy.parent.mkdir()
    threads[ORIGIN].rename(copy)
    archive.inscribe([copy])
    copy.unlink()
    archive.restore(FORK)
    assert {path for path in threads.values() if path.exists()} == {threads[ORIGIN], threads[FORK]}
    assert not copy.exists()


def test_a_bundled_fork_takes_along_what_it_begins_in(
    archive: Archive, threads: dict[str, Path], tmp_path: Path
) -> None:
    assert archive.bundle([SECOND], tmp_path / "all").sessions == (ORIGIN, FORK, SECOND)
    assert archive.bundle([SECOND], tmp_path / "alone", alone=True).sessions == (SECOND,)
    other = Archive(tmp_path / "elsewhere")
    other.unbundle(tmp_path / "all")
    assert not before.find(other.layout, other.session(SECOND)).missing
    assert words_before(other, SECOND) == words_before(archive, SECOND) != []


def words_before(archive: Archive, id_: str) -> list[str]:
    rounds = before.find(archive.layout, archive.session(id_)).rounds()
    return [block.text for round_ in rounds for block in round_.blocks() if isinstance(block, Text)]
