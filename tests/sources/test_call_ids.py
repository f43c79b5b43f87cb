"""Calls on their way to another agent: ids are unique, allowed, and the same every time; results have calls."""

import re
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment import sources
from muniment.model import Facts, Message, Round, Text, Tool
from muniment.sources.base import Move
from muniment.sources.call_ids import LONGEST, CallIds
from muniment.sources.lines import records

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")
AGENTS = ("claude-code", "codex", "pi", "opencode")


def numbered_anew(turns: int) -> list[Round]:
    """A session of a model that begins to count its calls again with every turn."""
    made: list[Round] = []
    for turn in range(1, turns + 1):
        calls = [
            Tool(f"functions.bash:{n}", "bash", {"command": f"echo {turn} {n}"}, (Text(f"{turn} {n}"),)) for n in (0, 1)
        ]
        messages = (Message("user", blocks=(Text(f"turn {turn}"),)), Message("assistant", blocks=tuple(calls)))
        made.append(Round(turn, messages, prompted=True))
    return made


@pytest.mark.parametrize("agent", AGENTS)
def test_every_call_has_an_id_of_its_own_and_keeps_its_result(agent: str) -> None:
    target = sources.named(agent)
    facts = Facts("5d3f1f8e-64a8-5a52-9b4e-6d756e696d65", "messages", first_cwd="/proj/app", rounds=3)
    named = sources.renaming(facts, target).rounds(numbered_anew(3))
    data = b"".join(target.write(named, facts, Move(), lambda _: b"", []))
    again = target.read(records(target.open("x.json", [data])), Facts(facts.session_id, agent))
    calls = [block for round_ in again for block in round_.blocks() if isinstance(block, Tool)]
    assert [(*call.input.values(), call.output and call.output[0].text) for call in calls] == [
        (f"echo {turn} {n}", f"{turn} {n}") for turn in (1, 2, 3) for n in (0, 1)
    ]
    assert len({call.id for call in calls}) == len(calls)
    assert all(ALLOWED.fullmatch(call.id) for call in calls)


@given(st.lists(st.text("ab.:_2", max_size=4) | st.just("x" * 70) | st.just("x" * 71), max_size=30))
def test_ids_are_unique_allowed_and_always_the_same(given_ids: list[str]) -> None:
    def made() -> list[str]:
        ids = CallIds()
        return [ids.of(Tool(id_, "f")).id for id_ in given_ids]

    found = made()
    assert len(set(found)) == len(found)
    assert all(ALLOWED.fullmatch(id_) for id_ in found)
    assert found == made()


def test_good_ids_stay_as_they_are() -> None:
    ids = CallIds()
    for id_ in ("toolu_01", "call-2", "x" * LONGEST):
        assert ids.of(Tool(id_, "f")).id == id_


def test_a_result_in_a_later_round_is_that_of_the_latest_call() -> None:
    ids = CallIds()
    first, second = (ids.of(Tool("f:0", "f")).id for _ in range(2))
    assert ids.of(Tool("f:0", output=(Text("late"),))).id == second != first
    assert ids.of(Tool("never called", output=())).id == "never called"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_result_without_its_call_gets_one(role: Literal["user", "assistant"], agent: str) -> None:
    """A service refuses an answer to what was not asked, and a second call with an id."""
    seen = Tool("t 1", output=(Text("a terminal"),))
    called = Tool("t 1", "Look", {"at": "it"}, (Text("a.txt"),))
    rounds = told(Message(role, None, (Text("Typing."), seen, seen)), Message("assistant", None, (called,)))
    made = [tool for message in taken(rounds, agent) for tool in message.blocks if isinstance(tool, Tool)]
    assert [(tool.id, tool.name) for tool in made] == [("t_1", "unknown"), ("t_1_2", "unknown"), ("t_1_3", "Look")]
    assert [tool.output for tool in made] == [seen.output, seen.output, called.output]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_call_whose_result_comes_a_round_later_is_told_again_with_it(agent: str) -> None:
    asked = Message("assistant", None, (Tool("t1", "Look", {"at": "it"}),))
    answered = Message("user", None, (Text("and now?"), Tool("t1", output=(Text("seen"),))))
    made = [message for message in taken(told(asked) + told(answered), agent) if message.role == "assistant"]
    tools = [tool for message in made for tool in message.blocks if isinstance(tool, Tool)]
    assert [(tool.id, tool.name, tool.input) for tool in tools] == [
        ("t1", "Look", {"at": "it"}),
        ("t1_2", "Look", {"at": "it"}),
    ]
    assert [tool.output for tool in tools] == [None, (Text("seen"),)]


def told(*messages: Message) -> list[Round]:
    return [Round(1, (Message("user", None, (Text("go"),)), *messages))]


def taken(rounds: list[Round], agent: str) -> list[Message]:
    """The messages of another agent's session as this one takes them."""
    renaming = sources.renaming(Facts("s", "other"), sources.named(agent))
    return [message for round_ in renaming.rounds(rounds) for message in round_.messages]


def test_an_agents_own_session_keeps_its_ids() -> None:
    facts = Facts("s", "opencode")
    kept = sources.renaming(facts, sources.named("opencode")).rounds(numbered_anew(2))
    assert list(kept) == numbered_anew(2)
