"""Every real session: what is counted equals what a plain scan of the file counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.budget import Budget
from muniment.store import evidence
from muniment.store.session_table import Listed

pytestmark = pytest.mark.corpus
CLAUDE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def original(archive: Archive, session: Listed) -> bytes:
    """The transcript as the agent wrote it; several snapshots of it lie in the corpus."""
    folder = archive.shelf(session).evidence
    manifest = evidence.load(folder)
    assert manifest is not None
    return b"".join(evidence.read(folder, manifest.main)) if manifest.main else b""


def lines(data: bytes) -> Iterator[dict[str, Any]]:
    for raw in data.split(b"\n"):
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def scan_claude(data: bytes) -> tuple[list[int], int]:
    """Sums of the four kinds, and the largest message: each message id once, the largest of what was told."""
    told: dict[str, list[int]] = {}
    for line in lines(data):
        message = line.get("message")
        if line.get("type") != "assistant" or not isinstance(message, dict) or line.get("isSidechain"):
            continue
        usage = message.get("usage") or {}
        counts = [usage.get(name) or 0 for name in CLAUDE]
        key = message.get("id") or line["uuid"]
        told[key] = max(told.get(key, counts), counts, key=lambda one: one[1])
    sums = [sum(one[kind] for one in told.values()) for kind in range(4)]
    return sums, max((sum(one) for one in told.values()), default=0)


def scan_codex(data: bytes) -> tuple[list[int], int]:
    """The same of a rollout: what the running total grew by. Its own reports are less where one is missing: a response
    that was broken off tells none. The first total may begin with what another session spent."""
    found: list[tuple[list[int], list[int]]] = []
    for line in lines(data):
        info = (line.get("payload") or {}).get("info") if line.get("type") == "event_msg" else None
        if isinstance(info, dict):
            found.append((by_kind(info["total_token_usage"]), by_kind(info["last_token_usage"])))
    if not found:
        return [0] * 4, 0
    (first, spent), (last, _) = found[0], found[-1]
    grown = [now - before + own for now, before, own in zip(last, first, spent, strict=True)]
    return grown, max(sum(one) for _, one in found)


def by_kind(said: dict[str, Any]) -> list[int]:
    """Input that was not cached, output, what was read from the cache; it tells of no writes."""
    cached = said.get("cached_input_tokens", 0)
    return [said["input_tokens"] - cached, said["output_tokens"], cached, 0]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside of a value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()


def used_by_pi(one: dict[str, Any]) -> list[int] | None:
    used = one.get("usage") if one.get("role") == "assistant" else None
    return [used[name] for name in ("input", "output", "cacheRead", "cacheWrite")] if used else None


def used_by_gemini(one: dict[str, Any]) -> list[int] | None:
    used = one.get("tokens") if one.get("type") == "gemini" else None
    cached = used["cached"] if used else 0
    return [used["input"] - cached + used["tool"], used["output"] + used["thoughts"], cached, 0] if used else None


def used_by_atif(one: dict[str, Any]) -> list[int] | None:
    used = one.get("metrics")
    cached = (used.get("cached_tokens") or 0) if used else 0
    return [used["prompt_tokens"] - cached, used["completion_tokens"], cached, 0] if used else None


OTHERS = {"pi": used_by_pi, "gemini": used_by_gemini, "atif": used_by_atif}


def counted(made: Budget) -> list[int]:
    both = (made.spent, made.copied)
    return [sum(getattr(one, kind) for one in both) for kind in ("input", "output", "cache_read", "cache_write")]


SCANS = {"claude-code": scan_claude, "codex": scan_codex}


@pytest.mark.parametrize("source", SCANS)
def test_within_one_percent_of_what_is_recorded(source: str, corpus: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": "/home/ada"})
    archive.inscribe([corpus / source])
    compared = exact = 0
    for session in archive.sessions():
        sums, most = SCANS[source](original(archive, session))
        if not any(sums):
            continue
        made = archive.budget(session.session_id)
        recorded = [one.window for one in made.rounds if not one.estimated]
        for ours, theirs in zip([*counted(made), max(recorded)], [*sums, most], strict=True):
            assert ours == pytest.approx(theirs, rel=0.01), session.path
        compared += 1
        exact += counted(made) == sums and max(recorded) == most
    assert compared >= 15
    assert exact == compared


@pytest.mark.parametrize("source", OTHERS)
def test_other_agents_are_counted_exactly_too(source: str, corpus: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": "/home/ada"})
    archive.inscribe([corpus / source])
    compared = 0
    for session in archive.sessions():
        data = original(archive, session)
        values = [json.loads(data)] if data.count(b"\n{") == 0 else list(lines(data))
        told = [used for value in values for one in objects(value) if (used := OTHERS[source](one))]
        assert counted(archive.budget(session.session_id)) == [sum(one[kind] for one in told) for kind in range(4)]
        compared += bool(told)
    assert compared


def test_every_message_id_counts_for_one_session(corpus: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": "/home/ada"})
    archive.inscribe([corpus / "claude-code"])
    ids: set[str] = set()
    anonymous = 0
    for session in archive.sessions():
        _, sides = archive.facts(session)
        shelf = archive.shelf(session)
        for folder in (shelf, *(shelf.sidechain(id_) for id_ in sides)):
            for path in sorted(folder.rounds.glob("*.json")):
                for head in json.loads(path.read_bytes())["messages"]:
                    if sum((head.get("usage") or {}).values()):
                        anonymous += head.get("id") is None
                        ids.add(head.get("id") or "")
    calls = sum(archive.budget(session.session_id).with_sidechains.calls for session in archive.sessions())
    assert calls == len(ids - {""}) + anonymous
