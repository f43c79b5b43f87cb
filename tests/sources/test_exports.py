"""Data exports: many conversations in one file, each a session, and not one byte lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check
from muniment.archive import Archive
from muniment.errors import Unsupported
from muniment.model import Event, Facts, Round, Text, Tool, Unknown
from muniment.restore import Target
from muniment.search import Query
from muniment.sources import find_in, named, object_lines, raw_json, recognise
from muniment.sources.base import Found, Move, bytes_of
from muniment.sources.lines import MAX_LINE_BYTES, records

ENV = {"HOME": "/nowhere"}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)


def claude(number: int, *said: str, **more: Any) -> dict[str, Any]:
    messages = [
        {
            "uuid": f"{number:08d}-0000-4000-8000-{turn:012d}",
            "sender": "assistant" if turn % 2 else "human",
            "content": [{"type": "text", "text": words}],
            "created_at": f"2026-01-02T03:04:{turn:02d}Z",
        }
        for turn, words in enumerate(said)
    ]
    about = {
        "uuid": f"{number:08d}-1111-4111-8111-111111111111",
        "name": f"chat {number}",
        "updated_at": str(len(said)),
    }
    return about | {"created_at": "2026-01-02T03:04:00Z"} | more | {"chat_messages": messages}


def chatgpt(number: int, *said: str, **more: Any) -> dict[str, Any]:
    names = ["root", *(f"n{turn}" for turn in range(len(said)))]
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": names[1:2], "message": None}}
    for turn, words in enumerate(said):
        role = "assistant" if turn % 2 else "user"
        content = {"content_type": "text", "parts": [words]}
        message = {"author": {"role": role}, "create_time": 1e9 + turn, "content": content, "recipient": "all"}
        node = {"id": names[turn + 1], "parent": names[turn], "children": names[turn + 2 : turn + 3]}
        mapping[names[turn + 1]] = node | {"message": message}
    return {"conversation_id": f"gpt-{number}", "title": f"chat {number}", "mapping": mapping} | more


FORMATS = pytest.mark.parametrize("make", [claude, chatgpt], ids=["claude-ai", "chatgpt"])


def write(path: Path, conversations: list[Any], indent: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(conversations, indent=indent, ensure_ascii=False))
    return path


def read(session: Found) -> list[Round]:
    source, (main, *_) = named(session.source), session.files
    facts = Facts(session.session_id, session.source, native_id=session.native_id)
    return list(source.read(records(source.open(main.name, bytes_of(main))), facts))


def words(rounds: list[Round]) -> list[str]:
    return [block.text for round_ in rounds for block in round_.blocks() if isinstance(block, Text)]


def damage(rounds: list[Round]) -> list[str]:
    return [block.damage for r in rounds for block in r.blocks() if isinstance(block, Unknown) and block.damage]


# -- taking a file apart


@given(values=st.lists(JSON, max_size=5), indent=st.sampled_from([None, 2]), size=st.integers(1, 50))
def test_objects_lie_where_they_are_found_however_the_file_is_cut(values: list[Any], indent: Any, size: int) -> None:
    data = json.dumps(values, indent=indent).encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    found = [json.loads(data[span.start : span.end]) for span in raw_json.objects(pieces)]
    assert found == [value for value in values if isinstance(value, dict)]


@given(values=st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=3), max_size=5))
def test_objects_may_stand_on_lines_of_their_own(values: list[Any]) -> None:
    data = b"\n".join(json.dumps(value).encode() for value in values)
    assert [json.loads(data[span.start : span.end]) for span in raw_json.objects([data])] == values


@given(values=st.lists(JSON, max_size=5), indent=st.sampled_from([None, 2]))
def test_the_quick_way_finds_the_same_objects(values: list[Any], indent: Any) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=False).encode()
    assert raw_json.elements(data) == list(raw_json.objects([data]))


@given(
    values=st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=3), max_size=3),
    before=st.sampled_from([b"", b" ,\n", b"\xef\xbb\xbf["]),
    behind=st.sampled_from([b"", b"]\n"]),
)
def test_every_object_is_made_into_lines_be_it_alone_or_not(values: list[Any], before: bytes, behind: bytes) -> None:
    data = before + b",".join(json.dumps(value).encode() for value in values) + behind
    made = object_lines.lines([data[:3], data[3:]], lambda raw: [raw])
    assert [json.loads(raw) for raw in made] == values


@given(value=st.dictionaries(st.text(max_size=6), JSON, min_size=1, max_size=3), behind=st.sampled_from([b"", b" \n"]))
def test_how_much_of_a_value_is_there_is_told(value: Any, behind: bytes) -> None:
    data = json.dumps(value).encode()
    assert raw_json.extent(data + behind) == "whole"
    assert raw_json.extent(data[:-1]) == raw_json.extent(data[:1]) == "cut"
    assert "whole" not in {raw_json.extent(data[:end]) for end in range(1, len(data))}
    assert raw_json.extent(data + b"\n" + data) == raw_json.extent(b"{]") == "unknown"


@given(data=st.binary(max_size=200))
def test_any_bytes_can_be_taken_apart(data: bytes) -> None:
    spans = list(raw_json.objects([data[:50], data[50:]]))
    assert all(0 <= span.start < span.end <= len(data) for span in spans)
    b"".join(object_lines.lines([data], lambda raw: [raw]))


def test_an_object_that_is_too_large_is_told_of_and_not_held() -> None:
    def pieces() -> Any:
        yield b'[{"a":"'
        yield from (b"x" * (1 << 20) for _ in range((MAX_LINE_BYTES >> 20) + 2))
        yield b'"},{"b":1}]'

    made = b"".join(object_lines.lines(pieces(), lambda raw: [raw + b"\n"])).split(b"\n")
    assert made[0].startswith(b"# an object of 69")
    assert made[0].endswith(b"is kept and not read")
    assert made[1:] == [b'{"b":1}', b""]


# -- sessions


@FORMATS
@pytest.mark.parametrize("indent", [None, 1])
def test_every_conversation_is_a_session_with_its_own_bytes(make: Any, indent: int | None, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [make(1, "a", "b"), make(2, "c", "d", "e"), make(3, "f")], indent)
    sessions = list(find_in(path, ENV))
    assert [words(read(session)) for session in sessions] == [["a", "b"], ["c", "d", "e"], ["f"]]
    assert len({session.session_id for session in sessions}) == 3
    assert b"".join(b"".join(bytes_of(session.files[0])) for session in sessions) == path.read_bytes()


@FORMATS
def test_a_conversation_that_occurs_twice_is_two_sessions(make: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [make(1, "a"), make(1, "a", "b")])
    sessions = list(find_in(path, ENV))
    assert len({session.session_id for session in sessions}) == 2
    assert [words(read(session)) for session in sessions] == [["a"], ["a", "b"]]


@FORMATS
@pytest.mark.parametrize("odd", [b"1e999", b'"\xff"', b'"\\ud800"', b"[{}]"])
def test_whatever_stands_in_place_of_an_id_is_no_trouble(make: Any, odd: bytes, tmp_path: Path) -> None:
    name, other = ("uuid", "name") if make is claude else ("conversation_id", "current_node")
    path = write(tmp_path / "conversations.json", [make(1, "a") | {name: "ODD", other: "ODD"}, make(2, "b")])
    path.write_bytes(path.read_bytes().replace(b'"ODD"', odd))
    source = named("claude-ai" if make is claude else "chatgpt")
    sessions = list(source.gather([path], path.parent, []))
    assert len({session.session_id for session in sessions}) == 2
    assert read(sessions[0])
    assert words(read(sessions[1])) == ["b"]
    path.write_bytes(b"".join(bytes_of(sessions[0].files[0])))
    assert [session.session_id for session in source.gather([path], path.parent, [])] == [sessions[0].session_id]


@FORMATS
def test_half_a_character_in_a_name_or_beside_a_message(make: Any, tmp_path: Path) -> None:
    told = json.dumps([make(1, "MARK", "yes", HALF={"a": 1})])
    told = told.replace('"parent": "n0"', '"parent": "HALF"').replace("HALF", "\\ud83d")
    path = tmp_path / "conversations.json"
    path.write_text(told)
    (session,) = find_in(path, ENV)
    assert words(read(session)) == ["MARK", "yes"]


@FORMATS
def test_what_is_no_conversation_stays_with_the_next_one(make: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [make(1, "a"), None, 7, make(2, "b")])
    sessions = list(find_in(path, ENV))
    assert [words(read(session)) for session in sessions] == [["a"], ["b"]]
    assert [len(damage(read(session))) for session in sessions] == [0, 1]


@FORMATS
@settings(max_examples=60)
@given(data=st.data())
def test_an_export_cut_anywhere_is_read_as_far_as_it_goes(
    make: Any, data: st.DataObject, tmp_path_factory: Any
) -> None:
    path = write(tmp_path_factory.mktemp("cut") / "conversations.json", [make(1, "a", "b"), make(2, "c", "d")])
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    source = recognise(path)
    sessions = list(source.gather([path], path.parent, [])) if source else []
    said = [word for session in sessions for word in words(read(session))]
    assert said == ["a", "b", "c", "d"][: len(said)]
    kept = b"".join(b"".join(bytes_of(session.files[0])) for session in sessions)
    assert kept == (whole[:cut] if sessions else b"")


@FORMATS
def test_the_parts_of_an_export_restore_to_the_export(make: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "export" / "conversations.json", [make(1, "a", "b"), make(2, "c"), make(3, "d")], 1)
    archive = Archive(tmp_path / "store", ENV)
    archive.inscribe([path])
    for session in archive.sessions():
        archive.restore(session.session_id, Target(to=tmp_path / "back"))
    parts = sorted((tmp_path / "back" / "conversations.json.parts").iterdir())
    assert len(parts) == 3
    assert b"".join(part.read_bytes() for part in parts) == path.read_bytes()
    assert all(checked.lossless and not checked.problems for checked in archive.check_stored())


@FORMATS
def test_a_restored_part_is_the_same_session(make: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "export" / "conversations.json", [make(1, "a", "b"), make(2, "c"), make(3, "d")])
    archive = Archive(tmp_path / "store", ENV)
    archive.inscribe([path])
    before = {session.session_id for session in archive.sessions()}
    for name in before:
        archive.restore(name, Target(to=tmp_path / "back"))
    outcomes: list[str] = []
    archive.inscribe([tmp_path / "back"], lambda outcome: outcomes.append(outcome.what))
    assert {session.session_id for session in archive.sessions()} == before
    assert set(outcomes) == {"unchanged"}


@FORMATS
def test_a_later_export_goes_on_where_the_earlier_ended(make: Any, tmp_path: Path) -> None:
    first = write(tmp_path / "january" / "conversations.json", [make(1, "a", "b"), make(2, "c"), make(3, "z")])
    second = write(tmp_path / "june" / "conversations.json", [make(1, "a", "b", "c", "d"), make(2, "c"), make(3, "z")])
    archive = Archive(tmp_path / "store", ENV)
    archive.inscribe([first])
    outcomes: list[str] = []
    archive.inscribe([second], lambda outcome: outcomes.append(outcome.what))
    assert sorted(outcomes) == ["unchanged", "unchanged", "version"]
    grown = max(archive.sessions(), key=lambda session: session.messages)
    assert words(list(archive.rounds(grown))) == ["a", "b", "c", "d"]
    for path in (first, second):
        path.rename(path.with_suffix(".away"))
    for session in archive.sessions():
        archive.restore(session.session_id)
    for path in (first, second):
        parts = sorted(path.with_name("conversations.json.parts").iterdir())
        assert b"".join(part.read_bytes() for part in parts) == path.with_suffix(".away").read_bytes()


def test_a_change_beside_the_conversation_is_kept_too(tmp_path: Path) -> None:
    """The time of the last change is no record: the bytes that tell it must not be lost for that."""
    path = write(tmp_path / "work" / "conversations.json", [claude(1, "a", "b")])
    archive = Archive(tmp_path / "store", ENV)
    archive.inscribe([path])
    write(path, [claude(1, "a", "b", updated_at="2026-05-05")])
    archive.inscribe([path])
    kept = path.read_bytes()
    path.unlink()
    archive.restore(archive.sessions()[0].session_id)
    assert path.read_bytes() == kept


@FORMATS
def test_inscribing_an_export_twice_changes_nothing(make: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [make(1, "a", "b"), make(2, "c")])
    archive = Archive(tmp_path / "store", ENV)
    assert archive.inscribe([path]) == 2
    todo = archive.plan(archive.find([path]))
    assert (len(todo.tasks), todo.unchanged) == (0, 2)


@FORMATS
def test_reindex_gives_the_same_archive(make: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", [make(1, "a", "b"), make(2, "c")])
    archive = Archive(tmp_path / "store", ENV)
    archive.inscribe([path])
    before = [(session.session_id, session.title, session.messages) for session in archive.sessions()]
    archive.reindex()
    assert [(session.session_id, session.title, session.messages) for session in archive.sessions()] == before


@FORMATS
@settings(max_examples=60)
@given(values=st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=4), max_size=4))
def test_what_nobody_expects_is_kept_and_not_fatal(make: Any, values: list[Any], tmp_path_factory: Any) -> None:
    odd = make(1, "a", "b")
    if make is claude:
        odd["chat_messages"] += values
        odd["chat_messages"] += [{"sender": "human", "content": values}, {"sender": "assistant", "attachments": values}]
    else:
        odd["mapping"] |= {f"odd {number}": value for number, value in enumerate(values)}
        odd["mapping"]["m"] = {"id": "m", "parent": "n0", "message": {"author": {"role": "tool"}, "content": values}}
    path = write(tmp_path_factory.mktemp("odd") / "conversations.json", [odd])
    (session,) = named("claude-ai" if make is claude else "chatgpt").gather([path], path.parent, [])
    rounds = read(session)
    assert words(rounds)[:2] == ["a", "b"] or set(words(rounds)) >= {"a", "b"}
    assert not damage(rounds)


def test_a_session_of_an_export_cannot_be_moved(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", ENV)
    archive.inscribe([write(tmp_path / "conversations.json", [claude(1, "a")])])
    with pytest.raises(Unsupported):
        archive.restore(archive.sessions()[0].session_id, Target(move=Move(cwd="/elsewhere")))


# -- Claude.ai


def test_results_without_ids_find_their_calls(tmp_path: Path) -> None:
    odd = claude(1, "find it", "")
    odd["chat_messages"][1]["content"] = [
        {"type": "tool_use", "id": None, "name": "search", "input": {"query": "a"}},
        {"type": "tool_use", "id": None, "name": "search", "input": {"query": "b"}},
        {"type": "tool_result", "tool_use_id": None, "content": [{"type": "text", "text": "A"}]},
        {"type": "tool_result", "tool_use_id": None, "content": "B"},
        {"type": "voice_note", "text": "hm"},
    ]
    (session,) = find_in(write(tmp_path / "conversations.json", [odd]), ENV)
    tools = [block for round_ in read(session) for block in round_.blocks() if isinstance(block, Tool)]
    given = [(tool.input, [part.text for part in tool.output or () if isinstance(part, Text)]) for tool in tools]
    assert given == [({"query": "a"}, ["A"]), ({"query": "b"}, ["B"])]


def called(*blocks: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Calls and results as an export has them: kind, name of the tool, and what was asked or given back."""
    return [
        {"type": "tool_use", "id": None, "name": name, "input": {"query": said}}
        if kind == "use"
        else {"type": "tool_result", "tool_use_id": None, "name": name, "content": said}
        for kind, name, said in blocks
    ]


A, B, C = ("use", "search", "a"), ("use", "fetch", "b"), ("use", "search", "c")


@pytest.mark.parametrize(
    ("blocks", "given"),
    [
        ([A, B, C, ("result", "fetch", "B"), ("result", "search", "A")], ["A", "B", None]),
        ([A, B, ("result", "fetch", "B"), C, ("result", "search", "A"), ("result", "search", "C")], ["A", "B", "C"]),
        ([A, B, C, ("result", "lookup", "A"), ("result", "search", "C"), ("result", "", "B")], ["A", "B", "C"]),
    ],
)
def test_a_result_that_is_missing_shifts_no_other(blocks: list[Any], given: list[Any], tmp_path: Path) -> None:
    odd = claude(1, "find it", "")
    odd["chat_messages"][1]["content"] = called(*blocks)
    (session,) = find_in(write(tmp_path / "conversations.json", [odd]), ENV)
    tools = [block for round_ in read(session) for block in round_.blocks() if isinstance(block, Tool)]
    assert [tool.output and tool.output[0].text for tool in tools] == given  # pyright: ignore[reportAttributeAccessIssue]
    assert all(checked.lossless for checked in check.check_found(session))


def test_flat_text_stands_in_where_there_are_no_blocks(tmp_path: Path) -> None:
    odd = claude(1, "x", "y")
    odd["chat_messages"][0] |= {"content": [], "text": "only flat"}
    (session,) = find_in(write(tmp_path / "conversations.json", [odd]), ENV)
    assert words(read(session)) == ["only flat", "y"]


PASTED = {"file_name": "", "file_size": 4000, "file_type": "txt", "extracted_content": "a long letter"}


def attached(said: str, *attachments: dict[str, Any]) -> dict[str, Any]:
    odd = claude(1, said, "read")
    odd["chat_messages"][0] |= {"text": said, "attachments": list(attachments)}
    return odd


def first_prompt(conversation: dict[str, Any], folder: Path) -> list[tuple[str, str]]:
    """The kinds and words of what is shown, in an archive that has lost nothing of it."""
    (session,) = find_in(write(folder / "conversations.json", [conversation]), ENV)
    assert all(checked.lossless for checked in check.check_found(session))
    prompt = read(session)[0].prompt
    assert prompt
    shown = [(getattr(block, "kind", "text"), getattr(block, "text", "")) for block in prompt.blocks]
    return [(kind, words) for kind, words in shown if words]


@pytest.mark.parametrize("said", ["", " \n"])
def test_a_text_that_was_only_pasted_is_the_prompt(said: str, tmp_path: Path) -> None:
    blank = [("text", said)] if said else []
    assert first_prompt(attached(said, PASTED), tmp_path) == [*blank, ("text", "a long letter")]
    (session,) = find_in(tmp_path / "conversations.json", ENV)
    kept = [block.detail for block in read(session)[0].blocks() if getattr(block, "kind", "") == "attachment"]
    assert kept == [{"file_size": 4000, "file_type": "txt"}]


@pytest.mark.parametrize(("said", "name"), [("sum it up", ""), ("", "letter.txt"), ("sum it up", "letter.txt")])
def test_what_has_a_name_or_words_beside_it_is_an_attachment(said: str, name: str, tmp_path: Path) -> None:
    shown = first_prompt(attached(said, PASTED | {"file_name": name}), tmp_path)
    told = f"{name}\n\na long letter" if name else "a long letter"
    assert shown == [("text", said)] * bool(said) + [("attachment", told)]


def test_files_are_known_by_their_names(tmp_path: Path) -> None:
    odd = attached("look", PASTED | {"file_name": "lamps.pdf", "extracted_content": ""})
    odd["chat_messages"][0]["files"] = [{"file_name": "pier.jpg"}, {"file_name": ""}, {"file_uuid": "f"}]
    assert first_prompt(odd, tmp_path) == [("text", "look"), ("attachment", "lamps.pdf"), ("file", "pier.jpg")]
    archive = Archive(tmp_path / "store", ENV)
    archive.inscribe([tmp_path / "conversations.json"])
    for name in ("lamps.pdf", "pier.jpg"):
        assert len(archive.search(Query(name))) == 1
    (checked,) = check.check_found(next(find_in(tmp_path / "conversations.json", ENV)))
    assert checked.document["text"].equal == 4


def test_pages_that_were_found_are_text(tmp_path: Path) -> None:
    page = {"type": "knowledge", "title": "Lamps", "url": "https://e.org/lamps", "text": "lit at dusk", "metadata": {}}
    odd = claude(1, "when?", "")
    found = [page, page | {"text": None}, {"type": "knowledge", "metadata": {"rank": 1}}]
    odd["chat_messages"][1]["content"] = [*called(A), {"type": "tool_result", "name": "search", "content": found}]
    (session,) = find_in(write(tmp_path / "conversations.json", [odd]), ENV)
    (tool,) = [block for round_ in read(session) for block in round_.blocks() if isinstance(block, Tool)]
    assert tool.output == (
        Text("Lamps\nhttps://e.org/lamps\nlit at dusk"),
        Text("Lamps\nhttps://e.org/lamps"),
        Unknown("knowledge", found[2]),
    )
    (checked,) = check.check_found(session)
    assert checked.lossless
    assert checked.document["tool output"].equal == 2


def test_an_empty_block_hides_no_flat_text_and_an_empty_attachment_is_no_loss(tmp_path: Path) -> None:
    odd = attached("", PASTED | {"extracted_content": ""})
    odd["chat_messages"][0]["text"] = "flat"
    assert first_prompt(odd, tmp_path) == [("text", "flat")]


def test_the_first_message_has_no_parent(tmp_path: Path) -> None:
    odd = claude(1, "a", "b")
    odd["chat_messages"][0]["parent_message_uuid"] = "00000000-0000-4000-8000-000000000000"
    odd["chat_messages"][1]["parent_message_uuid"] = odd["chat_messages"][0]["uuid"]
    (session,) = find_in(write(tmp_path / "conversations.json", [odd]), ENV)
    (round_,) = read(session)
    assert round_.parent is None
    assert next(block.ref.parent for block in round_.blocks() if isinstance(block, Text)) is None
    assert all(not checked.rehung and checked.lossless for checked in check.check_found(session))


AROUND = [({}, {}), ({"at": "now", "account": {"uuid": "u"}}, {"has_more": False, "projects": [{"uuid": "p"}]})]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(("before", "behind"), AROUND, ids=["bare", "among others"])
def test_conversations_in_an_object_are_sessions_too(tmp_path: Path, before: Any, behind: Any, indent: Any) -> None:
    path = tmp_path / "conversations.json"
    for chats in ([claude(1, "a", "b")], [claude(1, "a", "b"), claude(2, "c"), claude(3, "d", "e")]):
        path.write_text(json.dumps({**before, "conversations": chats, **behind}, indent=indent))
        found = list(find_in(path, ENV))
        assert [session.session_id for session in found] == [chat["uuid"] for chat in chats]
        assert [words(read(session)) for session in found] == [["a", "b"], ["c"], ["d", "e"]][: len(chats)]
        assert [damage(read(session)) for session in found] == [[]] * len(chats)
        assert b"".join(b"".join(bytes_of(session.files[0])) for session in found) == path.read_bytes()
        assert all(checked.lossless for session in found for checked in check.check_found(session))


def test_a_conversation_is_the_same_in_an_array_and_in_an_object(tmp_path: Path) -> None:
    archive, path = Archive(tmp_path / "store", {"HOME": str(tmp_path)}), tmp_path / "conversations.json"
    for whole in ([claude(1, "a", "b"), claude(2, "c")], {"conversations": [claude(1, "a", "b", "d"), claude(2, "c")]}):
        path.write_text(json.dumps(whole))
        archive.inscribe([path], lambda outcome: None)
    assert sorted(session.messages for session in archive.sessions()) == [1, 3]
    assert not any(archive.shelf(session).versions.exists() for session in archive.sessions())


def test_an_object_that_is_cut_off_gives_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    data = json.dumps({"conversations": [claude(1, "a", "b"), claude(2, "c", "d")]}).encode()
    path.write_bytes(data[:-60])
    one, other = find_in(path, ENV)
    assert words(read(one)) == ["a", "b"]
    assert words(read(other))[:1] == ["c"]


def test_what_else_is_wrapped_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    for around in (
        {"account": {"uuid": "u"}, "chats": [claude(1, "a", "b")]},
        {"conversations": [{"uuid": "u", "name": "n", "messages": [{"chat_messages": []}]}]},
    ):
        path.write_text(json.dumps(around, indent=1))
        assert recognise(path) is None
    for own in (claude(1, "a", account={"uuid": "u"}), [claude(1, "a")], [{"uuid": "u"}, claude(1, "a")]):
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps(own, indent=1).encode())
        assert (source := recognise(path))
        assert source.name == "claude-ai"


# -- ChatGPT


def test_branches_come_in_the_order_of_time_and_know_their_parents(tmp_path: Path) -> None:
    tree = chatgpt(1, "first", "answer", "later", "last")
    edited = {
        "author": {"role": "user"},
        "create_time": 1e9 + 1.5,
        "content": {"content_type": "text", "parts": ["edit"]},
    }
    tree["mapping"]["e"] = {"id": "e", "parent": "root", "children": [], "message": edited | {"recipient": "all"}}
    tree["current_node"] = "e"
    (session,) = find_in(write(tmp_path / "conversations.json", [tree]), ENV)
    rounds = read(session)
    assert words(rounds) == ["first", "answer", "edit", "later", "last"]
    assert [round_.parent for round_ in rounds] == ["root", "root", "n1"]
    events = [block.kind for block in rounds[-1].messages[-1].blocks if not isinstance(block, Text)]
    assert events == ["open branch"]


def node(name: str, parent: str | None, at: float | None, role: str = "user", **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [name]}
    message = {"author": {"role": role}, "create_time": at, "content": content, "recipient": "all"} | more
    return {name: {"id": name, "parent": parent, "children": [], "message": message}}


BRANCHES = (
    node("a", "top", 10.0)
    | node("b", "top", 50.0)
    | node("b answer", "b", 51.0, "assistant")
    | node("a answer", "a", 11.0, "assistant")
    | node("a2", "a answer", 12.0)
    | node("a2 answer", "a2", None, "assistant")
)
IN_TURN = ["a", "a answer", "a2", "a2 answer", "b", "b answer"]


@pytest.mark.parametrize(
    "late",
    [
        node("top", None, 99.0, "system"),
        node("top", None, 99.0, metadata={"is_visually_hidden_from_conversation": True}),
        node("top", None, 99.0, content={"content_type": "user_editable_context"}),
        node("top", None, 99.0, weight=0.0, metadata=[]),
        {"top": {"id": "top", "parent": None, "message": None}},
        node("outer", None, 98.0, "system") | node("top", "outer", 99.0, "system"),
    ],
    ids=["system", "hidden", "context", "weightless", "empty", "two"],
)
def test_what_nobody_sees_tells_no_branch_when_it_came_about(late: dict[str, Any], tmp_path: Path) -> None:
    tree = chatgpt(1) | {"mapping": BRANCHES | late}
    (session,) = find_in(write(tmp_path / "conversations.json", [tree]), ENV)
    rounds = read(session)
    assert words(rounds) == IN_TURN
    assert [words([round_]) for round_ in rounds] == [IN_TURN[:2], IN_TURN[2:4], IN_TURN[4:]]
    ids = [block.ref.id for block in rounds[0].blocks() if block.ref.id]
    assert ids.index("top") < ids.index("a")


def test_branches_of_one_time_are_each_kept_together(tmp_path: Path) -> None:
    timeless = {name: json.loads(json.dumps(told)) for name, told in BRANCHES.items()}
    for told in timeless.values():
        told["message"]["create_time"] = None
    tree = chatgpt(1) | {"mapping": timeless | {"top": {"id": "top", "parent": None, "message": None}}}
    (session,) = find_in(write(tmp_path / "conversations.json", [tree]), ENV)
    assert words(read(session)) == IN_TURN


def test_what_nobody_sees_on_an_old_branch_is_appended_when_it_came(tmp_path: Path) -> None:
    before = BRANCHES | node("top", None, 1.0, "system")
    before["a2 answer"]["message"]["create_time"] = 13.0
    after = before | node("unseen", "a2 answer", 70.0, "system") | node("a3", "unseen", 71.0)
    source = named("chatgpt")
    made = [
        b"".join(source.open("x.json", [json.dumps([chatgpt(1) | {"mapping": tree}]).encode()]))
        for tree in (before, after)
    ]
    assert made[1].startswith(made[0])


def test_conversations_with_the_same_root_are_no_copies(tmp_path: Path) -> None:
    told = json.dumps([chatgpt(1, "a", "b"), chatgpt(2, "c", "d")]).replace('"root"', '"client-created-root"')
    path = tmp_path / "conversations.json"
    path.write_text(told)
    archive = Archive(tmp_path / "store", ENV)
    archive.inscribe([path])
    assert [session.copies for session in archive.sessions()] == [0, 0]


def talk(said: str) -> list[Any]:
    """Spoken words as an export has them, beside the recording that they were heard in."""
    pointer = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1", "format": "wav"}
    around = {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": pointer}
    return [{"content_type": "audio_transcription", "direction": "in", "text": said}, pointer, around]


def test_spoken_words_are_words_and_recordings_are_kept_quietly(tmp_path: Path) -> None:
    tree = chatgpt(1, "", "", "")
    for name, said in (("n0", "which way is north?"), ("n1", "behind you"), ("n2", "")):
        tree["mapping"][name]["message"]["content"] = {"content_type": "multimodal_text", "parts": talk(said)}
    (session,) = find_in(write(tmp_path / "conversations.json", [tree]), ENV)
    rounds = read(session)
    assert words(rounds) == ["which way is north?", "behind you"]
    assert not [block for round_ in rounds for block in round_.blocks() if isinstance(block, Unknown)]
    kept = [block.detail for block in rounds[0].blocks() if isinstance(block, Event) and "asset" in block.kind]
    assert kept == talk("")[1:] * 2
    assert all(checked.lossless for checked in check.check_found(session))


def test_what_a_tool_spoke_is_kept_whole(tmp_path: Path) -> None:
    tree = chatgpt(1, "sing", "", "")
    tree["mapping"]["n1"]["message"] |= {"recipient": "singer"}
    tree["mapping"]["n2"]["message"] |= {"author": {"role": "tool", "name": "singer"}}
    tree["mapping"]["n2"]["message"]["content"] = {"content_type": "multimodal_text", "parts": talk("la")}
    (session,) = find_in(write(tmp_path / "conversations.json", [tree]), ENV)
    (tool,) = [block for round_ in read(session) for block in round_.blocks() if isinstance(block, Tool)]
    assert tool.output is not None
    assert tool.output[0] == Text("la")
    assert [part.value for part in tool.output[1:] if isinstance(part, Unknown)] == talk("la")[1:]
    assert all(checked.lossless for checked in check.check_found(session))


def test_what_a_search_found_is_its_output(tmp_path: Path) -> None:
    page = {"type": "search_result", "title": "Lamps", "url": "https://e.org/lamps", "snippet": "lit at dusk", "ref": 1}
    groups = [{"domain": "e.org", "entries": [page, {"type": "odd"}]}, {"domain": "none.org"}]
    tree = chatgpt(1, "when?", '{"search_query":[{"q":"lamps"}]}', "", "at dusk")
    tree["mapping"]["n1"]["message"] |= {"recipient": "web.run"}
    found = {"author": {"role": "tool", "name": "web.run"}, "metadata": {"search_result_groups": groups}}
    tree["mapping"]["n2"]["message"] |= found
    tree["mapping"]["n3"]["message"]["author"]["role"] = "assistant"
    (session,) = find_in(write(tmp_path / "conversations.json", [tree]), ENV)
    (tool,) = [block for round_ in read(session) for block in round_.blocks() if isinstance(block, Tool)]
    odd = (Unknown("search_result", {"type": "odd"}), Unknown("search_result", {"domain": "none.org"}))
    assert tool.output == (Text("Lamps\nhttps://e.org/lamps\nlit at dusk"), *odd)
    (checked,) = check.check_found(session)
    assert checked.lossless
    assert checked.export["tool output"].equal == 1


@pytest.mark.parametrize(("how", "shown"), [("interrupted", 1), ("max_tokens", 1), ("stop", 0), (["x"], 0)])
def test_an_answer_that_was_cut_off_says_so(how: Any, shown: int, tmp_path: Path) -> None:
    tree = chatgpt(1, "count to a thousand", "one, two")
    tree["mapping"]["n1"]["message"]["metadata"] = {"finish_details": {"type": how}}
    (session,) = find_in(write(tmp_path / "conversations.json", [tree]), ENV)
    answer = read(session)[0].messages[-1]
    assert answer.blocks[0].text == "one, two"  # pyright: ignore[reportAttributeAccessIssue]
    assert [block.kind for block in answer.blocks if isinstance(block, Event)] == ["unfinished"] * shown
    assert all(block.text for block in answer.blocks if isinstance(block, Event))
    assert all(checked.lossless for checked in check.check_found(session))


def test_parents_that_lead_in_a_circle_are_read_once(tmp_path: Path) -> None:
    tree = chatgpt(1, "a", "b", "c")
    tree["mapping"]["n0"]["parent"] = "n2"
    (session,) = find_in(write(tmp_path / "conversations.json", [tree]), ENV)
    assert sorted(words(read(session))) == ["a", "b", "c"]


def test_a_very_long_conversation_is_no_trouble(tmp_path: Path) -> None:
    (session,) = find_in(write(tmp_path / "conversations.json", [chatgpt(1, *map(str, range(5000)))]), ENV)
    assert words(read(session)) == [str(number) for number in range(5000)]
