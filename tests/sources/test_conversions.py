"""From every agent to every format: what was said and done is there, or the account names it.

The law is shown on the samples, on sessions that nobody ever had, and on request on the real ones (`-m corpus`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from muniment import sources
from muniment.archive import Archive
from muniment.contract.samples import Sample, Subject, fold, transcripts
from muniment.export import load_media
from muniment.model import (
    Block,
    Compaction,
    Event,
    Facts,
    Loss,
    Media,
    Message,
    Ref,
    Round,
    Text,
    Thinking,
    Tool,
    Unknown,
    codec,
)
from muniment.model.rounds import text_of
from muniment.sources.base import Move, Source
from muniment.sources.lines import records
from muniment.store import rounds as stored

WRITABLE = [source for source in sources.all_sources() if source.writable]
SAMPLES = [
    sample
    for source in sources.all_sources()
    for sample in transcripts(Subject.shipped(source.name))
    if sample.facts.sidechain is None
]
SESSION = "6f1f2a3b-0000-4000-8000-000000000001"


def converted(
    rounds: list[Round], facts: Facts, target: Source, media: Callable[[str], bytes]
) -> tuple[list[Round], list[Round], list[Loss]]:
    """The rounds under the names of the target, the rounds as its source reads what was written, and the account."""
    losses: list[Loss] = []
    named = list(sources.renaming(facts, target).rounds(rounds))
    data = b"".join(target.write(iter(named), facts, Move(), media, losses))
    path = Path("/proj") / target.place(facts, Move())
    assert [source.name for source in sources.all_sources() if source.matches(path, data[: 1 << 16])] == [target.name]
    lines = records(target.open(path.name, [data]))
    return named, list(target.read(lines, Facts(facts.session_id, target.name))), losses


def unaccounted(before: list[Round], after: list[Round], losses: list[Loss]) -> list[str]:
    """What is neither there nor named in the account."""

    def lost(*kinds: str) -> int:
        return sum(loss.count for loss in losses if loss.what.startswith(kinds))

    bare = bool(lost("bare input"))
    missing: list[str] = []
    for role in ("user", "assistant"):
        if _words(before, role) != _words(after, role):
            missing.append(f"words of the {role}")
    if [text_of(r.prompt) for r in before if r.prompt] != [text_of(r.prompt) for r in after if r.prompt]:
        missing.append("prompts")
    if _calls(before, bare) - _calls(after, bare):
        missing.append("calls")
    if (_results(before) - _results(after)).total() > lost(
        "result without its call", "part of a result", "media in a broken"
    ):
        missing.append("results")
    if _count(before, Thinking) > _count(after, Thinking) + lost("thinking", "sealed thinking"):
        missing.append("thinking")
    if _media(before) > _media(after) + lost("image", "document", "part: media", "media in a broken"):
        missing.append("media")
    if [b.text for b in _blocks(before, Compaction)] != [b.text for b in _blocks(after, Compaction)]:
        missing += [] if lost("compaction") else ["compaction"]
    told = sum(1 for event in _blocks(before, Event) if event.text)
    if told > sum(1 for event in _blocks(after, Event) if event.text) + lost("event: ", "restriction"):
        missing.append("events")
    return missing


def _own(rounds: Iterable[Round]) -> Iterable[Message]:
    return (message for round_ in rounds for message in round_.messages if not message.sidechain)


def _blocks(rounds: Iterable[Round], kind: type[Any]) -> list[Any]:
    return [block for message in _own(rounds) for block in message.blocks if isinstance(block, kind)]


def _count(rounds: Iterable[Round], kind: type[Any]) -> int:
    return len(_blocks(rounds, kind))


def _words(rounds: Iterable[Round], role: str) -> str:
    """All words of a speaker; formats differ in what they take for one text."""
    spoken = (b.text for m in _own(rounds) if m.role == role for b in m.blocks if isinstance(b, Text))
    return "".join("".join(spoken).split())


def _calls(rounds: Iterable[Round], bare: bool) -> Counter[tuple[str, bytes]]:
    tools = (tool for tool in _blocks(rounds, Tool) if tool.name is not None)
    return Counter((tool.name, codec.encode(_asked(tool.input, bare))) for tool in tools)


def _asked(value: Any, bare: bool) -> Any:
    """Nothing at all is the same as an empty object."""
    if value is None:
        return {}
    return {"input": value} if bare and not isinstance(value, dict) else value


def _results(rounds: Iterable[Round]) -> Counter[str]:
    """What came back, as text; parts that no other agent knows may have become text."""
    given = [tool.output for tool in _blocks(rounds, Tool) if tool.output is not None]
    return Counter("\n".join(part.text for part in parts if isinstance(part, Text)) for parts in given)


def _media(rounds: Iterable[Round]) -> int:
    beside = sum(isinstance(p, Media) for tool in _blocks(rounds, Tool) for p in tool.output or ())
    return _count(rounds, Media) + beside


def label(value: Any) -> str:
    return value.name if isinstance(value, Source) else value.source.name


@pytest.mark.parametrize("target", WRITABLE, ids=label)
@pytest.mark.parametrize("sample", SAMPLES, ids=label)
def test_what_is_not_there_is_named(sample: Sample, target: Source) -> None:
    rounds = sample.read()
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    assert unaccounted(*converted(rounds, fold(rounds, sample.facts), target, media.__getitem__)) == []


# -- sessions that nobody ever had

PICTURE = b"\x89PNG\r\n\x1a\n picture"
WORDS = st.text("ab é*#\n", min_size=1, max_size=12).map(str.strip).filter(bool)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(WORDS, inner, max_size=2)),
    max_leaves=4,
)
ODD = st.builds(
    Unknown, kind=st.sampled_from(["novel", "tool_reference"]), value=st.fixed_dictionaries({"type": WORDS})
)
PICTURES = st.builds(Media, name=st.just("p.png"), media_type=st.just("image/png"))
NAMES = st.sampled_from(["Bash", "read", "apply_patch", "mcp__x__y"])
INPUTS = st.one_of(st.fixed_dictionaries({"command": WORDS}), JSON)
BROKEN = st.just(Unknown("media", {"media_type": "image/png", "data": "REDACTED"}))
OUTPUTS = st.one_of(
    st.none(),
    st.lists(st.one_of(st.builds(Text, text=WORDS), ODD, PICTURES, BROKEN), max_size=2).map(tuple),
)
RESULTS = st.sampled_from([None, Ref(), Ref(plain=True)])
"""Where a result came from; agents that tell it as one string may have pictures beside it."""
BLOCKS = st.one_of(
    st.builds(Text, text=WORDS),
    st.builds(Thinking, text=st.one_of(st.just(""), WORDS), signature=st.sampled_from([None, "c2ln"])),
    st.builds(
        Tool,
        id=st.just(""),
        name=NAMES,
        input=INPUTS,
        output=OUTPUTS,
        is_error=st.sampled_from([None, True]),
        result=RESULTS,
    ),
    st.builds(Event, kind=st.sampled_from(["hook", "mode"]), text=st.sampled_from(["", "it spoke"])),
    ODD,
)
ANSWERS = st.builds(
    Message,
    role=st.just("assistant"),
    blocks=st.lists(BLOCKS, min_size=1, max_size=4).map(tuple),
    sidechain=st.sampled_from([None, None, None, "agent-1"]),
)
ASKED = st.lists(st.one_of(st.builds(Text, text=WORDS), PICTURES), min_size=1, max_size=2)
WORDLESS = st.lists(PICTURES, min_size=1, max_size=2)
"""A human may paste a picture and say nothing."""
PROMPTS = st.one_of(
    st.builds(lambda text, more: Message("user", None, (text, *more)), st.builds(Text, text=WORDS), ASKED),
    st.builds(lambda parts: Message("user", None, tuple(parts)), WORDLESS),
)
QUEUED = st.builds(lambda text: Message("user", None, (text,), queued=True), st.builds(Text, text=WORDS))
ROUNDS = st.lists(st.tuples(PROMPTS, st.lists(st.one_of(ANSWERS, QUEUED), max_size=4)), min_size=1, max_size=3)


def _numbered(made: list[tuple[Message, list[Message]]]) -> list[Round]:
    """Rounds in which every call has an id of its own."""
    count = 0

    def block(old: Block) -> Block:
        nonlocal count
        count += 1
        return structs.replace(old, id=f"call{count}") if isinstance(old, Tool) else old

    def message(old: Message) -> Message:
        blocks = tuple(map(block, old.blocks))
        return Message(old.role, old.at, blocks, sidechain=old.sidechain, queued=old.queued)

    return [Round(n, tuple(map(message, [first, *rest])), True) for n, (first, rest) in enumerate(made, 1)]


@pytest.mark.parametrize("target", WRITABLE, ids=label)
@settings(max_examples=120)
@given(made=ROUNDS)
def test_what_no_agent_ever_said_is_there_or_named(target: Source, made: list[Any]) -> None:
    rounds = _numbered(made)
    facts = fold(rounds, Facts(SESSION, "nobody", first_cwd="/proj/lib"))
    assert unaccounted(*converted(rounds, facts, target, {"p.png": PICTURE}.__getitem__)) == []


# -- queued words


@pytest.mark.parametrize("target", WRITABLE, ids=label)
def test_words_that_arrived_while_the_agent_worked_stay_inside_their_round(target: Source) -> None:
    call = Tool("t1", "look", {"where": "here"}, (Text("a.txt"),))
    talk = (
        Message("user", None, (Text("Count the files."),)),
        Message("assistant", None, (Text("I look."), call)),
        Message("user", None, (Text("Only text files."),), queued=True),
        Message("assistant", None, (Text("One."),)),
    )
    rounds = [Round(1, talk, True)]
    facts = fold(rounds, Facts(SESSION, "nobody", first_cwd="/proj/lib"))
    _, after, losses = converted(rounds, facts, target, {}.__getitem__)
    assert [[text_of(m) for m in r.messages if m.role == "user" and text_of(m)] for r in after] == [
        ["Count the files.", "Only text files."]
    ]
    assert [m.queued for m in after[0].messages if m.role == "user" and text_of(m)] == [False, True]
    assert not any("prompt" in loss.what for loss in losses)


# -- the same words again


@pytest.mark.parametrize("target", WRITABLE, ids=label)
@pytest.mark.parametrize("at", [None, "2026-01-02T03:04:00Z", "2026-01-02T03:04:00.000Z"])
def test_the_same_prompt_three_times_in_a_minute_is_three_prompts(target: Source, at: str | None) -> None:
    """Some agents tell no time of a prompt, or the minute."""
    talk = [(Message("user", at, (Text("go on"),)), Message("assistant", at, (Text(f"step {n}"),))) for n in range(3)]
    rounds = [Round(number, messages, True) for number, messages in enumerate(talk, 1)]
    facts = fold(rounds, Facts(SESSION, "nobody", first_cwd="/proj/lib", started="2026-01-02T03:00:00Z"))
    _, after, _ = converted(rounds, facts, target, {}.__getitem__)
    assert [text_of(round_.prompt) for round_ in after if round_.prompt] == ["go on"] * 3


# -- the real ones


@pytest.mark.corpus
def test_every_real_session_goes_to_every_format(corpus: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path)})
    archive.inscribe([corpus])
    missing: list[tuple[str, str, list[str]]] = []
    exports = 0
    for session in archive.sessions():
        shelf = archive.layout.shelf(session.agent_id, session.session_id)
        rounds = list(stored.load_all(shelf))
        facts = fold(rounds, Facts(session.session_id, session.source))
        for target in WRITABLE if _is_spoken(rounds) else ():
            made = converted(rounds, facts, target, lambda name, shelf=shelf: load_media(shelf, name))
            exports += 1
            if found := unaccounted(*made):
                missing.append((session.session_id, target.name, found))
    assert missing == []
    assert exports > 1000


def _is_spoken(rounds: list[Round]) -> bool:
    return any(isinstance(block, Text | Tool) for message in _own(rounds) for block in message.blocks)


# -- ids


@pytest.mark.parametrize("target", WRITABLE, ids=lambda source: source.name)
def test_an_id_with_half_a_character_makes_ids_as_any_other(target: Source) -> None:
    half = codec.loads(b'"\\ud800"')
    facts = Facts(SESSION, "other", native_id=half, sidechain=half)
    said = (Message("user", blocks=(Text("go"),)), Message("assistant", blocks=(Text("Yes."),), id=half))
    assert b"Yes." in b"".join(target.write([Round(1, said)], facts, Move(), {}.__getitem__, []))
    assert target.place(facts, Move())


# -- media


@pytest.mark.parametrize("agent", ["codex", "pi"])
def test_where_only_images_fit_no_other_media_are_called_one(agent: str) -> None:
    """The service would refuse all of a request that has a document as an image."""
    paper, pixel = Media("paper.pdf", "application/pdf"), Media("pixel.png", "image/png")
    broken = Unknown("media", {"media_type": "audio/wav", "data": "?"})
    tool = Tool("t1", "Read", {"path": "paper.pdf"}, (Text("Here."), paper, pixel, broken))
    messages = (Message("user", blocks=(Text("Read it."), paper, pixel)), Message("assistant", blocks=(tool,)))
    facts = Facts(SESSION, "other", rounds=1)
    _, made, losses = converted([Round(1, messages, prompted=True)], facts, sources.named(agent), lambda _: b"\x89PNG")
    blocks = [block for round_ in made for block in round_.blocks()]
    assert [block.media_type for block in blocks if isinstance(block, Media)] == ["image/png"]
    (read,) = (block for block in blocks if isinstance(block, Tool))
    told = [part.text if isinstance(part, Text) else type(part).__name__ for part in read.output or ()]
    assert told == ["Here.", "[application/pdf: not carried]", "Media", "[audio/wav: not carried]"]
    assert sum(loss.count for loss in losses if loss.what == "document") == 3


def test_files_that_a_call_gave_back_are_parts_in_opencode() -> None:
    """`opencode import` takes nothing of a session in which one of them has no id."""
    tool = Tool("t1", "Read", {"path": "pixel.png"}, (Text("Here."), Media("pixel.png", "image/png")))
    messages = (Message("user", blocks=(Text("Read it."),)), Message("assistant", blocks=(tool,)))
    rounds, facts = [Round(1, messages, prompted=True)], Facts(SESSION, "other", rounds=1)
    written = json.loads(b"".join(sources.named("opencode").write(rounds, facts, Move(), lambda _: b"\x89PNG", [])))
    (part,) = (part for message in written["messages"] for part in message["parts"] if part["type"] == "tool")
    (file,) = part["state"]["attachments"]
    assert file.keys() == {"id", "sessionID", "messageID", "type", "mime", "url"}
    assert (file["sessionID"], file["messageID"]) == (part["sessionID"], part["messageID"])
    assert file["id"] != part["id"]
