"""What each line of a pi session says, told without the reader: the yardstick of `check`.

Entries of version 1 have no ids and get some when they are written, and a time may be missing or told twice. So what is
said goes by its speaker and how many times that one spoke before; results go by their call in the same way. A line does
not tell that by itself: it is asked about with the number in front.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast

from msgspec import structs

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim
from muniment.sources.lines import Record
from muniment.sources.pi import printed
from muniment.sources.pi.records import BYTE_ORDER_MARK

_ABOUT = (("model", "model"), ("usage", "usage"), ("responseId", "message id"))


def numbered(lines: Iterable[Record]) -> Iterator[Record]:
    """Every line with the number of its entry among those of its speaker in front."""
    spoken: Counter[str] = Counter()
    for line in lines:
        if entry := _entry(line.raw):
            speaker = _speaker(entry)
            spoken[speaker] += 1
            line = structs.replace(line, raw=b"%d %b" % (spoken[speaker], line.raw))
        yield line


def _entry(line: bytes) -> dict[str, Any]:
    try:
        return printed.as_entry(mapping(codec.loads(line.removeprefix(BYTE_ORDER_MARK))))
    except ValueError:
        return {}


def _speaker(entry: dict[str, Any]) -> str:
    message = mapping(entry.get("message")) if entry.get("type") == "message" else {}
    role = message.get("role") or entry.get("type")
    if role == "toolResult":
        return f"result of {message.get('toolCallId')}"
    return "custom" if role == "hookMessage" else str(role)  # as version 3 calls it, in which every session is written


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one line; an entry that is no part of the conversation is one claim by its type."""
    number, _, told = line.partition(b" ")
    entry = _entry(told if number.isdigit() else line)
    kind, id_ = str(entry.get("type")), entry.get("id")
    if isinstance(id_, str) and kind != "session":
        yield Claim(id_, "id", id_)
        yield Claim(id_, "parent", entry.get("parentId"))
    message = mapping(entry.get("message"))
    key = f"{_speaker(entry)} {number.decode() if number.isdigit() else id_ or entry.get('timestamp')}"
    if kind == "message" and message:
        yield from _message(key, message, entry)
    elif kind in ("compaction", "branch_summary"):
        yield Claim(key, "text", entry.get("summary"))
    elif kind == "custom_message":
        yield from _words(key, entry.get("content"))
    elif entry:
        yield Claim(f"{kind} {hash(line)}", f"record: {kind}")


def _message(key: str, message: dict[str, Any], entry: dict[str, Any]) -> Iterator[Claim]:
    match message.get("role"):
        case "user":
            yield from _content(key, message.get("content"), "text")
        case "assistant":
            yield from _content(key, message.get("content"), "text")
            for name, field in _ABOUT:
                if message.get(name) is not None:
                    yield Claim(key, field, message[name])
            if message.get("errorMessage"):
                yield Claim(f"{key} error", "text", message["errorMessage"])
        case "toolResult":
            yield Claim(key, "error flag", message.get("isError"))
            yield from _content(key, message.get("content"), "tool output")
        case "bashExecution":
            yield Claim(key, "tool input", {"command": message.get("command")})
            yield Claim(key, "tool output", message.get("output"))
        case "custom" | "hookMessage":
            yield from _words(key, message.get("content"))
        case role:
            yield Claim(f"{key} {hash(codec.encode(message))}", f"record: message {role}")
            return
    if entry.get("timestamp"):
        yield Claim(key, "time", entry["timestamp"])


def _content(key: str, content: Any, field: str) -> Iterator[Claim]:
    if isinstance(content, str):
        yield Claim(f"{key}.0", field, content)
        return
    for number, part in enumerate(cast("list[Any]", content) if isinstance(content, list) else []):
        yield from _part(f"{key}.{number}", part, field)


def _part(key: str, part: Any, field: str) -> Iterator[Claim]:
    fields = mapping(part)
    match fields.get("type"):
        case "text":
            yield Claim(key, field, fields.get("text"))
        case "thinking":
            yield Claim(key, "thinking", fields.get("thinking"))
            if fields.get("thinkingSignature"):
                yield Claim(key, "signature", fields["thinkingSignature"])
        case "toolCall":
            yield Claim(key, "tool call", (fields.get("id"), fields.get("name")))
            yield Claim(key, "tool input", fields.get("arguments"))
        case "image":
            yield Claim(key, "image", fields.get("data"))
        case kind:
            yield Claim(key, f"part: {kind}", part)


def _words(key: str, content: Any) -> Iterator[Claim]:
    """What an extension says stands as one text, whatever parts it has."""
    if isinstance(content, list):
        words = (mapping(part).get("text") for part in cast("list[Any]", content))
        content = "\n\n".join(word for word in words if isinstance(word, str) and word)
    if content:
        yield Claim(key, "text", content)
