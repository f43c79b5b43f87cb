"""Searching takes time in proportion to the text, whatever the text is."""

from __future__ import annotations

import random
import time

import pytest

from muniment.secrets import find
from tests.secrets.vectors import KINDS, LINES, plant

MEGABYTE = 1_000_000
MOST = 30
"""Ten is linear, a hundred quadratic; the rest is for a machine that does other things too."""

_random = random.Random(5)
TEXTS = {
    "base64 of a picture": "".join(_random.choices(KINDS["b64"], k=9973)),
    "one letter": "a",
    "prose": "the token count of every key is 1234 and the url is https://api.internal/v1?page=2 ",
    "a beginning again and again": "gh" + "p_",
    "beginnings that could go on": "-eyJ",
    "names without values": "password=",
    "addresses that never end": "://a:",
    "an address of escapes": "%41%3d",
    "heads of keys": "-----BEGIN PRIVATE KEY-----\n",
    "encoded text": "bG9yZW0gaXBzdW0gZG9s",
    "secrets": " ".join(plant(rule, _random).line for rule in LINES) + " ",
    "curl without a password": "curl -s ",
}


def seconds(piece: str, size: int, tries: int) -> float:
    """The best of a few tries, in time of this process alone."""
    text = (piece * (size // len(piece) + 1))[:size]
    taken: list[float] = []
    for _ in range(tries):
        begun = time.process_time()
        find(text)
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.parametrize("kind", TEXTS)
def test_ten_times_the_text_takes_about_ten_times_the_time(kind: str) -> None:
    small = seconds(TEXTS[kind], MEGABYTE // 10, 3)
    assert seconds(TEXTS[kind], MEGABYTE, 2) <= MOST * max(small, 0.01)


@pytest.mark.parametrize("kind", ["base64 of a picture", "encoded text", "prose"])
def test_a_line_of_five_megabytes_is_no_exception(kind: str) -> None:
    small = seconds(TEXTS[kind], MEGABYTE // 2, 3)
    assert seconds(TEXTS[kind], 5 * MEGABYTE, 2) <= MOST * max(small, 0.01)
