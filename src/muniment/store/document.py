"""The exact grammar of messages in a document: `parse(render(m)) == visible(m)` for every message.

    ### 2026-03-19T10:00:05.120Z · assistant
    <!-- msg_01AbC… · claude-opus-4-6 -->

    Plain markdown of the message.

    <details><summary>Tool: Bash</summary>
    <!-- toolu_01… -->

    - description: "List files"
    - command:

    ```
    ls -la
    ```

    Output:

    ```
    total 0
    ```

    </details>

A message header never occurs inside content (see `escape`), so the headers alone divide a document. Each block
stands between blank lines; two texts in a row are divided by a comment. What a text leaves open is closed (`closing`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from msgspec import structs

from muniment.model import Block, Compaction, Event, Media, Message, Text, Thinking, Tool, Unknown, codec
from muniment.model.blocks import NOWHERE, is_quiet
from muniment.store import closing, escape

SEPARATOR = "\n---\n\n"
HEADER_BYTES = re.compile("^### \\S+ · (?:user|assistant)$".encode(), re.MULTILINE)
"""Where a message begins, for readers that work on the bytes."""

_PLAIN = re.compile(r"[A-Za-z0-9_.:@/+\[\]~-]{2,200}")
_TIME = re.compile(r"[0-9A-Za-z:.+-]{1,64}")
_LABEL = re.compile(r"[^\n<>\"&·]{1,200}")
_KEY = re.compile(r"[A-Za-z0-9_. -]{1,80}")
_TICKS = re.compile(r"`{3,}")

# `json.dumps` makes an encoder for each value.
_on_one_line = json.JSONEncoder(ensure_ascii=False).encode
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_indented = json.JSONEncoder(ensure_ascii=False, indent=1).encode


# -- what a document carries


def visible(message: Message) -> Message:
    """The message as far as a document carries it. Quiet events are left to the rounds."""
    return Message(
        role=message.role,
        at=message.at,
        blocks=tuple(_visible_block(block) for block in message.blocks if not is_quiet(block)),
        id=message.id,
        model=message.model,
        sidechain=message.sidechain,
        queued=message.queued,
    )


def _visible_block(block: Block) -> Block:
    match block:
        case Text(text):
            return Text(text)
        case Thinking(text):
            return Thinking(text, redacted=block.redacted)
        case Tool():
            output = None if block.output is None else tuple(_visible_block(part) for part in block.output)
            failed = True if block.is_error and output is not None else None
            return structs.replace(block, output=output, is_error=failed, ref=NOWHERE, result=None)
        case Media(name, media_type):
            return Media(name, media_type)
        case Compaction(text):
            return Compaction(text)
        case Event(kind, text):
            return Event(kind, text)
        case Unknown(kind, value, damage):
            return Unknown(kind, value, damage)


# -- rendering


def render(messages: Iterable[Message], media_folder: str) -> Iterator[bytes]:
    """Each message as bytes, without the separators between them."""
    for message in messages:
        if not message.silent:
            yield escape.to_bytes(render_message(message, media_folder))


def render_message(message: Message, media_folder: str) -> str:
    """One message; `media_folder` is where its links point, as seen from the document."""
    at = message.at if message.at and _TIME.fullmatch(message.at) and message.at != "undated" else None
    out = [f"### {at or 'undated'} · {message.role}\n", _about(message, at)]
    after_text = False
    for block in message.blocks:
        if type(block) is Text:
            if after_text:
                out.append(f"\n{escape.NEXT}\n")
            out += ("\n", closing.closed(escape.escape_text(block.text)), "\n")
            after_text = True
        elif not is_quiet(block):
            out.append("\n")
            _add_block(out, block, media_folder)
            out.append("\n")
            after_text = False
    return "".join(out)


def _about(message: Message, at: str | None) -> str:
    """The comment under the header: id, model and what else a program wants to know."""
    id_, model, side = message.id, message.model, message.sidechain
    if message.at != at or not all(_is_plain_word(word) for word in (id_, model, side) if word is not None):
        said = {"id": id_, "model": model, "sidechain": side, "at": message.at if at is None else None}
        said = {name: value for name, value in said.items() if value is not None}
        said |= {"queued": True} if message.queued else {}
        return f"<!-- {_inert(said)} -->\n"
    words = [id_] if id_ else []
    if model:
        words.append(model if id_ else f"model {model}")
    words += [f"sidechain {side}"] if side else []
    words += ["queued"] if message.queued else []
    return f"<!-- {' · '.join(words)} -->\n" if words else ""


def _is_plain_word(text: str) -> bool:
    return bool(_PLAIN.fullmatch(text)) and text != "queued"


def _inert(value: Any) -> str:
    """JSON on one line that can close neither a comment nor a tag."""
    text = _compact(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _label(text: str) -> str:
    plain = _LABEL.fullmatch(text) and text == text.strip() and text[0] != "{"
    return text if plain else _inert(text)


# Pieces are added to those before them and put together once, at the end: texts are long, and there are many blocks.


def _add_block(out: list[str], block: Block, media_folder: str) -> None:
    """A block; one that is nested deeper than Python can follow is left to the evidence."""
    begun = len(out)
    try:
        if isinstance(block, Tool):
            _add_tool(out, block, media_folder)
        else:
            out += _render_block(block, media_folder)
    except RecursionError:
        del out[begun:]
        out += _folded("Event: too deep", "This block is nested too deep to be shown; the evidence has it.")


def _render_block(block: Block, media_folder: str) -> list[str]:
    match block:
        case Thinking(text):
            return _folded("Thinking (withheld)" if block.redacted else "Thinking", text)
        case Media():
            return [_link(block, media_folder)]
        case Compaction(text):
            return _folded("Compaction", text)
        case Event(kind, text):
            return _folded(f"Event: {_label(kind)}", text)
        case Unknown():
            return [
                f"<details><summary>Unknown: {_label(block.kind)}</summary>\n\n",
                *_unknown(block),
                "\n\n</details>",
            ]
        case Text(text):
            return [escape.escape_text(text)]
        case Tool():
            raise AssertionError("a tool is added by `_add_tool`")


def _folded(summary: str, text: str) -> list[str]:
    if not text:
        return [f"<details><summary>{summary}</summary></details>"]
    shown = closing.closed(escape.escape_text(text))
    return [f"<details><summary>{summary}</summary>\n\n", shown, "\n\n</details>"]


def _link(block: Media, media_folder: str) -> str:
    plain = re.fullmatch(r"[\w.+/-]{1,100}", block.media_type)
    return f"![{block.media_type if plain else ''}]({media_folder}/media/{block.name})"


def _unknown(block: Unknown) -> list[str]:
    said = {"kind": block.kind, "value": block.value, "damage": block.damage}
    return _fence(_indented(said), "json")


def _fence(text: str, info: str = "") -> list[str]:
    longest = max((len(run) for run in _TICKS.findall(text)), default=2) if "```" in text else 2
    ticks = "`" * (longest + 1)
    return [f"{ticks}{info}\n", escape.escape_fenced(text), f"\n{ticks}"]


def _add_tool(out: list[str], tool: Tool, media_folder: str) -> None:
    summary = "Tool result" if tool.name is None else f"Tool: {_label(tool.name)}"
    out.append(f"<details><summary>{summary}</summary>\n{_about_tool(tool)}")
    if tool.input is not None:
        _add_input(out, tool.input)
    if tool.output is not None:
        _add_output(out, tool, media_folder)
    out.append("\n</details>")


def _about_tool(tool: Tool) -> str:
    plain = _PLAIN.fullmatch(tool.id) and (tool.sidechain is None or _PLAIN.fullmatch(tool.sidechain))
    if plain:
        side = f" · sidechain {tool.sidechain}" if tool.sidechain else ""
        return f"<!-- {tool.id}{side} -->\n"
    said = {"id": tool.id} | ({"sidechain": tool.sidechain} if tool.sidechain is not None else {})
    return f"<!-- {_inert(said)} -->\n"


def _add_input(out: list[str], value: Any) -> None:
    """An object as a list of its fields, long strings fenced; anything else as JSON."""
    if not isinstance(value, dict) or not value or not all(map(_KEY.fullmatch, cast("dict[str, Any]", value))):
        out += ("\n", *_fence(_indented(value), "json"), "\n")
        return
    between = "\n"
    for key, field in cast("dict[str, Any]", value).items():
        if not isinstance(field, str):
            out.append(f"{between}- {key}: {_scalar(field)}\n")
            between = ""
        elif len(field) > 100 or "\n" in field or '"' in field or "\\" in field:
            out += (f"{between}- {key}:\n\n", *_fence(field), "\n")
            between = "\n"
        else:
            told = f'"{field}"' if field.isprintable() else codec.encode(field).decode()
            out.append(f"{between}- {key}: {told}\n")
            between = ""


def _scalar(value: Any) -> str:
    """A value that is no text, as JSON on one line."""
    if isinstance(value, int):
        return str(value) if type(value) is int else "true" if value else "false"
    return _on_one_line(value)


def _add_output(out: list[str], tool: Tool, media_folder: str) -> None:
    out.append("\nOutput (error):\n" if tool.is_error else "\nOutput:\n")
    for part in tool.output or ():
        if isinstance(part, Text):
            out += ("\n", *_fence(part.text), "\n")
        elif isinstance(part, Media):
            out.append(f"\n{_link(part, media_folder)}\n")
        else:
            out += ("\n", *_unknown(part), "\n")
