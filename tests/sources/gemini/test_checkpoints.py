"""Conversations that a person saved: contents as the model was sent them, in a list or in a document around it."""

import json
from pathlib import Path
from typing import Any

import pytest

from muniment import check, sources
from muniment.archive import Archive
from muniment.errors import Unsupported
from muniment.model import Compaction, Event, Facts, Round, Text, Tool
from muniment.model.rounds import text_of
from muniment.sources.base import Move, SourceFile
from muniment.sources.gemini import SOURCE
from muniment.sources.lines import records

FACTS = Facts("01a00000-0000-4000-8000-000000000002", "gemini")
NAME = "tmp/app/checkpoint-well.json"
CONTEXT = (
    "This is the Gemini CLI. We are setting up the context for our chat.\nI'm currently working in the directory: /app"
)


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts: Any) -> dict[str, Any]:
    return user(*parts) | {"role": "model"}


def called(name: str, id_: str | None = None, **args: Any) -> dict[str, Any]:
    return {"functionCall": ({"id": id_} if id_ else {}) | {"name": name, "args": args}}


def gave(name: str, output: Any, id_: str | None = None) -> dict[str, Any]:
    return {"functionResponse": ({"id": id_} if id_ else {}) | {"name": name, "response": {"output": output}}}


TALK = [user(CONTEXT), model("Got it."), user("How deep is the well?"), model("Nine fathoms."), user("Thanks.")]


def saved(contents: list[Any], as_object: bool = False, indent: int | None = 2) -> bytes:
    return json.dumps(
        {"history": contents, "authType": "gemini-api-key"} if as_object else contents, indent=indent
    ).encode()


def read(data: bytes) -> list[Round]:
    return list(SOURCE.read(records(SOURCE.open(NAME, [data])), FACTS))


def tools(rounds: list[Round]) -> list[tuple[str | None, Any]]:
    blocks = (block for round_ in rounds for block in round_.blocks())
    return [(block.name, block.output) for block in blocks if isinstance(block, Tool)]


FORMS = [saved(TALK), saved(TALK, True), saved(TALK, indent=None), saved(TALK, True, None), saved(TALK, indent=4)]


@pytest.mark.parametrize("data", FORMS)
def test_every_form_is_the_same_conversation(data: bytes) -> None:
    rounds = read(data)
    assert [text_of(round_.prompt) for round_ in rounds if round_.prompt] == ["How deep is the well?", "Thanks."]
    assert [message.cwd for round_ in rounds for message in round_.messages if message.cwd] == ["/app"]
    assert [problem for round_ in rounds for problem in round_.problems("")] == []


@pytest.mark.parametrize("data", FORMS)
def test_every_form_is_recognised_and_has_the_same_id(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "well.json"
    path.write_bytes(data)
    assert [s.name for s in sources.all_sources() if s.matches(path, data)] == ["gemini"]
    (found,) = sources.find_in(path, {"HOME": "/nowhere"})
    path.write_bytes(FORMS[0])
    (other,) = sources.find_in(path, {"HOME": "/nowhere"})
    assert found.session_id == other.session_id


def test_calls_without_ids_get_their_own_results() -> None:
    asked = model(called("read_file", path="a"), called("run", command="b"), called("read_file", path="c"))
    given = user(gave("read_file", "A"), gave("read_file", "C"), gave("run", "B"))
    rounds = read(saved([user("Read."), asked, given, model("Done.")]))
    outputs = [("read_file", (Text("A"),)), ("run", (Text("B"),)), ("read_file", (Text("C"),))]
    assert tools(rounds) == outputs


def test_calls_with_ids_are_named_by_them() -> None:
    contents = [user("Go."), model(called("run", "r-1"), called("run", "r-2")), user(gave("run", "2", "r-2"))]
    assert tools(read(saved(contents, True))) == [("run", None), ("run", (Text("2"),))]


def test_what_the_program_puts_in_is_no_prompt_and_a_summary_hides_none() -> None:
    editor = "Here is the user's editor context as a JSON object. This is for your information only.\n```json\n{}\n```"
    contents = [
        user(CONTEXT),
        user(editor),
        user("<state_snapshot>before</state_snapshot>"),
        model("Got it."),
        user("On."),
    ]
    (round_,) = read(saved(contents))
    assert text_of(round_.prompt) == "On."  # type: ignore[arg-type]
    kinds = [block.kind for block in round_.blocks() if isinstance(block, Event)]
    assert kinds == ["saved conversation", "session context", "editor context", "saved conversation"]
    assert any(isinstance(block, Compaction) for block in round_.blocks())


def test_a_role_that_nobody_heard_of_shows_its_words() -> None:
    (round_,) = read(saved([user("Hm?"), {"role": "ghost", "parts": [{"text": "Boo."}]}]))
    assert "Boo." in [block.text for block in round_.blocks() if isinstance(block, Event)]


def test_a_conversation_that_is_saved_again_goes_on(tmp_path: Path) -> None:
    home = tmp_path / ".gemini" / "tmp" / "app"
    home.mkdir(parents=True)
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path)})
    for contents in (TALK[:4], TALK, [*TALK, model("Welcome.")]):
        (home / "checkpoint-well.json").write_bytes(saved(contents, True))
        archive.inscribe([], lambda outcome: None)
    (session,) = archive.sessions()
    assert (session.rounds, session.messages) == (2, 5)
    assert not archive.shelf(session).versions.exists()


def test_two_that_were_saved_of_one_conversation_are_one_session(tmp_path: Path) -> None:
    home = tmp_path / ".gemini" / "tmp" / "app"
    home.mkdir(parents=True)
    (home / "checkpoint-early.json").write_bytes(saved(TALK[:4]))
    (home / "checkpoint-late.json").write_bytes(saved(TALK))
    env = {"HOME": str(tmp_path)}
    (found,) = sources.find_everywhere(env)
    assert [(file.role, Path(file.path).name) for file in found.files] == [
        ("main", "checkpoint-late.json"),
        ("side", "checkpoint-early.json"),
    ]


def test_a_saved_conversation_without_loss() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}
    contents = [user("See.", image), model({"text": "Hm", "thought": True}, called("run")), user(gave("run", {"a": 1}))]
    for data in (saved(contents), saved(contents, True)):
        checked = check.check_transcript(
            SOURCE, FACTS, SourceFile("/x", NAME, "main", len(data), 0), lambda data=data: [data]
        )
        assert checked.lossless
        assert [field for field, tally in checked.export.items() if not tally.kept] == []


def test_it_is_not_moved_and_no_command_resumes_it() -> None:
    with pytest.raises(Unsupported):
        SOURCE.moved(NAME, [saved(TALK)], FACTS, Move(cwd="/elsewhere"))
    assert SOURCE.resumed(Facts("s", "gemini", native_id="saved 0123")) == ""
    assert SOURCE.resumed(FACTS) == f"gemini --resume {FACTS.session_id}"


@pytest.mark.parametrize(
    "other",
    [
        [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        [{"id": "1", "role": "user", "content": "hi", "parts": []}],
        {"history": [{"type": "user", "text": "hi"}], "clientHistory": TALK},
        {"history": []},
        [{"parts": [{"text": "hi"}]}],
    ],
)
def test_what_others_write_is_not_taken_for_one(other: Any) -> None:
    assert not SOURCE.matches(Path("x.json"), json.dumps(other).encode())


def test_one_whose_first_words_are_long_is_recognised() -> None:
    assert SOURCE.matches(Path("x.json"), saved([user("x" * 100_000)], True)[: 1 << 16])
