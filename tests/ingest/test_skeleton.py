"""The skeleton: what was said, turn by turn, and what was done."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from muniment.archive import Archive
from muniment.ingest import offline, pipeline, skeleton
from muniment.ingest.planning import Choice
from muniment.ingest.skeleton import HEAD_CHARS, MAX_CHARS, TAIL_CHARS, Skeleton, Turn
from muniment.model import Facts, Message, Round, Text, Tool
from tests.builder import ClaudeSession, conversation, text, tool


def read(archive: Archive, session: ClaudeSession, home: Path) -> Skeleton:
    session.write(home)
    archive.inscribe()
    row = archive.session(session.id)
    facts, _ = archive.facts(row)
    return skeleton.make(archive.rounds(row), facts, row.agent_id, row.sidechains)


def test_it_has_roles_and_turn_numbers_and_neither_tools_nor_thinking(archive: Archive, home: Path) -> None:
    said = skeleton.text(read(archive, conversation(2), home))
    assert "[1] USER 2026-03-19T10:00:01.000Z\nprompt 0" in said
    assert "[2] ASSISTANT\nOn it.\n\nreply 1" in said
    assert "echo" not in said
    assert "Well." not in said


def test_it_begins_with_what_is_known_of_the_session(archive: Archive, home: Path) -> None:
    session = ClaudeSession(slug="calm-blue-heron")
    session.exchange("look", "done")
    said = skeleton.text(read(archive, session, home)).split("\n\n")[0]
    for line in (f"session: {session.id}", "slug: calm-blue-heron", "git branch: main", "models: claude-x", "turns: 1"):
        assert line in said


def test_turns_are_rounds_and_keep_what_was_done(archive: Archive, home: Path) -> None:
    session = ClaudeSession()
    session.user("fix it")
    session.answer(tool("t1", "Edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}))
    session.result("t1", "changed", is_error=False)
    session.answer(tool("t2", "Bash", {"command": "pytest -q"}))
    session.result("t2", "1 failed", is_error=True)
    (turn,) = read(archive, session, home).turns
    edit, run = turn.acts
    assert (edit.paths, edit.writes, edit.failed) == (("/w/a.py",), True, False)
    assert (run.command, run.output, run.failed, run.writes) == ("pytest -q", "1 failed", True, False)


def test_a_patch_names_the_files_that_it_changes() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n*** Add File: b.py\n+x\n*** End Patch"
    call = Tool("c1", "apply_patch", patch)
    made = skeleton.make([Round(1, (Message("assistant", blocks=(call,)),))], Facts("s", "x"), "codex", 0)
    assert made.turns[0].acts[0].paths == ("src/a.py", "b.py")
    assert made.turns[0].acts[0].writes


def test_what_was_typed_while_the_agent_worked_is_part_of_the_turn(archive: Archive, home: Path) -> None:
    session = ClaudeSession()
    session.user("go")
    session.chain(
        "attachment", attachment={"type": "queued_command", "prompt": "and the docs", "commandMode": "prompt"}
    )
    session.answer(text("done"))
    (turn,) = read(archive, session, home).turns
    assert turn.user == "go\n\nand the docs"


def _of(*turns: Turn) -> Skeleton:
    return Skeleton(Facts("s", "x"), "claude", turns)


def test_a_long_one_is_cut_in_the_middle() -> None:
    said = skeleton.text(_of(Turn(1, user="a" * 90_000), Turn(2, user="b" * 90_000)))
    assert len(said) < HEAD_CHARS + TAIL_CHARS + 100
    assert said.endswith("b" * TAIL_CHARS)
    assert "characters left out" in said[HEAD_CHARS : HEAD_CHARS + 60]


def test_one_that_just_fits_is_whole() -> None:
    frame = len(skeleton.text(_of(Turn(1, user="x")))) - 1
    said = skeleton.text(_of(Turn(1, user="a" * (MAX_CHARS - frame))))
    assert len(said) == MAX_CHARS
    assert "left out" not in said


def test_the_hash_follows_the_text(archive: Archive, home: Path) -> None:
    one, two = _of(Turn(1, user="a")), _of(Turn(1, user="b"))
    assert skeleton.fingerprint(one) == skeleton.fingerprint(_of(Turn(1, user="a")))
    assert skeleton.fingerprint(one) != skeleton.fingerprint(two)


def test_the_pipeline_reads_the_same(archive: Archive, home: Path) -> None:
    made = read(archive, conversation(3), home)
    (job,) = archive.ingest_plan(Choice()).jobs
    assert pipeline.read(archive.layout, job) == made


def _long(rounds: int) -> Iterator[Round]:
    """Rounds of a hundred thousand characters each, made one by one."""
    for number in range(1, rounds + 1):
        words = f"{number:06d} words " * 2_000
        call = Tool(f"c{number}", "Bash", {"command": "cat x"}, output=(Text(words),))
        said = (Message("user", blocks=(Text(words),)), Message("assistant", blocks=(call, Text(words + words))))
        yield Round(number, said)


def _peak(rounds: int) -> int:
    tracemalloc.start()
    try:
        made = skeleton.make(_long(rounds), Facts("s", "x"), "claude", 0)
        skeleton.text(made)
        offline.extract(made)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_length_of_a_session() -> None:
    _peak(2)
    grown = _peak(200) - _peak(100)
    assert grown < 100 * 20_000  # of the hundred thousand characters that each round has


def test_a_turn_that_the_text_leaves_out_still_counts_whole() -> None:
    turns = [skeleton.make([one], Facts("s", "x"), "claude", 0).turns[0] for one in _long(9)]
    whole, brief = skeleton.text(_of(*turns)), skeleton.make(_long(9), Facts("s", "x"), "claude", 0)
    assert skeleton.text(brief) == whole
    assert brief.turns[4].left_out
    assert not brief.turns[-1].left_out


def test_what_the_offline_rules_hear_of_a_turn_is_the_same_when_it_is_kept_briefly() -> None:
    turns = [skeleton.make([one], Facts("s", "x"), "claude", 0).turns[0] for one in _long(9)]
    assert offline.extract(_of(*turns)) == offline.extract(skeleton.make(_long(9), Facts("s", "x"), "claude", 0))
