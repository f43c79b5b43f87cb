"""The head of a document: YAML frontmatter, title and the one-line summary.

Values are written as JSON scalars, which are YAML too, so nothing a source contains can change their type.
Only the summary is a person's to edit; append and re-inscription keep it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct

from muniment.errors import StoreError, Unsupported
from muniment.model import codec
from muniment.model.words import SUMMARY_CHARS
from muniment.store import document, escape

DOCUMENT_VERSION = 1
FILLED_IN = "summary"
"""Our own field: the summary as extraction wrote it, by which an edit of the line is told."""
NAMED = "name"
"""Our own field: the agent's name as it was resolved."""
_OWN = (
    "version", "format", "title", "cwd", "branch", "native_id", "sidechain", "prompts_only", "links", NAMED, FILLED_IN,
    "body_bytes",
)  # fmt: skip
_MAX_BYTES = 1 << 16
"""Looked at behind the frontmatter: title and summary. A source may make the frontmatter as long as it likes."""
_RULE = re.compile(r"\\*---")
"""A summary that would look like the line under it; it gets one more backslash."""


class Head(Struct, frozen=True):
    """Everything above the first message."""

    fields: dict[str, Any]
    """The specified fields, in order."""
    own: dict[str, Any]
    """Our own, under the key `muniment`."""
    title: str
    summary: str


def render(head: Head, has_messages: bool) -> bytes:
    """The head as bytes, up to the first message."""
    lines = ["---"]
    lines += [f"{name}: {_scalar(value)}" for name, value in head.fields.items()]
    lines.append("muniment:")
    lines += [f"  {name}: {_scalar(head.own[name])}" for name in sorted(head.own, key=_place)]
    summary = escape.escape_text(_one_line(head.summary)) or "(no summary)"
    summary = f"\\{summary}" if _RULE.fullmatch(summary) else summary
    lines += ["---", f"# {_one_line(head.title)}", "", summary, ""]
    return escape.to_yaml_bytes("\n".join(lines) + ("\n---\n\n" if has_messages else ""))


def _place(name: str) -> tuple[int, str]:
    """Always the same order, whoever added a field when; what came into the format later comes later."""
    return (_OWN.index(name), "") if name in _OWN else (len(_OWN), name)


def placeholder(title: str) -> str:
    """What stands for a summary until there is one. A title may begin like markup; a summary is a plain line."""
    return " ".join((title.lstrip("#-> \t") or "(no prompt)").split())[:SUMMARY_CHARS]


def written_by_hand(head: Head) -> bool:
    """Whether a person wrote the summary: it is neither the placeholder nor what extraction filled in."""
    machines = ("", placeholder(str(head.own.get("title", ""))), head.own.get(FILLED_IN))
    return head.summary not in machines


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _scalar(value: Any) -> str:
    """A value as JSON on one line; most are texts that stand there as they are."""
    if isinstance(value, str) and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return _encode(value)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def split(data: bytes) -> tuple[bytes, bytes]:
    """Head and body of a document; the body begins at the first message header."""
    match = document.HEADER_BYTES.search(data)
    at = match.start() if match else len(data)
    return data[:at], data[at:]


def parse(data: bytes) -> Head:
    """The head of a document. Raises StoreError for one that is damaged, Unsupported for one that is newer."""
    end = data.find(b"\n---\n", 4) if data.startswith(b"---\n") else -1
    if end < 0:
        raise StoreError("not a muniment document: no frontmatter", "is the file damaged or from another program?")
    text = data[: end + _MAX_BYTES].decode("utf-8", "replace")
    front, _, rest = text[4:].partition("\n---\n")
    fields = _load_yaml(front)
    own = codec.mapping(fields.pop("muniment", None))
    version = own.get("version", 0)
    if type(version) is not int or version > DOCUMENT_VERSION:
        raise Unsupported(f"document version {version!r}", "written by a newer muniment? update to read it")
    title, summary = _title_and_summary(escape.unescape_characters(rest))
    return Head(fields, own, title, summary)


def _load_yaml(front: str) -> dict[str, Any]:
    """Plain values only: an alias in a frontmatter is an attack, not a document."""
    import yaml  # takes longer than most commands that read no document

    try:
        events = cast("Iterable[object]", yaml.parse(front, Loader=yaml.CSafeLoader))  # pyright: ignore[reportUnknownMemberType]
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise StoreError("frontmatter with YAML aliases", "is the file from another program?")
        return codec.mapping(_unescaped(yaml.load(front, Loader=yaml.CSafeLoader)))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise StoreError(f"frontmatter cannot be read: {error}".split("\n")[0]) from None


def _unescaped(value: Any) -> Any:
    if isinstance(value, str):
        return escape.unescape_characters(value)
    if isinstance(value, list):
        return [_unescaped(item) for item in cast("list[Any]", value)]
    return {_unescaped(k): _unescaped(v) for k, v in codec.mapping(value).items()} if isinstance(value, dict) else value


def _title_and_summary(rest: str) -> tuple[str, str]:
    """The first two lines with something in them."""
    title, summary, *_ = [*(line for line in rest.split("\n") if line.strip()), "", ""]
    if summary in ("(no summary)", "---"):
        summary = ""
    elif _RULE.fullmatch(summary):
        summary = summary[1:]
    return title.removeprefix("# "), escape.unescape_text(summary)
