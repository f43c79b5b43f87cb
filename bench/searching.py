"""How fast a search is: real queries drawn from the archive itself, warm in the library and cold from the shell."""

from __future__ import annotations

import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from muniment.archive import Archive
from muniment.model import Round
from muniment.search import Query
from muniment.store.rows import placed

QUERIES = 200
REPEATS = 3
COLD_RUNS = 5
SAMPLED_ROUNDS = 400
SEED = 20260319

_WORD = re.compile(r"(?<!\w)[A-Za-z]{3,20}(?!\w)")
_NAME = re.compile(r"\b(?:[a-z]+(?:[A-Z][a-z0-9]+)+|[a-z]+(?:_[a-z0-9]+)+|[\w-]+(?:/[\w.-]+)+)\b")
_SIGNS = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2,}")


class SearchTimes(Struct, frozen=True):
    """Milliseconds; seconds for the shell."""

    queries: int
    p50_ms: float
    p95_ms: float
    worst_ms: float
    worst: str
    cold_seconds: float
    found: int
    """Queries that found something; each was drawn from a stored text, so all should."""


def search_times(store: Path, seed: int = SEED) -> SearchTimes:
    """Every query is run once to warm up; then the median of a few runs counts. Percentiles are over queries."""
    archive = Archive(store)
    asked = draw(archive, seed)
    found = [len(archive.search(Query(text))) for text in asked]
    times = {text: _median_ms(archive, text) for text in asked}
    ordered = sorted(times[text] for text in asked)
    worst = max(asked, key=lambda text: times[text])
    at = {share: ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95)}
    cold = cold_seconds(store, asked[:COLD_RUNS])
    return SearchTimes(len(asked), at[0.5], at[0.95], times[worst], worst, cold, sum(1 for hits in found if hits))


def _median_ms(archive: Archive, text: str) -> float:
    def once() -> float:
        before = time.perf_counter()
        archive.search(Query(text))
        return (time.perf_counter() - before) * 1000

    return statistics.median(once() for _ in range(REPEATS))


def cold_seconds(store: Path, asked: list[str]) -> float:
    """A new process for each query, from start to exit; the median."""
    times: list[float] = []
    for text in asked:
        before = time.perf_counter()
        command = [sys.executable, "-m", "muniment.surfaces.cli.main", "--store", str(store), "search", "--", text]
        subprocess.run(command, check=False, capture_output=True)
        times.append(time.perf_counter() - before)
    return statistics.median(times)


# -- queries


def draw(archive: Archive, seed: int = SEED, count: int = QUERIES) -> list[str]:
    """Words as often as they occur, names, phrases, two words, prefixes, and East Asian signs where there are any."""
    dice = random.Random(seed)
    pool = list(_sample(archive, dice))
    ways = [_word, _word, _name, _phrase, _two_words, _prefix, _signs]
    asked: list[str] = []
    for number in range(count * 50):
        if len(asked) == count:
            break
        if text := ways[number % len(ways)](dice.choice(pool), dice):
            asked.append(text)
    return asked


def _sample(archive: Archive, dice: random.Random) -> Iterator[str]:
    """Texts of some rounds, from many sessions."""
    sessions = sorted(archive.sessions(), key=lambda row: row.session_id)
    dice.shuffle(sessions)
    left = SAMPLED_ROUNDS
    for session in sessions:
        for round_ in archive.rounds(session):
            yield from _texts(round_)
            left -= 1
            if not left:
                return


def _texts(round_: Round) -> Iterator[str]:
    for _, text in placed(round_):
        if text.strip():
            yield text[:20_000]


def _picked(pattern: re.Pattern[str]) -> Callable[[str, random.Random], str | None]:
    def pick(text: str, dice: random.Random) -> str | None:
        found = pattern.findall(text)
        return dice.choice(found) if found else None

    return pick


_word = _picked(_WORD)
_name = _picked(_NAME)


def _phrase(text: str, dice: random.Random) -> str | None:
    found = re.findall(r"(?<!\w)[A-Za-z]+ [A-Za-z]+ [A-Za-z]+(?!\w)", text)
    return f'"{dice.choice(found)}"' if found else None


def _two_words(text: str, dice: random.Random) -> str | None:
    found = _WORD.findall(text)
    return f"{dice.choice(found)} {dice.choice(found)}" if found else None


def _prefix(text: str, dice: random.Random) -> str | None:
    found = [word for word in _WORD.findall(text) if len(word) > 6]
    return f"{dice.choice(found)[:5]}*" if found else None


def _signs(text: str, dice: random.Random) -> str | None:
    found = _SIGNS.findall(text)
    if not found:
        return None
    run = dice.choice(found)
    start = dice.randrange(len(run) - 1)
    return run[start : start + dice.choice((2, 2, 3, 4))]
