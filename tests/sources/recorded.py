"""What the tests of the recorder's formats share: reading, writing back, and whole cases as files."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from muniment import sources
from muniment.archive import Archive
from muniment.export import Request
from muniment.model import Block, Facts, Loss, Round
from muniment.model.events import Event
from muniment.record.log import Log
from muniment.sources.base import Move, Source
from muniment.sources.dialect import Dialect
from muniment.sources.lines import records
from muniment.store import document
from muniment.store import rounds as round_files

SESSION = "5c1e0a11-9d2b-5e3f-8a47-1b2c3d4e5f60"


def read(source: Source, data: bytes, facts: Facts | None = None, offset: int = 0) -> list[Round]:
    return list(source.read(records([data], offset), facts or Facts(SESSION, source.name)))


def fold(rounds: Sequence[Round], facts: Facts) -> Facts:
    for round_ in rounds:
        facts = facts.after(round_)
    return facts


def blocks(rounds: Sequence[Round], kind: type[Block]) -> list[Block]:
    return [block for round_ in rounds for block in round_.blocks() if isinstance(block, kind)]


def written(source: Source, data: bytes, move: Move | None = None) -> tuple[bytes, list[Loss]]:
    """What a session is written as once it was stored: the rounds go through their files."""
    rounds = read(source, data)
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    stored = [round_files.decode(round_files.encode(round_)) for round_ in rounds]
    facts, losses = fold(rounds, Facts(SESSION, source.name)), list[Loss]()
    lines = source.write(stored, facts, move or Move(), media.__getitem__, losses)
    return b"".join(lines), losses


def record(dialect: Dialect, path: Path, groups: Sequence[Sequence[Event]]) -> bytes:
    """Write events as the recorder does, and give the file's bytes."""
    log = Log(path, dialect)
    for group in groups:
        for line in dialect.lines(group):
            log.append(line)
    log.close()
    return path.read_bytes()


def exported(archive: Archive, inscribe: Callable[..., object], path: Path, name: str, to: Path) -> bytes:
    """The file that comes back when a session is inscribed and then exported in its own format."""
    inscribe(path)
    made = archive.export("last", Request(source=name, to=to))
    assert made.losses == ()
    return Path(made.paths[0]).read_bytes()


def compare_golden(folder: Path) -> None:
    """The rounds and the document of a case are those of its files. `make golden` writes them; read the diff."""
    source = sources.named(folder.parent.name)
    rounds = read(source, (folder / "input.jsonl").read_bytes())
    stored = [json.loads(round_files.encode(round_)) for round_ in rounds]
    _compare(folder / "expected.json", json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    pieces = document.render([message for round_ in rounds for message in round_.messages], "session")
    _compare(folder / "expected.md", document.SEPARATOR.encode().join(pieces).decode())


def _compare(path: Path, found: str) -> None:
    if os.environ.get("MUNIMENT_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    diff = difflib.unified_diff(expected.split("\n"), found.split("\n"), "expected", "found", lineterm="", n=2)
    assert found == expected, f"{path.parent.name}/{path.name}\n" + "\n".join(diff)
