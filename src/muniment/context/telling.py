"""What a successor is told about a session before any round is quoted: what it was about, where the work stands, what
was done.

Every line is a part; the lines of each kind come best first, so that whoever fills a budget takes from the front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import structs

from muniment.context.harvest import Harvest, Item
from muniment.context.loading import Loaded
from muniment.context.parts import Part, Quote, Quoted, Section, on_one_line
from muniment.context.slices import best, whole_words
from muniment.model import Text
from muniment.model.engagements import OPEN_PHASES, KeptEngagement
from muniment.model.words import many, numbered

_TITLE_CHARS = 160
_NOTE_CHARS = 300
_SCRATCH = ("/tmp/", "/scratchpad/", "/.claude/plans/", "/Temp/", "/var/folders/")
"""Where agents keep working papers; such files are no part of the work."""


def session(loaded: Loaded) -> list[Part]:
    """Which session it is."""
    row = loaded.session
    when = " – ".join(time[:16] for time in (row.started, row.ended) if time)
    about = [
        row.source,
        when,
        row.cwd and f"in {row.cwd}",
        row.branch and f"on {row.branch}",
        many(row.rounds, "round"),
    ]
    note = " · ".join(whole_words(words, _TITLE_CHARS) for words in about if words)
    title = whole_words(row.title, _TITLE_CHARS)
    return [
        Part("session", "id", loaded.id, note=loaded.id),
        Part("session", "title", loaded.id, note=title),
        Part("session", "about", loaded.id, note=note),
    ]


def engagements(loaded: Loaded) -> list[Part]:
    """What it was understood as: what is still open first, then the latest."""
    known = loaded.understood.engagements if loaded.understood else ()
    own = [e for e in known if any(a <= n <= b for a, b in e.turn_ranges for n in loaded.scope.rounds)]
    own.sort(key=lambda e: (e.phase not in OPEN_PHASES, -e.span[1]))
    return [part for one in own for part in _engagement(loaded, one)]


def _engagement(loaded: Loaded, one: KeptEngagement) -> Iterator[Part]:
    turns = ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in one.turn_ranges)
    said = [(f"{one.method}, {one.phase}, {numbered('round', turns)}", sentences(one.topic, one.outcome))]
    said += [("decided", words) for words in one.key_decisions]
    said += [("next", words) for words in one.next_steps]
    for label, words in said:
        note = whole_words(words, _NOTE_CHARS)
        yield Part("engagements", label, loaded.id, note=note)


def sentences(topic: str, outcome: str) -> str:
    """Topic and outcome as sentences; a topic in the words of a person may end like one already."""
    end = "" if topic.endswith((".", "?", "!", "…")) else "."
    return f"{topic}{end} {outcome}".strip()


# -- where the work stands


def standing(loaded: Loaded, found: Harvest) -> list[Part]:
    """What is not done yet, and how the last check came out."""
    parts = [_line("open", "to do", loaded, quote) for quote in found.open]
    if found.unanswered:
        names = ", ".join(dict.fromkeys(found.unanswered))
        parts.append(Part("open", "the last round was cut off", loaded.id, note=f"no result of {names}"))
    checks = [item for item in found.commands.values() if item.ok is False and item.checks]
    parts += [_line("open", "came out badly the last time", loaded, i.quote) for i in sorted(checks, key=_latest)[:3]]
    return parts


# -- what was done


def done(loaded: Loaded, found: Harvest) -> dict[str, list[Part]]:
    """Files, checks, commits, links, branches and names, each best first."""
    cwd = (loaded.session.cwd or "").replace("\\", "/").rstrip("/") + "/"
    files = [item for item in found.files.values() if not any(mark in item.key for mark in _SCRATCH)]
    checks = [item for item in found.commands.values() if item.ok]
    names = list(_names(found))
    return {
        "files changed": _listed(loaded, "files changed", files, _worked_on, lambda item: _relative(item, cwd)),
        "commands that worked": _listed(loaded, "commands that worked", checks, _often),
        "commits": _listed(loaded, "commits", found.commits.values(), _latest),
        "links": _listed(loaded, "links", [*found.links.values(), *found.branches.values()], _often),
        "names": _listed(loaded, "names", names, _often),
    }


def _listed(
    loaded: Loaded,
    label: str,
    items: Iterable[Item],
    order: Callable[[Item], tuple[int, ...]],
    shown: Callable[[Item], Quote] = lambda item: item.quote,
) -> list[Part]:
    return [_line("done", label, loaded, shown(item)) for item in sorted(items, key=order)]


def _line(section: Section, label: str, loaded: Loaded, quote: Quote) -> Part:
    return Part(section, label, loaded.id, quote.place.round, (on_one_line(quote),))


def _latest(item: Item) -> tuple[int, ...]:
    return (-item.last, -item.times)


def _often(item: Item) -> tuple[int, ...]:
    return (-item.rounds, -item.last, -item.times)


def _worked_on(item: Item) -> tuple[int, ...]:
    return (-min(item.rounds, 3), -item.last, -item.times)


def _relative(item: Item, cwd: str) -> Quote:
    """The path below the folder of the session; the place follows."""
    quote = item.quote
    if len(cwd) > 1 and quote.text.replace("\\", "/").startswith(cwd):
        place = quote.place
        cut = len(quote.text[: len(cwd)].encode("utf-8", "surrogatepass"))
        return Quote(structs.replace(place, start=place.start + cut), quote.text[len(cwd) :])
    return quote


def _names(found: Harvest) -> Iterator[Item]:
    """Names that come up again, and are not told elsewhere."""
    told = [*found.files, *found.commands, *found.links]
    for item in found.names.values():
        if item.times > 1 and not any(item.key in other for other in told):
            yield item


def summary(loaded: Loaded, told: tuple[Quoted, str], limit: int) -> list[Part]:
    """The latest summary that the conversation was compacted to: its most telling sentences."""
    quoted, text = told
    quotes = tuple(quoted.quote("text", text, *span) for span in best(text, limit, asks=False))
    return [Part("said", "summary", loaded.id, quoted.round, quotes)] if quotes else []


# -- subagents


def subagents(loaded: Loaded, found: Harvest, limit: int) -> list[Part]:
    """What each subagent said last; the latest first."""
    parts: list[Part] = []
    for id_, started in sorted(found.sidechains.items(), key=lambda item: -item[1]):
        if words := loaded.last_words(id_):
            round_, number = words
            block = round_.blocks()[number]
            assert isinstance(block, Text)
            quoted = Quoted(loaded.id, round_.number, number, block, id_)
            quotes = tuple(quoted.quote("text", block.text, *span) for span in best(block.text, limit, asks=False))
            parts.append(Part("subagents", f"began in round {started}", loaded.id, round_.number, quotes))
    return parts
