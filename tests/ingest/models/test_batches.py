"""Message Batches, spoken by the official SDK to a real server process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from muniment.errors import MunimentError
from muniment.ingest.models import Ledger, Settings, batches, extract_all
from muniment.ingest.models.ledger import AUTO_BATCH
from muniment.ingest.skeleton import Skeleton
from muniment.model.engagements import Extraction
from tests.conftest import tree
from tests.ingest.models.conftest import KEY, Api, fallback, session

pytest.importorskip("anthropic", reason="the SDK of Anthropic is not installed (extra `llm`)")

MESSAGES = "/v1/messages"
BATCHES = "/v1/messages/batches"


@pytest.fixture
def batched(settings: Settings) -> Settings:
    return structs.replace(settings, batch=True)


def run(count: int, settings: Settings, env: dict[str, str], **more: Any) -> dict[str, Extraction]:
    made = extract_all((session(n) for n in range(count)), settings, env, fallback, **more)
    return {skeleton.facts.session_id: extraction for skeleton, extraction in made}


def test_many_sessions_go_as_one_batch(api: Api, batched: Settings, env: dict[str, str]) -> None:
    ledger = Ledger()
    heard: list[str] = []
    made = run(12, batched, env, ledger=ledger, tell=heard.append)
    assert len(made) == 12
    assert {one.note for one in made.values()} == {""}
    (created,) = api.seen(BATCHES)
    assert len(created["body"]["requests"]) == 12
    assert not any("tools" in request["params"] for request in created["body"]["requests"])
    assert api.seen(MESSAGES) == []
    assert heard[0] == "batch of 12 sessions: 0 done"
    assert ledger.dollars == pytest.approx(12 * 0.5 * (1000 * 2 + 200 * 10) / 1e6)


def test_answers_go_to_the_sessions_that_were_asked_about(api: Api, batched: Settings, env: dict[str, str]) -> None:
    skeletons = [session(n, turns=n) for n in range(1, 8)]
    for skeleton, made in extract_all(skeletons, batched, env, fallback):
        assert made.engagements[0].turn_ranges == ((1, len(skeleton.turns)),)


def test_what_a_batch_leaves_open_is_asked_singly(api: Api, batched: Settings, env: dict[str, str]) -> None:
    results = [{}, {"type": "errored"}, {"type": "expired"}, {"type": "canceled"}, {"text": "no JSON"}]
    api.script({}, {}, {"status": 500, "headers": {"retry-after-ms": "1"}}, batch={"results": results})
    made = list(run(6, structs.replace(batched, retries=0), env).values())
    assert [bool(one.note) for one in made] == [False, False, False, True, True, False]
    assert made[3].extractor == "offline:1"
    assert len(api.seen(MESSAGES)) == 4
    assert "could not be used: it is not a JSON object" in api.seen(MESSAGES)[3]["body"]["messages"][0]["content"]


def test_a_refusal_in_a_batch_is_not_asked_again(api: Api, batched: Settings, env: dict[str, str]) -> None:
    api.script(batch={"results": [{"stop": "refusal", "text": ""}]})
    made = list(run(2, batched, env).values())
    assert made[0].note.endswith("the model refused")
    assert api.seen(MESSAGES) == []


def test_an_answer_of_no_use_is_not_kept(api: Api, batched: Settings, env: dict[str, str], tmp_path: Path) -> None:
    api.script({"text": "nor this"}, batch={"results": [{"text": "no JSON"}]})
    assert "of no use twice" in next(iter(run(1, batched, env).values())).note
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(("count", "expected"), [(AUTO_BATCH - 1, 0), (AUTO_BATCH, 1)])
def test_a_batch_is_chosen_by_number(
    api: Api, settings: Settings, env: dict[str, str], count: int, expected: int
) -> None:
    assert len(run(count, settings, env)) == count
    assert len(api.seen(BATCHES)) == expected
    assert len(api.seen(MESSAGES)) == (0 if expected else count)


def test_kept_answers_do_not_go_into_a_batch(api: Api, batched: Settings, env: dict[str, str]) -> None:
    run(4, batched, env)
    ledger = Ledger()
    run(6, batched, env, ledger=ledger)
    assert [len(created["body"]["requests"]) for created in api.seen(BATCHES)] == [4, 2]
    assert ledger.cached == 4


def test_waiting_sessions_are_read_again_and_not_held(api: Api, batched: Settings, env: dict[str, str]) -> None:
    read: list[str] = []

    def again(session_id: str) -> Skeleton:
        read.append(session_id)
        return session(int(session_id[:8]))

    made = run(5, batched, env, again=again)
    assert read == list(made)


def test_batches_keep_below_the_cap(api: Api, batched: Settings, env: dict[str, str]) -> None:
    """A question can cost $0.08 here, and costs half a cent: what is left pays for the next batch."""
    ledger = Ledger()
    made = run(8, structs.replace(batched, max_cost=0.25), env, ledger=ledger)
    sizes = [len(created["body"]["requests"]) for created in api.seen(BATCHES)]
    assert sizes[0] == 2 or sizes[0] == 3
    assert sum(sizes) == 8
    assert {one.note for one in made.values()} == {""}
    made = run(20, structs.replace(batched, max_cost=0.001), env)
    assert sum("cap of $0.00" in one.note for one in made.values()) == 12
    assert len(api.seen(BATCHES)) == len(sizes)


def test_a_batch_that_cannot_be_sent(api: Api, batched: Settings, env: dict[str, str]) -> None:
    api.script(batch={"status": 500})
    made = run(4, structs.replace(batched, retries=0), env)
    assert all("the batch could not be sent: the server answered with status 500" in one.note for one in made.values())
    assert api.seen(MESSAGES) == []
    api.script(batch={"status": 401})
    with pytest.raises(MunimentError, match="refuses the key"):
        run(4, batched, env)


def test_names_from_the_server_are_no_paths(api: Api, batched: Settings, env: dict[str, str], tmp_path: Path) -> None:
    api.script(batch={"results": [{"custom_id": "../evil"}, {"custom_id": "evil"}]})
    assert {one.note for one in run(2, batched, env).values()} == {""}
    assert not [name for name in tree(tmp_path) if "evil" in name]
    assert len(api.seen(MESSAGES)) == 2


# -- interruptions

PROGRAM = """
import sys
from pathlib import Path
from msgspec import structs
from muniment.ingest.models import Settings, extract_all
from tests.ingest.models.conftest import KEY, fallback, session

url, cache, home = sys.argv[1:]
settings = Settings("anthropic", "claude-sonnet-5-5", url=url, poll=0.05, cache=Path(cache), batch=True)
env = {"ANTHROPIC_API_KEY": KEY, "HOME": home}
list(extract_all([session(n) for n in range(5)], settings, env, fallback))
"""


def test_a_batch_whose_sender_was_killed_is_collected_and_not_paid_twice(
    api: Api, batched: Settings, env: dict[str, str], tmp_path: Path
) -> None:
    api.script(batch={"looks": 1_000_000})
    arguments = [api.url, str(batched.cache), env["HOME"]]
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], cwd=Path(__file__).parents[3]) as process:
        _until(lambda: len([r for r in api.seen() if r["method"] == "GET"]) > 1)
        os.kill(process.pid, signal.SIGKILL)
    assert KEY.encode() not in b"".join(tree(tmp_path).values())

    api.script(batch={"looks": 1}, keep=True)
    ledger = Ledger()
    made = run(6, batched, env, ledger=ledger)
    assert {one.note for one in made.values()} == {""}
    assert [len(created["body"]["requests"]) for created in api.seen(BATCHES)] == [1]
    assert api.seen(MESSAGES) == []
    assert ledger.calls == 6
    assert not [name for name in tree(tmp_path) if "batch-" in name]


def _until(true: Any) -> None:
    """Wait for something to happen in the other process."""
    limit = time.monotonic() + 30
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_a_batch_that_the_server_has_forgotten_is_sent_anew(
    api: Api, batched: Settings, env: dict[str, str], tmp_path: Path
) -> None:
    batches.Cache(batched.cache).await_batch(batches.Pending("msgbatch_gone", batched.name, api.url, 3))
    assert {one.note for one in run(3, batched, env).values()} == {""}
    assert len(api.seen(BATCHES)) == 1
    assert not [name for name in tree(tmp_path) if "batch-" in name]


def test_a_batch_of_another_model_is_left_alone(api: Api, batched: Settings, env: dict[str, str]) -> None:
    cache = batches.Cache(batched.cache)
    cache.await_batch(batches.Pending("msgbatch_other", "anthropic:claude-opus-5-5", api.url, 3))
    run(2, batched, env)
    assert [pending.id for pending in cache.pending()] == ["msgbatch_other"]


def test_only_anthropic_takes_batches(settings: Settings, env: dict[str, str]) -> None:
    with pytest.raises(MunimentError, match="takes no batches"):
        run(1, structs.replace(settings, kind="ollama", batch=True), env)
