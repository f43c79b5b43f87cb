"""Commands that people paste into a shell: an id out of a file is one word in them, or there is no command."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builder import ClaudeSession

from muniment import sources
from muniment.archive import Archive
from muniment.model import Facts
from muniment.restore import Target
from muniment.sources.base import Move, Source

RESUMED = [source for source in sources.all_sources() if source.resume_command]
HOSTILE = [
    "$(touch ran)", "`touch ran`", "x; touch ran", "x && touch ran", "x\ntouch ran", "x | touch ran", "x > ran",
    "& touch ran", "'; touch ran; '", '"; touch ran; "', "--dangerously-skip-permissions", "-c=x", "{id}",
    "{0.__class__}", "x y", "~root", "", "a" * 129, "\u202ex", "x\x1b[2J", "../x", "x/y", "*",
]  # fmt: skip
HONEST = ["0198f0c2-7a10-7b21-9c32-4d5566778899", "ses_0f2a5d3c1ffeLampKeeper0001ab", "5a10c0de", "t-0042", "a:b.c"]


def words_run(command: str, folder: Path) -> list[str]:
    """What the agent is given when a shell runs the command."""
    program = shlex.split(command)[0]
    (folder / program).write_text('#!/bin/sh\nprintf "%s\\n" "$@" > given\n')
    (folder / program).chmod(0o755)
    env = {"PATH": f"{folder}:/usr/bin:/bin"}
    subprocess.run(["sh", "-c", command], cwd=folder, env=env, check=False, capture_output=True)
    return (folder / "given").read_text().splitlines() if (folder / "given").exists() else []


def commands(source: Source, id_: str) -> list[str]:
    facts = Facts("0198f0c2-7a10-7b21-9c32-4d5566778899", source.name, native_id=id_)
    written = [source.going_on(id_, "/p/x y.jsonl"), source.resuming(id_, "/p/$(touch ran).jsonl")]
    return [command for command in (source.resumed(facts), *written) if command]


@pytest.mark.parametrize("source", RESUMED, ids=lambda source: source.name)
@pytest.mark.parametrize("id_", HOSTILE)
def test_nothing_runs_but_the_agent(source: Source, id_: str, tmp_path: Path) -> None:
    for command in commands(source, id_):
        words_run(command, tmp_path)
        assert not (tmp_path / "ran").exists(), command
    assert not source.command_for(id_)


@pytest.mark.parametrize("source", RESUMED, ids=lambda source: source.name)
@pytest.mark.parametrize("id_", HONEST)
def test_an_id_of_an_agent_is_given_to_it(source: Source, id_: str, tmp_path: Path) -> None:
    facts = Facts("0198f0c2-7a10-7b21-9c32-4d5566778899", source.name, native_id=id_)
    assert id_ in "\n".join(words_run(source.resumed(facts), tmp_path))


@given(st.text(max_size=200))
def test_an_id_is_one_word_or_none(id_: str) -> None:
    for source in RESUMED:
        if command := source.command_for(id_):
            assert len(shlex.split(command)) == len(source.resume_command.split())
            assert not id_.startswith("-")


def test_a_hostile_session_is_kept_and_told_without_a_command(archive: Archive, home: Path, tmp_path: Path) -> None:
    session = ClaudeSession("$(touch ran)")
    session.exchange("hello", "hi")
    path = home / "projects" / "-w" / "agent-x1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(session.data)
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(session.data)
    archive.inscribe([plain])
    archive.inscribe()
    (found,) = archive.sessions()
    assert archive.facts(found)[0].native_id == "$(touch ran)"
    told = sources.named(found.source).resumed(archive.facts(found)[0])
    for target in (Target(to=tmp_path / "to"), Target(force=True), Target(to=tmp_path / "other", move=Move(cwd="/n"))):
        told += "".join(file.resume + file.then for file in archive.restore(found.session_id, target))
    assert "touch" not in told
