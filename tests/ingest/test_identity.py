"""Who was this? Four sources, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.ingest.identity import Identity, resolve
from muniment.ingest.skeleton import Skeleton, Turn, make
from muniment.model import Facts, Message, Round, Text, Tool
from muniment.store.roster import Entry, Roster
from tests.builder import ClaudeSession

ID = "4f2a9c1e-0000-4000-8000-000000000000"
NOBODY = Roster()
COMMAND = (
    "<command-name>/rename</command-name>\n<command-message>rename</command-message>\n<command-args>{}</command-args>"
)


def session(*turns: Turn, title: str | None = None, by: str = "user", signed: tuple[str, ...] = ()) -> Skeleton:
    return Skeleton(Facts(ID, "claude-code", title=title, title_by=by if title else ""), "claude", turns, (), 0, signed)


def test_a_rename_wins_and_the_last_one_counts() -> None:
    turns = (Turn(1, user="/rename Ash"), Turn(2, events=(("command", COMMAND.format("Reed")),)))
    who = resolve(session(*turns, title="Fern", signed=("Moss",)), Roster((Entry(ID[:8], "Oak"),)))
    assert (who.name, who.by) == ("Reed", "rename")


def test_a_title_that_is_a_name_comes_second() -> None:
    assert resolve(session(title="Fern", signed=("Moss",)), NOBODY) == Identity("Fern", "title")


@pytest.mark.parametrize("title", ["Fix the login bug", "auth", "fix-auth", "v2", "Issue #12"])
def test_a_title_that_is_no_name_is_a_title(title: str) -> None:
    assert resolve(session(title=title), NOBODY).name is None


def test_a_title_that_the_roster_knows_is_a_name() -> None:
    who = resolve(session(title="old moss"), Roster((Entry("00000000", "Old Moss", "historian"),)))
    assert who == Identity("old moss", "title", "historian")


def test_a_title_by_the_agent_is_no_name() -> None:
    assert resolve(session(title="Fern", by="ai"), NOBODY).name is None


@pytest.mark.parametrize("name", ["Reed", "Reed2", "Mary-Ann", "reed"])
def test_a_rename_to_one_word_is_a_name_as_in_titles(name: str) -> None:
    assert resolve(session(Turn(1, user=f"/rename {name}")), NOBODY) == Identity(name, "rename")


@pytest.mark.parametrize("subject", ["fix the login", "fix-login", "v2"])
def test_a_rename_to_a_subject_is_no_name(subject: str) -> None:
    assert resolve(session(Turn(1, user=f"/rename {subject}")), NOBODY).name is None


def test_a_rename_is_no_prompt_and_no_title_and_no_topic(archive: Archive, home: Path) -> None:
    named = ClaudeSession()
    named.user("/rename Reed")
    for number in range(3):
        named.exchange(f"mend the login page, part {number}", "It works now.")
    named.write(home)
    archive.inscribe()
    archive.ingest()
    row = archive.session("last")
    assert (row.title, row.prompts, row.rounds) == ("mend the login page, part 0", 3, 4)
    (record,) = archive.engagements()
    assert record.agent_name == "Reed"
    assert "rename" not in record.session_summary
    assert all("rename" not in engagement.topic for engagement in record.engagements)


def test_a_signature_comes_third_and_the_most_frequent_counts() -> None:
    assert resolve(session(signed=("Ash", "Moss", "Moss")), NOBODY) == Identity("Moss", "signature")


def test_the_roster_comes_last_and_gives_the_role() -> None:
    known = Roster((Entry(ID[:8], "Oak", "historian"),))
    assert resolve(session(), known) == Identity("Oak", "roster", "historian")
    assert resolve(session(title="Fern"), known) == Identity("Fern", "title", "historian")


def test_nothing_is_made_up() -> None:
    assert resolve(session(Turn(1, user="hello")), NOBODY) == Identity()


def test_signatures_come_from_what_the_agent_said_and_wrote_and_not_from_what_it_read() -> None:
    wrote = Tool("t", "Write", {"file_path": "board.md", "content": "done. [claude:opus::Reed]"})
    read = Tool("u", "Read", {"file_path": "board.md"}, output=(Text("[claude:opus::Ash]"),))
    told = Message("assistant", blocks=(Text("signed [claude:opus-4.6::Moss]"), wrote, read))
    asked = Message("user", blocks=(Text("who is [claude:opus::Fern]?"),))
    made = make([Round(1, (asked, told), True)], Facts(ID, "claude-code"), "claude", 0)
    assert made.signatures == ("Moss", "Reed")
