"""ATIF, the format in which harnesses hand on what agents did: one JSON document per trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Facts, Loss, Round
from muniment.sources import documents
from muniment.sources.atif import claims, find, place, read, write
from muniment.sources.base import Claim, FileRole, Found, MediaBytes, Move, Source
from muniment.sources.lines import Record


class Atif(Source):
    """Trajectories in the Agent Trajectory Interchange Format, versions 1.0 to 1.7."""

    name = find.NAME
    title = "ATIF"
    family = "atif"

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        return find.homes(env)

    def candidates(self, home: Path) -> Iterator[Path]:
        return find.candidates(home)

    def matches(self, path: Path, head: bytes) -> bool:
        return find.matches(path, head)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return find.gather(paths, root, homes)

    def owns(self, name: str, role: FileRole, native_id: str | None = None) -> bool:
        return find.PLACES.own(name, role, native_id)

    def packed(self, name: str) -> bool:
        return True

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return documents.lines(pieces, find.STEPS)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return read.read(records, facts)

    def write(
        self, rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]
    ) -> Iterator[bytes]:
        return write.write(rounds, facts, move, media, losses)

    def place(self, facts: Facts, move: Move) -> str:
        return f"{find.FOLDER}/{place.file_name(self.identity(facts, move))}"

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        return place.moved(name, pieces, facts, move)


SOURCE = Atif()
