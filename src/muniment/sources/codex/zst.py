"""Rollouts that the client has put away as `.jsonl.zst`, read as the lines they hold."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import zstandard

from muniment import files


def is_packed(name: str) -> bool:
    """Whether a file with this name is a zstd stream."""
    return name.endswith(".zst")


def unpacked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a zstd stream, in pieces of bounded size however well it was packed.

    Damage becomes a line that is no JSON: the reader then reports it at its place like any other damage.
    """
    reader = zstandard.ZstdDecompressor().stream_reader(_Pieces(pieces), read_across_frames=True)
    try:
        while piece := reader.read(files.CHUNK_BYTES):
            yield piece
    except zstandard.ZstdError as error:
        yield f"\n{error}\n".encode()


def head(packed: bytes, limit: int) -> bytes:
    """The beginning of what a cut stream holds."""
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed))
    try:
        return reader.read(limit)
    except zstandard.ZstdError:
        return b""


class _Pieces(io.BytesIO):
    """Pieces as the file that the unpacker wants to read."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        super().__init__()
        self.pieces = iter(pieces)
        self.rest = b""

    def read(self, size: int | None = -1, /) -> bytes:
        while not self.rest:
            piece = next(self.pieces, None)
            if piece is None:
                return b""
            self.rest = piece
        taken, self.rest = (self.rest, b"") if size is None or size < 0 else (self.rest[:size], self.rest[size:])
        return taken
