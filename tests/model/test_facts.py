"""Facts of a session are folded over its rounds, and nothing else changes them."""

from typing import Any

import pytest

from muniment.model import Event, Facts, Message, Ref, Round, Text, Tool, Unknown, Usage
from muniment.model.facts import Link

START = Facts("s", "any")


def fold(*rounds: Round) -> Facts:
    facts = START
    for round_ in rounds:
        facts = facts.after(round_)
    return facts


def of(*blocks: Any, number: int = 1, **fields: Any) -> Round:
    """A round of one message of the agent."""
    return Round(number, (Message("assistant", id="m", blocks=blocks, **fields),))


def asked(text: str, number: int = 1, **fields: Any) -> Round:
    return Round(number, (Message("user", blocks=(Text(text),), **fields),), prompted=True)


def title(text: str, by: str) -> Round:
    return of(Event("title", detail={"title": text, "by": by}))


def test_counts_are_sums_over_rounds() -> None:
    answer = Message("assistant", id="m", blocks=(Tool("t", "Bash"), Tool("late")), usage=Usage(1, 2, 3, 4))
    quiet = Message("assistant", blocks=(Event("mode"),))
    damaged = Message("assistant", id="n", blocks=(Unknown("damaged", damage="NUL"), Unknown("novel")))
    first = Round(1, (*asked("go").messages, answer, quiet), prompted=True)
    facts = fold(first, Round(2, (damaged,)))
    assert (facts.rounds, facts.prompts, facts.messages) == (2, 1, 3)
    assert (facts.tool_calls, facts.tokens, facts.problems) == (1, 10, 1)


def test_times_are_the_extremes_of_what_was_written() -> None:
    facts = fold(asked("a", at="2026-01-02"), of(), asked("b", 2, at="2026-01-01"), asked("c", 3, at="2026-01-03"))
    assert (facts.started, facts.ended) == ("2026-01-01", "2026-01-03")


def test_a_title_gives_way_only_to_one_of_its_rank_or_above() -> None:
    assert fold(title("old", "ai"), title("new", "ai")).title == "new"
    assert fold(title("mine", "user"), title("generated", "ai")).title == "mine"
    assert fold(title("generated", "ai"), title("mine", "user"), title("again", "ai")).title == "mine"
    assert fold(title("mine", "user"), title("", "user")).title == "mine"


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("<system-reminder>\nIt is Tuesday.\n</system-reminder>\n\nFix the lamp", "Fix the lamp"),
        ("<system_instruction>\nx\n</system_instruction>\n<attached_files n='1'>y</attached_files> Fix it", "Fix it"),
        ("<system-reminder>It is Tuesday.</system-reminder>", "<system-reminder>It is Tuesday.</system-reminder>"),
        ("<system-reminder>It is Tuesday. Fix it", "<system-reminder>It is Tuesday. Fix it"),
        ("<b>Fix</b> the lamp", "<b>Fix</b> the lamp"),
        ("Fix <my-lamp>on</my-lamp> now", "Fix <my-lamp>on</my-lamp> now"),
    ],
)
def test_what_a_program_puts_before_a_prompt_does_not_name_the_session(words: str, title: str) -> None:
    assert fold(asked(words)).display_title == title


def test_the_first_prompt_names_a_session_without_title() -> None:
    assert fold(of(Text("Hello")), asked(" fix\n it "), asked("on", 2)).display_title == "fix it"
    assert len(fold(asked("x" * 1000)).display_title) == 200
    assert fold(of(Text("Hello"))).display_title == "(no prompt)"


def test_a_later_prompt_gives_no_title() -> None:
    """A command is shown as it was typed where it is the first prompt, and nowhere else."""
    assert fold(asked("fix it"), title("/deploy now", "prompt")).display_title == "fix it"
    assert fold(title("/review 12", "prompt"), title("/deploy now", "prompt")).display_title == "/review 12"
    assert fold(asked("fix it"), title("Fixing it", "ai")).display_title == "Fixing it"


def test_the_model_is_that_of_the_latest_answer_that_a_model_gave() -> None:
    assert fold(of(model="a"), of(model="b"), of(model="<synthetic>")).model == "b"


def test_the_first_folder_stays_known_beside_the_latest() -> None:
    facts = fold(asked("a", cwd="/w", branch="main"), of(cwd="/w/sub"), of())
    assert (facts.first_cwd, facts.cwd, facts.branch) == ("/w", "/w/sub", "main")


def test_a_link_is_known_once() -> None:
    link = Event("link", detail={"kind": "fork", "session": "o", "record": "r"})
    assert fold(of(link), of(link, link)).links == (Link("fork", "o", "r"),)


def test_the_origin_is_the_first_record_of_the_file() -> None:
    """Blocks stand in the order of the conversation, records in that of the file."""
    late, early = Text("b", Ref(offset=50, length=1, id="5a002222")), Text("a", Ref(offset=9, length=1, id="5a001111"))
    assert fold(of(late, early), of(Text("c", Ref(length=1, id="5a003333")))).origin == "5a001111"


def test_a_number_is_no_origin() -> None:
    assert fold(of(Text("a", Ref(length=1, id="1")))).origin is None


def test_a_prompt_is_never_what_was_queued_or_said_by_a_subagent() -> None:
    queued = Message("user", blocks=(Text("and"),), queued=True)
    side = Message("user", blocks=(Text("sub"),), sidechain="s")
    assert fold(Round(1, (side, queued, *asked("go").messages), prompted=True)).first_prompt == "go"
    assert Round(1, asked("go").messages).prompt is None
