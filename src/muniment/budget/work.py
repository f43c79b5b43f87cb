"""From rounds to a budget: pure functions over the calls of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from muniment.budget.calls import Call, Cut, Heard, hear, once
from muniment.budget.values import FULL, Budget, Compacted, RoundBudget, SideBudget, Spent
from muniment.budget.windows import fitting
from muniment.model import Event, Round
from muniment.prices import Price
from muniment.store.carried import MAIN


class Known(Struct, frozen=True):
    """What has to be known to work out a budget."""

    price: Callable[[str], Price | None] = lambda _: None
    windows: Callable[[str], tuple[int, ...]] = lambda _: ()
    elsewhere: frozenset[str] = frozenset()
    """Ids of messages that count for another session."""
    carried: Mapping[str, int] = {}
    """Parts of the session that count for the one it was written from, and up to which round; see `store.carried`."""
    told_window: Callable[[Event], int | None] = lambda _: None


def of(session_id: str, rounds: Iterable[Round], sides: Mapping[str, Iterable[Round]], known: Known) -> Budget:
    """The budget of a session; one round at a time is in memory."""
    heard, told = _listen(rounds, known)
    seen: set[str] = set()
    own = once((step for one in heard for step in one.steps if isinstance(step, Call)), seen)
    counted = [call for call in own if not _copied(call, MAIN, known)]
    side_calls = _by_side(heard, sides, seen)
    sidechains = tuple(_side(id_, calls, known) for id_, calls in side_calls.items() if calls)
    every = counted + [c for id_, calls in side_calls.items() for c in calls if not _copied(c, id_, known)]
    return Budget(
        session_id,
        tuple(_rounds(heard, counted, _Limits(known, own), told, known)),
        sidechains,
        _spent(counted, known),
        _spent(every, known),
        _spent([call for call in own if _copied(call, MAIN, known)], known),
        sum(isinstance(step, Cut) for one in heard for step in one.steps),
        tuple(sorted({call.model or "unknown" for call in every if _price(call, known) is None})),
    )


def _copied(call: Call, part: str, known: Known) -> bool:
    """Whether a call counts for another session."""
    return call.id in known.elsewhere or call.round <= known.carried.get(part, 0)


def _listen(rounds: Iterable[Round], known: Known) -> tuple[list[Heard], dict[int, int]]:
    """What the rounds say, and which window they tell, by the round from which on it holds."""
    heard: list[Heard] = []
    told: dict[int, int] = {}
    for round_ in rounds:
        heard.append(hear(round_))
        for block in round_.blocks():
            if isinstance(block, Event) and (window := known.told_window(block)):
                told[round_.number] = window
    return heard, told


def _by_side(heard: Iterable[Heard], sides: Mapping[str, Iterable[Round]], seen: set[str]) -> dict[str, list[Call]]:
    """The calls of every subagent, in files of their own and in the main one."""
    found: dict[str, list[Call]] = {}
    for id_, rounds in sides.items():
        found[id_] = [step for round_ in rounds for step in hear(round_).steps if isinstance(step, Call)]
    for call in (call for one in heard for call in one.inline):
        found.setdefault(call.sidechain or "", []).append(call)
    return {id_: once(calls, seen) for id_, calls in found.items()}


class _Limits:
    """How much fits, by model: a session that filled more than the smaller window had the larger one."""

    def __init__(self, known: Known, calls: Iterable[Call]) -> None:
        self.known = known
        self.most: dict[str, int] = {}
        for call in calls:
            model = call.model or ""
            self.most[model] = max(self.most.get(model, 0), call.window or 0)

    def of(self, model: str | None) -> int | None:
        return fitting(self.known.windows(model), self.most.get(model, 0)) if model else None


def _rounds(
    heard: Sequence[Heard], counted: Iterable[Call], limits: _Limits, told: Mapping[int, int], known: Known
) -> Iterator[RoundBudget]:
    spent: dict[int, list[Call]] = {}
    for call in counted:
        spent.setdefault(call.round, []).append(call)
    calls = [step for one in heard for step in one.steps if isinstance(step, Call)]
    window, limit, model = 0, None, None
    for one in heard:
        recorded = _windows(one.steps)
        peak, window = (max(recorded), recorded[-1]) if recorded else _estimated(one, window)
        limit, model = told.get(one.round, limit), one.model or model
        fits = limit or limits.of(model)
        share = peak / fits if fits else None
        about = (peak, not recorded, fits, share, bool(share and share > FULL))
        cuts = tuple(_compacted(step, calls) for step in one.steps if isinstance(step, Cut))
        yield RoundBudget(one.round, one.started, model, *about, _spent(spent.get(one.round, []), known), cuts)


def _windows(steps: Iterable[Call | Cut]) -> list[int]:
    """How full the window was at each call that tells it."""
    return [step.window for step in steps if isinstance(step, Call) and step.window is not None]


def _estimated(one: Heard, before: int) -> tuple[int, int]:
    """About how full the window was in a round, at its fullest and at its end; `before` is how full at its start."""
    cuts = [step.summary for step in one.steps if isinstance(step, Cut)]
    end = cuts[-1] + one.last_text_tokens if cuts else before + one.text_tokens
    return max(end, before if cuts else 0), end


def _compacted(cut: Cut, calls: Iterable[Call]) -> Compacted:
    """A cut with the sizes of the window around it."""
    before, after = None, None
    for call in calls:
        if call.window is None:
            continue
        if (call.round, call.offset) < (cut.round, cut.offset):
            before = call.window
        elif after is None:
            after = call.window
    return Compacted(before, after)


def _side(id_: str, calls: list[Call], known: Known) -> SideBudget:
    peak = max(calls, key=lambda call: call.window or 0)
    window, limit = peak.window or 0, _Limits(known, calls).of(peak.model)
    spent = _spent([call for call in calls if not _copied(call, id_, known)], known)
    return SideBudget(id_, peak.model, window, limit, window / limit if limit and window else None, spent)


def _spent(calls: list[Call], known: Known) -> Spent:
    used = [call.usage for call in calls]
    costs = [_dollars(call, known) for call in calls]
    dollars = None if None in costs else sum(cost for cost in costs if cost)
    return Spent(
        len(calls),
        sum(u.input for u in used),
        sum(u.output for u in used),
        sum(u.cache_read for u in used),
        sum(u.cache_write for u in used),
        dollars,
    )


def _price(call: Call, known: Known) -> Price | None:
    return known.price(call.model) if call.model else None


def _dollars(call: Call, known: Known) -> float | None:
    price, u = _price(call, known), call.usage
    return price.of(u.input, u.output, u.cache_read, u.cache_write) if price else None
