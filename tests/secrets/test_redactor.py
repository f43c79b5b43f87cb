"""The redactor gives back what it was given, of the same type, without its secrets, and leaves no field out."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from muniment.model import Compaction, Event, Facts, Media, Message, Ref, Round, Text, Thinking, Tool, Unknown
from muniment.model.engagements import Ingested
from muniment.secrets import Redactor
from tests.secrets.vectors import plant

TOKEN = plant("github-token", random.Random(1)).secret
PASSWORD = plant("password", random.Random(1)).secret
REF = Ref(1, 2, id=TOKEN, parent=TOKEN, at=TOKEN)
VALUE: Any = {"password": PASSWORD, "options": [{"api_key": TOKEN, TOKEN: None}]}

BLOCKS = (
    Text(TOKEN, REF),
    Thinking(TOKEN, TOKEN, ref=REF),
    Compaction(TOKEN, VALUE, REF),
    Event(TOKEN, TOKEN, VALUE, REF),
    Unknown(TOKEN, VALUE, TOKEN, REF),
    Media(TOKEN, TOKEN, REF),
    Tool(TOKEN, TOKEN, VALUE, (Text(TOKEN), Unknown(TOKEN, VALUE)), sidechain=TOKEN, ref=REF, result=REF),
)
MESSAGE = Message("user", TOKEN, BLOCKS, TOKEN, TOKEN, TOKEN, raw=VALUE, cwd=TOKEN, branch=TOKEN, client=TOKEN)
ROUND = Round(1, (MESSAGE,), True, TOKEN)


@pytest.mark.parametrize("key", [None, b"k" * 32])
def test_no_field_of_a_round_keeps_a_secret(key: bytes | None) -> None:
    redactor = Redactor(key)
    shown = redactor.round(ROUND)
    assert [type(block) for block in shown.blocks()] == [type(block) for block in BLOCKS]
    told = str(to_builtins(shown))
    assert TOKEN not in told
    assert PASSWORD not in told
    assert redactor.count == 2, "each secret is counted once"
    assert redactor.taken > 30
    assert ROUND.messages[0].blocks == BLOCKS, "what was given is not changed"


def test_a_record_keeps_no_half_of_a_secret() -> None:
    cut = f"{'a word ' * 20}{TOKEN[:20]}…"
    found = Ingested(session_id="x", agent_id=TOKEN, source="y", title=cut, models=(TOKEN,), session_summary=cut[:200])
    told = str(to_builtins(Redactor().record(found)))
    assert TOKEN[:12] not in told
    assert Redactor().record(Facts("x", "y", title="Loading…")).title == "Loading…", "short lines are not cut"
    assert Redactor().line("a title that is long enough and was not cut by us").endswith("cut by us")


def test_numbers_tell_equal_secrets_and_nothing_else() -> None:
    redactor = Redactor()
    assert redactor.text(f"{TOKEN} {TOKEN}") == " ".join(["[redacted:github-token:00000001]"] * 2)
    assert redactor.text(PASSWORD, "password") == "[redacted:password:00000002]"


def test_a_key_gives_equal_tags_to_every_redactor_that_has_it() -> None:
    assert Redactor(b"a").text(TOKEN) == Redactor(b"a").text(TOKEN) != Redactor(b"b").text(TOKEN)


def test_nothing_is_taken_out_if_a_person_asked_for_that() -> None:
    off = Redactor.off()
    assert off.round(ROUND) is ROUND
    assert off.text(TOKEN) == TOKEN
    assert off.value(VALUE) is VALUE
    assert off.count is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=20),
        lambda x: st.lists(x) | st.dictionaries(st.text(max_size=8), x),
        max_leaves=8,
    )
)
def test_what_holds_no_secret_stays_equal(value: Any) -> None:
    redactor = Redactor()
    shown = redactor.struct(Tool("t", "x", value, (Text("y"),)))
    if not redactor.taken:
        assert shown == Tool("t", "x", value, (Text("y"),))
