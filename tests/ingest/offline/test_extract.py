"""The whole extractor: what it finds in plain sessions, and that nothing makes it fail."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.ingest import offline
from muniment.ingest.skeleton import Act, Skeleton, Turn
from muniment.model import Facts
from muniment.model.engagements import METHODS, PHASES
from tests.ingest.offline.talks import SESSION, edit, look, run, session, turn

TEXT = st.text(max_size=80)
ACTS = st.builds(
    Act, TEXT, st.lists(TEXT, max_size=3).map(tuple), TEXT, st.booleans(), output=TEXT, failed=st.booleans()
)
TURNS = st.builds(
    Turn,
    number=st.just(1),
    at=st.none() | TEXT,
    until=st.none() | TEXT,
    user=TEXT,
    assistant=TEXT,
    acts=st.lists(ACTS, max_size=3).map(tuple),
    events=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
    cwd=st.none() | TEXT,
    closing=TEXT,
)


def two_works() -> Skeleton:
    """A parser is built and committed; then a guide is asked for."""
    return session(
        turn(
            "Please write a parser for invoice files in parser.py",
            edit("/proj/app/parser.py"),
            look("/proj/app/in.csv"),
        ),
        turn("it fails on empty lines", edit("/proj/app/parser.py"), run("pytest -q", "4 passed in 0.1s")),
        turn("commit", run("git commit -m 'feat: parse invoice files'")),
        turn(
            "New task: write a deployment guide for the office server in docs/guide.md",
            edit("/proj/app/docs/guide.md"),
            closing="I wrote the guide for the office server. Want me to add screenshots?",
        ),
    )


def test_a_new_task_starts_an_engagement() -> None:
    found = offline.extract(two_works()).engagements
    assert [one.turn_ranges for one in found] == [((1, 3),), ((4, 4),)]
    assert [one.method for one in found] == ["build", "write"]
    assert [one.phase for one in found] == ["completed", "completed"]
    assert [one.project for one in found] == ["app", "app"]


def test_what_was_said_and_done_is_told() -> None:
    first, second = offline.extract(two_works()).engagements
    assert first.topic == "Write a parser for invoice files in parser.py"
    assert first.outcome == "Parse invoice files (committed, tests passed)."
    assert second.outcome == "I wrote the guide for the office server."
    assert second.next_steps == ("Add screenshots",)


def test_the_summary_is_one_line_of_topics() -> None:
    summary = offline.extract(two_works()).session_summary
    assert "parser for invoice files" in summary
    assert "deployment guide" in summary
    assert "\n" not in summary


def test_every_turn_belongs_to_exactly_one_engagement() -> None:
    covered = [
        at
        for one in offline.extract(two_works()).engagements
        for first, last in one.turn_ranges
        for at in range(first, last + 1)
    ]
    assert sorted(covered) == [1, 2, 3, 4]


def test_it_is_named_and_says_nothing_of_who_it_was() -> None:
    made = offline.extract(two_works())
    assert (made.extractor, made.agent_name, made.agent_role) == (offline.NAME, None, None)


def test_the_same_session_gives_the_same_answer() -> None:
    assert offline.extract(two_works()) == offline.extract(two_works())


def test_no_turns_give_no_engagements() -> None:
    made = offline.extract(Skeleton(Facts(SESSION, "codex", title="A title"), "codex", ()))
    assert made.engagements == ()
    assert made.session_summary == "A title"


def test_a_session_without_words_is_one_engagement() -> None:
    (one,) = offline.extract(session(turn("", closing=""), turn("", closing=""))).engagements
    assert one.turn_ranges == ((1, 2),)
    assert one.topic
    assert one.outcome == ""


@given(st.lists(TURNS, max_size=6))
@settings(max_examples=150)
def test_no_text_makes_it_fail(turns: list[Turn]) -> None:
    made = offline.extract(session(*turns))
    numbers = [at for one in made.engagements for first, last in one.turn_ranges for at in range(first, last + 1)]
    assert sorted(numbers) == list(range(1, len(turns) + 1))
    assert all(one.method in METHODS and one.phase in PHASES and one.topic for one in made.engagements)
    assert all(
        "\n" not in text
        for one in made.engagements
        for text in (one.topic, one.project or "", one.outcome, *one.key_decisions, *one.next_steps)
    )


HOSTILE = {
    "tags": "<command-name>" * 40_000,
    "open elements": "<system-reminder>" * 40_000,
    "brackets": "[" * 500_000,
    "links": "[a](" * 100_000,
    "paths": "/a" * 250_000,
    "mentions": "@a/" * 200_000,
    "spaces": " \t" * 250_000,
    "one word": "a" * 500_000,
    "questions": "why? " * 100_000,
    "assents": "ok " * 150_000,
    "quotes": "-m '" * 100_000,
    "lone surrogates": "\ud800" * 100_000,
    "controls": "\x1b[31m\x00" * 60_000,
    "bullets": "- x\n" * 100_000,
    "stars": "*" * 500_000,
    "dots": "a.b" * 100_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_costs_no_more_than_other_text(text: str) -> None:
    act = Act("Bash", (text,), text, output=text)
    one = turn(text, act, closing=text, events=(("error", text),))
    began = time.process_time()
    offline.extract(session(*[one] * 5))
    assert time.process_time() - began < 2


def test_twenty_thousand_turns_take_seconds() -> None:
    turns = [turn(f"add field {at} to the report", edit(f"/proj/app/f{at % 50}.py")) for at in range(20_000)]
    began = time.process_time()
    made = offline.extract(session(*turns))
    assert time.process_time() - began < 30
    assert made.engagements[-1].turn_ranges[-1][1] == 20_000


def test_no_escape_sequence_is_passed_on() -> None:
    (one,) = offline.extract(
        session(turn("paint \x1b[31mthe whole house\x1b[0m in red", closing="\x1b[1mPainted it."))
    ).engagements
    assert "\x1b" not in one.topic + one.outcome
