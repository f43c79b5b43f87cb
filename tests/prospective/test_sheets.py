"""One engagement.md: steps and their order, hand edits that stay, and files that mean harm."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import Conflict, MunimentError, NotFound, StoreError
from muniment.model.engagements import PHASES
from muniment.prospective import record, sheet, steps
from muniment.prospective.record import Record
from muniment.prospective.steps import Begin, Speaker

REED = Speaker("2026-03-19T10:00:00.000Z", "Reed", "4f2a9c1e-0000-4000-8000-000000000001")
MOSS = Speaker("2026-03-19T12:00:00.000Z", "Moss", "4f2a9c1e-0000-4000-8000-000000000002")


def begun(topic: str = "Make the login page work") -> Record:
    return steps.start(Begin(topic=topic, method="build", id="login"), REED).record


def in_phase(phase: str) -> Record:
    ways = {
        "started": [],
        "in-progress": ["in-progress"],
        "blocked": ["in-progress", "blocked"],
        "completed": ["in-progress", "completed"],
        "abandoned": ["abandoned"],
        "handed-off": ["handed-off"],
    }
    made = begun()
    for to in ways[phase]:
        made = steps.phase(made, to, REED).record
    return made


def test_a_file_says_what_was_said() -> None:
    first = steps.start(Begin(topic="Make the login page work", method="build", id="login"), REED)
    old = sheet.parse(sheet.new(first.record, first.line))
    assert old.record == first.record
    step = steps.decide(first.record, "keep the cookie", MOSS)
    new = sheet.parse(sheet.changed(old, step.record, step.line))
    assert new.record == step.record
    assert new.rest == old.rest + step.line.encode() + b"\n"
    assert step.record.participants == ("Reed", "Moss")
    assert [touch.session_id[-1] for touch in step.record.sessions] == ["1", "2"]


@pytest.mark.parametrize("before", PHASES)
@pytest.mark.parametrize("after", PHASES)
def test_a_phase_is_followed_by_those_of_the_graph_and_no_other(before: str, after: str) -> None:
    made = in_phase(before)
    if after in steps.NEXT[before]:
        assert steps.phase(made, after, MOSS).record.phase == after
    else:
        with pytest.raises(Conflict) as error:
            steps.phase(made, after, MOSS)
        assert error.value.hint


def test_each_session_knows_where_it_took_over_and_where_it_left() -> None:
    made = steps.hand_off(in_phase("in-progress"), "Moss", REED).record
    made = steps.complete(steps.phase(made, "in-progress", MOSS).record, MOSS, "It works.").record
    spans = [(touch.phase_at_start, touch.phase_at_end) for touch in made.sessions]
    assert spans == [("started", "handed-off"), ("handed-off", "completed")]
    assert made.outcome == "It works."
    assert "Moss" in made.participants


def test_what_is_owed_keeps_it_from_being_complete() -> None:
    made = steps.oblige(in_phase("in-progress"), "tell ada", REED).record
    with pytest.raises(Conflict, match="1 open obligation"):
        steps.complete(made, REED)
    assert steps.complete(made, REED, leave_open=True).record.phase == "completed"
    closed = steps.fulfil(made, 1, REED).record
    assert closed.open_obligations == ()
    assert steps.complete(closed, REED).record.phase == "completed"
    with pytest.raises(NotFound):
        steps.fulfil(made, 2, REED)


@pytest.mark.parametrize("id_", ["../x", "archive", "a/b", ".hidden", "x" * 65, "a b", "~", "a.md"])
def test_an_id_is_a_harmless_name(id_: str) -> None:
    with pytest.raises(MunimentError):
        steps.start(Begin(topic="x", method="build", id=id_), REED)


HAND = """---
# who may edit this: everybody
id: login
topic: Make the login page work   # as ada said
phase: in-progress
method: build
started: 2026-03-19

# ours
ticket: 1.10
participants:
  - Reed
  - ada
obligations:
- tell ada
- {text: write the notes, state: closed}
---
Notes of a person.\r
\xff no UTF-8 here, and no newline at the end"""


def test_a_hand_edited_file_keeps_every_line_that_did_not_change() -> None:
    data = HAND.encode("latin-1")
    old = sheet.parse(data)
    assert old.record.participants == ("Reed", "ada")
    assert old.record.open_obligations == ("tell ada",)
    assert old.record.started == "2026-03-19"
    step = steps.phase(old.record, "blocked", REED)
    new = sheet.changed(old, step.record, step.line)
    assert sheet.parse(new).record == step.record
    assert new.split(b"\n---\n")[1].startswith(data.split(b"\n---\n")[1] + b"\n- 2026")
    for line in (
        b"# who may edit this: everybody\n",
        b"   # as ada said\n",
        b"\n# ours\nticket: 1.10\n",
        b"- tell ada\n",
    ):
        assert line in new
    assert b'phase: "blocked"\n' in new


def test_a_field_in_another_style_is_rewritten_rather_than_garbled() -> None:
    old = sheet.parse(b"---\n{id: login,\nphase: started,\ntopic: x}\n---\nbody\n")
    step = steps.phase(old.record, "in-progress", REED)
    again = sheet.parse(sheet.changed(old, step.record, step.line))
    assert again.record == step.record
    assert again.rest.startswith(b"---\nbody\n")


@pytest.mark.parametrize(
    "front",
    [
        "id: &a login\nphase: started\ntopic: *a",
        "id: login\nphase: started\nx: " + "[" * 6 + "]" * 6,
        "id: login\nphase: started\nx: " + "[" * 20_000,
        "id: login\nphase: started\nx: !!python/object/apply:os.system ['true']",
        "id: login\nphase: done",
        "id: ../../x\nphase: started",
        "- a list",
        "x: " + "y" * (1 << 16),
        "id: login\nphase: started\nx: \x00",
    ],
)
def test_a_harmful_or_useless_frontmatter_is_refused(front: str) -> None:
    with pytest.raises(StoreError):
        sheet.parse(f"---\n{front}\n---\n".encode()).record  # noqa: B018


@pytest.mark.parametrize("data", [b"", b"---\n", b"# no front", b"---\nid: x\nphase: started\n", b"--- \xff\n---\n"])
def test_a_file_without_frontmatter_is_refused(data: bytes) -> None:
    with pytest.raises(StoreError):
        sheet.parse(data)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(list(Record.__struct_fields__)), values))
def test_any_values_make_a_record_or_an_error(said: dict[str, Any]) -> None:
    made = record.read(said | {"id": "login", "phase": "blocked"})
    assert record.read(record.fields(made)) == made


@given(st.text(min_size=1, max_size=60), st.lists(st.text(min_size=1, max_size=60), max_size=4))
def test_any_words_come_back(topic: str, decisions: list[str]) -> None:
    try:
        first = steps.start(Begin(topic=topic, method="plan", id="x"), REED)
    except MunimentError:
        return
    data, made = sheet.new(first.record, first.line), first.record
    for words in decisions:
        try:
            step = steps.decide(made, words, REED)
        except MunimentError:
            continue
        data, made = sheet.changed(sheet.parse(data), step.record, step.line), step.record
    assert sheet.parse(data).record == made
