"""What was done in a turn, folded from its acts: files, commits, pushes, pull requests, tests, looking around.

Everything later (boundaries, methods, phases, outcomes) reads these values and not the acts, which are many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from muniment.ingest.skeleton import COMMAND_CHARS, TESTED, Act, Turn

_COMMAND_CHARS, _SCRIPT_CHARS = 300, COMMAND_CHARS
_GIT = re.compile(
    r"\bgit (?:-[Cc] \S{1,300} ){0,3}(commit|push|tag|merge|rebase|checkout|switch|pull)\b"
    r"|\bgh (pr create|release create|pr merge)"
)
_APPLIES = re.compile(r"\bgit (?:apply|am)\b|\bpatch -p\d")
"""A patch is an edit, whoever wrote it."""
_FAILED = re.compile(
    r"\b[1-9]\d{0,5} (?:failed|failing|failures|errors?)\b|^(?:FAIL|FAILED|not ok)\b|--- FAIL|result: FAILED",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"\b\d{1,6} (?:passed|passing|tests? ok)\b|^(?:ok|PASS|OK)\b|result: ok|\bAll tests pass", re.MULTILINE
)
_MESSAGE = re.compile(
    r"(?<!\S)(-m|--message|--title|-t)[ =](?:\"?\$\(cat <<\s?[-'\"]{0,2}\w{1,20}['\"]?\s{1,4})?[\"']?([^\n\"']{3,200})"
)
_NAMED = re.compile(r"(?<![\w:/.~-])[\w.~/-]{0,150}[\w-]\.[A-Za-z]\w{0,5}(?![\w/(])")
PROSE = (".md", ".mdx", ".rst", ".txt", ".adoc", ".tex", ".org", ".docx")
_PAPERS = re.compile(r"plan|design|memory|notes|todo|scratch|changelog|/\.claude/", re.IGNORECASE)
"""Names of what is written on the way; no deliverable by itself."""
_PROGRAMS = ("skill.md", "agents.md", ".prompt.md", "memory.md")
"""Documents that agents execute: writing one changes behaviour, so it is code."""


class Deeds(Struct, frozen=True):
    """One turn's work."""

    written: frozenset[str] = frozenset()
    """Names of files, with the folder they lie in."""
    seen: frozenset[str] = frozenset()
    """The same of files that were only looked at."""
    edits: int = 0
    prose: int = 0
    """Those of the edits that were to documents."""
    looks: int = 0
    """Acts that changed no file."""
    subjects: tuple[str, ...] = ()
    """First lines of commit messages, as far as they can be read."""
    titles: tuple[str, ...] = ()
    """Of pull requests."""
    git: frozenset[str] = frozenset()
    """What git and its forge were asked to do."""
    tests: str = ""
    """How the last test run ended: passed, failed, or nothing known."""

    @property
    def delivered(self) -> bool:
        """Whether something was handed over: committed, pushed, opened or released."""
        return not self.git.isdisjoint(("commit", "push", "pr create", "release create", "pr merge"))


def of(turn: Turn) -> Deeds:
    """What was done in a turn."""
    edits = [act for act in turn.acts if act.writes]
    looks = [act for act in turn.acts if not act.writes]
    run = [(act, asked_of_git(act)) for act in looks if act.command]
    written = {key(path) for act in edits for path in act.paths}
    seen = {key(path) for act in looks for path in act.paths or _named(act)}
    return Deeds(
        written=frozenset(written),
        seen=frozenset(seen - written),
        edits=len(edits) + sum(bool(_APPLIES.search(act.command[:_COMMAND_CHARS])) for act in looks),
        prose=sum(bool(act.paths) and all(map(is_prose, act.paths)) for act in edits),
        looks=len(looks),
        subjects=tuple(text for act, asked in run if "commit" in asked for text in _quoted(act, "-m", "--message")),
        titles=tuple(text for act, asked in run if "pr create" in asked for text in _quoted(act, "--title", "-t")),
        git=frozenset(name for _, asked in run for name in asked),
        tests=next(filter(None, (_tested(act) for act, _ in reversed(run))), ""),
    )


def is_prose(path: str) -> bool:
    """Whether a file is a document for people."""
    name = path[-300:].lower()
    return (name.endswith(PROSE) and not name.endswith(_PROGRAMS)) or "issue_template" in name


def is_paper(name: str) -> bool:
    """Whether a file is a working paper."""
    return bool(_PAPERS.search(name)) and is_prose(name)


def key(path: str) -> str:
    """The last two parts of a path: enough to tell files apart, the same for relative and absolute ones."""
    return "/".join(path[-200:].replace("\\", "/").rsplit("/", 2)[-2:])


def asked_of_git(act: Act) -> Sequence[str]:
    """What a command asked of git or its forge, if it was done."""
    command = act.command[:_SCRIPT_CHARS]
    if act.failed or ("git " not in command and "gh " not in command):
        return ()
    return [one or other for one, other in _GIT.findall(command)]


def _named(act: Act) -> Sequence[str]:
    """Files that a command names, for agents that look at files by commands."""
    return _NAMED.findall(act.command[:_COMMAND_CHARS]) if act.command else ()


def _quoted(act: Act, *options: str) -> Iterator[str]:
    """The first line of what follows an option, also where a here-document gives it."""
    for option, text in _MESSAGE.findall(act.command[:_SCRIPT_CHARS]):
        if option in options:
            yield text.strip()


def _tested(act: Act) -> str:
    if not TESTED.search(act.command[:_COMMAND_CHARS]):
        return ""
    if act.failed or _FAILED.search(act.output):
        return "failed"
    return "passed" if _PASSED.search(act.output) else ""
