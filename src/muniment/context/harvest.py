"""What a session's rounds tell a successor, gathered in one pass: who said what, which files were changed, how the
work is checked, what was committed, which names come up again and again, what is still to do. Everything is a quote
with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from muniment.context import commands
from muniment.context.parts import Quote, Quoted
from muniment.context.places import fields
from muniment.ingest.offline import deeds
from muniment.ingest.skeleton import Turn, act
from muniment.model import Compaction, Round, Text, Tool
from muniment.model.codec import mapping

_MAX_READ = 20_000
_MAX_NAMES = 400
_FORGE = re.compile(r"https?://[\w.-]{3,60}/[\w.-]{1,60}/[\w.-]{1,80}/(?:-/)?(?:pull|issues|merge_requests)/\d{1,7}")
_TICKET = re.compile(r"(?<![\w/-])(?!UTF-|SHA-|ISO-|RFC-|CVE-|AES-|GPT-)[A-Z]{2,8}-\d{1,6}(?![\w-])")
_NAME = re.compile(r"`([^`\n]{3,60})`")
_CODE = re.compile(r"(?=[^\W\d_]|\W{1,2}[^\W\d_]|[0-9a-f]{7})[^\s]+$")
"""A name of code: one word with letters in it."""
_COMMITTED = re.compile(r"^\[[^\]\n]{1,120} [0-9a-f]{7,40}\] [^\n]{1,200}", re.MULTILINE)
_BRANCH = re.compile(
    r"\bgit (?:-C \S{1,200} )?(?:checkout -b|switch -c|branch -m|push (?:-u|--set-upstream) \S{1,40}) ([\w./-]{3,100})"
)
_STOPPED = re.compile(r"\bexit(?:ed with)?(?: code)?:? ?[1-9]|Process exited with code [1-9]")
_LISTS = {"todos": "content", "plan": "step"}
"""How agents write down what they will do: the list, and what an entry says."""


class Item(Struct):
    """One thing that came up, at its latest place."""

    key: str
    quote: Quote
    last: int
    rounds: int = 1
    """In how many rounds it came up."""
    times: int = 1
    ok: bool | None = None
    """Of a command: whether it came out well the last time."""
    checks: bool = False
    """Of a command: whether it tests, lints or builds."""


class Said(Struct, frozen=True):
    """What one side said in a round, block by block."""

    round: int
    texts: tuple[tuple[Quoted, str], ...]


class Harvest(Struct):
    """What a session tells."""

    prompts: list[Said] = []
    answers: list[Said] = []
    """What the agent said after its last act of a round."""
    files: dict[str, Item] = {}
    commands: dict[str, Item] = {}
    commits: dict[str, Item] = {}
    links: dict[str, Item] = {}
    names: dict[str, Item] = {}
    branches: dict[str, Item] = {}
    open: list[Quote] = []
    """Of the latest list of things to do, those that are not done."""
    summary: tuple[Quoted, str] | None = None
    """The latest summary that the conversation was compacted to."""
    sidechains: dict[str, int] = {}
    """Subagents, and the round that started them."""
    unanswered: list[str] = []
    """Tools that were called in the last round and gave nothing back."""


def harvest(session_id: str, rounds: Iterable[Round]) -> Harvest:
    """Gather; one round at a time is in memory."""
    found = Harvest()
    for round_ in rounds:
        _round(found, session_id, round_)
    return found


def _round(found: Harvest, session_id: str, round_: Round) -> None:
    heard: list[tuple[Quoted, str]] = []
    told: list[tuple[Quoted, str]] = []
    found.unanswered = []
    number = -1
    for message in round_.messages:
        for block in message.blocks:
            number += 1
            if message.sidechain:
                continue
            quoted = Quoted(session_id, round_.number, number, block)
            if isinstance(block, Tool):
                told.clear()
                _tool(found, quoted, block)
            elif isinstance(block, Text) and block.text.strip():
                (told if message.role == "assistant" else heard).append((quoted, block.text))
                _text(found, quoted, block.text)
            elif isinstance(block, Compaction):
                found.summary = (quoted, block.text)
    if heard:
        found.prompts.append(Said(round_.number, tuple(heard)))
    if told:
        found.answers.append(Said(round_.number, tuple(told)))


def _put(into: dict[str, Item], key: str, quote: Quote, ok: bool | None = None) -> None:
    """The latest place counts; what comes up in many rounds counts more."""
    round_ = quote.place.round
    if known := into.get(key):
        known.rounds += known.last != round_
        known.times += 1
        known.last, known.quote = round_, quote
        known.ok = known.ok if ok is None else ok
    else:
        into[key] = Item(key, quote, round_, ok=ok)


# -- what was said


def _text(found: Harvest, quoted: Quoted, text: str) -> None:
    _links(found, quoted, "text", text)
    for name in _NAME.finditer(text, 0, _MAX_READ):
        key = name[1].removesuffix("()")
        if _CODE.match(key) and (len(found.names) < _MAX_NAMES or key in found.names):
            _put(found.names, key, quoted.quote("text", text, *name.span(1)))


def _links(found: Harvest, quoted: Quoted, field: str, text: str) -> None:
    if "://" in text:
        for link in _FORGE.finditer(text, 0, _MAX_READ):
            _put(found.links, link[0], quoted.quote(field, text, *link.span()))
    for ticket in _TICKET.finditer(text, 0, _MAX_READ):
        _put(found.links, ticket[0], quoted.quote(field, text, *ticket.span()))


# -- what was done


def _tool(found: Harvest, quoted: Quoted, tool: Tool) -> None:
    if tool.sidechain:
        found.sidechains.setdefault(tool.sidechain, quoted.round)
    if tool.name is None:
        return
    if tool.output is None:
        found.unanswered.append(tool.name)
    done = act(tool)
    if done.writes and not done.failed:
        for path in done.paths:
            _file(found, quoted, path)
    if done.command and tool.output is not None:
        _command(found, quoted, tool)
    _listed(found, quoted, tool)


def _file(found: Harvest, quoted: Quoted, path: str) -> None:
    for field, text in fields(quoted.block):
        at = text.find(path)
        if at >= 0:
            _put(found.files, path.replace("\\", "/"), quoted.quote(field, text, at, at + len(path)))
            return


def _command(found: Harvest, quoted: Quoted, tool: Tool) -> None:
    done = act(tool)
    went = deeds.of(Turn(number=quoted.round, acts=(done,)))
    ok = not (done.failed or went.tests == "failed" or _STOPPED.search(done.output))
    for field, text in fields(tool):
        if field.startswith("output/"):
            _result(found, quoted, field, text, went)
        elif field in ("input/command", "input/cmd"):
            for step in commands.steps(text):
                _run(found, step, quoted.quote(field, text, step.start, step.end), ok)
            for branch in _BRANCH.finditer(text, 0, _MAX_READ):
                _put(found.branches, branch[1], quoted.quote(field, text, *branch.span(1)))
            if ok:
                _subjects(found, quoted, field, text, went)


def _run(found: Harvest, step: commands.Step, quote: Quote, ok: bool) -> None:
    """A command in its broadest form, which is the shortest."""
    known = found.commands.get(step.key)
    before = known.quote if known else quote
    _put(found.commands, step.key, quote, ok)
    found.commands[step.key].checks = step.checks
    if len(before.text) < len(quote.text):
        found.commands[step.key].quote = before


def _result(found: Harvest, quoted: Quoted, field: str, text: str, went: deeds.Deeds) -> None:
    """What git answers to a commit, and where a pull request is."""
    if "commit" in went.git:
        for line in _COMMITTED.finditer(text, 0, _MAX_READ):
            _put(found.commits, line[0].partition("] ")[2], quoted.quote(field, text, *line.span()))
    if not went.git.isdisjoint(("pr create", "push")):
        _links(found, quoted, field, text)


def _subjects(found: Harvest, quoted: Quoted, field: str, text: str, went: deeds.Deeds) -> None:
    for subject in (*went.subjects, *went.titles):
        at = text.find(subject)
        if at >= 0 and subject not in found.commits:
            _put(found.commits, subject, quoted.quote(field, text, at, at + len(subject)))


def _listed(found: Harvest, quoted: Quoted, tool: Tool) -> None:
    """A list of things to do replaces the one before it."""
    given = mapping(tool.input)
    for name, says in _LISTS.items():
        entries: Any = given.get(name)
        if isinstance(entries, list) and entries:
            found.open = list(_undone(quoted, name, says, cast("list[Any]", entries)))


def _undone(quoted: Quoted, name: str, says: str, entries: list[Any]) -> Iterator[Quote]:
    texts: Mapping[str, str] = dict(fields(quoted.block))
    for number, entry in enumerate(entries):
        field = f"input/{name}/{number}/{says}"
        if mapping(entry).get("status") != "completed" and (text := texts.get(field)):
            yield quoted.quote(field, text, 0, len(text))
