"""Looking through the bytes of a text, for every text that is inscribed.

All of this is there in C too (`_scan.c`, decision 0012). Where that could not be built, the functions of this module
do the same, and take longer.
"""

from __future__ import annotations

from collections.abc import Callable

_ASCII = bytes(range(128))
_HUMPS = (b"aA", b"AAa")
"""Where a new word begins inside a name: `checkToken`, `HTTPServer`."""

Humped = Callable[[bytes, bytes, int], set[bytes]]
HasAny = Callable[[bytes, bytes], bool]
Foreign = Callable[[bytes], bytes]


def humped_in_python(data: bytes, shapes: bytes, longest: int) -> set[bytes]:
    """Names in which a capital begins a new word; `shapes` are those of `names`, and no name is longer than `longest`.

    A search per hump is far faster than a pattern per word."""
    shape = data.translate(shapes)
    found: set[bytes] = set()
    for hump in _HUMPS:
        at = shape.find(hump)
        while at >= 0:
            start = shape.rfind(b" ", 0, at) + 1
            end = shape.find(b" ", at)
            end = len(shape) if end < 0 else end
            if end - start <= longest:
                found.add(data[start:end])
            at = shape.find(hump, end)
    return found


def has_any_in_python(data: bytes, wanted: bytes) -> bool:
    """Whether a text has one of these bytes."""
    return len(data.translate(None, wanted)) < len(data)


def foreign_in_python(data: bytes) -> bytes:
    """The bytes of a text that are none of ASCII."""
    return data.translate(None, _ASCII)


def _fastest() -> tuple[Humped, HasAny, Foreign]:
    try:
        from muniment.store import _scan
    except ImportError:  # nobody had a compiler where this was built
        return humped_in_python, has_any_in_python, foreign_in_python
    return _scan.humped, _scan.has_any, _scan.foreign


humped, has_any, foreign = _fastest()
IN_C = humped is not humped_in_python
