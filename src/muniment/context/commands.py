"""What of a command line is worth repeating: the check, the build, the start of a program; not the `cd` before it and
not the `tail` behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

MAX_READ = 600
_MAX_STEP = 120
_APART = re.compile(r"&&|\|\||[;|\n]")
_LOOKS = re.compile(
    r"(?:cd|echo|cat|grep|rg|sed|awk|head|tail|ls|find|nl|wc|sort|uniq|cut|tr|tee|jq|printf|export|source|sleep|true|false"
    r"|test|\[|mkdir|rm|cp|mv|ln|touch|chmod|which|pwd|for|if|while|do|done|then|else|fi|git|gh|diff|less|more|xargs|set"
    r"|kill|ps)$"
)
"""Programs that look, move and glue: they say nothing about the project."""
_CHECK = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|mocha|rspec|phpunit|ctest|unittest|tox|lint|golangci-lint|clippy|mypy|pyright|ruff"
    r"|eslint|tsc|vet|check|check-types|typecheck|build|compile|fmt|format|bench|validate|verify)\b"
)
_RUNS = re.compile(
    r"(?:make|just|mise|npm|pnpm|yarn|npx|bun|uv|uvx|poetry|cargo|go|docker|gradle|mvn|dotnet|python|python3|node|ruby"
    r"|bundle|rake|swift|terraform|hugo|vite|pwsh)$"
)
_SUBCOMMANDS = frozenset(("run", "exec", "-s", "-m", "x", "tool", "compose", "dlx"))
_PROGRAM = re.compile(r"[\w./~@:+-]{1,80}$")
_REDIRECT = re.compile(r"\s*(?:\d?>&?\s?\S+|2>&1)\s*$")
_SETTING = re.compile(r"^(?:[A-Z_][A-Z0-9_]*=\S*\s+)+")


class Step(Struct, frozen=True):
    """One command of a line: characters from `start` to `end`, and what it is known by."""

    start: int
    end: int
    key: str
    checks: bool


def steps(command: str) -> Iterator[Step]:
    """The commands of a line that say how this project is checked, built or started."""
    read = command[:MAX_READ]
    if "<<" in read:
        read = read[: read.index("<<")]
    at = 0
    for found in [*_APART.finditer(read), None]:
        end = found.start() if found else len(read)
        if found and _quoted(read, at, end):
            continue
        if step := _step(read, at, end):
            yield step
        at = found.end() if found else len(read)


def _quoted(read: str, start: int, end: int) -> bool:
    """Whether a string that began after `start` is still open at `end`: what parts commands there belongs to it."""
    mark = ""
    for sign in read[start:end]:
        if sign in "\"'" and mark in ("", sign):
            mark = "" if mark else sign
    return mark != ""


def _step(read: str, start: int, end: int) -> Step | None:
    words = read[start:end]
    start += len(words) - len(words.lstrip(" \t("))
    text = _REDIRECT.sub("", read[start:end].rstrip(" \t)"))
    named = _SETTING.sub("", text).split()
    if not named or not _PROGRAM.match(named[0]) or len(text) > _MAX_STEP or text.endswith(("\\", " -")):
        return None
    program = named[0].rsplit("/", 1)[-1]
    checks = bool(_CHECK.search(text))
    if _LOOKS.match(program) or not (checks or (_RUNS.match(program) and len(named) > 1)):
        return None
    count = 3 if len(named) > 1 and named[1] in _SUBCOMMANDS else 2
    return Step(start, start + len(text), " ".join(named[:count]), checks)
