"""Text that tries to become a program, and a session that has it in every field."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from muniment.model import Compaction, Event, Facts, Media, Message, Ref, Round, Text, Thinking, Tool, Unknown
from muniment.model.engagements import Ingested, KeptEngagement
from muniment.render.known import Known
from muniment.store import rounds as stored
from muniment.store.layout import Layout, Shelf
from muniment.store.session_table import Listed

SESSION = "00000000-0000-4000-8000-000000000001"
HOST = "http://evil.invalid"
_RUN = "alert(1);window.ran=1"

_ELEMENTS = (
    f"<script>{_RUN}</script>",
    f"<SCRIPT>{_RUN}</SCRIPT >",
    f"<script src={HOST}/s.js></script>",
    f"<img src=x onerror={_RUN!r}>",
    f"<img src={HOST}/pixel.png>",
    f"<svg onload={_RUN!r}>",
    f"<svg><script>{_RUN}</script></svg>",
    f'<svg><a xlink:href="javascript:{_RUN}"><text y=20>x</text></a></svg>',
    f'<iframe srcdoc="<script>parent.{_RUN}</script>"></iframe>',
    f"<iframe src=javascript:{_RUN}></iframe>",
    f"<body onload={_RUN!r}>",
    f"<details open ontoggle={_RUN!r}><summary>x</summary></details>",
    f"<input autofocus onfocus={_RUN!r}>",
    f"<video><source onerror={_RUN!r}></video>",
    f"<a href=javascript:{_RUN}>x</a>",
    f'<form action="{HOST}/f"><button>x</button></form>',
    f"<object data={HOST}/o></object>",
    f"<embed src={HOST}/e>",
    f"<link rel=stylesheet href={HOST}/c.css>",
    f"<meta http-equiv=refresh content='0;url={HOST}/m'>",
    f"<base href={HOST}/>",
    f"<style>@import '{HOST}/i.css'; body{{background:url({HOST}/b)}}</style>",
    f"<math><mtext></form><form><mglyph><style></math><img src=x onerror={_RUN!r}>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN!r}>'>",
)
_BREAKS = ("", '"', "'", '">', "'>", "</pre>", "</code></pre></div>", "</title>", "</style>", "-->", "]]>", "\x00<b>")
_MARKDOWN = (
    f"[x](javascript:{_RUN})",
    f"[x](JaVaScRiPt:{_RUN})",
    f"[x](java\tscript:{_RUN})",
    f"[x](&#106;avascript:{_RUN})",
    f"[x](\x01javascript:{_RUN})",
    f"[x](data:text/html,<script>{_RUN}</script>)",
    f"[x](vbscript:{_RUN})",
    f"<javascript:{_RUN}>",
    f"![x]({HOST}/pixel.png)",
    f'![x]({HOST}/pixel.png "on"onerror={_RUN})',
    f"![x](javascript:{_RUN})",
    f"![](data:image/svg+xml,<svg onload={_RUN!r}>)",
    f"[x]({HOST}/a'onmouseover='{_RUN})",
    f'[x]({HOST}/a"onmouseover="{_RUN})',
    f'[x]({HOST}/a "t\\" onmouseover={_RUN}")',
    f"[r]: javascript:{_RUN}\n\n[r]",
    f'```"onmouseover="{_RUN}\nx\n```',
    f"```js</code><script>{_RUN}</script>\nx\n```",
    f"~~~ <img/src=x/onerror={_RUN}>\nx\n~~~",
    f"    </code></pre><script>{_RUN}</script>",
    f"`</code><script>{_RUN}</script>`",
    f"| a<script>{_RUN}</script> |\n| :-: |\n| <img src=x onerror={_RUN!r}> |",
    f"# <script>{_RUN}</script>",
    f"> <iframe src={HOST}/q>",
    f"\u202e<script>{_RUN}</script>\u2066",
    f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"\\<script>{_RUN}\\</script>",
    f"javascript:{_RUN}",
    f"${{{_RUN}}}{{{{{_RUN}}}}}",
)
PAYLOADS: tuple[str, ...] = (*(a + b for a, b in product(_BREAKS, _ELEMENTS)), *_MARKDOWN)


def rounds(payloads: tuple[str, ...] = PAYLOADS) -> list[Round]:
    """A round for every payload, which stands in every field of it."""
    return [_round(number, payload) for number, payload in enumerate(payloads, 1)]


def _round(number: int, p: str) -> Round:
    ref = Ref(id=p, parent=p, at=p)
    prompt = Message("user", p, (Text(p, ref), Media(p, p, ref)), cwd=p, branch=p)
    blocks = (
        Thinking(p, p, ref=ref),
        Text(p, ref),
        Text(f"```{p}\n{p}\n```", ref),
        Compaction(p, {p: p}, ref),
        Event(p, p, {p: p}, ref),
        Unknown(p, {p: [p]}, ref=ref),
        Unknown("damaged", None, p, ref),
        *(_tool(p, given) for given in _inputs(p)),
    )
    answer = Message("assistant", p, blocks, p, p)
    inline = Message("assistant", p, (Text(p, ref),), sidechain=p)
    return Round(number, (prompt, answer, inline, Message("user", p, (Text(p, ref),), queued=True)), True)


def _tool(p: str, given: Any) -> Tool:
    return Tool(p, p, given, (Text(p), Media(p, p), Unknown(p, {p: p})), True, sidechain=p, ref=Ref(at=p))


def _inputs(p: str) -> tuple[Any, ...]:
    """Every shape that has a view of its own."""
    return (
        {"command": p, "description": p, p: p},
        {"cmd": [p, p]},
        {"file_path": p, "old_string": p, "new_string": f"{p} {p}", "replace_all": True},
        {"file_path": p, "edits": [{"old_string": p, "new_string": ""}]},
        {"file_path": p, "content": p},
        {"file_path": p, "offset": 1, "limit": 2},
        {"pattern": p, "path": p, p: [p]},
        {"todos": [{"content": p, "status": p}]},
        {"prompt": p, "subagent_type": p, "description": p},
        {"url": p, "prompt": p},
        f"*** Begin Patch\n*** Update File: {p}\n-{p}\n+{p}\n*** End Patch",
        {p: {p: p}},
        p,
        None,
    )


def known(root: Path, payloads: tuple[str, ...] = PAYLOADS) -> Known:
    """A stored session with all of it, and what is known of it, as hostile as the rest."""
    every = " ".join(payloads)
    shelf = Layout(root).shelf("claude", SESSION)
    made = rounds(payloads)
    _write(shelf, made)
    facts = Facts(SESSION, every, every, title=every, title_by="user", rounds=len(made), messages=9, model=every)
    facts = _all_text(facts, every)
    sides = {p: _all_text(Facts(SESSION, p, sidechain=p, title=p), p) for p in payloads}
    for id_ in sides:
        _write(shelf.sidechain(id_), [Round(1, (Message("user", blocks=(Text(id_),)),), True)])
    record = Ingested(
        session_id=SESSION,
        agent_id=every,
        source=every,
        agent_name=every,
        agent_role=every,
        models=(every,),
        title=every,
        session_summary=every,
        engagements=tuple(_engagement(n, p) for n, p in enumerate(payloads, 1)),
    )
    tags = {n: e.engagement_id for n, e in enumerate(record.engagements, 1)}
    counts = (len(made), 1, 9, 9, 9, 1, len(sides), 9)
    listed = Listed(SESSION, every, every, every, every, every, every, every, every, every, *counts, every, 0, 0)
    return Known(listed, facts, sides, shelf, record, tags, frozenset({2}))


def _all_text(facts: Facts, text: str) -> Facts:
    from msgspec import structs

    names = ("started", "ended", "first_prompt", "agent_name", "slug", "model", "cwd", "first_cwd", "branch", "client")
    return structs.replace(facts, **dict.fromkeys(names, text))


def _engagement(number: int, p: str) -> KeptEngagement:
    fields: dict[str, Any] = {"topic": p, "project": p, "method": p, "phase": p, "outcome": p, "extractor": p}
    fields |= {"key_decisions": (p,), "next_steps": (p,), "started": p, "ended": p, "engagement_id": p}
    return KeptEngagement(**fields, turn_ranges=((number, number),), turn_range=(number, number))


def _write(shelf: Shelf, made: list[Round]) -> None:
    shelf.rounds.mkdir(parents=True)
    for round_ in made:
        shelf.round_file(round_.number).write_bytes(stored.encode(round_))
