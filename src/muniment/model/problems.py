"""What went wrong, as values: damage found in input, and what a conversion could not carry."""

from __future__ import annotations

from msgspec import Struct


class Problem(Struct, frozen=True, omit_defaults=True):
    """Damage in a source file; the bytes themselves are kept in the evidence."""

    path: str
    offset: int
    what: str
    length: int = 0

    def __str__(self) -> str:
        return f"{self.path}: byte {self.offset}: {self.what}"


class Loss(Struct, frozen=True, omit_defaults=True):
    """Something a target format cannot hold."""

    where: str
    what: str
    why: str
    count: int = 1
    annotated: bool = False
    """It stands there all the same, as words with a warning."""

    def __str__(self) -> str:
        return f"{'annotated' if self.annotated else 'not carried'}: {self.count} × {self.what} ({self.why})"
