"""OpenAI-compatible servers and Ollama, spoken to by the standard library."""

from __future__ import annotations

import json
import socket
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from muniment.errors import MunimentError, NotFound
from muniment.ingest.models import Ledger, Settings, extract_all
from muniment.ingest.models.settings import Kind
from muniment.model.engagements import Extraction
from tests.conftest import tree
from tests.ingest.models.conftest import KEY, Api, fallback, session

PATHS = {"openai": "/v1/chat/completions", "ollama": "/api/chat"}
SECRET = "ghp_" + "a8Kq2LmZ0xW4vB7nC1rT5yU9iO3pE6sD1fG2"


@pytest.fixture(params=["openai", "ollama"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def server(kind: Kind, api: Api, settings: Settings) -> Settings:
    url = f"{api.url}/v1" if kind == "openai" else api.url
    return structs.replace(settings, kind=kind, model="small-1", url=url)


def one(settings: Settings, env: dict[str, str], ledger: Ledger | None = None, **words: Any) -> Extraction:
    ((_, made),) = extract_all([session(**words)], settings, env, fallback, ledger=ledger)
    return made


def test_a_good_answer(api: Api, kind: Kind, server: Settings, env: dict[str, str]) -> None:
    ledger = Ledger()
    made = one(server, env, ledger)
    assert (made.extractor, made.note) == (f"{kind}:small-1", "")
    assert made.engagements[0].turn_ranges == ((1, 3),)
    assert (ledger.calls, ledger.input_tokens > 500, ledger.output_tokens > 100) == (1, True, True)
    assert ledger.dollars == (0 if kind == "ollama" else None)
    (sent,) = api.seen()
    assert sent["path"] == PATHS[kind]
    assert "tools" not in sent["body"]
    assert [message["role"] for message in sent["body"]["messages"]] == ["system", "user"]
    assert "Build the parser." not in sent["body"]["messages"][0]["content"]


def test_the_schema_is_sent(api: Api, kind: Kind, server: Settings, env: dict[str, str]) -> None:
    one(server, env)
    body = api.seen()[0]["body"]
    schema = body["format"] if kind == "ollama" else body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["engagements", "session_summary", "agent_name", "agent_role"]
    if kind == "ollama":
        assert body["options"]["num_ctx"] % 4096 == 0
        assert body["stream"] is False


def test_a_server_without_schemas_is_asked_for_plain_json(api: Api, settings: Settings, env: dict[str, str]) -> None:
    plain = structs.replace(settings, kind="openai", model="small-1", url=f"{api.url}/v1")
    api.script({"status": 400, "said": "response_format json_schema is not supported"}, {})
    made = list(extract_all([session(1), session(2)], plain, env, fallback))
    assert [extraction.note for _, extraction in made] == ["", ""]
    assert [request["body"]["response_format"]["type"] for request in api.seen()] == [
        "json_schema",
        "json_object",
        "json_object",
    ]
    assert "turn_ranges" in api.seen()[1]["body"]["messages"][0]["content"]


def test_an_answer_in_a_fence_is_taken(api: Api, server: Settings, env: dict[str, str]) -> None:
    work = {"topic": "Mend it all", "method": "debug", "phase": "blocked", "turn_ranges": [{"first": 2, "last": 3}]}
    text = json.dumps({"engagements": [work], "session_summary": "Mended."})
    api.script({"text": f"Here it is:\n```json\n{text}\n```\n"})
    made = one(server, env)
    assert (made.note, made.engagements[0].method, made.engagements[0].project) == ("", "debug", None)


def test_retries(api: Api, server: Settings, env: dict[str, str]) -> None:
    api.script({"status": 429, "headers": {"Retry-After": "0.7"}}, {"status": 503, "headers": {"Retry-After": "0"}}, {})
    assert one(server, env).note == ""
    first, second, _ = api.seen()
    assert second["at"] - first["at"] >= 0.7


def test_a_server_that_wants_too_much_patience(api: Api, server: Settings, env: dict[str, str]) -> None:
    api.script({"status": 429, "headers": {"Retry-After": "86400"}})
    assert "status 429" in one(server, env).note
    assert len(api.seen()) == 1


def test_failures_fall_back(api: Api, server: Settings, env: dict[str, str]) -> None:
    api.script({"status": 500, "headers": {"Retry-After": "0"}})
    assert "status 500 (it went wrong)" in one(server, env).note
    assert len(api.seen()) == 3
    once = structs.replace(server, retries=0)
    api.script({"delay": 1})
    assert one(structs.replace(once, timeout=0.3), env).note.endswith("did not answer in time")
    for body in ("<html>", "{}", '{"choices": 3, "message": "x"}', "[" * 100_000):
        api.script({"body": body})
        assert one(once, env).extractor == "offline:1", body[:20]
    assert one(structs.replace(once, url="http://127.0.0.1:9"), env).note.endswith("could not be reached")


def test_malformed_twice(api: Api, server: Settings, env: dict[str, str]) -> None:
    api.script({"text": "{}"})
    assert "of no use twice" in one(server, env).note
    assert len(api.seen()) == 2


def test_a_refusal(api: Api, settings: Settings, env: dict[str, str]) -> None:
    strict = structs.replace(settings, kind="openai", model="small-1", url=f"{api.url}/v1")
    for step in ({"refusal": "I cannot"}, {"stop": "content_filter"}):
        api.script(step)
        assert one(structs.replace(strict, cache=None), env).note.endswith("the model refused")


def test_what_every_call_would_meet_stops_the_run(api: Api, server: Settings, env: dict[str, str]) -> None:
    api.script({"status": 401})
    with pytest.raises(MunimentError, match="refuses the key"):
        one(server, env)
    api.script({"status": 404, "said": "model 'small-1' not found, try pulling it first"})
    with pytest.raises(NotFound, match="small-1"):
        one(server, env)


def test_redirects_are_not_followed(api: Api, server: Settings, env: dict[str, str]) -> None:
    api.script({"status": 302, "headers": {"Location": f"{api.url}/elsewhere"}}, {})
    assert "status 302" in one(server, env).note
    assert [request["path"] for request in api.seen()] == [PATHS[server.kind]]


def test_secrets_are_taken_out_before_sending(api: Api, server: Settings, env: dict[str, str]) -> None:
    one(server, env, said=f"Use {SECRET} now.")
    assert SECRET not in json.dumps(api.seen())


def test_the_key_goes_into_the_header_and_nowhere_else(
    api: Api, settings: Settings, env: dict[str, str], tmp_path: Path
) -> None:
    server = structs.replace(settings, kind="openai", model="small-1", url=f"{api.url}/v1", retries=0)
    told: list[Any] = []
    for status in (200, 400, 401, 404, 500):
        api.script({"status": status, "said": f"Bearer {KEY} is wrong"})
        try:
            told.append(one(server, env, number=status))
        except MunimentError as error:
            told += [*traceback.format_exception(error), error.hint, error.__context__]
        assert api.seen()[0]["headers"]["authorization"] == f"Bearer {KEY}"
        assert KEY not in json.dumps([request["body"] for request in api.seen()])
    assert KEY not in repr(told)
    assert KEY.encode() not in b"".join(tree(tmp_path).values())


def test_an_answer_that_drips_meets_the_time_limit(settings: Settings, env: dict[str, str]) -> None:
    """Each byte comes in time, the answer does not."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_drip, args=(listener,))
        thread.start()
        port = listener.getsockname()[1]
        slow = structs.replace(settings, kind="ollama", url=f"http://127.0.0.1:{port}", timeout=0.5, retries=0)
        made = one(slow, env)
        thread.join()
    assert made.note.endswith("did not answer in time")


def _drip(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        try:
            for _ in range(100):
                connection.sendall(b" ")
                time.sleep(0.05)
        except OSError:
            return
