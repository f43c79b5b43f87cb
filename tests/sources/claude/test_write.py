"""Writing a Claude Code file: the records come back as they were, and permissions never do."""

import json
from pathlib import Path
from typing import Any

import pytest

from muniment.model import Event, Loss, Message, Round, Text, Thinking, Tool, Unknown
from muniment.sources.base import CONVERSATION, Move
from muniment.sources.claude import SOURCE
from muniment.store import document

from .transcripts import FACTS, OTHER, SESSION, Transcript, call, fold, read, say

CASES = sorted(Path(__file__).parent.glob("*/input.jsonl"))


def write(rounds: list[Round], move: Move | None = None) -> tuple[bytes, list[Loss]]:
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    losses: list[Loss] = []
    return b"".join(SOURCE.write(rounds, fold(rounds), move or Move(), media.__getitem__, losses)), losses


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.split(b"\n") if line]


def seen(rounds: list[Round]) -> list[Message]:
    """What a document shows, without damaged lines: those come back from the evidence alone."""
    shown = [document.visible(m) for round_ in rounds for m in round_.messages]
    kept = [(m, tuple(b for b in m.blocks if not getattr(b, "damage", ""))) for m in shown]
    return [Message(m.role, m.at, blocks, m.id, m.model, m.sidechain, m.queued) for m, blocks in kept if blocks]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_written_case_reads_as_the_same_messages(path: Path) -> None:
    rounds = read(path.read_bytes())
    assert seen(read(write(rounds)[0])) == seen(rounds)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_written_case_claims_the_whole_conversation(path: Path) -> None:
    def claimed(data: bytes) -> dict[tuple[str, str], Any]:
        every = [claim for line in data.split(b"\n") for claim in SOURCE.claims(line)]
        return {(c.key, c.field): c.value for c in every if c.field in CONVERSATION}

    whole = path.read_bytes().rpartition(b"\n")[0]
    given, got = claimed(whole), claimed(write(read(whole))[0])
    assert {key: got.get(key) for key in given} == given


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_every_parent_of_a_written_case_is_there(path: Path) -> None:
    data = path.read_bytes()
    written = lines(write(read(data))[0])
    ids = [record["uuid"] for record in written if "uuid" in record]
    assert len(ids) == len(set(ids))
    for record in written:
        parent = record.get("parentUuid")
        assert parent is None or parent in ids or f'"uuid":"{parent}"'.encode() not in data
        assert record.get("sessionId", SESSION) == SESSION


def test_permissions_are_never_written_and_what_hung_on_them_still_does() -> None:
    file = Transcript()
    file.user("go")
    grant = file.attach("command_permissions", allowedTools=["Bash(rm:*)"])
    file.answer("m1", say("Yes."))
    data, losses = write(file.rounds())
    assert b"rm:*" not in data
    assert lines(data)[1]["attachment"] == {"type": "command_permissions", "allowedTools": []}
    assert [record["parentUuid"] for record in lines(data)] == [None, "r1", grant]
    assert [loss.why for loss in losses] == ["permissions are never restored"]


def test_a_fork_says_its_own_id_everywhere() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", say("Yes."), cwd="/w/sub")
    file.meta("custom-title", customTitle="t", sessionId=SESSION)
    data, _ = write(file.rounds(), Move(OTHER, "/v"))
    assert SESSION.encode() not in data
    assert [record.get("cwd") for record in lines(data)] == ["/v", "/v/sub", None]


def test_titles_stand_last() -> None:
    file = Transcript()
    file.meta("custom-title", customTitle="mine", sessionId=SESSION)
    file.meta("agent-name", agentName="ada", sessionId=SESSION)
    file.user("go")
    assert [record["type"] for record in lines(write(file.rounds())[0])] == ["user", "custom-title", "agent-name"]


def test_a_session_of_another_agent_becomes_one_straight_chain() -> None:
    """Ids are made from the session and the place, every call has its result before the next answer."""
    facts = type(FACTS)(SESSION, "other", cwd="/w")
    thought, told = Thinking("hm", "seal"), Event("mode", "x")
    answer = Message("assistant", "2026-01-02", (thought, Text("I look."), Tool("t", "ls", "raw", (Text("a"),)), told))
    rounds = [Round(1, (Message("user", "2026-01-01", (Text("go"),)), answer), True)]
    losses: list[Loss] = []
    written = lines(b"".join(SOURCE.write(rounds, facts, Move(), {}.__getitem__, losses)))
    assert [record["parentUuid"] for record in written] == [None, *(record["uuid"] for record in written[:-1])]
    assert [record["type"] for record in written] == ["user", "assistant", "assistant", "user", "system"]
    assert written[2]["message"]["content"][0]["input"] == {"input": "raw"}
    assert len({record["message"]["id"] for record in written[1:3]}) == 1
    assert {loss.what for loss in losses} == {"thinking", "event: mode", "bare input of a call"}


def test_what_has_no_record_here_is_included_with_a_warning() -> None:
    """A note is shown and not sent; what a user said in a form of the agent's own is said in words."""
    facts = type(FACTS)(SESSION, "other", cwd="/w")
    prompt = Message("user", "2026-01-01", (Text("go"), Event("error", "429: slow down"), Text("now")))
    odd = Message("user", "2026-01-02", (Unknown("poll", {"choice": 2}), Event("quiet")))
    answer = Message("assistant", "2026-01-03", (Text("Done."), Unknown("chart", {"bars": [1, 2]})))
    losses: list[Loss] = []
    rounds = [Round(1, (prompt,), True), Round(2, (odd, answer), True)]
    data = b"".join(SOURCE.write(rounds, facts, Move(), {}.__getitem__, losses))
    first, note, said, spoken, part = lines(data)
    assert [piece["text"] for piece in first["message"]["content"]] == ["go", "now"]
    assert (note["type"], note["subtype"], note["parentUuid"]) == ("system", "informational", first["uuid"])
    assert note["content"] == "[Warning: Claude Code has no place for this event: error] 429: slow down"
    assert said["type"] == "user"
    assert '{"choice":2}' in str(said["message"]["content"])
    assert spoken["message"]["content"] == [{"type": "text", "text": "Done."}]
    assert '{"bars":[1,2]}' in part["content"]
    told = {loss.what: (loss.annotated, str(loss)[:9]) for loss in losses}
    kinds = ("event: error", "part: poll", "part: chart")
    assert told == dict.fromkeys(kinds, (True, "annotated")) | {"quiet events: quiet": (False, "not carri")}


def test_a_permission_is_not_even_a_note() -> None:
    facts = type(FACTS)(SESSION, "other", cwd="/w")
    asked = Message("user", "2026-01-01", (Text("go"), Event("permission-mode", "bypass")))
    losses: list[Loss] = []
    data = b"".join(SOURCE.write([Round(1, (asked,), True)], facts, Move(), {}.__getitem__, losses))
    assert b"bypass" not in data
    assert [loss.annotated for loss in losses] == [False]


def test_notes_before_the_first_prompt_wait_for_it() -> None:
    facts = type(FACTS)(SESSION, "other", cwd="/w")
    early = Round(1, (Message("assistant", "2026-01-01", (Event("error", "no network"),)),), False)
    assert not list(SOURCE.write([early], facts, Move(), {}.__getitem__, []))
    later = Round(2, (Message("user", "2026-01-02", (Text("go"),)),), True)
    made = lines(b"".join(SOURCE.write([early, later], facts, Move(), {}.__getitem__, [])))
    assert [record["type"] for record in made] == ["system", "user"]


def test_a_call_that_was_never_answered_is_written_as_it_is() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1", command="ls"))
    (_, answer) = lines(write(file.rounds())[0])
    assert answer["message"]["content"] == [call("t1", command="ls")]
