"""A tool call as a person wants to see it, told by the shape of its input: no agent's tools are known by name.

The first shape that fits decides; what it takes no notice of is listed as fields. An input of no known shape is all
fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from msgspec import structs

from muniment.model import Media, Text, Tool, Unknown
from muniment.model.codec import mapping
from muniment.render import diffs, fields, questions, results
from muniment.render.fields import Given
from muniment.render.shown import Field, Limits, Line, Todo, ToolShown
from muniment.render.visible import clip, one_line, visible

_PATHS = ("file_path", "filePath", "notebook_path", "absolute_path", "path", "filename", "dir_path")
_COMMANDS = ("command", "cmd")
_OLD = ("old_string", "old_str", "oldString", "oldText", "old_text")
_NEW = ("new_string", "new_str", "newString", "newText", "new_text")
_EVERYWHERE = ("replace_all", "replaceAll")
_CONTENTS = ("content", "file_text", "new_source", "contents")
_PATTERNS = ("pattern", "regex")
_ADDRESSES = ("url", "query", "q")
_TASKS = ("prompt", "message")
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "pwsh", "powershell")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)

Shape = Callable[[Given], ToolShown | None]


def shown(tool: Tool, limits: Limits) -> ToolShown:
    """The call and its result."""
    given = mapping(tool.input)
    call = _patch(tool.input) if isinstance(tool.input, str) else None
    call = call or next((made for shape in _SHAPES if (made := shape(given))), None)
    if call is None:
        listed = fields.fields(given) if given else fields.whole(tool.input)
        call = ToolShown("", fields.brief(given), fields=listed)
    ended = results.ended(_text(tool), call.view == "shell")
    output, output_cut = clip(visible(ended.output).rstrip("\n"), limits.output)
    return _clipped(
        structs.replace(
            call,
            name=one_line(tool.name or ""),
            output=None if tool.output is None else output,
            output_cut=output_cut,
            is_error=bool(tool.is_error),
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            side=tool.sidechain,
            media=tuple(part.name for part in tool.output or () if isinstance(part, Media)),
        ),
        limits,
    )


def prose(tool: Tool) -> str:
    """What of a call was written to be read, as markdown: a subagent's task, a plan, questions to the person."""
    given = mapping(tool.input)
    return (_task(given) and fields.text(given, _TASKS)) or fields.text(given, ("plan",)) or questions.spelt(given)


# -- the shapes


def _shell(given: Given) -> ToolShown | None:
    command = next((given[name] for name in _COMMANDS if given.get(name)), None)
    if not isinstance(command, str | list):
        return None
    line = _command(command)
    if "*** Begin Patch" in line:
        return _patch(line)
    rest = fields.rest(given, {*_COMMANDS, "description"})
    return ToolShown(
        "", one_line(fields.text(given, ("description",)) or line), "shell", command=visible(line), fields=rest
    )


def _command(command: Any) -> str:
    """A command line; some agents give it as a list, often a shell and what it is to run."""
    if isinstance(command, str):
        return command
    words = [str(word) for word in cast("list[Any]", command)]
    if len(words) == 3 and words[0] in _SHELLS and words[1].startswith("-"):
        return words[2]
    return " ".join(words)


def _patch(text: Any) -> ToolShown | None:
    if not isinstance(text, str) or not (paths := _PATCHED.findall(text)):
        return None
    begin = max(text.find("*** Begin Patch"), 0)
    lines = [line for line in diffs.patch(text[begin:]) if line.text not in ("*** Begin Patch", "*** End Patch")]
    return ToolShown("", one_line(", ".join(paths)), "diff", path=visible(paths[0]), diff=tuple(lines))


def _patched(given: Given) -> ToolShown | None:
    return next((made for name in ("patch", "patchText", "input", "diff") if (made := _patch(given.get(name)))), None)


def _edit(given: Given) -> ToolShown | None:
    old, new = fields.text(given, _OLD), fields.text(given, _NEW)
    if not (old or new) or not any(name in given for name in _OLD + _NEW):
        return None
    lines = [diffs.heading("every occurrence")] if any(given.get(name) is True for name in _EVERYWHERE) else []
    rest = fields.rest(given, {*_PATHS, *_OLD, *_NEW, *_EVERYWHERE})
    return _diff(given, [*lines, *diffs.diff(old, new)], rest)


def _edits(given: Given) -> ToolShown | None:
    edits = given.get("edits")
    made = [_edit(mapping(edit)) for edit in cast("list[Any]", edits)] if isinstance(edits, list) else []
    if not made or not all(made):
        return None
    lines: list[Line] = []
    for number, edit in enumerate(cast("list[ToolShown]", made), 1):
        lines += [diffs.heading(f"edit {number} of {len(made)}"), *edit.diff]
    return _diff(given, lines, fields.rest(given, {*_PATHS, "edits"}))


def _diff(given: Given, lines: list[Line], rest: tuple[Field, ...]) -> ToolShown:
    path = fields.text(given, _PATHS)
    return ToolShown("", one_line(path), "diff", path=visible(path), diff=tuple(lines), fields=rest)


def _write(given: Given) -> ToolShown | None:
    path, content = (
        fields.text(given, _PATHS),
        next((given[n] for n in _CONTENTS if isinstance(given.get(n), str)), None),
    )
    if not path or content is None:
        return None
    rest = fields.rest(given, {*_PATHS, *_CONTENTS})
    return ToolShown(
        "", one_line(path), "write", path=visible(path), fields=(*rest, Field("content", visible(content)))
    )


def _search(given: Given) -> ToolShown | None:
    pattern = fields.text(given, _PATTERNS)
    if not pattern:
        return None
    path = fields.text(given, _PATHS)
    title = one_line(f"{pattern} in {path}" if path else pattern)
    rest = fields.without(given, (*_PATHS, *_said(given, _PATTERNS, title)))
    return ToolShown("", title, "search", path=visible(path), fields=fields.fields(rest))


def _todo(given: Given) -> ToolShown | None:
    entries = next((given[n] for n in ("todos", "plan") if isinstance(given.get(n), list)), None)
    todos = [_entry(mapping(entry)) for entry in cast("list[Any]", entries or [])]
    if not todos or not all(todo.text for todo in todos):
        return None
    done = sum(1 for todo in todos if todo.status in ("completed", "done"))
    rest = fields.rest(given, {"todos", "plan"})
    return ToolShown("", f"{done} of {len(todos)} done", "todo", todos=tuple(todos), fields=rest)


def _entry(entry: Given) -> Todo:
    text = fields.text(entry, ("content", "step", "text", "title", "subject"))
    return Todo(one_line(text, 2_000), one_line(fields.text(entry, ("status",)) or "pending", 40))


def _task(given: Given) -> ToolShown | None:
    kind = fields.text(given, ("subagent_type", "agent_type"))
    if not fields.text(given, _TASKS) or not (kind or ("description" in given and "prompt" in given)):
        return None
    title = fields.text(given, ("description", "name")) or fields.text(given, _TASKS)
    return ToolShown("", one_line(title), "task", fields=fields.rest(given, {*_TASKS, "description"}))


def _proposed(given: Given) -> ToolShown | None:
    """A plan that is put to the person as a text."""
    plan = fields.text(given, ("plan",)).strip()
    title = one_line(plan.split("\n")[0].lstrip("# "))
    return ToolShown("", title, fields=fields.rest(given, {"plan"})) if plan else None


def _asked(given: Given) -> ToolShown | None:
    if not questions.spelt(given):
        return None
    return ToolShown("", one_line(questions.first(given)), fields=fields.rest(given, set(questions.NAMES)))


def _web(given: Given) -> ToolShown | None:
    title = one_line(fields.text(given, _ADDRESSES))
    rest = fields.without(given, _said(given, _ADDRESSES, title))
    return ToolShown("", title, "web", fields=fields.fields(rest)) if title else None


def _said(given: Given, names: tuple[str, ...], title: str) -> list[str]:
    """Fields that the title tells whole."""
    return [name for name in names if isinstance(given.get(name), str) and given[name] in title]


def _read(given: Given) -> ToolShown | None:
    path = fields.text(given, _PATHS)
    if not path:
        return None
    first, count = given.get("offset"), given.get("limit")
    where = f" from line {first}" if isinstance(first, int) else ""
    where += f", {count} lines" if isinstance(count, int) else ""
    rest = fields.rest(given, {*_PATHS, "offset", "limit"})
    return ToolShown("", one_line(path + where), "read", path=visible(path), fields=rest)


_SHAPES: tuple[Shape, ...] = (
    _patched, _edit, _edits, _write, _search, _todo, _task, _shell, _proposed, _asked, _web, _read,
)  # fmt: skip


# -- the result, and what is too much


def _text(tool: Tool) -> str:
    return "\n".join(_part(part) for part in tool.output or () if not isinstance(part, Media))


def _part(part: Text | Unknown) -> str:
    return part.text if isinstance(part, Text) else f"[{part.kind}] {part.damage or fields.spelt_json(part.value)}"


def _clipped(call: ToolShown, limits: Limits) -> ToolShown:
    """Within the limits; a line in the place of what is missing says how much."""
    lines = call.diff
    if len(lines) > limits.lines:
        lines = (*lines[: limits.lines], diffs.heading(f"{len(lines) - limits.lines:,} more lines not shown"))
    longest = limits.value * 4
    lines = tuple(line if len(line.text) <= longest else Line(line.op, clip(line.text, longest)[0]) for line in lines)
    fitting = tuple(Field(field.name, _fit(field, call, limits)) for field in call.fields)
    return structs.replace(call, command=clip(call.command, limits.output)[0], diff=lines, fields=fitting)


def _fit(field: Field, call: ToolShown, limits: Limits) -> str:
    limit = limits.output if call.view == "write" and field.name == "content" else limits.value
    return clip(field.value, limit)[0]
