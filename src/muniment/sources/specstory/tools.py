"""What the block of a tool says.

It is rendered for people. A fence at its end that is marked as a result, or that follows what was asked for, is the
output and what stands before it the input; where that cannot be told, all that is inside is the output.
"""

from __future__ import annotations

import html
import re

from msgspec import Struct

from muniment.model import Ref, Text, Tool
from muniment.sources.specstory import told

_TAG = re.compile(r'<tool-use(?: data-tool-type="([^"\n]*)")?(?: data-tool-name="([^"\n]*)")?')
_TYPES = frozenset(("shell", "read", "write"))
_LINE = re.compile(r"Tool use: \*\*([^*\n]+)\*\*[ \t]*")
_WORDS = re.compile(r"([A-Za-z]+(?: [a-z]+)?)")
_ACT = re.compile(r"Tool use: \*\*[^*\n]+\*\* • (?:(?:Read|Edit) file: (?P<path>.+)|Run command: (?P<command>.+))")
_BELOW = "</tool-use>\n```"

_FENCE = re.compile(r"(?:^|\n)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n")
_RESULT = re.compile(
    r"(?:^|\n)(?:\*\*)?(?P<word>Result|Error|Output(?: \(error\))?):(?:\*\*)?\s*\n(?P<ticks>`{3,})[^`\n]*\n"
)
_SECOND = re.compile(r"\n`{3,}\s*\n(?P<ticks>`{3,})(?:text)?[ \t\r]*\n")
"""The end of a fence and, directly behind it, another one."""
_MARKS = ("Result:", "Error:", "Output:", "Output (error):")
_ERRORS = ("Error", "Output (error)")
_SCRIPT = re.compile(
    r"(?:(?P<said>(?!Directory: `)[^\n`][^\n]*)\n\n)?(?P<ticks>`{3,})bash\n(?P<command>.*)\n(?P=ticks)", re.DOTALL
)
"""A command of several lines, perhaps with what it is for."""
_FIELDS = "**Input:**"
_NEXT_FIELD = re.compile(r"\n(?=- [\w.-]+: `)")
_FIELD = re.compile(r"- ([\w.-]+): `(.*)`\s*", re.DOTALL)
KINDS = {
    "Bash": "shell", "shell": "shell", "run_terminal_cmd": "shell",
    "Read": "read", "read_file": "read", "Write": "write", "write": "write",
}  # fmt: skip
"""The types of tools that older versions give no type."""


class _Block(Struct, frozen=True):
    """A block, whatever form it has."""

    name: str
    about: dict[str, str]
    """What is said of the call beside the block."""
    kind: str
    inside: str
    below: str = ""
    """The fence below it, behind its mark."""
    tagged: bool = False


class _Divided(Struct, frozen=True):
    """What is inside a block."""

    asked: str
    output: str
    is_error: bool | None = None


def tool(raw: str, ref: Ref) -> Tool:
    """The call that a block tells of."""
    block = _tagged(raw) if raw.startswith("<tool-use") else _listed(raw) if raw.startswith("<") else _line(raw)
    inside, output, is_error = block.inside, None, None
    if divided := _Divided(inside, _fenced(block.below)) if block.below else _divided(block):
        inside, output, is_error = divided.asked, divided.output, divided.is_error
    words = inside.strip()
    given = _request(words, block.kind)
    if given is None and not divided:
        given, output = {}, inside
    asked = _asked(block.about, given, words)
    if output is None:
        return Tool(f"tool-{ref.offset}", block.name, asked, ref=ref)
    return Tool(f"tool-{ref.offset}", block.name, asked, (Text(output),), is_error, ref=ref, result=ref)


# -- the forms


def _tagged(raw: str) -> _Block:
    """`<tool-use data-tool-type="read" data-tool-name="Read"><details>`: what newer versions write."""
    tag = _TAG.match(raw)
    type_, name = tag.groups() if tag else (None, None)
    (begin, end), below = told.span(raw), ""
    if raw.endswith("```", begin, end) and (at := raw.rfind(_BELOW, begin, end)) >= 0:
        end, below = at, raw[at + len(_BELOW) : end]
    summary, inside = told.block(raw, begin, end)
    about = {"summary": html.unescape(summary)}
    if type_ is not None:
        about["type"] = html.unescape(type_)
    act = _ACT.fullmatch(about["summary"]) if "•" in summary else None
    about |= {word: words for word, words in act.groupdict().items() if words} if act else {}
    name = html.unescape(name) if name is not None else "tool"
    return _Block(name, about, type_ if type_ in _TYPES else KINDS.get(name, ""), inside, below, tagged=True)


def _listed(raw: str) -> _Block:
    """`<details>` without a tag, as the editor's extension wrote it: the summary says what was done."""
    summary, inside = told.block(raw, *told.span(raw))
    named = _LINE.match(summary) or _WORDS.match(summary)
    return _Block(named[1] if named else "tool", {"summary": html.unescape(summary)}, "", inside)


def _line(raw: str) -> _Block:
    """`Tool use: **Bash** Show the log`: what older versions write."""
    line, _, below = raw.partition("\n")
    named = _LINE.match(line)
    name, words = (named[1], line[named.end() :].strip()) if named else ("tool", line)
    inside, about = told.trimmed(below), {"description": words} if words else {}
    if words.startswith("`"):
        inside, about = f"{words}\n\n{inside}", {}
    return _Block(name, about, KINDS.get(name, ""), inside)


# -- what is inside


def _divided(block: _Block) -> _Divided | None:
    """Input and output, where they can be told apart."""
    inside = block.inside
    if not inside.endswith("```"):
        return None
    last = inside.rfind("\n") + 1
    closing = inside[last:]
    first = _FENCE.search(inside) if not closing.strip("`") else None
    found = _output(block, first) if first else None
    if not found or found.end() > last or len(found["ticks"]) > len(closing):
        return None
    is_error = True if found.re is _RESULT and found["word"] in _ERRORS else None
    asked = inside[: found.start("ticks") if found.re is _SECOND else found.start()]
    return _Divided(asked, inside[found.end() : last].removesuffix("\n"), is_error)


def _output(block: _Block, first: re.Match[str]) -> re.Match[str] | None:
    """The beginning of the fence that holds what came back."""
    inside = block.inside
    listed = inside.find(_FIELDS, 0, first.start()) >= 0
    if marked := _RESULT.search(inside, 0, first.end()):
        return marked
    info, asked = first["info"].strip(), inside[: first.start()].strip()
    if not listed and (info == "text" or (not info and asked and block.kind != "write")):
        return first
    closing = inside.find("\n" + first["ticks"], first.end() - 1)
    if any(word in inside for word in _MARKS) and (
        marked := _result_behind(inside, closing) if block.tagged else _RESULT.search(inside)
    ):
        return marked
    return _SECOND.match(inside, closing) if closing >= 0 and not listed else None


def _result_behind(inside: str, closing: int) -> re.Match[str] | None:
    """The fence that is marked as a result, behind the end of the first one.

    What was written to a file may speak of results too. The program's own marks are bold, or stand right above a fence
    of text; others count only if nothing is between them and what was asked for."""
    at = closing
    while at >= 0 and (marked := _RESULT.search(inside, at)):
        bold = inside.startswith("**", marked.start("word") - 2)
        above = inside.count("\n", marked.end("word"), marked.start("ticks")) == 1
        if bold or (above and inside.startswith("text", marked.end("ticks"))):
            return marked
        if at == closing and not inside[closing : marked.start()].strip().strip("`"):
            return marked
        at = marked.end() - 1
    return None


def _fenced(fence: str) -> str:
    """What stands in a fence."""
    return fence.partition("\n")[2].rpartition("\n")[0]


# -- what was asked for


def _asked(about: dict[str, str], given: dict[str, str] | None, words: str) -> dict[str, str]:
    """All that is said of the input; where two say different things under one name, both are kept."""
    if given is None or any(about.get(name, said) != said for name, said in given.items()):
        given = {"input": words} if words else {}
    return about | given


def _request(words: str, kind: str) -> dict[str, str] | None:
    """The fields of an input; none if it has no form that is known."""
    if not words.endswith("`"):
        path = words.removeprefix("Read file: ") if kind == "read" and "\n" not in words else words
        return {} if not words else {"path": path} if path != words else None
    if words.startswith(_FIELDS):
        return _fields(words.removeprefix(_FIELDS).strip())
    rest, _, line = words.rpartition("\n")
    if kind == "shell" and _is_code(line) and "\n" not in (rest := rest.strip()):
        return {"command": line[1:-1]} | ({"description": rest} if rest else {})
    if kind == "shell" and (script := _SCRIPT.fullmatch(words)) and f"\n{script['ticks']}" not in f"\n{script[3]}":
        return {"command": script["command"]} | ({"description": script["said"]} if script["said"] else {})
    if kind in ("read", "write") and not rest and _is_code(line):
        return {"path": line[1:-1]}
    return {"diff": words} if kind == "write" and words.endswith("```") and "```diff\n" in words else None


def _is_code(line: str) -> bool:
    return len(line) > 2 and line[0] == line[-1] == "`" and not line.startswith("``")


def _fields(words: str) -> dict[str, str] | None:
    """A list of names with their values."""
    found = [_FIELD.fullmatch(field) for field in _NEXT_FIELD.split(words)]
    fields = {field[1]: field[2] for field in found if field}
    return fields if len(fields) == len(found) else None
