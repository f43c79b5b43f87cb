"""Records that the program writes again are told once, however they come back; what they say anew is not lost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import canonical

from muniment.archive import Archive
from muniment.check import Checked, check_transcript
from muniment.inscribe import Outcome
from muniment.model import Compaction, Loss, Round, Text
from muniment.model.rounds import text_of
from muniment.sources.base import Former, Move, SourceFile
from muniment.sources.claude import SOURCE
from muniment.sources.lines import records

from .transcripts import FACTS, SESSION, Transcript, call, events, fold, read, say, tools

REPEATED = "repeated record"
SUMMARY = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}


def two_rounds() -> Transcript:
    """A conversation with a tool and a thought."""
    file = Transcript()
    file.user("Light the lamp.")
    file.answer("m1", {"type": "thinking", "thinking": "Where is it?", "signature": "s1"}, output=3)
    file.answer("m1", call("t1", command="light"), output=5)
    file.result("t1", "lit")
    file.attach("queued_command", prompt="and the other one")
    file.answer("m2", say("Both are lit."), output=7)
    file.chain("system", subtype="local_command", content="<local-command-stdout>ok</local-command-stdout>")
    file.user("Now put them out.")
    file.answer("m3", say("They are out."), output=2)
    return file


def again(file: Transcript, first: int = 0, last: int | None = None, times: int = 1, **changed: Any) -> None:
    """Some lines of a file once more, with fields changed."""
    for line in file.lines[first:last] * times:
        file.raw(json.dumps(json.loads(line) | changed).encode() if changed else line)


def without_usage(file: Transcript, first: int = 0) -> None:
    """Some lines once more, as the program holds them after a compaction: what they cost is taken off."""
    for line in file.lines[first:]:
        record = json.loads(line)
        if "usage" in record.get("message", {}):
            record["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
        file.raw(json.dumps(record).encode())


def renamed(
    file: Transcript, first: int = 0, last: int | None = None, parent: str | None = None, **changed: Any
) -> None:
    """Some lines once more under new ids, as another version writes them that resumes: hung on one another."""
    new: dict[str | None, str | None] = {None: None}
    for line in file.lines[first:last]:
        record = json.loads(line)
        new[record["uuid"]] = f"new-{len(file.lines)}-{record['uuid']}"
        hung = new.get(record["parentUuid"], parent) or parent
        file.raw(json.dumps(record | changed | {"uuid": new[record["uuid"]], "parentUuid": hung}).encode())
    file.last = json.loads(file.lines[-1])["uuid"]


FORMS: dict[str, Callable[[Transcript], None]] = {
    "as they were": again,
    "twice": lambda file: again(file, 0, 9, times=2),
    "by a later program": lambda file: again(file, version="2.1.300", gitBranch="side", promptId="p", slug="a-lamp"),
    "from another folder": lambda file: again(file, cwd="/elsewhere"),
    "hung anew": lambda file: again(file, parentUuid=None),
    "under another session": lambda file: again(file, sessionId="33333333-3333-4333-8333-333333333333"),
    "at another time": lambda file: again(file, timestamp="2026-01-02T03:59:00.000Z"),
    "with costs taken off": without_usage,
    "from the midst of a round": lambda file: again(file, 3),
    "a result first": lambda file: again(file, 3, 4, version="2.1.300"),
    "the last round alone": lambda file: again(file, 7, version="2.1.300"),
    "under new ids": renamed,
    "under new ids behind the last": lambda file: renamed(file, parent=file.last, version="2.1.300"),
    "under new ids from a result on": lambda file: renamed(file, 3, slug="a-lamp"),
    "the open round under new ids": lambda file: renamed(file, 7, parent=file.last),
}


def spoken(rounds: list[Round]) -> list[list[str]]:
    return [[text_of(message) for message in round_.messages if text_of(message)] for round_ in rounds]


def checked(file: Transcript) -> Checked:
    place = SourceFile("x.jsonl", "x.jsonl", "main", len(file.data), 0)
    return check_transcript(SOURCE, FACTS, place, lambda: [file.data])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("after", [True, False])
def test_what_is_written_again_is_told_once(form: str, after: bool) -> None:
    file = two_rounds()
    plain, once = file.rounds(), len(file.lines)
    if after:
        file.user("And now?")
    FORMS[form](file)
    file.answer("m9", say("Good night."), output=4, timestamp="2026-01-02T04:00:00.000Z")
    rounds = file.rounds()
    assert spoken(rounds)[0] == spoken(plain)[0]
    assert [text for texts in spoken(rounds) for text in texts] == [
        *(text for texts in spoken(plain) for text in texts),
        *(["And now?"] if after else []),
        "Good night.",
    ]
    assert [len(tools(round_)) for round_ in rounds][:2] == [1, 0]
    assert fold(rounds).tokens == fold(plain).tokens + 14
    copies = [event.ref.offset for event in events(rounds[-1]) if event.kind == REPEATED]
    starts = [record.offset for record in records([file.data])]
    assert copies == starts[once + after : -1]
    assert checked(file).lossless


@pytest.mark.parametrize("form", FORMS)
def test_an_export_has_no_repeats(form: str) -> None:
    file = two_rounds()
    FORMS[form](file)
    file.user("And now?", timestamp="2026-01-02T04:00:00.000Z")
    rounds, losses = file.rounds(), list[Loss]()
    lines = [
        json.loads(line) for line in SOURCE.write(rounds, fold(rounds), Move(), dict[str, bytes]().__getitem__, losses)
    ]
    written = [line["uuid"] for line in lines if "uuid" in line]
    assert written == [*(f"r{number}" for number in range(1, 10)), file.last]
    assert checked(file).stable


def test_a_compaction_that_is_written_again_is_one() -> None:
    """What a session goes on from when it is resumed: boundary, summary and all that came behind them."""
    file = two_rounds()
    start = len(file.lines)
    file.chain("system", subtype="compact_boundary", parentUuid=None, content="Conversation compacted")
    file.user("They were lit and put out.", **SUMMARY)
    file.user("Go on.")
    file.answer("m4", say("I do."), output=1)
    again(file, start, version="2.1.300", slug="a-lamp")
    file.user("And now?", timestamp="2026-01-02T04:00:00.000Z")
    rounds = file.rounds()
    assert [text_of(round_.prompt) for round_ in rounds if round_.prompt][2:] == ["Go on.", "And now?"]
    assert len([b for r in rounds for b in r.blocks() if isinstance(b, Compaction)]) == 1
    assert [e.kind for r in rounds for e in events(r)].count("compaction boundary") == 1
    assert checked(file).lossless


def test_a_prompt_that_is_echoed_opens_one_round() -> None:
    file = Transcript()
    prompt = file.user("go")
    file.chain("system", subtype="informational", content="Connected.")
    file.user([say("go")], uuid=prompt, timestamp="2026-01-02T03:04:01.000Z")
    file.answer("m1", say("Yes."))
    assert spoken(file.rounds()) == [["go", "Yes."]]


def test_an_answer_that_comes_back_with_more_in_it_is_read() -> None:
    """Not its tokens: what it cost was told the first time."""
    file = two_rounds()
    before = fold(file.rounds()).tokens
    old = json.loads(file.lines[5])
    old["message"]["content"].append(say("And the third."))
    old["message"]["usage"]["output_tokens"] = 900
    file.raw(json.dumps(old).encode())
    again(file)
    rounds = file.rounds()
    assert len(rounds) == 2
    assert spoken(rounds)[1] == ["Now put them out.", "They are out.", "Both are lit.\n\nAnd the third."]
    assert fold(rounds).tokens == before
    assert checked(file).lossless


def test_a_prompt_that_comes_back_with_other_words_is_not_lost() -> None:
    file = two_rounds()
    again(file, 0, 1, message={"role": "user", "content": "Light the candle."})
    rounds = file.rounds()
    assert [words[0] for words in spoken(rounds)] == ["Light the lamp.", "Now put them out.", "Light the candle."]
    assert checked(file).lossless


def test_a_copy_that_lost_something_says_nothing_new() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    file = Transcript()
    file.user([say("Look."), picture])
    file.answer("m1", say("I see."))
    file.user("And now?")
    again(file, 0, 1, message={"role": "user", "content": "Look."})
    assert spoken(file.rounds()) == [["Look.", "I see."], ["And now?"]]
    assert checked(file).lossless


def test_old_records_with_other_ids_are_no_repeats() -> None:
    """Clocks go wrong; an old time alone makes no repeat."""
    file = two_rounds()
    file.user("Light the lamp.", timestamp="2026-01-01T00:00:00.000Z")
    assert [words[0] for words in spoken(file.rounds())] == ["Light the lamp.", "Now put them out.", "Light the lamp."]


def test_what_says_something_else_at_the_same_time_is_no_repeat() -> None:
    """Other words, another answer with the same words, another call: what is not exactly the same stays."""
    file = two_rounds()
    then = {"timestamp": "2026-01-02T03:04:06.000Z"}
    file.answer("m4", say("Both are lit."), output=1, **then)
    file.answer("m2", say("Both are lit."), say("Really."), output=7, **then)
    file.answer("m2", call("t2", command="light"), output=7, **then)
    file.result("t2", "lit", timestamp="2026-01-02T03:04:04.000Z")
    rounds = file.rounds()
    assert [text for text in spoken(rounds)[-1] if text != "They are out."] == [
        "Now put them out.",
        "Both are lit.",
        "Both are lit.\n\nReally.",
    ]
    assert [tool.id for tool in tools(rounds[-1])] == ["t2"]
    assert fold(rounds).tokens == fold(two_rounds().rounds()).tokens + 11, "of m4 alone: m2 was paid before"
    assert checked(file).lossless


def test_a_second_prompt_with_the_same_words_is_one() -> None:
    file = two_rounds()
    file.user("Now put them out.")
    assert [words[0] for words in spoken(file.rounds())][1:] == ["Now put them out."] * 2


def test_what_follows_copies_under_new_ids_hangs_on_what_they_copy() -> None:
    """An export that left them out would else be two conversations."""
    file = two_rounds()
    renamed(file, version="2.1.300")
    file.user("And now?", timestamp="2026-01-02T04:00:00.000Z")
    rounds = file.rounds()
    lines = [json.loads(line) for line in SOURCE.write(rounds, fold(rounds), Move(), {}.__getitem__, [])]
    assert [line["parentUuid"] for line in lines] == [None, *(f"r{number}" for number in range(1, 10))]


def test_no_closed_round_is_asked_for_where_time_goes_on() -> None:
    file = two_rounds()
    for number in range(5):
        file.user(f"prompt {number}")
        file.answer(f"a{number}", say("Yes."))
    asked: list[int] = []
    former = Former(asked.append, lambda: FACTS)  # pyright: ignore[reportArgumentType]
    assert len(list(SOURCE.read_on(records([file.data]), FACTS, former))) == 7
    assert asked == []


# -- laws

changes = st.sampled_from([{}, {"version": "9"}, {"parentUuid": None}])
copies = st.tuples(st.integers(0, 12), st.integers(0, 12), changes)
odd = st.sampled_from(["renamed", {"timestamp": "2026-01-02T03:59:00.000Z"}])
renamings = st.tuples(st.integers(0, 9), st.integers(0, 9), odd)
"""Of the first lines: a copy with neither its id nor its time is none."""
steps = st.lists(copies | renamings | st.sampled_from(["prompt", "answer"]), max_size=8)


def made(steps: list[Any]) -> Transcript:
    """A file that goes on, with copies of what was there between."""
    file = two_rounds()
    for step in steps:
        if step == "prompt":
            file.user(f"prompt {len(file.lines)}")
        elif step == "answer":
            file.answer(f"a{len(file.lines)}", say("Yes."), output=1)
        else:
            first, count, changed = step
            if changed == "renamed":
                renamed(file, first, min(9, first + count))
            elif "timestamp" in changed:
                again(file, first, min(9, first + count), **changed)
            else:
                again(file, first, first + count, **changed)
    return file


@settings(max_examples=150)
@given(steps)
def test_reading_may_begin_at_any_round(steps: list[Any]) -> None:
    data = made(steps).data
    rounds = read(data)
    for k, round_ in enumerate(rounds):
        assert read(data, fold(rounds[:k]), round_.offset, rounds[:k]) == rounds[k:]


@settings(max_examples=150)
@given(steps)
def test_whatever_is_repeated_the_conversation_is_the_same(steps: list[Any]) -> None:
    file = made(steps)
    seen: dict[str, bytes] = {}
    for line in file.lines:
        seen.setdefault(json.loads(line)["uuid"].rpartition("-")[2], line)
    once = read(b"".join(line + b"\n" for line in seen.values()))
    assert spoken(file.rounds()) == spoken(once)
    assert fold(file.rounds()).tokens == fold(once).tokens
    assert checked(file).lossless


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps, st.lists(st.floats(0, 1), max_size=3).map(sorted))
def test_appending_in_pieces_gives_what_inscribing_at_once_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], cuts: list[float]
) -> None:
    data = made(steps).data
    folder = tmp_path_factory.mktemp("pieces")
    env = {"HOME": str(folder)}
    pieces, whole = Archive(folder / "pieces", env), Archive(folder / "whole", env)
    path = folder / ".claude" / "projects" / "-w" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    outcomes: list[Outcome] = []
    for cut in [*cuts, 1.0]:
        path.write_bytes(data[: int(cut * len(data))])
        pieces.inscribe(report=outcomes.append)
    whole.inscribe()
    assert sum(outcome.bytes_read for outcome in outcomes) == len(data), "every byte was read once"
    assert canonical(pieces.layout.sessions / "claude") == canonical(whole.layout.sessions / "claude")
    assert [report.note for report in pieces.check_stored()] == [""]
    given_back(pieces, path, data)


def given_back(archive: Archive, path: Path, data: bytes) -> None:
    path.unlink()
    archive.restore("last")
    assert path.read_bytes() == data


def test_texts_are_where_they_were_said() -> None:
    file = two_rounds()
    again(file, cwd="/elsewhere")
    first, second = file.rounds()
    assert all(b.ref.offset < second.offset for b in first.blocks())
    said = [b.ref.offset for b in second.blocks() if isinstance(b, Text)]
    assert max(said) < len(two_rounds().data)
    assert fold([first, second]).cwd == "/w"
