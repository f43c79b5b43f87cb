"""Values to JSON and back, exact for every string a source can hold.

msgspec is fast and strict; JSON text may hold what it refuses (a lone surrogate, `NaN`). Those rare values
take the slower road through the standard library, in both directions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Compact JSON of any model value."""
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError, ValueError):
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode("ascii")


def decode(data: bytes, type_: type[T]) -> T:
    """The value again, as its type."""
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(_lenient(data), type_)
    except RecursionError:
        raise ValueError("nested too deep") from None


def loads(data: bytes) -> Any:
    """JSON of an unknown shape, accepting what the standard library accepts. Raises ValueError."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _lenient(data)
    except RecursionError:
        raise ValueError("nested too deep") from None


def is_json(data: bytes) -> bool:
    """Whether these bytes are one JSON value."""
    try:
        loads(data)
    except ValueError:
        return False
    return True


def _lenient(data: bytes) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    """A number that a float can hold; infinity could not be written back."""
    if math.isinf(number := float(digits)):
        raise ValueError(f"{digits[:20]} is out of range")
    return number


def iter_strings(value: Any, without: str | None = None) -> Iterator[str]:
    """Every string in a value made of JSON, save those of members whose names begin with `without`.

    A value may be nested deep, so this does not call itself."""
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting += reversed(cast("list[Any]", one))
        elif isinstance(one, dict):
            members = cast("dict[str, Any]", one).items()
            waiting += [held for name, held in reversed(members) if without is None or not name.startswith(without)]


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
