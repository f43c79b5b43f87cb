"""Topics, outcomes and decisions as a person reads them."""

from __future__ import annotations

import pytest

from muniment.ingest import offline
from muniment.ingest.offline import prompts
from muniment.ingest.offline.sentences import clipped, plain, sentences
from muniment.ingest.skeleton import Turn
from muniment.model.engagements import Engagement
from tests.ingest.offline.talks import edit, look, run, session, turn

CODE = edit("/proj/app/src/a.py")


def only(*turns: Turn, title: str | None = None) -> Engagement:
    (one,) = offline.extract(session(*turns, title=title)).engagements
    return one


PLAN = "Implement the following plan:\n\n# Plan: Remove unused fields from metadata\n\nDetails"
TRACE = 'Explain this trace please\n```\nTraceback (most recent call last):\n  File "a.py"\n```\nit comes at start'
WRAPPED = "<system-reminder>be nice</system-reminder>Sort the invoices by their date"
ADDRESS = "look at https://forge.example/ada/app/pull/88 and tell what it breaks"


@pytest.mark.parametrize(
    ("asked", "topic"),
    [
        ("Hey Claude, can you please add a dark mode to the settings page?", "Add a dark mode to the settings page?"),
        ("**Fix** the [login form](http://x.example/y) on `small` screens", "Fix the login form on small screens"),
        ("Update /proj/app/docs/very/deep/guide.md for the new release", "Update guide.md for the new release"),
        (ADDRESS, "Look at PR 88 and tell what it breaks"),
        (PLAN, "Remove unused fields from metadata"),
        (TRACE, "Explain this trace please; it comes at start"),
        (WRAPPED, "Sort the invoices by their date"),
    ],
)
def test_topics_are_clean(asked: str, topic: str) -> None:
    assert only(turn(asked, CODE)).topic == topic


def test_an_answer_is_no_topic() -> None:
    assert only(turn("ok"), turn("Draw the chart of monthly sales", CODE)).topic == "Draw the chart of monthly sales"


def test_getting_ready_is_no_topic() -> None:
    one = only(turn("check out main and pull the latest"), turn("Draw the chart of monthly sales", CODE))
    assert one.topic == "Draw the chart of monthly sales"


def test_a_short_request_is_filled_up_from_what_was_done() -> None:
    one = only(turn("<command-name>/init</command-name>", edit("/proj/app/CLAUDE.md")))
    assert one.topic == "/init; CLAUDE.md; in app"


def test_a_long_request_is_cut_at_a_clause_or_shows_it() -> None:
    words = only(turn("Move " + "every single one of these files " * 6 + "away", CODE)).topic
    assert words.endswith("…")
    assert len(words.split()) == 15


def test_topics_are_never_empty() -> None:
    assert only(turn("```\nx = 1\n```", closing="")).topic


def test_the_subject_of_a_pull_request_is_the_outcome() -> None:
    one = only(
        turn(
            "Add a chart",
            CODE,
            run('git commit -m "wip"'),
            run('gh pr create --title "feat: monthly chart" --body "x"'),
        )
    )
    assert one.outcome == "Monthly chart (committed, pull request opened)."


def test_a_commit_message_in_a_here_document_is_read() -> None:
    command = "git commit -m \"$(cat <<'EOF'\nfix: count every row once\n\nBody\nEOF\n)\""
    assert only(turn("Count rows right", CODE, run(command))).outcome == "Count every row once (committed)."


def test_a_commit_that_failed_is_no_outcome() -> None:
    one = only(
        turn("Count rows right", CODE, run("git commit -m 'fix: count'", failed=True), closing="I counted the rows.")
    )
    assert "committed" not in one.outcome


def test_the_closing_message_tells_the_result_and_not_what_was_announced() -> None:
    closing = (
        "Let me check this.\n\nGreat! I replaced the old parser with a faster one.\n\nWould you like me to push it?"
    )
    one = only(turn("Make the parser faster", CODE, run("pytest", "1 failed, 3 passed"), closing=closing))
    assert one.outcome == "I replaced the old parser with a faster one (tests failed)."
    assert one.next_steps == ("Push it",)


def test_a_list_of_what_is_left_is_next() -> None:
    closing = "I built the form.\n\n## Next steps\n\n- Translate the labels\n- Ask the office for the logo\n\nBye."
    assert only(turn("Build the form", CODE, closing=closing)).next_steps == (
        "Translate the labels",
        "Ask the office for the logo",
    )


def test_what_the_person_settled_is_a_decision() -> None:
    one = only(
        turn("Which database fits the archive?", look("/proj/a")),
        turn("ok, let's go with the small one on disk"),
        turn("don't keep a second copy of the words", CODE),
    )
    assert one.key_decisions == ("Go with the small one on disk", "Don't keep a second copy of the words")


def test_nothing_said_gives_nothing() -> None:
    one = only(turn("Which database fits the archive?", look("/proj/a"), closing=""))
    assert (one.key_decisions, one.outcome) == ((), "")


def test_sentences_leave_out_code_and_tables() -> None:
    text = "# Head\nOne. Two!\n\n```\ncode here\n```\n| a | b |\n- three"
    assert sentences(text) == ["One.", "Two!", "three"]


def test_wrapped_lines_are_one_sentence() -> None:
    text = "This sentence is so long that somebody wrapped it at the\nend of the line."
    assert sentences(text) == ["This sentence is so long that somebody wrapped it at the end of the line."]


def test_plain_keeps_what_is_no_markup() -> None:
    assert plain("a_b * c 🎉 `x`") == "a_b * c x"


def test_clipped_prefers_the_end_of_a_clause() -> None:
    assert clipped("one two three four, five six", 5) == "one two three four"
    assert clipped("one two three four five six", 5) == "one two three four five…"


def test_commands_are_told() -> None:
    assert prompts.command("<command-name>/review</command-name>") == "review"
    assert prompts.command("/compact now") == "compact"
    assert prompts.command("/home/ada/notes.txt is wrong") is None
