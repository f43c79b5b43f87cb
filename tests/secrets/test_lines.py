"""A title or a preview shows no part of a secret: it was made of a prompt by joining its lines and cutting the end."""

from __future__ import annotations

import random

import pytest

from muniment.model.words import shortened
from muniment.secrets import Redactor
from tests.secrets.vectors import WORDS

PROMPTS = {
    "words of a wallet on a line of their own": "restore my wallet\n{12}\nthanks a lot",
    "the same, long": "please restore this\n{24}\nand tell me",
    "passphrase on a line of its own": "use this\npassword: {5}\nfor the backup",
    "named words of a wallet in quotes": 'import: MNEMONIC="{24}" and then stop',
    "quoted passphrase": 'it is long and the WIFI_PASSWORD="{8}" and then stop',
    "quoted passphrase without a sign": 'deploy it with the passphrase "{7}" please',
    "joined passphrase": "take the db password: {-} for it",
}


@pytest.mark.parametrize("limit", [60, 80, 120, 200])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_no_three_words_of_a_secret_are_left(prompt: str, limit: int) -> None:
    random_ = random.Random(f"{prompt} {limit}")
    for _ in range(20):
        words = random_.sample(WORDS, 24)
        text = PROMPTS[prompt].replace("{-}", "-".join(words[:5]))
        for count in (5, 7, 8, 12, 24):
            text = text.replace(f"{{{count}}}", " ".join(words[:count]))
        shown = Redactor().line(shortened(" ".join(text.split()), limit))
        apart = shown.replace("-", " ")
        assert not any(" ".join(words[at : at + 4]) in apart for at in range(21)), shown


@pytest.mark.parametrize(
    "title",
    [
        "Fix the password: reset flow is broken on Safari",
        "Add a passphrase field to the login form and test it",
        "Update docs, rename flags and remove the old parser",
        "Loading…",
        "Why does the seed of the random generator differ between runs, and what can we do about it in the tests…",
    ],
)
def test_an_ordinary_title_keeps_its_words(title: str) -> None:
    assert "redacted" not in Redactor().line(title)


def test_a_placeholder_in_a_line_stays() -> None:
    line = "the password: [redacted:password:00ff00ff] and [redacted:passphrase:00ff00ff]"
    assert Redactor().line(line) == line
