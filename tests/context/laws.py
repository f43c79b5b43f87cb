"""What holds of every pack, whatever it is made of, looked at from outside."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from muniment.archive import Archive
from muniment.context import Pack
from muniment.context.parts import Part, Quote
from muniment.context.places import fields
from muniment.context.tokens import Count
from muniment.model import Block, Round, Tool
from muniment.model.controls import plain
from muniment.secrets import Redactor
from muniment.store import evidence, rounds
from muniment.store.layout import Shelf
from tests.conftest import tree

_TAG = re.compile(r"(\[redacted:[a-z0-9-]{1,40}:)[0-9a-f]{8}\]")


def costs_no_more(text: str, budget: int, bytes_per_token: float | None = None) -> None:
    """Counted here by other means: a ratio by division, kinds of characters one by one."""
    data = text.encode("utf-8", "surrogatepass")
    if bytes_per_token:
        assert len(data) / bytes_per_token <= budget
        return
    letters = sum(chr(byte).islower() or byte in b" \t\n" for byte in data if byte < 128)
    others = sum(byte >= 128 for byte in data)
    assert letters / 3 + (len(data) - letters - others) + others / 1.5 <= budget + 1e-6
    assert Count().cost(text) <= Count().allowed(budget)


def quotes_are_found(archive: Archive, pack: Pack, redact: bool) -> int:
    """Every quote stands at the place that it names; gives how many were looked at."""
    looked = 0
    known: dict[Any, Round] = {}
    for _, quote in _quotes(pack):
        place = quote.place
        key = (place.session_id, place.sidechain, place.round)
        if key not in known:
            known[key] = Redactor(active=redact).round(rounds.load(_shelf(archive, quote), place.round))
        whole = dict(fields(known[key].blocks()[place.block]))[place.field].encode("utf-8", "surrogatepass")
        assert len(whole) == place.of
        quoted = whole[place.start : place.end].decode("utf-8", "surrogatepass")
        assert _untagged(quoted) == _untagged(quote.text)
        looked += 1
    return looked


def quotes_are_in_the_evidence(archive: Archive, pack: Pack) -> int:
    """The record that a quote names holds its words. Only for packs with secrets in, for main files, and for agents
    that write a record as a line."""
    looked = 0
    known: dict[Any, list[str]] = {}
    data: dict[str, bytes] = {}
    for _, quote in _quotes(pack):
        place = quote.place
        if place.sidechain or place.offset is None or not quote.text.strip():
            continue
        key = (place.session_id, place.offset)
        if key not in known:
            whole = data.setdefault(place.session_id, b"") or _evidence(_shelf(archive, quote))
            data[place.session_id] = whole
            known[key] = list(_strings(_record(whole, place.offset)))
        strings = known[key]
        assert any(quote.text in text for text in strings), (place, quote.text[:80])
        looked += 1
    return looked


def pairs_are_whole(archive: Archive, pack: Pack) -> None:
    """Whoever sees the call sees the result, and the other way round."""
    known: dict[Any, list[Block]] = {}
    for part in pack.parts:
        if part.section != "rounds" or not part.label.startswith("tool ") or not part.quotes:
            continue
        place = part.quotes[0].place
        if place.round not in known:
            known[place.round] = list(rounds.load(_shelf(archive, part.quotes[0]), place.round).blocks())
        block = known[place.round][place.block]
        assert isinstance(block, Tool)
        fields = {quote.place.field.partition("/")[0] for quote in part.quotes}
        came = any(getattr(piece, "text", "") for piece in block.output or ())
        assert ("output" in fields) == came, "a call without its result"
        assert block.output is not None or "no result" in part.note


def nothing_of_the_past_is_outside(pack: Pack) -> None:
    """Outside of the two lines with the code stand words of ours, ids and numbers; the code occurs nowhere else."""
    text = pack.text
    code = re.search(r"^<<< ([a-z]{12})$", text, re.MULTILINE)[1]  # pyright: ignore
    assert text.count(code) == 3, "in the notice, and on the two lines"
    before, _, rest = text.partition(f"<<< {code}\n")
    inside, _, after = rest.partition(f">>> {code}\n")
    assert after == ""
    numbers = re.sub(r"\d+|[a-z]{12}", "", before)
    assert len(numbers) < 600
    for _, quote in _quotes(pack):
        assert plain(quote.text) in inside


def content(root: Path) -> dict[str, bytes]:
    """The files of a store. What SQLite puts beside a database for its readers is no content; its log must be empty."""
    found = tree(root)
    assert all(data == b"" for name, data in found.items() if name.endswith(".db-wal"))
    return {name: data for name, data in found.items() if not name.endswith((".db-wal", ".db-shm"))}


def left_out_is_said(pack: Pack) -> None:
    a = pack.account
    assert a.full + a.clipped + a.gist + a.references + a.omitted == a.rounds


def _quotes(pack: Pack) -> Iterator[tuple[Part, Quote]]:
    for part in pack.parts:
        for quote in part.quotes:
            yield part, quote


def _shelf(archive: Archive, quote: Quote) -> Shelf:
    shelf = archive.shelf(archive.session(quote.place.session_id))
    return shelf.sidechain(quote.place.sidechain) if quote.place.sidechain else shelf


def _untagged(text: str) -> str:
    return _TAG.sub(r"\1]", text)


def _evidence(shelf: Shelf) -> bytes:
    manifest = evidence.load(shelf.evidence)
    assert manifest
    assert manifest.main
    return b"".join(evidence.read(shelf.evidence, manifest.main))


def _record(whole: bytes, offset: int) -> Any:
    """What stands at a place; on a damaged line another record may follow it directly. Of an agent that once wrote
    one document, a record may be an object of many lines."""
    line = whole[offset:].split(b"\n", 1)[0].decode("utf-8", "surrogatepass")
    for text in (line, whole[offset:].decode("utf-8", "surrogatepass")):
        with contextlib.suppress(ValueError):
            return json.JSONDecoder().raw_decode(text)[0]
    return line


def _strings(value: Any) -> Iterator[str]:
    """Every string in a value, JSON inside of strings too: some agents keep the input of a tool so."""
    if isinstance(value, str):
        yield value
        if value[:1] in "{[":
            with contextlib.suppress(ValueError):
                yield from _strings(json.loads(value))
    elif isinstance(value, dict):
        yield json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        for member in value.values():
            yield from _strings(member)
    elif isinstance(value, list):
        yield json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        for member in value:
            yield from _strings(member)
    else:
        yield json.dumps(value)


# -- sessions that an agent resumes


def loader_problems(path: Path) -> list[str]:
    """What the rules of the real loader would object to in a written Claude Code session."""
    data = path.read_bytes()
    found = [] if data.endswith(b"\n") else ["no newline at the end"]
    records = [json.loads(line) for line in data.splitlines()]
    found += _chain_problems(records, path.stem)
    found += _turn_problems([record for record in records if record["type"] in ("user", "assistant")])
    return found


def _chain_problems(records: list[dict[str, Any]], session_id: str) -> Iterator[str]:
    seen: set[str] = set()
    for number, record in enumerate(records):
        if record["sessionId"] != session_id:
            yield f"record {number}: another session"
        if record["uuid"] in seen:
            yield f"record {number}: its id is taken"
        if number and record["parentUuid"] not in seen:
            yield f"record {number}: no parent"
        if not number and record["parentUuid"] is not None:
            yield "the first record has a parent"
        seen.add(record["uuid"])


def _turn_problems(records: list[dict[str, Any]]) -> Iterator[str]:
    """Merged as the client does before it asks: records of one speaker are one turn."""
    waiting: set[str] = set()
    ids: set[str] = set()
    speakers: list[tuple[str, str | None]] = []
    for record in records:
        message = record["message"]
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        speaker = (message["role"], message.get("id"))
        if message["role"] == "assistant":
            missing = {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"} - set(message)
            if missing:
                yield f"an answer without {missing}"
            if waiting and speakers[-1] != speaker:
                yield f"calls without results: {waiting}"
            if speakers and speakers[-1][0] == "assistant" and speakers[-1] != speaker:
                yield "two answers one behind the other"
        speakers.append(speaker)
        for part in parts:
            if part["type"] == "text" and not part["text"].strip():
                yield "an empty text"
            elif part["type"] == "tool_use":
                sound = re.fullmatch("[a-zA-Z0-9_-]+", part["id"]) and part["id"] not in ids
                if not isinstance(part["input"], dict) or not sound:
                    yield f"a bad call {part['id']}"
                waiting.add(part["id"])
                ids.add(part["id"])
            elif part["type"] == "tool_result":
                if part["tool_use_id"] not in waiting:
                    yield "a result without its call"
                waiting.discard(part["tool_use_id"])
            elif part["type"] not in ("text",):
                yield f"a part of type {part['type']}"
    if waiting:
        yield f"calls without results at the end: {waiting}"
    if records and records[0]["message"]["role"] != "user":
        yield "an answer comes first"
