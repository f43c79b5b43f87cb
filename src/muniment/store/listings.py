"""The `index.md` files: how a person or an agent finds a session without opening one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from muniment import files
from muniment.model import Facts, controls
from muniment.model.words import shortened
from muniment.store import escape
from muniment.store.index import Index
from muniment.store.layout import LISTING, SIDECHAINS, Layout, Shelf, safe_name
from muniment.store.rows import PREVIEW_CHARS, RoundRow
from muniment.store.session_table import Listed


def session_listing(title: str, rows: Iterable[RoundRow]) -> bytes:
    """The rounds of one session as a table."""
    lines = [
        f"# {cell(title)}",
        "",
        "| round | timestamp | engagement | user_preview | agent_preview | tools | thinking | tokens |",
        "| ---: | --- | --- | --- | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        cells = (
            f"[{row.round}](rounds/{row.round:03d}.json)",
            cell(row.started or ""),
            cell(row.engagement_id or ""),
            cell(row.user_preview),
            cell(row.agent_preview),
            row.tool_count,
            row.thinking_count,
            row.token_count,
        )
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return escape.to_bytes("\n".join(lines) + "\n")


def whole_listing(title: str, rows: Iterable[RoundRow], sides: Mapping[str, Facts]) -> bytes:
    """The listing of a session that has rounds, with its subagents."""
    return session_listing(title, rows) + (_SUBAGENTS + subagent_listing(sides) if sides else b"")


_SPECIAL = re.compile(r"[^ \"#$%'()+,./0-9:;=>?A-Za-z^{}\-\u00c0-\u024f–—‘’“”…·]")
"""Any character but those that stay as they are in the midst of a text."""
_FIRST = ("#", ">", "+", "-")
"""What begins a heading, a quote or a list."""
_MARKUP = re.compile(r"[\\`*\[\]|~]")
"""What begins code, stress, links, pictures and cells."""
_STRESS = re.compile(r"_(?:(?!\w)|(?<!\w_))")
"""It looks back from behind the sign: an expression that begins with a fixed character is found five times as fast."""
_SITE = re.compile(r"\.(?<=www\.)", re.IGNORECASE)
_ADDRESS = re.compile(r"@(?<=[\w.+-]@)(?=[\w-]+\.)")
_STRANGE = re.compile(
    "[^\x00-\x7e\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u2bff\u3001-\u312f\u4e00-\u9fff]"
)
"""Any character that may not be seen; there is a sign for those that cannot be."""
_PRINTED = re.compile(r"[^\x00-\x1f\x7f]+")
"""What `escape` leaves as it is, apart from its own sign."""


def cell(text: str) -> str:
    """Text as one line or cell of a listing: its words, and no markup of its own, above all no link.

    A listing is for looking at, so it also shows a sign for what cannot be seen or turns words around."""
    return text if _is_plain(text) else _neutralize(text)


def _is_plain(text: str) -> bool:
    """Whether a text needs no change. Most are so, and every append lists all sessions of an agent again."""
    if _SPECIAL.search(text) or text.startswith(_FIRST) or text != text.strip():
        return False
    return "  " not in text and "://" not in text and "www." not in text.lower()


@lru_cache(maxsize=1 << 14)
def _neutralize(text: str) -> str:
    """The steps do not meet, so they can be taken one by one: a single expression for all costs twice as much."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    if _STRANGE.search(line):
        line = _PRINTED.sub(lambda match: controls.plain(match[0]), line)
    line = _MARKUP.sub(r"\\\g<0>", line).replace("!\\[", "\\!\\[")
    if line.startswith(_FIRST):
        line = f"\\{line}"
    if "_" in line:
        line = _STRESS.sub(r"\\_", line)
    return _part_addresses(line)


def _part_addresses(line: str) -> str:
    """Keep readers from making a link of what they take for an address."""
    if "www." in line.lower():
        line = _SITE.sub(r"\\.", line)
    # Readers look for mail addresses in what is left when escapes are undone: only a node between keeps them apart.
    return _ADDRESS.sub("<!-- -->@", line.replace("://", "\\://"))


def write_session_listing(shelf: Shelf, title: str, rows: Iterable[RoundRow]) -> None:
    """The rounds of a session; what its listing says of subagents stays. That of a new one says nothing yet."""
    _, heading, sides = (b"" if shelf.unseen else _read(shelf)).partition(_SUBAGENTS)
    _write(shelf, session_listing(title, rows) + heading + sides)


def write_subagents(shelf: Shelf, title: str, sides: Mapping[str, Facts]) -> None:
    """The subagents of a session, behind its rounds; where only they are left, alone."""
    rounds, *_ = _read(shelf).partition(_SUBAGENTS)
    _write(shelf, (rounds or escape.to_bytes(f"# {cell(title)}\n")) + _SUBAGENTS + subagent_listing(sides))


_SUBAGENTS = b"\n## Subagents\n\n"


def subagent_listing(sides: Mapping[str, Facts]) -> bytes:
    """The subagents of one session as a table, in the order of time."""
    lines = ["| subagent | timestamp | messages | prompt |", "| --- | --- | ---: | --- |"]
    for id_, facts in sorted(sides.items(), key=lambda side: (side[1].started or "", side[0])):
        link = f"[{cell(id_)}](sidechains/{safe_name(id_)}.md)"
        prompt = cell(shortened(facts.display_title, PREVIEW_CHARS))
        lines.append(f"| {link} | {cell(facts.started or '')} | {facts.messages} | {prompt} |")
    return escape.to_bytes("\n".join(lines) + "\n")


def _read(shelf: Shelf) -> bytes:
    try:
        return files.read_regular(shelf.listing)
    except (FileNotFoundError, IsADirectoryError, files.Irregular):
        return b""


def _write(shelf: Shelf, made: bytes) -> None:
    if shelf.unseen:
        shelf.write(LISTING, made)
    else:
        _put(shelf.listing, made)


def _put(path: Path, made: bytes) -> None:
    files.free_place(path)
    files.write_if_changed(path, made)


def write_archive_listings(layout: Layout, index: Index) -> None:
    """The listing of all agents and that of each agent."""
    rows = list(index.sessions())
    for path, data in archive_listings(layout, rows):
        _put(path, data)
    _remove_empty(layout, {row.agent_id for row in rows})


def archive_listings(layout: Layout, rows: Iterable[Listed]) -> Iterator[tuple[Path, bytes]]:
    """Path and content of the listing of each agent, then of that of all agents."""
    by_agent: dict[str, list[Listed]] = {}
    for row in sorted(rows, key=lambda r: (r.started or "", r.session_id)):
        by_agent.setdefault(row.agent_id, []).append(row)
    for agent_id, own in by_agent.items():
        yield layout.agent(agent_id) / "index.md", agent_listing(agent_id, own)
    yield layout.listing, archive_listing(by_agent)


def _remove_empty(layout: Layout, agents: Collection[str]) -> None:
    """A bucket whose last session was moved or forgotten."""
    kept = {layout.agent(agent_id).name for agent_id in agents}
    for listing in layout.sessions.glob("*/index.md"):
        if listing.parent.name not in kept and [entry.name for entry in listing.parent.iterdir()] == [listing.name]:
            listing.unlink()
            listing.parent.rmdir()


def agent_listing(agent_id: str, rows: Sequence[Listed]) -> bytes:
    """One agent's sessions in the order of time."""
    lines = [f"# Sessions of {cell(agent_id)}", "", "| session | title | date | summary |", "| --- | --- | --- | --- |"]
    for row in rows:
        date = cell((row.started or "undated")[:10])
        lines.append(
            f"| {_link(row)} | {cell(shortened(row.title, 120))} | {date} | {cell(shortened(row.summary, 200))} |"
        )
    return escape.to_bytes("\n".join(lines) + "\n")


def _link(row: Listed) -> str:
    """A session and where it can be read; one without rounds has no document, but may have subagents."""
    if not row.rounds and not row.sidechains:
        return row.session_id
    return f"[{row.session_id}]({row.session_id}{'.md' if row.rounds else f'/{SIDECHAINS}/'})"


def archive_listing(by_agent: dict[str, list[Listed]]) -> bytes:
    """All agents: how many sessions, from when to when."""
    lines = ["# Sessions", "", "| agent | sessions | from | to |", "| --- | ---: | --- | --- |"]
    for agent_id, rows in sorted(by_agent.items()):
        days = [day[:10] for row in rows for day in (row.started, row.ended) if day]
        first, last = (cell(day) for day in ((min(days), max(days)) if days else ("", "")))
        link = f"[{cell(agent_id)}]({safe_name(agent_id)}/index.md)"
        lines.append(f"| {link} | {len(rows)} | {first} | {last} |")
    return escape.to_bytes("\n".join(lines) + "\n")
