"""How full the window was and what it cost, from rounds that are made up here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment import budget
from muniment.archive import Archive
from muniment.budget import Known
from muniment.budget.windows import fitting, windows_of
from muniment.errors import MunimentError
from muniment.model import Compaction, Event, Message, Ref, Round, Text, Tool, Usage
from muniment.prices import Price, price_of_model
from tests.builder import ClaudeSession, text

PRICE = Price(2, 10, cache_read=0.2, cache_write=2.5)
KNOWN = Known(price=lambda _: PRICE, windows=lambda _: (1_000, 10_000))


def answer(offset: int, used: Usage | None, id_: str | None = None, sidechain: str | None = None) -> Message:
    said = Text("x" * 310, Ref(offset, 1))
    return Message("assistant", None, (said,), id_, "model-x", sidechain, usage=used)


def round_(number: int, *messages: Message) -> Round:
    prompt = Message("user", f"2026-01-0{number}T00:00:00Z", (Text("y" * 31, Ref(number * 100, 1)),))
    return Round(number, (prompt, *messages), prompted=True)


def test_the_window_of_a_round_is_its_largest_call_with_the_answer() -> None:
    made = budget.of(
        "s",
        [round_(1, answer(110, Usage(10, 20, 300, 40), "m1"), answer(120, Usage(1, 2, 30, 4), "m2"))],
        {},
        KNOWN,
    )
    assert [(one.window, one.limit, one.share, one.estimated) for one in made.rounds] == [(370, 1000, 0.37, False)]
    assert (made.spent.input, made.spent.output, made.spent.cache_read, made.spent.cache_write) == (11, 22, 330, 44)


def test_an_answer_alone_does_not_tell_how_full_the_window_was() -> None:
    """Some agents count what the model said, and not what it was given."""
    made = budget.of(
        "s", [round_(1, answer(110, Usage(0, 200), "m1"))], {"a": [round_(1, answer(110, Usage(0, 9), "m2"))]}, KNOWN
    )
    assert [(one.window, one.estimated) for one in made.rounds] == [(110, True)]
    assert made.spent.output == 200
    assert [(side.window, side.share, side.spent.output) for side in made.sidechains] == [(0, None, 9)]


def test_a_message_counts_once_wherever_it_is_repeated() -> None:
    first = answer(110, Usage(10, 5), "m1")
    again = answer(210, Usage(10, 50), "m1")
    inside = answer(220, Usage(10, 50), "m1", sidechain="a")
    side = {"b": [round_(1, answer(110, Usage(10, 5), "m1"), answer(120, Usage(7, 7), "m2"))]}
    made = budget.of("s", [round_(1, first), round_(2, again, inside)], side, KNOWN)
    assert (made.spent.calls, made.spent.input, made.spent.output) == (1, 10, 50)
    assert [(one.id, one.spent.calls) for one in made.sidechains] == [("b", 1)]
    assert made.with_sidechains.tokens == 60 + 14


def test_messages_of_another_session_fill_the_window_and_cost_nothing() -> None:
    known = Known(price=KNOWN.price, windows=KNOWN.windows, elsewhere=frozenset({"m1"}))
    made = budget.of("s", [round_(1, answer(110, Usage(100, 10), "m1"))], {}, known)
    assert made.rounds[0].window == 110
    assert (made.spent.tokens, made.copied.tokens, made.rounds[0].spent.dollars) == (0, 110, 0)


def test_without_usage_the_size_of_texts_is_an_estimate() -> None:
    tool = Tool("t", "Run", {"cmd": "z" * 31}, output=(Text("o" * 310),), ref=Ref(120, 1))
    bare = Message("assistant", None, (Text("x" * 310, Ref(110, 1)), tool), "m1", "model-x")
    made = budget.of("s", [round_(1, bare), round_(2, answer(210, None))], {}, KNOWN)
    assert [one.estimated for one in made.rounds] == [True, True]
    assert made.rounds[0].window == 10 + 100 + 10 + 100
    assert made.rounds[1].window == made.rounds[0].window + 110
    assert made.spent.calls == 0


def test_rounds_above_four_fifths_are_flagged() -> None:
    made = budget.of(
        "s", [round_(1, answer(110, Usage(800), "m1")), round_(2, answer(210, Usage(801), "m2"))], {}, KNOWN
    )
    assert [one.full for one in made.rounds] == [False, True]


def test_who_filled_more_than_the_small_window_had_the_large_one() -> None:
    made = budget.of(
        "s", [round_(1, answer(110, Usage(900), "m1")), round_(2, answer(210, Usage(1100), "m2"))], {}, KNOWN
    )
    assert [(one.limit, one.full) for one in made.rounds] == [(10_000, False), (10_000, False)]


def test_more_than_any_window_has_no_share() -> None:
    made = budget.of("s", [round_(1, answer(110, Usage(11_000), "m1"))], {}, KNOWN)
    assert (made.rounds[0].limit, made.rounds[0].share, made.rounds[0].full) == (None, None, False)


def test_a_window_that_is_recorded_counts_more_than_the_table() -> None:
    told = Message("assistant", None, (Event("tells", detail=500, ref=Ref(101, 1)),))
    known = Known(windows=KNOWN.windows, told_window=lambda event: event.detail)
    rounds = [round_(1, told, answer(110, Usage(450), "m1")), round_(2, answer(210, Usage(100), "m2"))]
    made = budget.of("s", rounds, {}, known)
    assert [(one.limit, one.full) for one in made.rounds] == [(500, True), (500, False)]


def test_a_cut_tells_the_window_before_and_behind_it() -> None:
    cut = Message("assistant", None, (Compaction("sum", ref=Ref(120, 1)),))
    made = budget.of("s", [round_(1, answer(110, Usage(900), "m1"), cut, answer(130, Usage(90), "m2"))], {}, KNOWN)
    assert [(one.before, one.after) for one in made.rounds[0].compactions] == [(900, 90)]
    assert made.compactions == 1


def test_an_estimate_begins_anew_behind_a_cut() -> None:
    cut = Message("assistant", None, (Compaction("s" * 62, ref=Ref(210, 1)), Text("x" * 31, Ref(220, 1))))
    made = budget.of("s", [round_(1, answer(110, Usage(900), "m1")), round_(2, cut)], {}, KNOWN)
    assert made.rounds[1].window == 900
    assert budget.of("s", [round_(2, cut), round_(3)], {}, KNOWN).rounds[1].window == 20 + 10 + 10


def test_costs_by_the_price_of_each_kind_of_token() -> None:
    made = budget.of("s", [round_(1, answer(110, Usage(1_000_000, 100_000, 1_000_000, 1_000_000), "m1"))], {}, KNOWN)
    assert made.spent.dollars == pytest.approx(2 + 1 + 0.2 + 2.5)
    assert "not a bill" in made.note
    assert made.prices_date in made.note


def test_a_model_without_a_price_has_no_cost() -> None:
    made = budget.of("s", [round_(1, answer(110, Usage(5), "m1"))], {}, Known())
    assert (made.spent.dollars, made.unpriced) == (None, ("model-x",))
    assert made.rounds[0].share is None


class TestTables:
    def test_windows(self) -> None:
        assert windows_of("claude-opus-4-5-20251101", {}) == (200_000,)
        assert windows_of("claude-opus-4-6", {}) == (200_000, 1_000_000)
        assert windows_of("claude-sonnet-4-20250514[1m]", {}) == (1_000_000,)
        assert windows_of("gpt-5.4", {}) == (1_050_000,)
        assert windows_of("gpt-50", {}) == ()
        assert fitting((10, 20), 15) == 20

    def test_windows_of_ones_own(self, tmp_path: Path) -> None:
        own = tmp_path / "windows.json"
        own.write_text('{"claude-opus-5": 7, "mine": 9}')
        env = {"MUNIMENT_WINDOWS": str(own)}
        assert (windows_of("claude-opus-5-20260724", env), windows_of("mine", env)) == ((7,), (9,))
        own.write_text('{"mine": 0}')
        with pytest.raises(MunimentError, match="at least one"):
            windows_of("mine", env)
        with pytest.raises(MunimentError, match="nowhere"):
            windows_of("mine", {"MUNIMENT_WINDOWS": str(tmp_path / "nowhere")})

    def test_cache_prices(self) -> None:
        opus = price_of_model("claude-opus-4-5-20251101", {})
        assert opus is not None
        assert opus.of(0, 0, 1_000_000, 1_000_000) == pytest.approx(0.5 + 6.25)
        gpt = price_of_model("gpt-5.4", {})
        assert gpt is not None
        assert gpt.of(272_000, 1_000_000) == pytest.approx(0.68 + 15)
        assert gpt.of(272_001, 1_000_000) == pytest.approx(1.360005 + 22.5)

    def test_prices_of_ones_own(self, tmp_path: Path) -> None:
        own = tmp_path / "prices.json"
        own.write_text(json.dumps({"mine": {"input": 1, "output": 2, "cache_read": -1}}))
        with pytest.raises(MunimentError, match="below zero"):
            price_of_model("mine", {"MUNIMENT_PRICES": str(own)})


def forked(home: Path) -> tuple[ClaudeSession, ClaudeSession]:
    """A session, and one that began with a copy of it."""
    first = ClaudeSession("11111111-1111-4111-8111-111111111111", cwd="/proj/x")
    first.user("begin")
    first.answer(text("yes"), id_="msg_long_enough_0001")
    second = ClaudeSession("22222222-2222-4222-8222-222222222222", cwd="/proj/x")
    second.lines = [line.replace(first.id.encode(), second.id.encode()) for line in first.lines]
    second.last, second.seconds = first.last, 30
    second.user("go on")
    second.answer(text("done"), id_="msg_long_enough_0002")
    first.write(home, "-proj-x")
    second.write(home, "-proj-x")
    return first, second


def test_a_fork_pays_for_what_it_added(archive: Archive, home: Path, inscribe: Callable[..., object]) -> None:
    first, second = forked(home)
    inscribe()
    one, two = archive.budget(first.id), archive.budget(second.id)
    assert (one.spent.calls, one.copied.calls) == (1, 0)
    assert (two.spent.calls, two.copied.calls) == (1, 1)
    assert [made.window for made in two.rounds] == [108, 108]


def test_a_fork_that_says_so_pays_for_what_it_added_though_the_other_went_on_later(
    archive: Archive, home: Path, inscribe: Callable[..., object]
) -> None:
    first, second = forked(home)
    told = {"sessionId": first.id, "messageUuid": "r1"}
    second.lines = [json.dumps(json.loads(line) | {"forkedFrom": told}).encode() + b"\n" for line in second.lines]
    second.write(home, "-proj-x")
    first.seconds = 90
    first.user("and then?")
    first.answer(text("nothing"), id_="msg_long_enough_0003")
    first.write(home, "-proj-x")
    inscribe()
    one, two = archive.budget(first.id), archive.budget(second.id)
    assert (one.spent.calls, one.copied.calls) == (2, 0)
    assert (two.spent.calls, two.copied.calls) == (1, 1)
