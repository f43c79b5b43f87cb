"""Lines that come back to the byte, though their words are stored only once.

The blocks of a round hold what a line says. Whatever else stands in it is kept beside them: the line as JSON, with a
hole where the words were. Filling the holes from the blocks and writing the JSON in the style of the line gives the
line again; whether it does is tried when the line is read, and one that would not come back so is kept as it is.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

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


def said(blocks: Iterable[Block], media: MediaBytes) -> Said:
    """Everything that these blocks say."""
    found: Said = {}
    for block in blocks:
        for offset, content in _contents(block, media):
            found.setdefault(offset, []).append(content)
    return found


def _contents(block: Block, media: MediaBytes) -> Iterator[tuple[int, Any]]:
    offset = block.ref.offset
    match block:
        case Tool():
            if block.name is not None:
                yield offset, block.input
            for part in block.output or ():
                yield from ((block.result.offset, content) for _, content in _contents(part, media) if block.result)
        case Event():
            yield offset, block.detail or block.text
        case Unknown():
            yield offset, block.value
        case Media():
            yield offset, base64.b64encode(media(block.name)).decode("ascii")
        case Text() | Thinking() | Compaction():
            yield offset, block.text


def kept(raw: bytes, contents: Sequence[Any]) -> dict[str, Any]:
    """What must be stored beside the contents to give a line back."""
    holes: list[list[Any]] = []
    try:
        large = [(number, content) for number, content in enumerate(contents) if _is_large(content)]
        value = _hollow(codec.loads(raw), large, [], holes)
        whole = _filled(value, holes, contents)
        style = next((name for name, encode in _STYLES.items() if encode(whole) == raw), None)
    except (RecursionError, ValueError):
        style, value = None, None
    if style is None:
        return {"raw": raw.decode("utf-8", "surrogateescape")}
    made: dict[str, Any] = {"line": value}
    made |= {"holes": holes} if holes else {}
    return made if style == "compact" else made | {"style": style}


def _is_large(content: Any) -> bool:
    return isinstance(content, (str, dict, list)) and bool(content)  # pyright: ignore[reportUnknownArgumentType]


def _hollow(value: Any, contents: list[tuple[int, Any]], path: list[Any], holes: list[list[Any]]) -> Any:
    """The value with each content taken out where it is first met; `holes` are its numbers and paths."""
    for place, (number, content) in enumerate(contents):
        if type(content) is type(value) and content == value:
            del contents[place]
            holes.append([number, *path])
            return None
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {name: _hollow(inner, contents, [*path, name], holes) for name, inner in items}
    if isinstance(value, list):
        parts = cast("list[Any]", value)
        return [_hollow(inner, contents, [*path, number], holes) for number, inner in enumerate(parts)]
    return value


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
            yield _value(raw), raw
        else:
            value = _filled(line["line"], line.get("holes", ()), contents.get(offset, ()))
            yield value, _STYLES[line.get("style", "compact")](value)


def _value(raw: bytes) -> Any:
    """What a line says; None for one that a dialect could read and JSON cannot."""
    try:
        return codec.loads(raw)
    except ValueError:
        return None


def _stored(round_: Round) -> dict[int, Any]:
    found = (mapping(mapping(message.raw).get(FIELD)) for message in round_.messages)
    return {int(offset): line for some in found for offset, line in some.items()}


def has_lines(round_: Round) -> bool:
    """Whether a round still knows the lines it was read from; one that was made from a document does not."""
    return any(FIELD in mapping(message.raw) for message in round_.messages)
