"""Listings show titles as words: nothing of a session becomes a link, a picture, a heading or a cell."""

from __future__ import annotations

import random
import re

import pytest
from markdown_it import MarkdownIt

from muniment.model import controls
from muniment.model.engagements import Ingested, Tagged
from muniment.store import engagements, listings
from muniment.store.rows import RoundRow
from muniment.store.session_table import Listed

ID = "00000000-0000-4000-8000-000000000001"
PAYLOADS = [
    "[click me](https://evil.invalid)",
    "![p](https://evil.invalid/p.png)",
    "see https://evil.invalid now",
    "see www.evil.invalid now",
    "<https://evil.invalid>",
    "<a href=x>y</a>",
    "[a]: https://evil.invalid",
    "| a | b |",
    "`code` **bold** _stress_ ~~gone~~",
    "# heading\n\n[x](y)",
    "\\[x](https://evil.invalid)",
    "&lbrack;x](https://evil.invalid)",
    "write to a@evil.invalid, me.too+x@mail.evil.invalid",
    "shown \u202ebackwards\u2066 and \x9b31m red \u200b \U000e0041",
]


def _links(listing: bytes) -> list[str]:
    shown = MarkdownIt("gfm-like", {"linkify": False}).render(listing.decode())
    return [
        link for link in re.findall(r'(?:href|src)="([^"]*)"', shown) if not link.startswith((ID, "claude/", "rounds/"))
    ]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_title_plants_no_link(payload: str) -> None:
    record = Ingested(session_id=ID, agent_id="claude", source="x", title=payload, session_summary=payload,
                      agent_name=payload, started=payload, tagged=(Tagged(payload, ((1, 2),)),))  # fmt: skip
    row = RoundRow(ID, 1, payload, payload, payload, payload, 1, 1, 1, 1, "x")
    listed = Listed(ID, "claude", "x", payload, payload, None, None, None, payload, payload, 1, *(0,) * 7, "x", 0, 0)
    for made in (
        engagements.listing([record]),
        listings.session_listing(payload, [row]),
        listings.agent_listing("claude", [listed]),
        listings.archive_listing({"claude": [listed]}),
    ):
        assert _links(made) == []
        assert not re.search(rb"\w://|www\.|[\w.+-]@\w", made), "some readers make a link of a bare address"
        assert not re.search("[\x80-\x9f\u200b\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]", made.decode())


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_title_reads_as_it_was(payload: str) -> None:
    shown = MarkdownIt("commonmark").renderInline(listings.cell(payload))
    assert "<" not in shown.replace("&lt;", "").replace("<!-- -->", "")


_RULE = re.compile(r"[\\`*\[\]|~]|(?<!\w)_|_(?!\w)|!(?=\[)|^[#>+-]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_PIECES = [*"\\`*[]|~_!#>+-:/.wWa1@&< \t\n\x1c\x9f\x7fé…\u202e\u200d\u3164名😀", "www.", "://", "![", "a@b.c"]


def test_the_quick_way_gives_what_the_rule_says() -> None:
    """A text is escaped in steps, and most texts not at all, because that is faster than one expression for all."""
    noise = random.Random(7)
    for _ in range(20_000):
        text = "".join(noise.choices(_PIECES, k=noise.randrange(9)))
        line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
        seen = re.sub(r"[^\x00-\x1f\x7f]+", lambda match: controls.plain(match[0]), line)
        slow = re.sub(r"(?<=[\w.+-])@(?=[\w-]+\.)", "<!-- -->@", _RULE.sub(r"\\\g<0>", seen))
        assert listings.cell(text) == slow
