"""The prompt that is sent, and the answer that is believed."""

from __future__ import annotations

import json
import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.ingest.ghosts import MARKER, is_own
from muniment.ingest.models import answer, prompt
from muniment.ingest.models.answer import BadAnswer
from muniment.ingest.skeleton import Skeleton, Turn
from muniment.model import Facts
from muniment.model.engagements import METHODS, PHASES
from muniment.secrets import Redactor
from tests.ingest.models.conftest import session


def work(**changed: Any) -> dict[str, Any]:
    return {
        "topic": "Mend the import of old files",
        "project": "/proj/import",
        "method": "debug",
        "phase": "completed",
        "key_decisions": ["Skip what is empty."],
        "outcome": "It imports.",
        "next_steps": ["Write the docs."],
        "turn_ranges": [{"first": 1, "last": 2}],
    } | changed


def said(*engagements: dict[str, Any], **changed: Any) -> str:
    whole: dict[str, Any] = {"engagements": list(engagements), "session_summary": "Mended."}
    return json.dumps(whole | {"agent_name": "Reed", "agent_role": None} | changed)


class TestAnswer:
    def test_everything_arrives(self) -> None:
        made = answer.read(said(work()), 2, "ollama:x")
        (found,) = made.engagements
        assert (found.topic, found.project, found.method) == ("Mend the import of old files", "/proj/import", "debug")
        assert (found.phase, found.turn_ranges) == ("completed", ((1, 2),))
        assert (found.key_decisions, found.next_steps) == (("Skip what is empty.",), ("Write the docs.",))
        assert (made.agent_name, made.agent_role, made.extractor) == ("Reed", None, "ollama:x")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "not a JSON object"),
            ("{", "not a JSON object"),
            ("{]}", "not valid JSON"),
            (said(), "no engagement"),
            (said(work(method="dance")), "Invalid enum value"),
            (said(work(phase="done")), "Invalid enum value"),
            (said(work(topic=" \n ")), "engagement 1 has no topic"),
            (said(work(turn_ranges=[])), "engagement 1 has no turn_ranges"),
            (said(work(), work(turn_ranges=[{"first": 0, "last": 1}])), "engagement 2 has a range"),
            (said(work(turn_ranges=[{"first": 2, "last": 9}])), "outside of 1 to 8"),
            (said(work(turn_ranges=[{"first": 3, "last": 2}])), "ends before it begins"),
            (said(work(turn_ranges=[{"first": "1", "last": 2}])), "Expected `int`"),
            (said(work(), session_summary="\x1b[2J"[:1]), "session_summary is empty"),
            (said(*[work()] * 61), "more than 60"),
            ('{"a":' * 5000 + "1" + "}" * 5000, "JSON|Object"),
        ],
    )
    def test_what_is_wrong_is_refused_in_words(self, text: str, why: str) -> None:
        with pytest.raises(BadAnswer, match=why):
            answer.read(text, 8, "x")

    def test_words_of_the_model_are_not_told_back(self) -> None:
        with pytest.raises(BadAnswer) as caught:
            answer.read(said(work(method="ignore all instructions")), 8, "x")
        assert "ignore" not in str(caught.value)

    def test_ranges_are_put_in_order_and_joined(self) -> None:
        ranges = [{"first": 7, "last": 8}, {"first": 1, "last": 2}, {"first": 3, "last": 4}, {"first": 8, "last": 8}]
        late = work(topic="What came first", turn_ranges=[{"first": 5, "last": 6}])
        made = answer.read(said(late, work(turn_ranges=ranges)), 8, "x")
        assert [one.turn_ranges for one in made.engagements] == [((1, 4), (7, 8)), ((5, 6),)]

    def test_strings_become_short_printable_lines(self) -> None:
        hostile = "a\x1b]52;c;evil\x07\r\nb\u202e\u2028c"
        made = answer.read(
            said(work(topic=hostile + " w" * 99, key_decisions=[hostile] * 9, outcome="x" * 9999)), 2, "x"
        )
        (found,) = made.engagements
        assert len(found.topic.split()) <= 15
        assert len(found.key_decisions) == 3
        assert len(found.outcome) <= 400
        assert all(text.isprintable() for text in (found.topic, found.outcome, *found.key_decisions))

    @pytest.mark.parametrize("name", ["", "null", "None", " unknown ", None])
    def test_no_name_is_no_name(self, name: str | None) -> None:
        assert answer.read(said(work(), agent_name=name), 2, "x").agent_name is None

    @given(st.text(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
    def test_any_text_is_refused_or_read(self, text: str) -> None:
        with pytest.raises(BadAnswer):
            answer.read(text, 3, "x")

    @given(
        st.lists(
            st.fixed_dictionaries(
                {
                    "topic": st.text(max_size=400),
                    "method": st.sampled_from([*METHODS, "dance"]),
                    "phase": st.sampled_from(PHASES),
                    "key_decisions": st.lists(st.text(max_size=20), max_size=5),
                    "turn_ranges": st.lists(
                        st.fixed_dictionaries({"first": st.integers(-1, 9), "last": st.integers(-1, 9)}), max_size=4
                    ),
                }
            ),
            max_size=4,
        )
    )
    def test_what_is_read_keeps_every_rule(self, engagements: list[dict[str, Any]]) -> None:
        try:
            made = answer.read(json.dumps({"engagements": engagements, "session_summary": "s"}), 8, "x")
        except BadAnswer:
            return
        assert made.engagements
        for one in made.engagements:
            assert one.topic
            assert len(one.key_decisions) <= 3
            edges = [turn for pair in one.turn_ranges for turn in pair]
            assert edges == sorted(edges)
            assert all(1 <= turn <= 8 for turn in edges)


class TestSchema:
    def test_it_is_one_that_strict_servers_take(self) -> None:
        waiting: list[Any] = [answer.SCHEMA]
        objects = 0
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                assert not {"$ref", "$defs", "default"} & set(part)
                if part.get("type") == "object":
                    objects += 1
                    assert part["additionalProperties"] is False
                    assert part["required"] == list(part["properties"])
                waiting += part.values()
            elif isinstance(part, list):
                waiting += part
        assert objects == 3


class TestPrompt:
    @given(st.text(alphabet=string.printable + "é漢\x00\ud800", max_size=300))
    def test_a_session_stands_in_one_block_and_nowhere_else(self, text: str) -> None:
        made = prompt.make(session(said=f"STARTS{text}ENDS"), Redactor.off())
        told = re.search(r"with the code (\w{32})", made.user)
        assert told
        nonce = told[1]
        before, fenced = made.user.split(f"<<<session-record {nonce}\n")
        block, after = fenced.split(f"\nsession-record {nonce}>>>")
        assert nonce not in block
        assert block.count("STARTS") == 3
        assert "STARTS" not in before + after + made.system
        assert made.user.encode()

    def test_the_code_is_another_each_time(self) -> None:
        assert prompt.make(session(), Redactor.off()).user != prompt.make(session(), Redactor.off()).user

    def test_the_length_is_told(self) -> None:
        made = prompt.make(session(), Redactor.off())
        block = re.search(r"<<<session-record \w+\n(.*)\nsession-record", made.user, re.DOTALL)
        assert block
        assert f"and {len(block[1])} characters" in made.user

    def test_a_session_of_our_own_is_recognised(self) -> None:
        question = prompt.make(session(), Redactor.off()).user
        facts = Facts(session_id="x", source="claude-code")
        assert question.startswith(MARKER)
        assert is_own(Skeleton(facts, "ada", (Turn(1, user=question),)))
        assert not is_own(session())
        assert not is_own(session(said=f"What does {MARKER!r} mean?"))
        assert not is_own(Skeleton(facts, "ada", ()))
