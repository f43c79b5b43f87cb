"""What is left of sessions whose transcripts are gone: their prompts, from the histories that agents keep.

A history is evidence like any other: the lines about a session go into the archive, and are read in place of its
transcript. When the transcript turns up after all it is inscribed into the same place, beside those lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from muniment import sources
from muniment.sources import finding
from muniment.sources.base import Found
from muniment.store import index
from muniment.store.index import Index
from muniment.store.layout import Layout


def lost(layout: Layout, present: Iterable[Found], env: Mapping[str, str]) -> list[Found]:
    """Sessions whose transcript is neither on this machine nor in the archive, with what histories have of them."""
    known: set[str] = set()
    if index.exists(layout):
        with Index(layout) as archive:
            known = set(archive.agents()) - rescued(archive)
    known |= {found.session_id for found in present}
    return [found for found in _remembered(env) if found.session_id not in known]


def rescued(archive: Index) -> set[str]:
    """Sessions of which the archive has nothing but what histories had."""
    rows = archive.rows("SELECT session_id FROM sessions WHERE json_extract(facts, '$.prompts_only')")
    return {session_id for (session_id,) in rows}


def _remembered(env: Mapping[str, str]) -> Iterator[Found]:
    for source in sources.all_sources():
        for home in finding.homes_of(source, env):
            yield from finding.remembered(source, home)
