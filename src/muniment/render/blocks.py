"""Items as markup of the HTML page. What is shown was decided in the outline; here it is only spelt.

Every word that comes from a session passes through `words`, except `Item.html`, which is safe markup already. Classes
are words of this module, never of the session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape, unescape

from muniment.render.shown import Field, Item, Line, Todo, ToolShown
from muniment.render.visible import one_line, visible

MAX_OPEN_LINES = 40
"""A longer diff is folded."""
_TAG = re.compile(r"<[^>]*>")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ](\d\d:\d\d(?::\d\d)?)")
_LABELS = {
    "user": "User",
    "assistant": "Assistant",
    "thinking": "Thinking",
    "compaction": "Compaction",
    "event": "Event",
    "unknown": "Not understood",
}
_FOLDED = ("thinking", "event", "unknown", "compaction")
_SIGNS = {"-": "del", "+": "ins", "@": "b", " ": "span"}
_STATUS = {"completed": "done", "done": "done", "in_progress": "now"}
_MARKS = {"done": "✓", "now": "▸", "open": "○"}
_WELL_KNOWN = ("diff", "write", "todo")
"""Views whose result says no more than that it was done."""

Picture = Callable[[str], str]
"""The markup of a media file, by its name."""


def words(text: str) -> str:
    """Text of a session, fit for markup and for attributes."""
    return escape(visible(text))


def clock(at: str | None) -> str:
    """The time of day of an item; the round says the date."""
    if not at:
        return ""
    found = _TIME.match(at)
    return f'<time title="{words(at)}">{found[1] if found else words(at)}</time>'


def item(shown: Item, picture: Picture, usual_model: str | None = None) -> str:
    """One item."""
    if shown.tool:
        return _tool(shown, shown.tool, picture)
    body = picture(shown.media) if shown.media else f'<div class="md">{shown.html}</div>'
    head = _head(shown, usual_model)
    if shown.kind in _FOLDED:
        begin = f'<span class="title">{_preview(shown.html)}</span>'
        inner = f'<details><summary class="head">{head}{begin}{clock(shown.at)}</summary>{body}{_cut(shown)}</details>'
    else:
        inner = f'<header class="head">{head}{clock(shown.at)}</header>{body}{_cut(shown)}'
    return f'<article class="item {_kind(shown)}">{inner}</article>\n'


def _kind(shown: Item) -> str:
    """Media go with who sent them."""
    return f"{shown.role} media" if shown.kind == "media" else shown.kind


def _head(shown: Item, usual_model: str | None) -> str:
    label = _LABELS[shown.role if shown.kind == "media" else shown.kind]
    parts = [f'<span class="who">{label}</span>']
    if shown.queued:
        parts.append('<span class="note">while the agent worked</span>')
    if shown.kind == "assistant" and shown.model and shown.model != usual_model:
        parts.append(f'<span class="note">{words(shown.model)}</span>')
    return "".join(parts)


def _preview(html: str) -> str:
    return escape(one_line(unescape(_TAG.sub(" ", html[:1500])), 140))


def _cut(shown: Item) -> str:
    return f'<p class="cut">{shown.cut:,} characters not shown</p>' if shown.cut else ""


# -- tools


def _tool(shown: Item, tool: ToolShown, picture: Picture) -> str:
    is_open = " open" if _opens(tool) else ""
    state = f'{_ended(tool)}<span class="state">no result</span>' if tool.output is None else _ended(tool)
    head = f'<span class="who">{words(tool.name) or "Result"}</span><span class="title">{words(tool.title)}</span>'
    call = "".join([*_call(tool), f'<div class="md">{shown.html}</div>' if shown.html else ""])
    result = _result(tool, picture)
    return (
        f'<article class="item tool"><details{is_open}><summary class="head">{head}{state}{clock(shown.at)}</summary>'
        f'{f"""<div class="call">{call}{_cut(shown)}</div>""" if call else ""}{result}</details></article>\n'
    )


def _ended(tool: ToolShown) -> str:
    """How it ended: an exit code is no failure by itself, and stands out where it is not 0."""
    took = f"{tool.seconds:,.1f} s" if tool.seconds and tool.seconds >= 0.1 else ""
    code = "" if tool.exit_code is None else f"exit {tool.exit_code}"
    said = " · ".join(filter(None, ("failed" if tool.is_error else "", code, took)))
    bad = " bad" if tool.is_error or tool.exit_code else ""
    return f'<span class="state{bad}">{said}</span>' if said else ""


def _opens(tool: ToolShown) -> bool:
    """What a reader came for is open: small changes, plans, pictures."""
    changed = tool.view == "diff" and len(tool.diff) <= MAX_OPEN_LINES
    return changed or tool.view == "todo" or bool(tool.media)


def _call(tool: ToolShown) -> Iterator[str]:
    if tool.path and tool.path not in tool.title:
        yield f'<p class="path">{words(tool.path)}</p>'
    if tool.command:
        yield f'<pre class="shell"><span class="prompt">$ </span>{words(tool.command)}</pre>'
    if tool.diff:
        yield f'<pre class="diff">{"".join(map(_line, tool.diff))}</pre>'
    if tool.todos:
        yield f'<ul class="todos">{"".join(map(_todo, tool.todos))}</ul>'
    yield from _fields(tool)


def _line(line: Line) -> str:
    tag = _SIGNS[line.op]
    sign = "" if line.op == "@" else f"{line.op} "
    return f"<{tag}>{sign}{words(line.text)}\n</{tag}>"


def _todo(todo: Todo) -> str:
    status = _STATUS.get(todo.status, "open")
    mark = f'<span class="mark" title="{words(todo.status)}">{_MARKS[status]}</span>'
    return f'<li class="{status}">{mark} {words(todo.text)}</li>'


def _fields(tool: ToolShown) -> Iterator[str]:
    written = [field for field in tool.fields if tool.view == "write" and field.name == "content"]
    rest = [field for field in tool.fields if field not in written]
    if rest:
        yield f'<dl class="fields">{"".join(map(_field, rest))}</dl>'
    yield from (f'<pre class="file">{words(field.value)}</pre>' for field in written)


def _field(field: Field) -> str:
    value = words(field.value)
    shown = f"<pre>{value}</pre>" if "\n" in field.value or len(field.value) > 200 else f"<code>{value}</code>"
    return f"<div><dt>{words(field.name)}</dt><dd>{shown}</dd></div>"


def _result(tool: ToolShown, picture: Picture) -> str:
    if tool.output is None:
        return ""
    lines = tool.output.count("\n") + 1 if tool.output else 0
    said = f"{lines:,} line{'' if lines == 1 else 's'}" if lines else "" if tool.media else "empty"
    cut = f" · {tool.output_cut:,} characters not shown" if tool.output_cut else ""
    label = f"Result<span>{said}{cut}</span>"
    text = f"<pre>{words(tool.output)}</pre>" if tool.output else ""
    text += "".join(map(picture, tool.media))
    if tool.view in _WELL_KNOWN and text and not tool.is_error:
        return f'<details class="result"><summary class="label">{label}</summary>{text}</details>'
    return f'<div class="result{" bad" if tool.is_error else ""}"><p class="label">{label}</p>{text}</div>'


def folded(label: str, about: str, inner: Iterable[str]) -> Iterator[str]:
    """A subagent's conversation, in place and folded."""
    yield f'<details class="side"><summary class="head"><span class="who">{label}</span>'
    yield f'<span class="title">{about}</span></summary><div class="inside">\n'
    yield from inner
    yield "</div></details>\n"
