"""What the laws are tried on: the sample sessions of a source, read and written as the archive does it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from muniment import demo, sources
from muniment.model import Facts, Loss, Message, Round, Tool
from muniment.sources.base import Former, Found, Move, Source, SourceFile
from muniment.sources.lines import Record, records
from muniment.store import document

ENV = {"HOME": "/nowhere"}
GARBAGE = b'{"torn": "the write brok'


class Subject(Struct, frozen=True):
    """A source, and the folder with its samples."""

    name: str
    samples: Path

    @classmethod
    def shipped(cls, name: str) -> Subject:
        """One of muniment's own."""
        return cls(name, demo.SAMPLES / name)

    @property
    def source(self) -> Source:
        return sources.named(self.name)

    def sessions(self, folder: Path | None = None) -> list[Found]:
        """What is found of it in its samples, or in a copy of them."""
        return [found for found in sources.find_in(folder or self.samples, ENV) if found.source == self.name]

    def laid_out(self, below: Path) -> Path:
        """A copy of the samples that a test may change."""
        return Path(shutil.copytree(self.samples, below / "work"))


class Sample(Struct, frozen=True):
    """One transcript of the samples."""

    source: Source
    file: SourceFile
    facts: Facts
    data: bytes
    """Its records."""

    def __repr__(self) -> str:
        return f"Sample({self.file.name})"

    def read(self, closed: Sequence[Round] = (), offset: int = 0, end: int | None = None) -> list[Round]:
        """Its rounds from a place on; those before it are closed."""
        return read(self.source, self.data[offset:end], self.facts, offset, closed)

    def lines(self) -> list[int]:
        """Where its lines begin, and where the last one ends."""
        starts = [0, *(record.offset + record.length + 1 for record in records([self.data]))]
        return [start for start in starts if start <= len(self.data)]

    def with_line(self, at: int, line: bytes) -> bytes:
        """Its records with one more between them."""
        return self.data[:at] + line + b"\n" + self.data[at:]

    def written(self, target: Source, move: Move | None = None) -> tuple[bytes, list[Loss]]:
        """The session in the format of a source, and what that cannot carry."""
        rounds = self.read()
        media = {name: content for round_ in rounds for name, content in round_.media.items()}
        losses: list[Loss] = []
        lines = target.write(rounds, fold(rounds, self.facts), move or Move(), media.__getitem__, losses)
        return b"".join(lines), losses

    def facts_in(self, target: Source) -> Facts:
        """What is known before a session that was written in another format is read."""
        return Facts(self.facts.session_id, target.name, sidechain=self.facts.sidechain)


def transcripts(subject: Subject) -> Iterator[Sample]:
    """Every transcript of a subject's samples."""
    for session in subject.sessions():
        for file in session.files:
            if file.role in ("main", "sidechain"):
                side = file.id if file.role == "sidechain" else None
                facts = Facts(session.session_id, session.source, native_id=session.native_id, sidechain=side)
                data = b"".join(subject.source.open(file.name, subject.source.content(file)))
                yield Sample(subject.source, file, facts, data)


def read(source: Source, data: bytes, facts: Facts, offset: int = 0, closed: Sequence[Round] = ()) -> list[Round]:
    """The rounds of these records, which follow closed ones; the facts are those of a session without any."""
    known = list(closed)
    lines = records([data], offset)
    former = Former(lambda number: known[number - 1], lambda: fold(known, facts))
    for round_ in source.read_on(lines, fold(closed, facts), former):
        known.append(round_)
    return known[len(closed) :]


def fold(rounds: Iterable[Round], facts: Facts) -> Facts:
    for round_ in rounds:
        facts = facts.after(round_)
    return facts


def messages(rounds: Iterable[Round]) -> list[Message]:
    """What people see."""
    return [document.visible(m) for round_ in rounds for m in round_.messages if not m.silent]


def spoken(rounds: Iterable[Round]) -> list[str]:
    """All words of people and models, block by block."""
    blocks = (block for round_ in rounds for block in round_.blocks())
    return [text for block in blocks if (text := getattr(block, "text", "")) and not getattr(block, "kind", "")]


def places(rounds: Iterable[Round]) -> dict[int, int]:
    """Offset and length of every record that a block comes from."""
    blocks = [block for round_ in rounds for block in round_.blocks()]
    refs = [block.ref for block in blocks]
    refs += [block.result for block in blocks if isinstance(block, Tool) and block.result]
    return {ref.offset: ref.length for ref in refs}


def objects(sample: Sample) -> list[Record]:
    """What the source takes for its records, blank lines left out."""
    return [record for record in sample.source.objects(records([sample.data])) if record.raw.strip()]


def seen_on_disk(folder: Path) -> dict[str, tuple[bytes | None, int, int]]:
    """Everything below a folder: bytes, mode and time of change."""
    found: dict[str, tuple[bytes | None, int, int]] = {}
    for path in sorted(folder.rglob("*")):
        status = os.lstat(path)
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[path.relative_to(folder).as_posix()] = (content, status.st_mode, status.st_mtime_ns)
    return found
