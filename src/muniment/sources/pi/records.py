"""The lines of a pi session: a header, then entries that hang together by `id` and `parentId`.

    {"type":"session","version":3,"id":"…","timestamp":"…","cwd":"/proj"}
    {"type":"message","id":"0a1b2c3d","parentId":null,"timestamp":"…","message":{"role":"user","content":"hi",…}}

Version 1 has neither version nor ids: its entries follow one another. Version 2 calls the role `custom` `hookMessage`.
"""

from __future__ import annotations

from typing import Any, cast

from muniment.model import codec
from muniment.sources.pi import printed

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ENVELOPE = ("type", "id", "parentId", "timestamp")
"""Fields that every entry has; the others are its own."""
CUSTOM_ROLES = ("custom", "hookMessage")
QUEUED = "queued"
"""A field of ours, in files that were written from another agent's session: whether words came while it worked."""


def decode(raw: bytes) -> dict[str, Any]:
    """The entry of one line. Raises ValueError with what is wrong with it."""
    try:
        value = codec.loads(raw.removeprefix(BYTE_ORDER_MARK))
    except ValueError as error:
        if not raw.strip(b"\0"):
            raise ValueError(f"{len(raw)} NUL bytes") from None
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    entry = cast("dict[str, Any]", value)
    if not isinstance(entry.get("type"), str):
        raise ValueError("not a record of a known shape: it has no type")
    return printed.as_entry(entry)


def text(fields: dict[str, Any], name: str) -> str | None:
    """A field that is a string, else None: any field of a foreign file may hold anything."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def listing(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def rest(fields: dict[str, Any], *known: str) -> dict[str, Any]:
    """The fields that are not told elsewhere."""
    return {name: value for name, value in fields.items() if name not in known}
