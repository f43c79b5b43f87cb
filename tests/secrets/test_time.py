"""Searching takes time in proportion to the text, whatever the text is.

Time is not measured here, as machines do other things too: what is counted is what costs time. Every search of a
pattern costs the bytes it goes through, and every candidate costs a judgement.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterator

import pytest

from muniment.secrets import assignments, find, listings, scan
from muniment.secrets.pattern import Pattern
from tests.secrets.vectors import KINDS, LINES, plant

SIZE = 200_000
MOST_PASSES = 40
"""How often a byte may be gone through. A text without codes is gone through five times."""
MOST_SEARCHES = 0.02
"""Searches per byte: at a few microseconds each, this is a tenth of a second per megabyte at most."""

_random = random.Random(5)
TEXTS = {
    "base64 of a picture": "".join(_random.choices(KINDS["b64"], k=9973)),
    "lines of base64": "".join(_random.choices(KINDS["b64"], k=76)) + "\n",
    "digits": "".join(_random.choices("0123456789", k=997)),
    "hex": "".join(_random.choices(KINDS["hex"], k=997)),
    "a hex dump": "00000010  3f 2b 8c 1e 7d 4a 4f 6b  9a 1e 2c 5d 8e 7f 0a 3b  |?+..}JOk..,]...;|\n",
    "small letters": "a",
    "capital letters": "A",
    "equals signs": "=",
    "quotes": '"',
    "dashes": "-",
    "backslashes": "\\",
    "percent signs": "%",
    "line ends": "\n",
    "signs of Chinese": "漢字仮名交じり文密码是什么",
    "prose": "the token count of every key is 1234 and the url is https://api.internal/v1?page=2 ",
    "a program in one line": 'function(e,t){return t.token=e.key,this.password=n["secret"]}var r=null;',
    "JSON": '{"id":"3f2b8c1e-7d4a-4f6b-9a1e-2c5d8e7f0a3b","token":"abc","text":"lorem \\n dolor"},',
    "a beginning again and again": "gh" + "p_",
    "beginnings that could go on": "-eyJ",
    "names without values": "password=",
    "names, values too short": "password=xY7 ",
    "one name in one word": "secret",
    "addresses that never end": "://a:",
    "an address of escapes": "%41%3d",
    "heads of keys": "-----BEGIN PRIVATE KEY-----\n",
    "ends of keys": "-----END PRIVATE KEY-----\n",
    "lines like those of keys": "MII" + "A" * 61 + "\n",
    "encoded text": "bG9yZW0gaXBzdW0gZG9s",
    "colours": "\x1b[32m\x1b[0m",
    "curl without a password": "curl -s ",
    "rows of a table": "| password | x |\n",
    "Wi-Fi codes without a password": "WIFI:a abcdefgh ",
    "nmcli without a password": "nmcli a abcdefgh ",
    "paths that begin like a token": "/gh" + "p_abcdefg",
    "entities": "&quot;a&quot; ",
    "frames": "\u2502 a \u2502\n",
}


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What the patterns were given to do."""
    done = {"bytes": 0, "searches": 0}
    search, every, match = Pattern.search, Pattern.every, Pattern.match

    def counted(data: bytes, start: int, found: tuple[int, int] | None) -> tuple[int, int] | None:
        done["searches"] += 1
        done["bytes"] += (found[1] if found else len(data)) - start
        return found

    def counting_every(self: Pattern, data: bytes) -> Iterator[tuple[int, int]]:
        at = 0
        for span in every(self, data):
            yield counted(data, at, span) or span
            at = span[1]
        counted(data, at, None)

    def counting_match(self: Pattern, data: bytes, start: int, end: int | None = None):  # type: ignore[no-untyped-def]
        found = match(self, data, start, end)
        counted(data, start, found[0] if found else (start, min(len(data), start + 100)))
        return found

    monkeypatch.setattr(Pattern, "search", lambda self, data, start: counted(data, start, search(self, data, start)))
    monkeypatch.setattr(Pattern, "every", counting_every)
    monkeypatch.setattr(Pattern, "match", counting_match)
    for cached in (scan._judged, assignments._judged):
        cached.cache_clear()
    return done


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_is_gone_through_a_few_times(kind: str, work: dict[str, int]) -> None:
    piece = TEXTS[kind]
    text = (piece * (SIZE // len(piece) + 1))[:SIZE]
    find(text)
    assert work["bytes"] <= MOST_PASSES * len(text.encode())
    assert work["searches"] <= MOST_SEARCHES * SIZE


@pytest.mark.parametrize(
    "piece",
    ["curl -u ada:{pw:16} x ", "mysql -p{pw:16} x ", "nmcli x password {pw:16} ", "machine a login b password {pw:9} "],
)
def test_a_line_of_many_commands_is_gone_through_a_few_times(piece: str, work: dict[str, int]) -> None:
    text = "".join(piece.replace("{pw:16}", plant("sshpass", _random).secret) for _ in range(2000))
    find(text)
    assert work["bytes"] <= MOST_PASSES * len(text)


def test_many_secrets_in_one_code_have_their_places(work: dict[str, int]) -> None:
    lines = [f"password={plant('password', _random).secret}" for _ in range(500)]
    code = base64.b64encode("\n".join(lines).encode()).decode()
    found = find(code)
    assert len(found) > 450
    said = [base64.b64decode(code[f.start : f.end]).decode() for f in found]
    assert all(any(part[3:-3] in line for line in lines) for part in said)
    assert work["bytes"] <= MOST_PASSES * len(code)


def test_marks_without_room_for_a_key_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "_measure", lambda *_: pytest.fail("lines were looked at for nothing"))
    for mark in ("BEGIN", "END"):
        assert find(f"-----{mark} PRIVATE KEY-----\n" * 1000) == []


def test_no_pattern_is_made_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another prefix before every mark would cost a compilation each."""
    find("-----BEGIN PRIVATE KEY-----\n")
    monkeypatch.setattr(re, "compile", lambda *_: pytest.fail("a pattern was compiled"))
    body = "".join(_random.choices(KINDS["b64"], k=64))
    assert len(find("".join(f"{name}: -----BEGIN PRIVATE KEY-----\n{name}: {body}\n\n" for name in ("ab", "cd")))) == 2


def test_a_text_of_secrets_costs_its_secrets(work: dict[str, int]) -> None:
    text = " ".join(plant(rule, _random).line for _ in range(10) for rule in LINES)
    found = find(text)
    assert len(found) > 5 * len(LINES)
    assert work["searches"] <= 40 * len(found) + MOST_SEARCHES * len(text)


GROWING = {
    "Wi-Fi codes": "WIFI:a abcdefgh ",
    "nmcli": "nmcli a abcdefgh ",
    "wpa_passphrase": "wpa_passphrase home examplepass ",
    "curl and sshpass": "curl -s x sshpass -p example ",
    "mysql": "mysql -e x -pexample ",
    "empty names on lines": "+API_KEY=\n",
    "names in one word": "secret=+a1+",
    "names and texts": "api_key: get_the_value ",
    "paths that begin like a token": "/gh" + "p_abcdefg",
    "heads of keys": "-----BEGIN PRIVATE KEY-----\n",
    "ends of keys": "> x\n> -----END PRIVATE KEY-----\n",
    "JSON of many secrets": '{"tokens":{"a":"§"}},',
}


@pytest.mark.parametrize("kind", GROWING)
def test_four_times_the_text_is_four_times_the_work(kind: str, work: dict[str, int]) -> None:
    """Growth is compared and not time: on one long line, and with one real secret at its end."""
    costs: list[int] = []
    for size in (20_000, 80_000):
        piece = GROWING[kind]
        text = piece * (size // len(piece)) + " password=" + plant("password", _random).secret
        for cached in (scan._judged, assignments._judged):
            cached.cache_clear()
        work["bytes"] = 0
        find(text)
        costs.append(work["bytes"])
    assert costs[1] <= 5 * costs[0]
