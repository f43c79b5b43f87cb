"""What the block of a tool says, told line by line and without the reader."""

from __future__ import annotations

import html

from muniment.sources.specstory.tools import KINDS

Asked = dict[str, str]

_RESULTS = {
    f"{stars}{word}:{end}"
    for stars in ("", "**")
    for end in ("", "**")
    for word in ("Result", "Error", "Output", "Output (error)")
}


def told(block: str, summary: str, inside: str, below: str) -> tuple[Asked, str | None]:
    """What was asked for, and what came back if anything did."""
    about, kind = {"summary": html.unescape(summary)}, ""
    if block.startswith("<tool-use"):
        kind = _of_tag(block.split("\n")[0], about)
        if below:
            asked = inside.strip()
            return _merged(about, _request(asked, kind), asked), "\n".join(below.split("\n")[1:-1])
    elif not block.startswith("<"):
        about, kind, inside = _of_line(block)
    return _told(inside, about, kind, block.startswith("<tool-use"))


def _of_tag(tag: str, about: Asked) -> str:
    """The type of a tool; what its tag and its summary say goes to what is said of it."""
    type_, name = (tag.partition(f' data-tool-{word}="')[2].partition('"')[0] for word in ("type", "name"))
    if ' data-tool-type="' in tag:
        about["type"] = html.unescape(type_)
    bold, _, act = about["summary"].partition("** • ")
    if bold.startswith("Tool use: **") and "\n" not in act:
        for word, field in (("Read file: ", "path"), ("Edit file: ", "path"), ("Run command: ", "command")):
            if act.startswith(word) and act != word:
                about[field] = act.removeprefix(word)
    return type_ if type_ in KINDS.values() else KINDS.get(html.unescape(name), "")


def _of_line(block: str) -> tuple[Asked, str, str]:
    """What a line says of a tool, its type, and what stands below."""
    line, *below = block.split("\n")
    _, name, words, *_ = *line.split("**", 2), "", ""
    inside, words = "\n".join(below).strip("\r\n"), words.strip()
    if words.startswith("`"):
        return {}, KINDS.get(name, ""), f"{words}\n\n{inside}"
    return {"description": words} if words else {}, KINDS.get(name, ""), inside


def _told(inside: str, about: Asked, kind: str, tagged: bool) -> tuple[Asked, str | None]:
    lines = inside.split("\n")
    end, begun = _fence_of_output(lines, kind, tagged)
    if begun:
        asked = "\n".join(lines[:end]).strip()
        return _merged(about, _request(asked, kind), asked), "\n".join(lines[begun:-1])
    given = _request(inside.strip(), kind)
    return (about, inside) if given is None else (_merged(about, given, inside.strip()), None)


def _fence_of_output(lines: list[str], kind: str, tagged: bool) -> tuple[int, int]:
    """Where the input ends and the output begins; nowhere if they cannot be told apart."""
    fences = [n for n, line in enumerate(lines[:-1]) if _ticks(line)]
    closing = lines[-1]
    if not fences or not _ticks(closing) or closing.strip("`"):
        return 0, 0
    end, fence = _choice(lines, fences, kind, tagged)
    return (end, fence + 1) if fence >= 0 and _ticks(lines[fence]) <= len(closing) else (0, 0)


def _choice(lines: list[str], fences: list[int], kind: str, tagged: bool) -> tuple[int, int]:
    first, before = fences[0], [line for line in lines[: fences[0]] if line.strip()]
    listed, info = "**Input:**" in "\n".join(lines[:first]), lines[first].strip("`").strip()
    marked = [(mark, n) for n in fences if (mark := _mark(lines, n)) >= 0]
    if marked and marked[0][1] == first:
        return marked[0]
    if not listed and (info == "text" or (not info and before and kind != "write")):
        return first, first
    ticks = "`" * _ticks(lines[first])
    closed = next((n for n in range(first + 1, len(lines)) if lines[n].startswith(ticks)), len(lines))
    if marked := [found for found in marked if not tagged or _is_meant(lines, closed, *found)]:
        return marked[0]
    then = next((n for n in range(closed + 1, len(lines) - 1) if lines[n].strip()), -1)
    bare = not listed and then >= 0 and not lines[closed].strip().strip("`")
    return (then, then) if bare and _ticks(lines[then]) and lines[then].strip("`").strip() in ("", "text") else (0, -1)


def _mark(lines: list[str], fence: int) -> int:
    """The line that says of a fence that it is a result; none if none does."""
    at = next((n for n in range(fence - 1, -1, -1) if lines[n].strip()), -1)
    return at if at >= 0 and lines[at].rstrip() in _RESULTS else -1


def _is_meant(lines: list[str], closed: int, mark: int, fence: int) -> bool:
    """Whether a mark is the program's: bold, right above a fence of text, or next to the end of the first fence."""
    if mark <= closed:
        return False
    above = fence == mark + 1 and lines[fence].lstrip("`").startswith("text")
    return above or lines[mark].startswith("**") or not "\n".join(lines[closed:mark]).strip().strip("`")


def _ticks(line: str) -> int:
    """How many marks begin a fence here."""
    count = len(line) - len(line.lstrip("`"))
    return count if count >= 3 and "`" not in line[count:] else 0


def _merged(about: Asked, given: Asked | None, words: str) -> Asked:
    if given is not None and all(about.get(name) in (None, value) for name, value in given.items()):
        return about | given
    return about | ({"input": words} if words else {})


def _request(words: str, kind: str) -> Asked | None:
    lines = words.split("\n")
    code = lines[-1][1:-1] if len(lines[-1]) > 2 and lines[-1][:1] == lines[-1][-1:] == "`" != lines[-1][1] else ""
    said = [line for line in "\n".join(lines[:-1]).strip().split("\n") if line]
    if not words:
        return {}
    if words.startswith("**Input:**"):
        return _fields(words[len("**Input:**") :].strip().split("\n"))
    if kind == "shell" and code and "\n" not in "\n".join(lines[:-1]).strip():
        return {"command": code} | ({"description": said[0]} if said else {})
    if kind == "shell" and (script := _script(lines)):
        return script
    if len(lines) == 1 and code and kind in ("read", "write"):
        return {"path": code}
    if len(lines) == 1 and kind == "read" and words.startswith("Read file: "):
        return {"path": words[len("Read file: ") :]}
    return {"diff": words} if kind == "write" and "```diff\n" in words and words.endswith("```") else None


def _script(lines: list[str]) -> Asked | None:
    """A command of several lines; above it there may be a line that says what it is for."""
    begun = 0 if lines[0].startswith("`") else 2
    fence, *command = lines[begun:] or [""]
    marks = fence.removesuffix("bash")
    if len(marks) < 3 or marks.strip("`") or marks == fence or len(command) < 2 or command.pop() != marks:
        return None
    if any(line.startswith(marks) for line in command) or (begun and (lines[1] or lines[0].startswith("Directory: `"))):
        return None
    return {"command": "\n".join(command)} | ({"description": lines[0]} if begun else {})


def _fields(lines: list[str]) -> Asked | None:
    """Values by name, each from the line that names it to the one that names the next."""
    found: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.removeprefix("- ").partition(": `")
        if (
            line.startswith("- ")
            and colon
            and name
            and name.replace("_", "").replace(".", "").replace("-", "").isalnum()
        ):
            found.append((name, value))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{line}")
        else:
            return None
    values = {name: value.rstrip() for name, value in found}
    whole = all(value.endswith("`") for value in values.values()) and len(values) == len(found)
    return {name: value[:-1] for name, value in values.items()} if whole else None
