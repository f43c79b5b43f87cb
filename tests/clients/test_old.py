"""Sessions of old versions resume in today's clients, and so does a pack made of a session."""

import json
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from .archive import Archive
from .claude import Claude
from .client import Client
from .conftest import Clients
from .history import difference, resumed_request
from .told import Call, Told, Words, calls, told, words
from .wires import Json
from .work import said_and_done

SAMPLES = Path(__file__).parent.parent / "sources" / "codex"
SESSION = "01a00000-0000-7000-8000-000000000001"
DAY = "sessions/2025/08/01"

DATE: Told = [
    Words("user", "hello"),
    Call("shell", '{"command": ["date"]}', '{"output":"today"}'),
    Words("assistant", "Hello."),
    Words("user", "bye"),
    Words("assistant", "Bye."),
]
LIST: Told = [
    Words("user", "hello"),
    Call("shell", '{"cmd": ["ls", "{"]}', '{"output":"a ] \\" b"}'),
    Words("assistant", "One file."),
    Words("user", "bye"),
    Words("assistant", "Bye."),
]


class TestOldCodex:
    """Lines without envelopes (2025, summer) and the single document before them: today's client refuses both."""

    @pytest.mark.parametrize(("era", "name"), [("bare", "input.jsonl"), ("oldest", "input.json")])
    def test_today_s_client_does_not_resume_the_file_itself(self, era: str, name: str, clients: Clients) -> None:
        client = clients.fresh("codex")
        put_rollout(client, SAMPLES / era / name)
        with pytest.raises(AssertionError, match="refused to resume"):
            resumed_request(client.resume(SESSION))

    @pytest.mark.parametrize(
        ("era", "name", "history"), [("bare", "input.jsonl", DATE), ("oldest", "input.json", LIST)]
    )
    def test_it_goes_on_in_today_s_client(
        self, era: str, name: str, history: Told, clients: Clients, tmp_path: Path
    ) -> None:
        client = clients.fresh("codex")
        put_rollout(client, SAMPLES / era / name)
        archive = Archive(tmp_path / "store", client.home)
        archive.inscribe()
        session_id = archive.hand_over(client, "continue", SESSION, "--in", "codex", "--cwd", str(client.project))
        found = told(resumed_request(client.resume(session_id)))
        assert words(found) == words(history)
        assert [call.result for call in calls(found)] == [call.result for call in calls(history)]


def put_rollout(client: Client, sample: Path) -> None:
    place = client.home / ".codex" / DAY / f"rollout-2025-08-01T10-00-00-{SESSION}{sample.suffix}"
    place.parent.mkdir(parents=True)
    shutil.copy(sample, place)


class TestOldClaude:
    """A session of version 1.0: a title in front, all answers whole, a subagent's records among the others."""

    def test_a_restored_session_tells_the_model_the_same(self, clients: Clients, tmp_path: Path) -> None:
        client, archive = self.recorded(clients, tmp_path)
        original = client.resume(SESSION)
        client.forget_all()
        archive.restore(SESSION)
        assert difference(original, client.resume(SESSION)) is None

    def test_an_exported_session_has_the_same_words_calls_and_results(self, clients: Clients, tmp_path: Path) -> None:
        client, archive = self.recorded(clients, tmp_path)
        original = said_and_done(client.resume(SESSION))
        client.forget_all()
        archive.export(SESSION)
        assert said_and_done(client.resume(SESSION)) == original
        assert [call.result for call in calls(original)] == ["alpha\nbeta", "one file"]

    def recorded(self, clients: Clients, tmp_path: Path) -> tuple[Claude, Archive]:
        client = clients.fresh("claude-code")
        assert isinstance(client, Claude)
        place = client.project_folder(client.project) / f"{SESSION}.jsonl"
        place.parent.mkdir(parents=True)
        place.write_text("".join(json.dumps(record) + "\n" for record in old_claude_records(str(client.project))))
        archive = Archive(tmp_path / "store", client.home)
        archive.inscribe()
        return client, archive


def old_claude_records(cwd: str) -> Iterator[Json]:
    """A prompt, a call, a task with its subagent, and answers."""
    chain = Chain(cwd)
    yield {"type": "summary", "summary": "A note was read", "leafUuid": str(uuid.uuid5(uuid.NAMESPACE_OID, "7"))}
    yield chain.user("what does the note say?")
    yield chain.answer({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "cat note.txt"}})
    yield chain.user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "alpha\nbeta", "is_error": False}])
    task = {"description": "count", "prompt": "count the files"}
    yield chain.answer({"type": "tool_use", "id": "toolu_2", "name": "Task", "input": task})
    before = chain.last
    yield chain.user("count the files", isSidechain=True, parentUuid=None)
    yield chain.answer({"type": "text", "text": "one file"}, isSidechain=True)
    chain.last = before
    yield chain.user(
        [{"tool_use_id": "toolu_2", "type": "tool_result", "content": [{"type": "text", "text": "one file"}]}]
    )
    yield chain.answer({"type": "text", "text": "It says alpha and beta, and there is one file."})


class Chain:
    """Records of version 1.0, each the child of the one before."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        self.last: str | None = None
        self.count = 0

    def user(self, content: str | list[Json], **fields: object) -> Json:
        return self._record("user", {"role": "user", "content": content}, fields)

    def answer(self, block: Json, **fields: object) -> Json:
        usage = {"input_tokens": 4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 2}
        head = {"id": f"msg_{self.count}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-20250514"}
        message = {**head, "content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return self._record("assistant", message, {"requestId": f"req_{self.count}", **fields})

    def _record(self, kind: str, message: Json, fields: Json) -> Json:
        head = {"parentUuid": self.last, "isSidechain": False, "userType": "external", "cwd": self.cwd}
        head |= {"sessionId": SESSION, "version": "1.0.30", "type": kind, "message": message}
        self.count += 1
        self.last = str(uuid.uuid5(uuid.NAMESPACE_OID, str(self.count)))
        record = {
            **head,
            "sessionId": SESSION,
            "version": "1.0.30",
            "type": kind,
            "message": message,
            "uuid": self.last,
        }
        return {**record, "timestamp": f"2025-06-20T10:00:{self.count:02d}.000Z", **fields}


class TestPack:
    """What a successor needs of a session, as a session of its own."""

    @pytest.mark.parametrize("agent", ["claude-code", "codex", "pi", "opencode"])
    def test_a_pack_resumes(self, agent: str, clients: Clients, tmp_path: Path) -> None:
        work, successor = clients.at_work("codex"), clients.fresh(agent)
        Archive(tmp_path / "store", work.client.home).inscribe()
        archive = Archive(tmp_path / "store", successor.home)
        pack = ("context", work.session_id, "--as", agent, "--cwd", str(successor.project))
        found = said_and_done(successor.resume(archive.hand_over(successor, *pack)))
        assert words(found)[-3:] == words(work.history)[-3:]
        assert [call.result for call in calls(found)] == [call.result for call in calls(work.history)]
