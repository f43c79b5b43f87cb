"""Finding rollouts: which files are sessions, whose they are, and what belongs to them."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
import zstandard

from muniment.sources.base import Found, head_of, session_id_of
from muniment.sources.codex import SOURCE
from muniment.sources.lines import records

from .rollouts import CASES, FACTS, SESSION, read, seen

OTHER = "01a00000-0000-7000-8000-00000000000f"
NAME = f"rollout-2026-01-02T03-04-05-{SESSION}.jsonl"
LEGACY = (Path(__file__).parent / "legacy" / "input.jsonl").read_bytes()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / ".codex"


def put(path: Path, data: bytes = LEGACY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def gather(paths: Iterable[Path], root: Path, *homes: Path) -> list[Found]:
    return list(SOURCE.gather(paths, root, homes))


def only(path: Path) -> Found:
    return gather([path], path.parent)[0]


def test_the_home_is_told_or_usual() -> None:
    assert SOURCE.homes({"CODEX_HOME": "/x"}) == [Path("/x")]
    assert SOURCE.homes({"HOME": "/h"}) == [Path("/h/.codex")]


def test_rollouts_of_every_place_and_form_are_candidates(home: Path) -> None:
    wanted = [
        put(home / "archived_sessions" / NAME),
        put(home / "sessions/2026/01/02" / NAME),
        put(home / "sessions/2026/01/02" / f"{NAME[:-6]}_{OTHER}.jsonl"),
        put(home / "sessions/2026/01/03" / f"{NAME}.zst"),
        put(home / "sessions" / "rollout-2025-05-01-x.json"),
    ]
    put(home / "sessions/2026/01/02/notes.txt")
    put(home / "history.jsonl")
    assert sorted(SOURCE.candidates(home)) == sorted(wanted)


def test_a_session_in_its_home_is_named_from_there(home: Path) -> None:
    path = put(home / "sessions/2026/01/02" / NAME)
    found = gather([path], home, home)[0]
    assert (found.session_id, found.native_id, found.root, found.home) == (SESSION, None, str(home), True)
    assert found.main is not None
    assert found.main.name == f"sessions/2026/01/02/{NAME}"


def test_the_lines_about_a_session_come_along(home: Path) -> None:
    path = put(home / "sessions/2026/01/02" / NAME)
    mine = f'{{"session_id":"{SESSION}","ts":1,"text":"hello"}}\n'.encode()
    put(home / "history.jsonl", mine + b'{"session_id":"x","ts":2,"text":"no"}\n{torn' + b"\n" + mine)
    name = f'{{"id":"{SESSION}","thread_name":"A name","updated_at":"x"}}\n'.encode()
    put(home / "session_index.jsonl", b'{"id":"x"}\n[]\n' + name)
    histories = {file.name: file.text for file in gather([path], home, home)[0].files if file.role == "history"}
    assert histories == {"history.jsonl": mine + mine, "session_index.jsonl": name}


def test_sessions_are_remembered_without_their_files(home: Path) -> None:
    put(home / "history.jsonl", b'{"session_id":"gone","ts":1,"text":"hello"}\n')
    put(home / "session_index.jsonl", b'{"id":"named","thread_name":"A name"}\n')
    assert [found.native_id for found in SOURCE.remembered(home)] == ["gone", "named"]
    assert list(SOURCE.remembered(home / "nowhere")) == []


def test_the_files_of_a_reverted_thread_are_one_session(home: Path) -> None:
    first = put(home / "sessions/2026/01/02" / NAME)
    second = put(home / "sessions/2026/01/02" / f"{NAME[:-6]}_{OTHER}.jsonl")
    assert [found.session_id for found in gather([first, second], home)] == [SESSION, SESSION]


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (LEGACY, "full.jsonl", SESSION),
        (LEGACY, NAME.replace(SESSION, OTHER), SESSION),
        (LEGACY[:200], "raw_transcript", SESSION),
        (b"{torn\n" + LEGACY, "x", SESSION),
        (LEGACY.split(b"\n", 1)[1], NAME, SESSION),
        (LEGACY.replace(SESSION.encode(), b"thread-7"), "x", session_id_of("codex", "thread-7")),
    ],
)
def test_the_first_head_names_the_session_then_the_file(
    tmp_path: Path, content: bytes, name: str, expected: str
) -> None:
    assert only(put(tmp_path / name, content)).session_id == expected


def test_without_any_name_the_content_makes_one(tmp_path: Path) -> None:
    content = LEGACY.split(b"\n", 1)[1]
    one, two = only(put(tmp_path / "a", content)), only(put(tmp_path / "b/c", content))
    assert one.session_id == two.session_id
    assert one.native_id is not None


@pytest.mark.parametrize("path", [p for p in CASES if p.parent.name != "stream"], ids=lambda path: path.parent.name)
def test_every_form_is_recognised_by_its_content(path: Path, tmp_path: Path) -> None:
    file = put(tmp_path / "full.jsonl", path.read_bytes())
    assert SOURCE.matches(file, head_of(file))
    assert SOURCE.matches(file, head_of(file)[:180])
    assert only(file).session_id == SESSION
    marked = put(tmp_path / "marked.jsonl", b"\xef\xbb\xbf" + path.read_bytes())
    assert SOURCE.matches(marked, head_of(marked))
    assert only(marked).session_id == SESSION
    assert seen(read(marked.read_bytes())) == seen(read(path.read_bytes()))


@pytest.mark.parametrize("gap", ["", " "])
def test_a_head_that_is_longer_than_what_is_looked_at_is_recognised(tmp_path: Path, gap: str) -> None:
    payload = {"id": SESSION, "timestamp": "2026-01-02T03:04:05.000Z", "base_instructions": {"text": "x" * 70_000}}
    head = {"timestamp": "2026-01-02T03:04:05.000Z", "type": "session_meta", "payload": payload}
    path = put(tmp_path / "full.jsonl", json.dumps(head, separators=(f",{gap}", f":{gap}")).encode() + b"\n")
    assert SOURCE.matches(path, head_of(path))
    assert only(path).session_id == SESSION


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]\n[]",
        b'{"type":"user","sessionId":"x","message":{}}',
        b'{"type":"session","id":"x","timestamp":"y","cwd":"/"}',
        b'{"type":"session.start","data":{},"id":"x","parentId":null}',
        b'{"type":"message","ts":1,"uuid":"x","payload":{"a":1}}',
        b'{"type":[],"timestamp":1,"payload":{}}',
        b'{"id":"x","timestamp":"y","type":"thing","instructions":"z"}',
        b'{"info":{"session":{"id":1}},"messages":[]}',
        b"plain text with payload and instructions",
        b'\x28\xb5\x2f\xfd"payload"',
    ],
)
def test_other_files_are_not_claimed(content: bytes) -> None:
    assert not SOURCE.matches(Path("x.jsonl"), content)
    assert not SOURCE.matches(Path("x.jsonl.zst"), content)


def packed(data: bytes) -> bytes:
    """As a client packs: here in two frames."""
    half = len(data) // 2
    return zstandard.compress(data[:half]) + zstandard.compress(data[half:])


def test_a_packed_rollout_is_found_and_read(home: Path) -> None:
    path = put(home / "sessions/2026/01/02" / f"{NAME}.zst", packed(LEGACY))
    assert SOURCE.matches(path, head_of(path))
    found = gather([path], home, home)[0]
    assert (found.session_id, found.main and found.main.size) == (SESSION, path.stat().st_size)
    assert SOURCE.packed(path.name)
    assert not SOURCE.packed(NAME)
    pieces = [path.read_bytes()[n : n + 100] for n in range(0, path.stat().st_size, 100)]
    opened = SOURCE.open(path.name, pieces)
    assert list(SOURCE.read(records(opened), FACTS)) == read(LEGACY)
    assert SOURCE.open(NAME, [LEGACY]) == [LEGACY]


def test_a_damaged_packed_rollout_tells_so() -> None:
    hurt = bytearray(packed(LEGACY))
    hurt[-40:-20] = bytes(20)
    rounds = list(SOURCE.read(records(SOURCE.open("x.zst", [bytes(hurt)])), FACTS))
    assert [problem for round_ in rounds for problem in round_.problems("x")]
    assert list(SOURCE.open("x.zst", [])) == []
    cut = b"".join(SOURCE.open("x.zst", [packed(LEGACY)[:-10]]))
    assert LEGACY.startswith(cut)


@pytest.mark.parametrize("case", ["legacy", "bare", "oldest", "stream"])
def test_a_first_line_that_is_still_being_written_makes_no_session_of_its_own(case: str, tmp_path: Path) -> None:
    (source,) = (path for path in CASES if path.parent.name == case)
    data = source.read_bytes()
    whole = only(put(tmp_path / "full.jsonl", data)).session_id
    for cut in range(1, min(len(data), 600)):
        path = put(tmp_path / "full.jsonl", data[:cut])
        assert not SOURCE.matches(path, head_of(path)) or only(path).session_id == whole, data[:cut]
