"""The Messages API, spoken by the official SDK to a real server process."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from muniment.errors import MunimentError, NotFound
from muniment.ingest.models import Ledger, Settings, extract_all
from muniment.ingest.skeleton import Skeleton
from muniment.model.engagements import Extraction
from tests.conftest import tree
from tests.ingest.models.conftest import KEY, Api, fallback, session

pytest.importorskip("anthropic", reason="the SDK of Anthropic is not installed (extra `llm`)")

MESSAGES = "/v1/messages"
SECRET = "ghp_" + "a8Kq2LmZ0xW4vB7nC1rT5yU9iO3pE6sD1fG2"


def run(
    sessions: Iterable[Skeleton], settings: Settings, env: dict[str, str], ledger: Ledger | None = None
) -> list[Extraction]:
    return [made for _, made in extract_all(sessions, settings, env, fallback, ledger=ledger)]


def one(settings: Settings, env: dict[str, str], ledger: Ledger | None = None) -> Extraction:
    return run([session()], settings, env, ledger)[0]


def test_a_good_answer_becomes_an_extraction(api: Api, settings: Settings, env: dict[str, str]) -> None:
    ledger = Ledger()
    made = one(settings, env, ledger)
    assert made.extractor == "anthropic:claude-sonnet-5-5"
    assert made.note == ""
    assert made.session_summary == "A parser was built."
    assert [(e.topic, e.turn_ranges) for e in made.engagements] == [("Build the parser of the import", ((1, 3),))]
    assert ledger.calls == 1
    assert ledger.dollars == pytest.approx((1000 * 2 + 200 * 10) / 1e6)


def test_what_is_sent(api: Api, settings: Settings, env: dict[str, str]) -> None:
    one(settings, env)
    (sent,) = api.seen()
    body = sent["body"]
    assert sent["path"] == MESSAGES
    assert not {"tools", "tool_choice", "mcp_servers", "stream"} & set(body)
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert [m["role"] for m in body["messages"]] == ["user"]
    assert "Build the parser." in body["messages"][0]["content"]
    assert "Build the parser." not in body["system"]
    assert sent["headers"]["authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(body) + sent["path"]


@pytest.mark.parametrize("answered", [[429], [500], [529, 500]])
def test_what_is_refused_for_the_moment_is_tried_again(
    api: Api, settings: Settings, env: dict[str, str], answered: list[int]
) -> None:
    api.script(*({"status": status, "headers": {"retry-after-ms": "20"}} for status in answered), {})
    assert one(settings, env).note == ""
    assert len(api.seen(MESSAGES)) == len(answered) + 1


def test_retry_after_is_honoured(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"status": 429, "headers": {"retry-after": "1.3"}}, {})
    assert one(settings, env).note == ""
    first, second = api.seen(MESSAGES)
    assert second["at"] - first["at"] >= 1.3


def test_a_server_that_wants_too_much_patience(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"status": 429, "headers": {"retry-after": "86400"}})
    assert one(settings, env).note.endswith("the server asks to wait for 86400 seconds")
    assert len(api.seen()) == 1


def test_a_server_that_fails_for_good_makes_it_fall_back(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"status": 500, "headers": {"retry-after-ms": "10"}})
    made = one(settings, env)
    assert made.extractor == "offline:1"
    assert made.note.startswith("not by anthropic:claude-sonnet-5-5: the server answered with status 500")
    assert len(api.seen()) == 3


def test_a_server_that_is_down_is_not_asked_a_thousand_times(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"status": 500, "headers": {"retry-after-ms": "1"}})
    made = run((session(n) for n in range(20)), structs.replace(settings, retries=0), env)
    assert len(api.seen()) == 3
    assert made[-1].note.endswith("not asked, after 3 failures in a row")


def test_malformed_then_good(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"text": '{"engagements": [{"topic": '}, {})
    ledger = Ledger()
    assert one(settings, env, ledger).note == ""
    first, second = [request["body"]["messages"][0]["content"] for request in api.seen()]
    assert "it is not a JSON object" not in first
    assert "An earlier answer could not be used: it is not a JSON object" in second
    assert ledger.calls == 2


def test_malformed_twice_makes_it_fall_back(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"text": "I would rather not say."})
    made = one(settings, env)
    assert made.extractor == "offline:1"
    assert made.note.endswith("its answer was of no use twice: it is not a JSON object")
    assert len(api.seen()) == 2


def test_an_answer_that_is_cut_off_is_asked_for_again(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"text": '{"engagements"', "stop": "max_tokens"}, {})
    assert one(settings, env).note == ""
    assert "too long" in api.seen()[1]["body"]["messages"][0]["content"]


def test_wrong_ranges_are_told(api: Api, settings: Settings, env: dict[str, str]) -> None:
    work = {"topic": "Some work on it", "project": None, "method": "build", "phase": "completed", "key_decisions": []}
    work |= {"outcome": "Done.", "next_steps": [], "turn_ranges": [{"first": 1, "last": 99}]}
    wrong = json.dumps({"engagements": [work], "session_summary": "It.", "agent_name": None, "agent_role": None})
    api.script({"text": wrong}, {})
    assert one(settings, env).engagements[0].turn_ranges == ((1, 3),)
    assert "outside of 1 to 3" in api.seen()[1]["body"]["messages"][0]["content"]


def test_an_answer_that_is_no_message(api: Api, settings: Settings, env: dict[str, str]) -> None:
    for body in ("<html>a proxy speaks</html>", "{}", "[1, 2", '{"content": "x", "usage": 3}'):
        api.script({"body": body})
        assert one(settings, env).extractor == "offline:1", body


def test_a_slow_server_makes_it_fall_back(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"delay": 1.5})
    ledger = Ledger()
    made = one(structs.replace(settings, timeout=0.3, retries=0), env, ledger)
    assert made.note.endswith("the server did not answer in time")
    assert ledger.perhaps > 0


def test_no_server_at_all(settings: Settings, env: dict[str, str]) -> None:
    made = one(structs.replace(settings, url="http://127.0.0.1:9", retries=0), env)
    assert made.note.endswith("the server could not be reached")


def test_a_refusal_falls_back_and_is_not_asked_again(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"stop": "refusal", "text": ""})
    assert one(settings, env).note.endswith("the model refused")
    assert one(settings, env).note.endswith("the model refused")
    assert len(api.seen()) == 1


@pytest.mark.parametrize(("status", "kind"), [(401, MunimentError), (403, MunimentError), (404, NotFound)])
def test_what_every_call_would_meet_stops_the_run(
    api: Api, settings: Settings, env: dict[str, str], status: int, kind: type[MunimentError]
) -> None:
    api.script({"status": status, "said": "not for you"})
    with pytest.raises(kind, match="not for you") as caught:
        run([session(1), session(2)], settings, env)
    assert caught.value.hint
    assert len(api.seen()) == 1


def test_a_model_that_cannot_spare_thoughts_is_asked_without(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"status": 400, "said": "output_config.effort is not supported"}, {})
    assert {made.note for made in run([session(1), session(2)], settings, env)} == {""}
    assert ["effort" in request["body"]["output_config"] for request in api.seen()] == [True, False, False]


# -- what is kept


def test_a_kept_answer_makes_no_call_and_needs_no_key(api: Api, settings: Settings, env: dict[str, str]) -> None:
    first = one(settings, env)
    ledger = Ledger()
    again = one(settings, {"HOME": env["HOME"]}, ledger)
    assert again == first
    assert len(api.seen()) == 1
    assert (ledger.cached, ledger.calls, ledger.dollars) == (1, 0, 0)


def test_another_model_or_another_text_is_asked_anew(api: Api, settings: Settings, env: dict[str, str]) -> None:
    one(settings, env)
    one(structs.replace(settings, model="claude-opus-5-5"), env)
    run([session(said="Something else.")], settings, env)
    assert len(api.seen()) == 3


def test_a_damaged_file_is_asked_anew(api: Api, settings: Settings, env: dict[str, str]) -> None:
    one(settings, env)
    assert settings.cache is not None
    (kept,) = settings.cache.iterdir()
    for damage in (b"", b"\x00\xff", b'{"text": 3}', b'{"text": "{}"}'):
        kept.write_bytes(damage)
        assert one(settings, env).note == ""
    assert len(api.seen()) == 5


def test_what_is_kept_is_private(api: Api, settings: Settings, env: dict[str, str]) -> None:
    one(settings, env)
    assert settings.cache is not None
    assert settings.cache.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in settings.cache.iterdir()] == [0o600]


# -- costs


def test_no_call_is_made_that_could_lead_beyond_the_cap(api: Api, settings: Settings, env: dict[str, str]) -> None:
    api.script({"usage": {"input_tokens": 2000, "output_tokens": 10_000}})
    ledger = Ledger()
    made = run((session(n) for n in range(6)), structs.replace(settings, max_cost=0.4), env, ledger)
    assert ledger.dollars is not None
    assert ledger.dollars <= 0.4
    assert len(api.seen()) == 3  # of $0.104 each; a fourth could have cost $0.16 more
    assert [bool(one.note) for one in made] == [False] * 3 + [True] * 3
    assert made[-1].note.endswith("not asked: it could have cost more than the cap of $0.40 allows")


def test_a_cap_on_an_unknown_price_is_refused(api: Api, settings: Settings, env: dict[str, str]) -> None:
    with pytest.raises(MunimentError, match="price") as caught:
        one(structs.replace(settings, model="claude-of-next-year", max_cost=1), env)
    assert "MUNIMENT_PRICES" in caught.value.hint
    ledger = Ledger()
    one(structs.replace(settings, model="claude-of-next-year"), env, ledger)
    assert ledger.dollars is None


# -- secrets


def test_secrets_are_taken_out_before_sending(api: Api, settings: Settings, env: dict[str, str]) -> None:
    talk = session(said=f"Use the token {SECRET} please.")
    run([talk], settings, env)
    assert SECRET not in json.dumps(api.seen())
    assert "[redacted:" in api.seen()[0]["body"]["messages"][0]["content"]
    run([talk], structs.replace(settings, redact=False, cache=None), env)
    assert SECRET in api.seen()[1]["body"]["messages"][0]["content"]


def test_a_cut_through_a_secret_leaves_no_half_of_it(api: Api, settings: Settings, env: dict[str, str]) -> None:
    for shift in (0, 10, 20, 30):
        words = "x " * ((49_800 + shift) // 2)
        run([session(turns=1, said=words + f"{SECRET} " * 12 + "y " * 40_000)], settings, env)
    sent = json.dumps(api.seen())
    assert SECRET[:14] not in sent
    assert "characters left out" in sent


def test_not_even_the_log_of_the_sdk_shows_the_key(
    api: Api, settings: Settings, env: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    one(settings, env)
    assert "Sending HTTP Request" in caplog.text
    assert KEY not in caplog.text


def test_the_key_is_nowhere(api: Api, settings: Settings, env: dict[str, str], tmp_path: Path) -> None:
    told: list[Any] = [settings]
    for status in (200, 400, 401, 403, 404, 500):
        api.script({"status": status, "said": f"the header was Bearer {KEY}", "headers": {"retry-after-ms": "1"}})
        try:
            told += run([session(status)], settings, env)
        except MunimentError as error:
            told += [*traceback.format_exception(error), error.hint, error.__context__, error.__cause__]
    assert any("the header was Bearer …" in str(one) for one in told)
    assert KEY not in repr(told)
    assert KEY.encode() not in b"".join(tree(tmp_path).values())
