"""The values of an opencode session, whatever they were kept in.

    {"info":{"id":"ses_…","title":…,"directory":…},"messages":[
    {"info":{"id":"msg_…","role":"user",…},"parts":[{"id":"prt_…","type":"text","text":"hello"}]}
    ]}

Messages of version 2 are other ones (`flat`), and so were those of the first (`early`).
Times are milliseconds there and ISO 8601 with us; both say the same.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from muniment.model import codec
from muniment.sources.base import session_id_of

NAME = "opencode"
MESSAGES = "messages"
"""The list of a document."""

HELD = "data"
"""The field with the content of a row or a file that is no JSON object, as it was stored."""
_NAMES = (frozenset[str](), {"id", "sessionID"}, {"id", "sessionID", "messageID"}, {"id", "type"})
"""What names a file, the row of a message, that of a part, and a record of version 2."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OURS = re.compile(r"ses_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")


def text(fields: dict[str, Any], name: str) -> str | None:
    """A field that is a string, else None: any field of a foreign file may hold anything."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def mapping(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """A field that is an object, else an empty one."""
    return codec.mapping(fields.get(name))


def listing(fields: dict[str, Any], name: str) -> list[Any]:
    """A field that is an array, else an empty one."""
    value = fields.get(name)
    return cast("list[Any]", value) if isinstance(value, list) else []


def is_unread(fields: dict[str, Any]) -> bool:
    """Return whether a row or a file held no JSON object: nothing is known of it but its names and its content."""
    return HELD in fields and fields.keys() - {HELD} in _NAMES and not isinstance(fields[HELD], dict | list)


def at_time(milliseconds: Any) -> str | None:
    """A time as we write it."""
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool):
        return None
    try:
        at = EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds_of(at: str | None) -> int | None:
    """A time as opencode writes it."""
    try:
        parsed = datetime.fromisoformat(at or "")
    except ValueError:
        return None
    return (parsed.replace(tzinfo=parsed.tzinfo or UTC) - EPOCH) // timedelta(milliseconds=1)


def identity(native_id: str) -> str:
    """The canonical id of a session; ours carry it in theirs."""
    ours = _OURS.fullmatch(native_id)
    return ours[1] if ours else session_id_of(NAME, native_id)


def native_of(session_id: str) -> str:
    """The id under which opencode takes a session that came from elsewhere."""
    return f"ses_{session_id}"


def part_id(message: Any, position: int) -> str:
    """The id of a part that has none of its own."""
    return f"prt{str(message).removeprefix('msg')}.{position}"


def data_of(url: str | None) -> tuple[str, str] | None:
    """Type and base64 of a data URL; None for any other address."""
    scheme, comma, data = (url or "").partition(";base64,")
    return (scheme[5:], data) if comma and scheme.startswith("data:") else None
