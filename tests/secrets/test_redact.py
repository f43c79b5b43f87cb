"""Redaction takes the secrets and nothing else, and one secret has one placeholder."""

from __future__ import annotations

import random
import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from muniment.secrets import Redactor, find, new_key, preview, redact
from tests.secrets.vectors import LINES, Planted, plant

KEY = b"k" * 32
PLACEHOLDER = re.compile(r"\[redacted:([a-z0-9-]+):([0-9a-f]{8})\]")
STEADY = sorted(
    set(LINES) - {"authorization", "bearer", "secret-value", "password", "cookie", "session-cookie", "password-hash"}
)
"""Rules that do not weigh how random a value looks, and so never miss."""

planted = st.builds(lambda rule, seed: plant(rule, random.Random(seed)), st.sampled_from(STEADY), st.integers(0, 99))
around = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)


@given(st.lists(st.tuples(around, planted), min_size=1, max_size=4), around)
def test_no_secret_is_left_and_everything_else_is(parts: list[tuple[str, Planted]], tail: str) -> None:
    text = "".join(f"{before}\n{secret.line}\n" for before, secret in parts) + tail
    shown, found = redact(text, KEY)
    assert not any(secret.secret in shown for _, secret in parts)
    kept = PLACEHOLDER.split(shown)[::3]
    assert len(kept) == len(found) + 1
    rebuilt = kept[0]
    for finding, rest in zip(found, kept[1:], strict=True):
        rebuilt += text[finding.start : finding.end] + rest
    assert rebuilt == text


@given(st.lists(st.tuples(around, planted), max_size=3))
def test_what_is_redacted_is_not_redacted_again(parts: list[tuple[str, Planted]]) -> None:
    shown, _ = redact("".join(f"{before}\n{secret.line} " for before, secret in parts), KEY)
    assert redact(shown, KEY) == (shown, [])


@given(st.text(max_size=300))
def test_any_text_can_be_searched(text: str) -> None:
    found = find(text)
    assert all(0 <= f.start < f.end <= len(text) for f in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@given(
    st.lists(st.sampled_from(["%", "=", "%41", "%3D", "=3D", "%%", "\\", "\\n", "a", "\n", "+"]), max_size=12), planted
)
def test_broken_codes_do_not_move_the_places(noise: list[str], secret: Planted) -> None:
    shown, found = redact(f"{''.join(noise)}%2F {secret.line} {''.join(noise)}", KEY)
    assert found
    assert secret.secret not in shown


def test_lone_surrogates_and_wide_signs_do_not_move_the_places() -> None:
    secret = plant("github-token", random.Random(1)).secret
    text = f"\udc80é漢😀 {secret} 漢\ud800"
    (finding,) = find(text)
    assert text[finding.start : finding.end] == secret
    assert redact(text, KEY)[0].endswith("] 漢\ud800")


def test_the_same_secret_has_the_same_tag_under_one_key_only() -> None:
    one, other = plant("npm-token", random.Random(1)).secret, plant("npm-token", random.Random(2)).secret
    shown = redact(f"{one} {other} {one}", KEY)[0].split()
    assert shown[0] == shown[2] != shown[1]
    assert redact(one, new_key())[0] != shown[0]


def test_a_preview_shows_the_fixed_beginning_and_nothing_more() -> None:
    random_ = random.Random(3)
    for rule in LINES:
        line = plant(rule, random_).line
        for finding in find(line):
            shown = preview(finding, line)
            assert shown == "…" or shown[:-1] in finding.rule.starts


def test_values_are_redacted_with_the_names_they_have() -> None:
    password, token = plant("password", random.Random(1)).secret, plant("github-token", random.Random(1)).secret
    value = {"db": {"password": password, "port": 5432}, "list": [token, None, 1.5, True], token: "x", "note": password}
    shown = Redactor(KEY).value(value)
    assert PLACEHOLDER.fullmatch(shown["db"]["password"])
    assert shown["db"]["port"] == 5432
    assert PLACEHOLDER.fullmatch(shown["list"][0])
    assert shown["list"][1:] == [None, 1.5, True]
    assert shown[shown["list"][0]] == "x"
    assert shown["note"] == password, "without its name nothing tells a password"
    assert value["db"]["password"] == password, "what was given is not changed"


def test_deep_values_are_redacted() -> None:
    token = plant("github-token", random.Random(1)).secret
    value: object = token
    for _ in range(100_000):
        value = [value]
    shown = Redactor(KEY).value(value)
    while isinstance(shown, list):
        (shown,) = shown
    assert PLACEHOLDER.fullmatch(shown)


def test_a_key_in_a_numbered_or_marked_listing_is_taken_whole() -> None:
    key = plant("private-key", random.Random(4)).secret
    for text in (
        "\n".join(f"{number:6}→{line}" for number, line in enumerate(key.splitlines(), 1)),
        "\n".join(f"-{line}" for line in key.splitlines()),
        "\n".join(f"    {line}" for line in key.splitlines()),
        key.replace("\n", "\\n"),
        key[:150],
    ):
        shown, found = redact(text, KEY)
        assert [f.rule.id for f in found] == ["private-key"]
        assert not any(line in shown for line in key.splitlines()[1:4])
