"""The page around a conversation: head, what is known of the session, table of rounds, and the tools of a reader.

One file without any network: style and script stand in it, and its policy names them by their hashes, so that nothing
else can run or be loaded, whatever a session may contain. Without the script everything can still be read.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from muniment.model.engagements import KeptEngagement
from muniment.model.words import many
from muniment.render.blocks import words
from muniment.render.body import Body, Entry
from muniment.render.cards import card, method
from muniment.render.known import Known

MARK = "<!doctype html>\n<!-- a page of muniment"
"""What every page of ours begins with; a file that does not is never replaced unasked."""
_FILTERS = (
    ("user", "User"),
    ("assistant", "Assistant"),
    ("thinking", "Thinking"),
    ("call", "Tool calls"),
    ("result", "Tool results"),
)


@cache
def asset(name: str) -> str:
    """The style or the script of our pages."""
    return Path(__file__).with_name(name).read_text("utf-8")


@cache
def _hash(name: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()


def head(title: str, stamp: str = "") -> str:
    """From the first byte to the beginning of the body."""
    policy = (
        f"default-src 'none'; style-src '{_hash('page.css')}'; script-src '{_hash('page.js')}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        f'{MARK} {stamp} -->\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="muniment">\n'
        f"<title>{words(title)}</title>\n<style>{asset('page.css')}</style>\n</head>\n"
    )


def foot(note: str) -> str:
    """The end of a page; the script is last, when everything it works on is there."""
    return f"<footer>{note}</footer>\n<script>{asset('page.js')}</script>\n</body>\n</html>\n"


# -- a session


def opening(body: Body, title: str, stamp: str, secrets: int | None, chosen: str) -> Iterator[str]:
    """Everything before the first round, its first piece up to the beginning of the body."""
    known = body.known
    day = (known.facts.started or "")[:10]
    yield head(body.redactor.text(" · ".join(filter(None, (title, known.agent, day)))), stamp)
    yield '<body>\n<a class="skip" href="#conversation">To the conversation</a>\n'
    yield from _bar(body)
    yield '<div class="page">\n'
    yield from _rounds(body)
    yield '<main>\n<header class="about">\n'
    yield f"<h1>{words(title)}</h1>\n"
    if known.summary:
        yield f'<p class="summary">{words(known.summary)}</p>\n'
    yield from _facts(body, chosen)
    yield f'<p class="safe">{_secrets(secrets)}</p>\n</header>\n'
    yield from _engagements(body)
    yield '<div id="conversation">\n'


def closing(known: Known) -> str:
    """Everything after the last round."""
    made = f"Session <code>{words(known.listed.session_id)}</code>, written by muniment."
    return f"</div>\n</main>\n</div>\n{foot(made)}"


def _secrets(count: int | None) -> str:
    if count is None:
        return "Secrets were not redacted: share this page with care."
    if not count:
        return "No secrets were found in what is shown here."
    return "One secret was redacted." if count == 1 else f"{count:,} different secrets were redacted."


def _bar(body: Body) -> Iterator[str]:
    """Buttons do nothing without the script, so only the script shows them."""
    counts = Counter({**body.kinds, "call": body.kinds["tool"], "result": body.kinds["tool"]})
    yield '<div class="bar" role="toolbar" aria-label="View" hidden>\n<div class="filters">'
    for name, label in _FILTERS:
        yield f'<button type="button" class="filter {name}" data-filter="{name}" aria-pressed="true">'
        yield f"{label} <small>{counts[name]:,}</small></button>"
    yield '</div>\n<div class="find"><input type="search" placeholder="Search this page" aria-label="Search this page">'
    yield '<output aria-live="polite"></output>'
    yield '<button type="button" data-do="before" aria-label="Hit before">↑</button>'
    yield '<button type="button" data-do="next" aria-label="Next hit">↓</button></div>\n<div class="rest">'
    for name, label in (("unfold", "Unfold"), ("fold", "Fold"), ("theme", "Theme")):
        yield f'<button type="button" data-do="{name}">{label}</button>'
    yield "</div>\n</div>\n"


def _facts(body: Body, chosen: str) -> Iterator[str]:
    known, facts, listed = body.known, body.known.facts, body.known.listed
    role = known.ingested.agent_role if known.ingested else None
    models = ", ".join(known.ingested.models) if known.ingested else facts.model
    counted = ((facts.rounds, "round"), (facts.messages, "message"), (facts.tool_calls, "tool call"))
    counts = ", ".join(many(count, noun) for count, noun in counted)
    said = {
        "Agent": f"{known.agent} ({role})" if role else known.agent,
        "Model": models or facts.model,
        "When": _span(facts.started, facts.ended),
        "Project": facts.first_cwd or facts.cwd,
        "Branch": facts.branch,
        "Recorded by": f"{listed.source} {facts.client or ''}",
        "Size": counts + (f", {facts.tokens:,} tokens" if facts.tokens else ""),
        "Shown": chosen,
        "Damage": f"{facts.problems:,} places" if facts.problems else "",
    }
    yield '<dl class="facts">'
    for name, value in said.items():
        if value:
            yield f"<div><dt>{name}</dt><dd>{words(value)}</dd></div>"
    yield "</dl>\n"


def _span(first: str | None, last: str | None) -> str:
    begin, end = (minute(at) for at in (first, last))
    if begin[:10] == end[:10]:
        end = end[11:]
    return f"{begin} – {end}" if end and end != begin[11:] else begin


def minute(at: str | None) -> str:
    """Date and time to the minute."""
    return (at or "")[:16].replace("T", " ")


def _engagements(body: Body) -> Iterator[str]:
    shown = {entry.engagement for entry in body.entries}
    found = [engagement for engagement in body.known.engagements if engagement.engagement_id in shown]
    if found:
        yield '<section class="engagements"><h2>What was done</h2>\n'
        yield from (card(engagement, "") for engagement in found)
        yield "</section>\n"


# -- the table of rounds


def _rounds(body: Body) -> Iterator[str]:
    topics = {engagement.engagement_id: engagement for engagement in body.known.engagements}
    yield '<nav aria-label="Rounds"><details open><summary>Rounds</summary>\n'
    for id_, group in groupby(body.entries, key=lambda entry: entry.engagement):
        if id_:
            yield _topic(topics.get(id_), id_)
        yield f"<ol>{''.join(map(_row, group))}</ol>\n"
    yield "</details></nav>\n"


def _topic(engagement: KeptEngagement | None, id_: str) -> str:
    if engagement is None:
        return f'<p class="topic">{words(id_)}</p>'
    return f'<p class="topic">{method(engagement)} {words(engagement.topic)}</p>'


def _row(entry: Entry) -> str:
    gone = ' class="abandoned"' if entry.abandoned else ""
    preview = words(entry.preview) or "(no prompt)"
    return f'<li value="{entry.round}"{gone}><a href="#r{entry.round}">{preview}</a></li>'
