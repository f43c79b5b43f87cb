"""`muniment budget`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.budget import FULL, Budget, RoundBudget, Spent
from muniment.model.words import numbered
from muniment.surfaces.cli.output import as_json, many, out, table, talk

_BAR = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"


@click.command()
@click.argument("session")
@click.option("--json", is_flag=True, help="One JSON object.")
@click.pass_obj
def command(store: str | None, session: str, json: bool) -> None:
    """How full the window was in each round of SESSION, and what it cost at list prices.

    A round marked `~` has no recorded usage: its number is estimated from the sizes of texts. `!` is above 80 % of the
    window, `✂` where the context was compacted. A message that forks or resumed copies hold too counts once.
    """
    found = Archive(store).budget(session)
    if json:
        as_json(found)
        return
    _print_rounds(found)
    _print_sidechains(found)
    _print_sums(found)


def _print_rounds(found: Budget) -> None:
    if not found.rounds:
        talk("the session has no rounds")
        return
    scale = max((one.limit or one.window for one in found.rounds), default=0) or 1
    cells = [
        (
            str(one.round),
            (one.started or "")[:16].replace("T", " "),
            f"{'~' if one.estimated else ''}{one.window:,}",
            "" if one.share is None else f"{one.share:.0%}",
            _bar(one.window / (one.limit or scale)) + _marks(one),
            f"{one.spent.tokens:,}",
            _dollars(one.spent),
            one.model or "",
        )
        for one in found.rounds
    ]
    headers = ("round", "started", "window", "full", "", "tokens", "cost", "model")
    table(headers, cells, right=(0, 2, 3, 5, 6))


def _bar(share: float) -> str:
    eighths = round(min(max(share, 0), 1) * _BAR * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(_BAR, "·")


def _marks(one: RoundBudget) -> str:
    cuts = "".join(f" ✂ {_size(cut.before)}→{_size(cut.after)}" for cut in one.compactions)
    return (" !" if one.full else "") + cuts


def _size(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens / 1000:.0f}k"


def _print_sidechains(found: Budget) -> None:
    if not found.sidechains:
        return
    out()
    cells = [
        (
            side.id,
            f"{side.window:,}",
            "" if side.share is None else f"{side.share:.0%}",
            str(side.spent.calls),
            f"{side.spent.tokens:,}",
            _dollars(side.spent),
            side.model or "",
        )
        for side in found.sidechains
    ]
    table(("subagent", "window", "full", "calls", "tokens", "cost", "model"), cells, right=(1, 2, 3, 4, 5))


def _print_sums(found: Budget) -> None:
    all_ = found.with_sidechains
    out()
    kinds = f"{all_.input:,} in · {all_.output:,} out · {all_.cache_read:,} cache read · {all_.cache_write:,} written"
    out(f"{many(all_.calls, 'call')}, {all_.tokens:,} tokens: {kinds}")
    if found.copied.calls:
        out(f"{many(found.copied.calls, 'copied message')}, {found.copied.tokens:,} tokens, count for another session")
    unpriced = f"; no price for {', '.join(found.unpriced)}" if found.unpriced else ""
    out(f"{_dollars(all_) or 'cost unknown'} {found.note}{unpriced}")
    full = [str(one.round) for one in found.rounds if one.full]
    if full:
        out(f"above {FULL:.0%} of the window: {numbered('round', ', '.join(full))}")


def _dollars(spent: Spent) -> str:
    return "" if spent.dollars is None else f"${spent.dollars:.2f}"
