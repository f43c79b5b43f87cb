"""What is read from a session of Gemini CLI."""

from pathlib import Path
from typing import Any

import pytest

from muniment import check
from muniment.archive import Archive
from muniment.model import Compaction, Event, Media, Text, Thinking, Tool, Unknown
from muniment.model.rounds import text_of
from muniment.sources.base import SourceFile
from muniment.sources.gemini import SOURCE
from muniment.store.index import Index

from .chats import CONTEXT, FACTS, answer, at, call, change, document, facts_before, head, lines, read, response, user

THOUGHT = {"subject": "Plan", "description": "Two commands.", "timestamp": at(1)}
TALK = [
    user(1, "look around"),
    answer(2, "I look.", call("c1", "a.txt"), call("c2", {"error": "code 3"}, "error"), thoughts=[THOUGHT]),
    answer(3, "One file."),
    user(4, "thanks"),
    answer(5, "Welcome."),
]
FORMS = {
    "lines": lines(head(kind="main"), *TALK),
    "document": document(TALK, kind="main"),
    "document on one line": document(TALK, None),
    "history in one change": lines(head(), change(messages=TALK, lastUpdated=at(9))),
}


def prompts(data: bytes) -> list[str]:
    return [text_of(round_.prompt) for round_ in read(data) if round_.prompt]


def events(data: bytes, kind: str) -> list[Event]:
    return [b for round_ in read(data) for b in round_.blocks() if isinstance(b, Event) and b.kind == kind]


def lossless(data: bytes) -> bool:
    file = SourceFile("/x.jsonl", "x.jsonl", "main", len(data), 0)
    return check.check_transcript(SOURCE, FACTS, file, lambda: [data]).lossless


@pytest.mark.parametrize("form", FORMS)
def test_a_session_reads_the_same_in_every_form(form: str) -> None:
    data = FORMS[form]
    assert prompts(data) == ["look around", "thanks"]
    first = read(data)[0].messages[1]
    thought, said, one, two = first.blocks
    assert isinstance(thought, Thinking)
    assert thought.text == "**Plan** Two commands."
    assert isinstance(said, Text)
    assert isinstance(one, Tool)
    assert (one.name, one.input, one.output) == ("run_shell_command", {"command": "echo c1"}, (Text("a.txt"),))
    assert isinstance(two, Tool)
    assert (two.output, two.is_error) == ((Text("code 3"),), True)
    assert (first.model, first.at) == ("gemini-2.5-pro", at(2))


@pytest.mark.parametrize("form", FORMS)
def test_every_message_points_at_its_own_bytes(form: str) -> None:
    for block in read(FORMS[form])[1].blocks():
        if isinstance(block, Text):
            found = FORMS[form][block.ref.offset : block.ref.offset + block.ref.length]
            assert found.startswith(b"{")
            assert f'"{block.ref.id}"'.encode() in found


def test_tokens_are_counted_in_our_convention() -> None:
    usage = read(FORMS["lines"])[0].messages[1].usage
    assert usage
    assert (usage.input, usage.output, usage.cache_read) == (42, 17, 60)
    assert usage.total == 119


def test_a_message_told_again_replaces_the_former() -> None:
    early = answer(2, "I lo", tokens=None)
    data = lines(head(), TALK[0], early, change(lastUpdated=at(2)), TALK[1], TALK[2])
    (round_,) = read(data)
    assert [text_of(m) for m in round_.messages] == ["look around", "I look.", "One file."]
    assert facts_before([round_])[-1].tokens == 2 * 119
    assert len(events(data, "replaced")) == 1


def test_a_result_in_a_message_of_its_own_finds_its_call() -> None:
    both = user(3, [response("c1", "a.txt"), response("c9", "other")])
    data = lines(head(), user(1, "go"), answer(2, "", call("c1"), call("c2", "x")), both)
    tools = {b.id: b.output for b in read(data)[0].blocks() if isinstance(b, Tool)}
    assert tools == {"c1": (Text("a.txt"),), "c2": (Text("x"),), "c9": (Text("other"),)}
    again = lines(head(), user(1, "go"), answer(2, "", call("c1", "a.txt")), user(3, [response("c1", "a.txt")]))
    assert len([b for b in read(again)[0].blocks() if isinstance(b, Tool)]) == 1


def test_a_picture_behind_a_result_is_the_results() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    seen = call("c1") | {"result": [response("c1", "seen"), image]}
    beside = [response("c1", "seen"), image, {"text": "and this"}, image]
    again = lines(head(), user(1, "go"), answer(2, "", seen), user(3, beside[:2]))
    assert [type(b) for b in read(again)[0].blocks() if not isinstance(b, Event)] == [Text, Tool]
    late = lines(head(), user(1, "go"), answer(2, "", call("c1")), user(3, beside))
    _, tool, words, picture = (b for b in read(late)[0].blocks() if not isinstance(b, Event))
    assert isinstance(tool, Tool)
    assert [type(one) for one in tool.output or ()] == [Text, Media]
    assert [type(words), type(picture)] == [Text, Media]
    assert lossless(again)
    assert lossless(late)


def test_a_result_stays_when_its_call_is_told_again_without_it() -> None:
    told = [
        user(1, "go"),
        answer(2, "I look.", call("c1", None)),
        user(3, [response("c1", "a.txt")]),
        answer(2, "Never mind."),
    ]
    (round_,) = read(lines(head(), *told))
    (orphan,) = (block for block in round_.blocks() if isinstance(block, Tool))
    assert (orphan.id, orphan.name, orphan.output) == ("c1", None, (Text("a.txt"),))
    assert [text_of(m) for m in round_.messages if m.role == "assistant"] == ["Never mind."]


def test_answers_of_a_program_made_from_this_one_are_answers() -> None:
    """Early Qwen Code wrote the same documents and called its answers `qwen`."""
    theirs = [message | {"type": "qwen"} if message["type"] == "gemini" else message for message in TALK]
    assert said_in(document(theirs)) == said_in(document(TALK))
    assert ("assistant", "Welcome.", "gemini-2.5-pro", 0) in said_in(document(theirs))


def said_in(data: bytes) -> list[tuple[str, str, str | None, int]]:
    messages = [message for round_ in read(data) for message in round_.messages]
    return [(m.role, text_of(m), m.model, sum(isinstance(block, Tool) for block in m.blocks)) for m in messages]


def test_what_the_program_says_opens_no_round() -> None:
    data = lines(
        head(),
        change(messages=[user(0, CONTEXT)]),
        user(1, "go"),
        user(2, "/stats model"),
        user(3, "System: Please continue."),
        {**user(4, "A new version."), "type": "info", "content": "A new version."},
        user(5, "/proj/app/x.py is broken"),
    )
    assert prompts(data) == ["go", "/proj/app/x.py is broken"]
    assert [e.text for e in events(data, "command")] == ["/stats model"]
    assert [e.text for e in events(data, "info")] == ["A new version."]
    assert facts_before(read(data))[-1].cwd == "/proj/app"


def test_files_that_a_prompt_names_are_not_its_words() -> None:
    parts = ["What is in @a.md?", "\n--- Content from referenced files ---", "\nContent from @a.md:\n", "Alpha."]
    data = lines(head(), user(1, [{"text": part} for part in parts], displayContent=[{"text": parts[0]}]))
    assert prompts(data) == ["What is in @a.md?"]
    assert [e.text for e in events(data, "referenced files")] == parts[1:]
    assert not events(data, "title")


@pytest.mark.parametrize("shown", ["/init", [{"text": "/init"}]])
def test_a_session_that_begins_with_a_command_is_called_by_it_as_it_was_typed(shown: Any) -> None:
    prompt = user(1, "You are an agent that writes GEMINI.md.", displayContent=shown)
    data = lines(head(), prompt, prompt, user(3, "on", displayContent="/on"))
    assert prompts(data) == ["You are an agent that writes GEMINI.md.", "on"]
    assert facts_before(read(data))[-1].display_title == "/init"
    assert [e.detail["title"] for e in events(data, "title")] == ["/init", "/on"]
    named = lines(head(), prompt, change(summary="Writing a guide"))
    assert facts_before(read(named))[-1].display_title == "Writing a guide"


def test_a_history_told_again_brings_nothing_new() -> None:
    data = lines(head(), *TALK, change(sessionId="x"), change(messages=TALK[:3]), user(6, "on"), answer(7, "Yes."))
    assert prompts(data) == ["look around", "thanks", "on"]
    assert [e.detail for e in events(data, "history told again")] == [{"messages": 3}]


def test_what_a_compaction_kept_is_no_prompt_again() -> None:
    summary = user(6, "<state_snapshot>One file was found.</state_snapshot>")
    kept = [summary, answer(7, "Got it."), user(8, "thanks")]
    data = lines(head(), *TALK, *kept, change(messages=kept), user(9, "on"))
    assert prompts(data) == ["look around", "thanks", "on"]
    assert [b.text for r in read(data) for b in r.blocks() if isinstance(b, Compaction)] == [
        "<state_snapshot>One file was found.</state_snapshot>"
    ]


def test_a_rewind_leaves_the_rounds_behind_that_it_took_back(tmp_path: Path) -> None:
    data = lines(
        head(),
        user(1, "one"),
        user(2, "two"),
        user(3, "three"),
        {"$rewindTo": "m2"},
        user(4, "four"),
        answer(5, "4"),
        {"$rewindTo": "m4"},
        user(6, "five"),
    )
    assert prompts(data) == ["one", "two", "three", "four", "five"]
    path = tmp_path / "in" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(data)
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path)})
    archive.inscribe([path])
    with Index(archive.layout) as index:
        assert index.abandoned(archive.sessions()[0].session_id) == {2, 3, 4}


def test_titles_folders_and_subagents_are_known() -> None:
    started = answer(2, "", call("c1", "done", agentId="sub-1"))
    data = lines(head(directories=["/proj/lib"]), user(1, "go"), started, change(summary="Go there"))
    rounds = read(data)
    facts = facts_before(rounds)[-1]
    assert (facts.title, facts.title_by, facts.cwd) == ("Go there", "ai", "/proj/lib")
    assert [b.sidechain for b in rounds[0].blocks() if isinstance(b, Tool)] == ["sub-1"]
    assert facts_before(read(document(TALK, summary="Files")))[-1].title == "Files"


@pytest.mark.parametrize("folder", ["/proj/lib", "C:\\proj\\lib", "d:/proj/lib", "\\\\server\\proj\\lib", "proj/lib"])
def test_the_folder_that_the_model_was_told_is_known_on_every_system(folder: str) -> None:
    told = user(1, CONTEXT.replace("/proj/app", folder))
    facts = facts_before(read(lines(head(), told, user(2, "go"))))[-1]
    assert facts.cwd == (folder if folder != "proj/lib" else None)


def test_the_words_of_a_message_of_an_unknown_type_are_shown() -> None:
    strange = user(2, "A lamp went out.") | {"type": "novel", "lamp": 7}
    data = lines(head(), user(1, "go"), strange, user(3, "on"))
    assert [(e.text, e.ref.id) for e in events(data, "message novel")] == [("", "m2"), ("A lamp went out.", "m2")]
    assert events(data, "message novel")[0].detail["lamp"] == 7
    assert lossless(data)


def test_a_call_without_an_id_is_no_loss() -> None:
    nameless = {name: value for name, value in call("c1", "a.txt").items() if name != "id"}
    assert lossless(lines(head(), user(1, "go"), answer(2, "", nameless)))


def test_media_and_unknown_parts_are_kept() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    odd = {"executableCode": {"code": "1"}}
    tool = call("c1") | {"result": [response("c1", {"a": 1}), image]}
    data = lines(head(), user(1, [{"text": "see"}, image]), answer(2, [odd], tool), {"later": "kind"})
    blocks = list(read(data)[0].blocks())
    assert [b.media_type for b in blocks if isinstance(b, Media)] == ["image/png"]
    assert [(b.kind, b.value) for b in blocks if isinstance(b, Unknown)] == [("executableCode", odd)]
    (made,) = (b for b in blocks if isinstance(b, Tool))
    assert made.output
    assert [type(part) for part in made.output] == [Unknown, Media]
    assert [e.detail for e in events(data, "unknown")] == [{"later": "kind"}]


def test_a_thought_that_stands_twice_is_read_once() -> None:
    content: list[Any] = [{"text": "**Plan** Two commands.", "thought": True}, {"text": "I look."}]
    content.append({"functionCall": {"id": "c1", "name": "run_shell_command", "args": {}}})
    data = lines(head(), TALK[0], answer(2, content, call("c1", "x"), thoughts=[THOUGHT]))
    kinds = [type(b) for b in read(data)[0].messages[1].blocks]
    assert kinds == [Thinking, Text, Tool]


def test_damage_is_reported_and_nothing_behind_it_is_lost() -> None:
    data = lines(head(), TALK[0], b'{"id":"m2","ty', b"\0\0", TALK[2])
    (round_,) = read(data)
    assert [p.what[:8] for p in round_.problems("x")] == ["not JSON", "2 NUL by"]
    assert text_of(round_.messages[-1]) == "One file."


def test_half_a_line_at_the_end_is_not_yet_there() -> None:
    data = FORMS["lines"]
    assert read(data + b'{"id":"m9","type":"us') == read(data)
    cut = FORMS["document"].index(b"Welcome")
    assert text_of(read(FORMS["document"][:cut])[1].messages[-1]) == "thanks"


@pytest.mark.parametrize("odd", [None, "many", [], -1])
def test_tokens_and_states_that_are_none_count_for_the_yardstick_as_for_the_reader(odd: Any) -> None:
    tokens = {"input": 5, "output": 2, "cached": 9, "thoughts": odd, "tool": odd}
    said = answer(2, "I look.", call("c1", "a.txt", odd), tokens=tokens)
    (usage,) = (claim.value for claim in SOURCE.claims(lines(said)) if claim.field == "usage")
    (round_,) = read(lines(head(), user(1, "look"), said))
    read_as = round_.messages[1].usage
    assert read_as
    assert usage == [read_as.input, read_as.output, read_as.cache_read, read_as.cache_write]
