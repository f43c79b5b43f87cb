"""Search finds every block that a plain scan finds.

What a match is:

- A word, a run of letters and digits (with their accents), is in a block if it stands there between characters that are
  neither; case does not count.
- A part of a name is in a block if a name there of at most 64 letters has it between two humps: `Token` in
  `checkToken`, `utf8` and `utf` in `utf8Decoder`.
- A name or path with `_`, `/`, `.` or `-` in it is in a block if its words stand there one behind the other.
- Signs of Chinese, Japanese or Korean script are in a block if they stand there side by side, one or many.

The index may find more, never less.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.archive import Archive
from muniment.search import KINDS, Query, blocks
from muniment.store import rounds
from muniment.store.rows import placed
from tests.builder import ClaudeSession

EVERYTHING = 1_000_000
WORD = re.compile("(?:[^\\W_]|[\u0300-\u036f])+")
SIGNS = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
NAME = re.compile(r"[A-Za-z0-9]+(?:[_/.-][A-Za-z0-9]+)+")
ICONS = re.compile("[\u23f4-\u23ff\ue000-\uf8ff\U0001f000-\U0001fbff\U000f0000-\U0010fffd]")

Place = tuple[str, str | None, int, str]


def places(archive: Archive) -> Iterator[tuple[Place, str]]:
    """Every stored text, sidechains included, by session, sidechain, round and kind."""
    names = {stored: name for name, stored in KINDS.items()}
    for session in archive.sessions():
        own = archive.shelf(session)
        for side in [None, *archive.facts(session)[1]]:
            for round_ in rounds.load_all(own.sidechain(side) if side else own):
                for (_, kind, *_), text in placed(round_):
                    if text.strip():
                        yield (session.session_id, side, round_.number, names[kind]), text


def words(text: str) -> set[str]:
    """Words outside of runs with East Asian signs; icons part words."""
    found = WORD.findall(ICONS.sub(" ", SIGNS.sub(" ", text)))
    return {word.lower() for word in found if word.isascii()} | {word for word in found if not word.isascii()}


def parts(text: str) -> set[str]:
    names = {name for name in re.findall(r"[A-Za-z0-9]+", text) if len(name) <= 64}
    humped = (name for name in names if re.search(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z0-9]", name) and not name.isdigit())
    return {part.lower() for name in humped for part in _split(name)}


def _split(name: str) -> list[str]:
    return re.findall(r"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)[0-9]*", name)


def found(archive: Archive, text: str) -> Counter[Place]:
    hits = archive.search(Query(text, limit=EVERYTHING))
    return Counter((hit.session_id, hit.sidechain, hit.round, hit.kind) for hit in hits)


def missed(archive: Archive, query: str, expected: Counter[Place]) -> Counter[Place]:
    assert expected, query
    return expected - found(archive, query)


# -- made-up texts

LETTERS = st.text(
    st.characters(categories=["Lu", "Ll", "Lo", "Lt", "Nd"], max_codepoint=0x2FFF), min_size=1, max_size=8
)
SOME_SIGNS = st.text(st.sampled_from("登录页面用写我们ログイン画々로그인見"), min_size=1, max_size=6)
NAMES = st.from_regex(r"[a-z]{1,6}([A-Z][a-z]{1,6}){1,3}[0-9]?", fullmatch=True)
SHOUTED = st.from_regex(r"[a-z]{0,4}[A-Z]{2,5}[a-z]{2,5}[0-9]{0,2}[A-Z][a-z]+", fullmatch=True)
PATHS = st.from_regex(r"[a-z]{1,6}([_/.-][a-z0-9]{1,6}){1,3}", fullmatch=True)
BETWEEN = st.sampled_from(
    [
        "",
        " ",
        "\n",
        "_",
        "/",
        "-",
        ".",
        '"',
        "'",
        "*",
        "(",
        "\t",
        "\x00",
        "\ue0b0",
        "\U000f0001",
        "é",
        "🙂",
        "→",
        "\u200b",
    ]
)
TEXT = st.lists(st.tuples(st.one_of(LETTERS, SOME_SIGNS, NAMES, SHOUTED, PATHS), BETWEEN), min_size=1, max_size=8).map(
    lambda pieces: "".join(piece + between for piece, between in pieces)
)


@settings(max_examples=60)
@given(st.lists(TEXT, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_whatever_is_said_is_found_again(said: list[str], dice: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(Path(folder) / "store", {"HOME": folder})
        session = ClaudeSession()
        for number, text in enumerate(said):
            session.exchange(f"prompt {number}", text)
        session.write(Path(folder) / ".claude")
        archive.inscribe([Path(folder) / ".claude"])
        stored = list(places(archive))
        for _ in range(12):
            text = dice.choice(said)
            way = dice.choice([words, parts, signs, names])
            if asked := sorted(way(text)):
                query = dice.choice(asked)
                expected = Counter(place for place, other in stored if query in way(other))
                assert not missed(archive, query, expected), query


def signs(text: str) -> set[str]:
    """Every run of signs in a text, of one to five; dots between them alone are none."""
    runs = SIGNS.findall(text)
    cut = (run[at : at + length] for run in runs for length in range(1, 6) for at in range(len(run) - length + 1))
    return {piece for piece in cut if any(sign.isalnum() for sign in piece)}


def names(text: str) -> set[str]:
    """Names and paths whose ends are ends of words."""
    plain = ICONS.sub(" ", text)
    return {
        match[0]
        for match in NAME.finditer(plain)
        if not _in_word(plain, match.start() - 1) and not _in_word(plain, match.end())
    }


def _in_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and WORD.fullmatch(text[at]) is not None


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("\ue0b0main\ue0b1 branch", "main"),
        ("🤖Generated", "generated"),
        ("⏺Bash(ls)", "bash"),
        ("目的", "的"),
        ("utf8Decoder", "utf8"),
        ("HTTP2Server", "http2"),
        ("我们用React写", "用React"),
        ("src/登录页.ts", "src/登录"),
        ("修改src/main.py文件", "src/main.py"),
        ("修改src/main.py文件", "修改src"),
        ("\ue0b0src/main.py", "src/main.py"),
        ("𠮷野家", "𠮷野"),
        ("ｱｲｳｴ", "ｲｳ"),
        ("人々の", "人々"),
        ("한국어로", "국어"),
        ("x" * 500, "x" * 500),
        ("cafe\u0301", "café"),
        ("one\x00two", "two"),
    ],
)
def test_what_was_missed_once(archive: Archive, home: Path, text: str, query: str) -> None:
    session = ClaudeSession()
    session.exchange("hello", text)
    session.write(home)
    archive.inscribe([home])
    assert [hit.kind for hit in archive.search(Query(query))] == ["assistant"]


def test_more_blocks_than_are_ranked_at_once_are_all_found(archive: Archive, home: Path) -> None:
    session = ClaudeSession()
    for number in range(600):
        session.exchange(f"prompt {number} common", "a common answer")
    session.write(home)
    archive.inscribe([home])
    assert blocks.PORTION < 4 * 600
    assert len(archive.search(Query("common", limit=EVERYTHING))) == 4 * 600
    assert len(archive.search(Query("common", kinds=("user",), limit=EVERYTHING))) == 600


def test_none_is_lost_between_two_portions(archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index gives blocks with both pairs of signs; only the oldest has the signs side by side."""
    monkeypatch.setattr(blocks, "PORTION", 3)
    session = ClaudeSession()
    session.exchange("hello", "登录页")
    for number in range(20):
        session.exchange(f"prompt {number}", "登录 and 录页")
    session.write(home)
    archive.inscribe([home])
    assert [hit.opens for hit in archive.search(Query("登录页", limit=1))] == [1]


def test_several_texts_of_one_record_are_each_their_own(archive: Archive, home: Path) -> None:
    session = ClaudeSession()
    session.user("hello")
    parts_ = [
        {"type": "text", "text": "first 登录页面"},
        {"type": "text", "text": "   "},
        {"type": "text", "text": "second 画面"},
    ]
    envelope = {"model": "claude-x", "id": "msg_1", "type": "message", "role": "assistant", "content": parts_}
    session.chain("assistant", message=envelope)
    session.write(home)
    archive.inscribe([home])
    assert [hit.snippet for hit in archive.search(Query("second"))] == ["second 画面"]
    assert [hit.snippet for hit in archive.search(Query("登录页"))] == ["first 登录页面"]
    assert [hit.snippet for hit in archive.search(Query("first"))] == ["first 登录页面"]


# -- real sessions


@pytest.mark.corpus
@pytest.mark.parametrize("source", ["claude-code", "codex"])
def test_real_sessions(corpus: Path, tmp_path: Path, source: str) -> None:
    """Queries drawn from the stored texts of real sessions, each compared with a scan of all of them."""
    if not (corpus / source).is_dir():
        pytest.skip(f"no real sessions of {source} in the corpus")
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path)})
    archive.inscribe([corpus / source])
    stored = list(places(archive))
    for way, count in ((words, 150), (parts, 80), (names, 80), (signs, 60)):
        known: dict[str, Counter[Place]] = {}
        for place, text in stored:
            for word in way(text):
                known.setdefault(word, Counter())[place] += 1
        asked = random.Random(7).sample(sorted(known), min(count, len(known)))
        lost = {query: short for query in asked if (short := missed(archive, query, known[query]))}
        assert lost == {}, way.__name__
