"""Lines that come back to the byte, though their words are stored only once.

The blocks of a round hold what a line says. Whatever else stands in it is kept beside them: the line as JSON, with a
hole where the words were. Filling the holes from the blocks and writing the JSON in the style of the line gives the
line again; whether it does is tried when the line is read, and one that would not come back so is kept as it is.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from muniment.model import Block, Compaction, Event, Media, Round, Text, Thinking, Tool, Unknown, codec
from muniment.model.codec import mapping
from muniment.sources.base import MediaBytes

FIELD = "lines"
"""Where in `Message.raw` of a round's first message they are kept, by the offsets of the lines."""

Said = dict[int, list[Any]]
"""What the blocks of a round say, by the offset of the line that said it."""


def _go(value: Any) -> bytes:
    """Compact JSON as Go's encoder writes it: harmless inside a web page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text.encode("utf-8", "surrogatepass")


_STYLES: dict[str, Callable[[Any], bytes]] = {
    "compact": codec.encode,
    "go": _go,
    "python": lambda value: json.dumps(value).encode(),
    "spaced": lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"),
}
"""How programs write JSON; the first is the usual one and not noted."""

_Values = dict[str, Any] | list[Any]

_LARGE = (str, dict, list)
"""Types of JSON that are worth a hole."""

_DEEPEST = 450
"""A line that is nested deeper is kept as it is: a round puts more levels around it, and must be readable again."""


def said(blocks: Iterable[Block], media: MediaBytes) -> Said:
    """Everything that these blocks say."""
    found: Said = {}
    for block in blocks:
        if not isinstance(block, Tool):
            found.setdefault(block.ref.offset, []).append(_content(block, media))
            continue
        if block.name is not None:
            found.setdefault(block.ref.offset, []).append(block.input)
        if block.result and block.output:
            found.setdefault(block.result.offset, []).extend(_content(part, media) for part in block.output)
    return found


def _content(block: Text | Thinking | Compaction | Event | Unknown | Media, media: MediaBytes) -> Any:
    match block:
        case Text() | Thinking() | Compaction():
            return block.text
        case Event():
            return block.detail or block.text
        case Unknown():
            return block.value
        case Media():
            return base64.b64encode(media(block.name)).decode("ascii")


def value_of(raw: bytes) -> Any:
    """What a line says; None for one that a dialect could read and JSON cannot."""
    try:
        return codec.loads(raw)
    except ValueError:
        return None


def kept(raw: bytes, value: Any, contents: Sequence[Any]) -> dict[str, Any]:
    """What must be stored beside the contents to give a line back; `value` is what `value_of` makes of the line."""
    try:
        made = None if value is None else _taken_apart(raw, value, contents)
    except (RecursionError, ValueError):
        made = None
    return made or {"raw": raw.decode("utf-8", "surrogateescape")}


def _taken_apart(raw: bytes, value: Any, contents: Sequence[Any]) -> dict[str, Any] | None:
    """A line as JSON with holes; None if it would not come back so."""
    holes: list[list[Any]] = []
    hollow = _hollow(value, _large(contents), [], holes)
    only_texts = all(isinstance(contents[hole[0]], str) for hole in holes)
    # A text that is equal is the same; an object that is equal may have its fields in another order.
    style = _style_of(raw, value if only_texts else _filled(hollow, holes, contents))
    if style is None:
        return None
    made: dict[str, Any] = {"line": hollow}
    made |= {"holes": holes} if holes else {}
    return made if style == "compact" else made | {"style": style}


def _style_of(raw: bytes, value: Any) -> str | None:
    """The style in which the value is written as these very bytes."""
    for name, encode in _STYLES.items():
        if encode(value) == raw:
            return name
    return None


def _large(contents: Sequence[Any]) -> list[tuple[int, Any]]:
    """The contents that are worth a hole, with their numbers."""
    return [(number, content) for number, content in enumerate(contents) if content and type(content) in _LARGE]


def _hollow(value: _Values, contents: list[tuple[int, Any]], path: list[Any], holes: list[list[Any]]) -> Any:
    """The value with each content taken out where it is first met; `holes` are its numbers and paths.

    What holds no content is not copied."""
    if len(path) > _DEEPEST:
        raise ValueError("nested too deep")
    changed: Any = None
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if type(inner) not in _LARGE:
            continue
        number = _taken(inner, contents) if contents else None
        if number is not None:
            holes.append([number, *path, name])
            rest = None
        elif type(inner) is str:
            continue
        else:
            rest = _hollow(inner, contents, [*path, name], holes)
        if rest is not inner:
            changed = value.copy() if changed is None else changed
            changed[name] = rest
    return value if changed is None else changed


def _taken(value: Any, contents: list[tuple[int, Any]]) -> int | None:
    """The number of the first content that is this value; it is no longer looked for."""
    for place, (number, content) in enumerate(contents):
        if type(content) is type(value) and content == value:
            del contents[place]
            return number
    return None


def _filled(value: Any, holes: Iterable[Sequence[Any]], contents: Sequence[Any]) -> Any:
    for number, *path in holes:
        value = _put(value, path, contents[number])
    return value


def _put(value: Any, path: Sequence[Any], content: Any) -> Any:
    """The value with another content at a path; itself it stays as it is."""
    if not path:
        return content
    changed = value.copy()
    changed[path[0]] = _put(value[path[0]], path[1:], content)
    return changed


def lines(round_: Round, media: MediaBytes) -> Iterator[tuple[Any, bytes]]:
    """The lines of a round that was read from this format, in order, each with what it says as JSON."""
    contents = said(round_.blocks(), media)
    for offset, line in sorted(_stored(round_).items()):
        if "raw" in line:
            raw = line["raw"].encode("utf-8", "surrogateescape")
            yield value_of(raw), raw
        else:
            value = _filled(line["line"], line.get("holes", ()), contents.get(offset, ()))
            yield value, _STYLES[line.get("style", "compact")](value)


def _stored(round_: Round) -> dict[int, Any]:
    found = (mapping(mapping(message.raw).get(FIELD)) for message in round_.messages)
    return {int(offset): line for some in found for offset, line in some.items()}


def has_lines(round_: Round) -> bool:
    """Whether a round still knows the lines it was read from; one that was made from a document does not."""
    return any(FIELD in mapping(message.raw) for message in round_.messages)
