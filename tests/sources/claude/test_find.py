"""Where sessions lie: which files make one up, what a project's folder is called, who has one open."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment import sources
from muniment.errors import UnknownFormat
from muniment.model import Facts
from muniment.sources.base import Found, Move
from muniment.sources.claude import SOURCE, find, place

from .transcripts import OTHER, SESSION, Transcript, say

SLUG = "projects/-w"


def transcript(session: str = SESSION, **fields: object) -> bytes:
    file = Transcript(session)
    file.user("go", **fields)
    file.answer("m1", say("Yes."), **fields)
    return file.data


def put(home: Path, name: str, data: bytes = b"x") -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def gather(home: Path) -> list[Found]:
    return list(find.gather(find.candidates(home), home, [home]))


def roles(found: Found) -> dict[str, str]:
    return {file.name: file.role for file in found.files}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    put(tmp_path, f"{SLUG}/{SESSION}.jsonl", transcript())
    return tmp_path


def test_a_session_is_the_file_that_carries_its_id(home: Path) -> None:
    put(home, f"{SLUG}/notes.jsonl", transcript())
    put(home, f"{SLUG}/memory/MEMORY.md")
    put(home, f"{SLUG}/sessions-index.json")
    (found,) = gather(home)
    assert (found.session_id, found.native_id, found.home) == (SESSION, None, True)
    assert roles(found) == {f"{SLUG}/{SESSION}.jsonl": "main"}


@pytest.mark.parametrize(
    "place_of_agent",
    [
        f"{SLUG}/agent-a1.jsonl",
        f"{SLUG}/{SESSION}/subagents/agent-a1.jsonl",
        f"{SLUG}/{SESSION}/subagents/workflows/run1/agent-a1.jsonl",
    ],
)
def test_subagents_of_every_generation_belong_to_their_session(home: Path, place_of_agent: str) -> None:
    put(home, place_of_agent, transcript(isSidechain=True, agentId="a1"))
    (found,) = gather(home)
    assert [(f.name, f.id) for f in found.files if f.role == "sidechain"] == [(place_of_agent, "a1")]


def test_a_subagent_of_another_session_is_not_taken_for_ones_own(home: Path) -> None:
    put(home, f"{SLUG}/agent-a1.jsonl", transcript(OTHER, isSidechain=True, agentId="a1"))
    sessions = {found.session_id: roles(found) for found in gather(home)}
    assert sessions == {
        SESSION: {f"{SLUG}/{SESSION}.jsonl": "main"},
        OTHER: {f"{SLUG}/agent-a1.jsonl": "sidechain"},
    }


def test_subagents_without_their_transcript_make_a_session(tmp_path: Path) -> None:
    put(tmp_path, f"{SLUG}/{SESSION}/subagents/agent-a1.jsonl", transcript(isSidechain=True))
    put(tmp_path, f"{SLUG}/{SESSION}/subagents/agent-a1.meta.json", b"{}")
    (found,) = gather(tmp_path)
    assert found.session_id == SESSION
    assert found.main is None
    assert sorted(roles(found).values()) == ["side", "sidechain"]


@pytest.mark.parametrize("given", [".", SESSION, f"{SESSION}/subagents", f"{SESSION}/subagents/agent-a1.jsonl"])
def test_what_lies_beside_subagents_of_a_backup_belongs_to_them_wherever_one_points(tmp_path: Path, given: str) -> None:
    put(tmp_path, f"{SESSION}/subagents/agent-a1.jsonl", transcript(isSidechain=True))
    put(tmp_path, f"{SESSION}/tool-results/toolu_1.txt")
    (found,) = sources.find_in(tmp_path / given, {"HOME": "/nowhere"})
    assert (found.session_id, found.root) == (SESSION, str(tmp_path))
    assert roles(found) == {
        f"{SESSION}/subagents/agent-a1.jsonl": "sidechain",
        f"{SESSION}/tool-results/toolu_1.txt": "side",
    }


def test_all_that_lies_beside_a_session_belongs_to_it(home: Path) -> None:
    beside = [
        f"{SLUG}/{SESSION}/subagents/agent-a1.meta.json",
        f"{SLUG}/{SESSION}/tool-results/toolu_1.txt",
        f"{SLUG}/{SESSION}/workflows/wf_1.json",
        f"file-history/{SESSION}/0123456789abcdef@v1",
        f"tasks/{SESSION}/1.json",
        f"todos/{SESSION}-agent-{SESSION}.json",
    ]
    for name in (*beside, f"file-history/{OTHER}/0123456789abcdef@v1", f"tasks/{OTHER}/1.json"):
        put(home, name, b"[{}]")
    found, _ = gather(home)
    assert sorted(name for name, role in roles(found).items() if role == "side") == sorted(beside)


def files_of(found: Iterable[Found], home: Path) -> dict[str, list[tuple[str, str]]]:
    """Every session with its files, named from the home on."""
    return {
        one.session_id: sorted((str(Path(file.path).relative_to(home)), file.role) for file in one.files)
        for one in found
    }


ROLLOUT = b'{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"t1","cwd":"/w"}}\n'
CHAT = b'[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]'
SIDES = st.sampled_from(
    [
        f"{SLUG}/{SESSION}/tool-results/toolu_1.txt",
        f"{SLUG}/{SESSION}/tool-results/{OTHER}.jsonl",
        f"{SLUG}/{SESSION}/subagents/agent-a1.meta.json",
        f"{SLUG}/{SESSION}/workflows/{OTHER}/journal.jsonl",
        f"{SLUG}/{SESSION}/new-in-2.2/{OTHER}/x.jsonl",
        f"{SLUG}/{OTHER}/tool-results/toolu_2.txt",
        f"projects/-v/{SESSION}/tool-results/toolu_3.txt",
        f"file-history/{SESSION}/0123456789abcdef@v1",
        f"file-history/{OTHER}/0123456789abcdef@v1",
        f"tasks/{OTHER}/1.json",
        f"todos/{OTHER}-agent-{OTHER}.json",
    ]
)
CONTENTS = st.sampled_from([b"x", b"[]", transcript(), transcript(OTHER), CHAT, ROLLOUT])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(SIDES, CONTENTS), st.booleans())
def test_a_home_is_the_same_wherever_one_points(home: Path, sides: dict[str, bytes], has_transcript: bool) -> None:
    """As the home of this machine, as a folder, from above, and as a copy somewhere else."""
    with TemporaryDirectory(dir=home) as made:
        own = Path(made, "user", ".claude")
        put(own, f"{SLUG}/{OTHER[:-1]}0.jsonl", transcript(OTHER[:-1] + "0"))
        if has_transcript:
            put(own, f"{SLUG}/{SESSION}.jsonl", transcript())
        for name, data in sides.items():
            put(own, name, data)
        copy = Path(shutil.copytree(own, Path(made, "backup", "anything")))
        expected = files_of(gather(own), own)
        assert files_of(sources.find_in(own, {"HOME": "/nowhere"}), own) == expected
        assert files_of(sources.find_in(own, {"HOME": str(own.parent)}), own) == expected
        assert files_of(sources.find_in(own.parent, {"HOME": "/nowhere"}), own) == expected
        assert files_of(sources.find_in(copy, {"HOME": "/nowhere"}), copy) == expected


@pytest.mark.parametrize("data", [transcript(), transcript(OTHER), CHAT], ids=["its own", "another's", "a chat"])
@pytest.mark.parametrize("given", [".", SLUG, f"{SLUG}/{SESSION}"])
def test_an_output_that_holds_a_transcript_is_none(home: Path, given: str, data: bytes) -> None:
    put(home, f"{SLUG}/{SESSION}/tool-results/toolu_1.txt", data)
    found = list(sources.find_in(home / given, {"HOME": "/nowhere"}))
    assert [one.session_id for one in found] == ([SESSION] if given != f"{SLUG}/{SESSION}" else [])
    with pytest.raises(UnknownFormat, match="a side file of a session"):
        list(sources.find_in(home / SLUG / SESSION / "tool-results/toolu_1.txt", {"HOME": "/nowhere"}))


def test_a_transcript_that_nobody_can_read_is_found_in_a_home_that_is_given_as_a_folder(home: Path) -> None:
    put(home, f".claude/{SLUG}/{OTHER}.jsonl", b"\0" * 80)
    found = sources.find_in(home / ".claude", {"HOME": str(home)})
    assert [one.session_id for one in found] == [OTHER]


@pytest.mark.parametrize("given", [".", SLUG, f"{SLUG}/{SESSION}", f"{SLUG}/{SESSION}/tool-results/toolu_1.txt"])
def test_side_files_whose_transcript_is_gone_are_a_session(tmp_path: Path, given: str) -> None:
    put(tmp_path, f"{SLUG}/{SESSION}/tool-results/toolu_1.txt")
    put(tmp_path, f"todos/{SESSION}-agent-{SESSION}.json", b"[{}]")
    put(tmp_path, f"todos/{OTHER}-agent-{OTHER}.json", b"[]")
    put(tmp_path, "history.jsonl", json.dumps({"display": "go", "sessionId": SESSION}).encode() + b"\n")
    (found,) = sources.find_in(tmp_path / given, {"HOME": "/nowhere"})
    assert (found.session_id, found.root, found.main) == (SESSION, str(tmp_path), None)
    assert roles(found) == {
        f"{SLUG}/{SESSION}/tool-results/toolu_1.txt": "side",
        f"todos/{SESSION}-agent-{SESSION}.json": "side",
        "history.jsonl": "history",
    }


def test_side_files_in_the_folder_of_another_project_belong_to_their_session(home: Path) -> None:
    """A session may move to another project, and leave files behind."""
    put(home, f"projects/-v/{SESSION}/tool-results/toolu_1.txt")
    put(home, f"tasks/{SESSION}/1.json")
    assert [(found.session_id, sorted(roles(found))) for found in gather(home)] == [
        (SESSION, [f"{SLUG}/{SESSION}.jsonl", f"tasks/{SESSION}/1.json"]),
        (SESSION, [f"projects/-v/{SESSION}/tool-results/toolu_1.txt"]),
    ]


def test_the_lines_of_the_prompt_history_that_name_a_session_belong_to_it(home: Path) -> None:
    own, other = (json.dumps({"display": "go", "sessionId": id_}).encode() for id_ in (SESSION, OTHER))
    put(home, "history.jsonl", b"\n".join([own, b"{torn", other, b'{"display":"old"}', own, b""]))
    (found,) = gather(home)
    (history,) = (file for file in found.files if file.role == "history")
    assert history.text == own + b"\n" + own + b"\n"
    first, second = SOURCE.remembered(home)
    assert (first.session_id, first.files) == (SESSION, (history,))
    assert second.session_id == OTHER


def test_a_link_is_not_followed(home: Path) -> None:
    secret = put(home, "elsewhere/secret.txt")
    folder = put(home, f"{SLUG}/{SESSION}/tool-results/real.txt").parent
    (folder / "link.txt").symlink_to(secret)
    (folder.parent / "linked").symlink_to(secret.parent)
    (home / SLUG / f"{OTHER}.jsonl").symlink_to(home / SLUG / f"{SESSION}.jsonl")
    (found,) = gather(home)
    assert [name for name, role in roles(found).items() if role != "main"] == [
        f"{SLUG}/{SESSION}/tool-results/real.txt"
    ]


def test_a_prompt_history_that_is_a_link_is_not_followed(home: Path) -> None:
    line = json.dumps({"display": "go", "sessionId": SESSION}).encode() + b"\n"
    (home / "history.jsonl").symlink_to(put(home, "elsewhere/history.jsonl", line))
    assert [file.role for file in gather(home)[0].files] == ["main"]


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"HOME": "/h"}, ["/h/.claude"]),
        ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, ["/c"]),
        ({"CLAUDE_CONFIG_DIR": "/c, /d,"}, ["/c", "/d"]),
    ],
)
def test_the_environment_says_where_the_homes_are(env: dict[str, str], expected: list[str]) -> None:
    assert find.homes(env) == [Path(path) for path in expected]


@pytest.mark.parametrize(
    "head",
    [
        b'{"type":"file-history-snapshot","messageId":"a","snapshot":{}}\n',
        b'{"type":"summary","summary":"s","leafUuid":"l"}\n',
        b'{"type":"queue-operation","operation":"enqueue","sessionId":"s"}\n',
        b'{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"' + b"x" * 70_000,
        b'\n{"type":"novel"}\n{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u"}\n',
        b'\xef\xbb\xbf{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u"}\r\n',
        b'{"type":"user","parentUuid":null,"sessionId":"s","toolUseResult":{"parts":[],"usageMetadata":{}}}\n',
        b'{"type":"user","parentUuid":null,"isSidechain":false}\n' * 2 + b'{"type":"user","usageMetadata":{}}\n',
    ],
    ids=["snapshot", "summary", "queue", "cut off", "unknown first", "byte order mark", "deeper", "one of another"],
)
def test_a_file_is_told_by_its_records_whatever_it_begins_with(head: bytes) -> None:
    assert find.matches(Path("any.jsonl"), head)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"# notes about sessionId and parentUuid",
        b'{"type":"user","text":"no field of ours"}',
        b'{"type":"session_meta","payload":{"sessionId":"x"}}',
        b'{"role":"user","content":"hi"}',
        b'{"type":"mode","x":' + b"[" * 60_000,
    ],
    ids=["empty", "prose", "other fields", "codex", "plain roles", "deep"],
)
def test_a_file_of_something_else_is_not_taken(head: bytes) -> None:
    assert not find.matches(Path(f"{SESSION}.jsonl"), head)


# -- project folders


@pytest.mark.parametrize(
    ("cwd", "slug"),
    [
        ("/home/me/my_app.v2", "-home-me-my-app-v2"),
        ("C:\\a", "C--a"),
        ("/a  b//c", "-a--b--c"),
        ("/é", "--"),
        ("/e\u0301", "--"),
        ("/😀x", "---x"),
        ("/x" * 100, "-x" * 100),
    ],
)
def test_every_sign_but_letters_and_digits_becomes_a_dash(cwd: str, slug: str) -> None:
    """Counted as JavaScript counts: a composed letter is one sign, one outside of the first plane is two."""
    assert place.slug(cwd) == slug


def test_a_long_path_is_cut_and_ends_in_a_hash_of_the_whole() -> None:
    """The hash is `h * 31 + unit` over 32 bits, its magnitude in base 36: of "ab" it is 97 * 31 + 98 = 2eb."""
    path = "/" + "x" * 200
    slug = place.slug(path)
    assert slug.startswith("-" + "x" * 199 + "-")
    value = 0
    for sign in path:
        value = (value * 31 + ord(sign)) % 2**32
    signed = value - 2**32 if value >= 2**31 else value
    assert int(slug.rpartition("-")[2], 36) == abs(signed)
    assert place.slug(path + "y") != place.slug(path + "z")


def test_a_written_session_lies_where_the_client_looks_for_it() -> None:
    facts = Facts(SESSION, "claude-code", cwd="/w/sub", first_cwd="/w")
    assert SOURCE.place(facts, Move()) == f"projects/-w/{SESSION}.jsonl"
    assert SOURCE.place(facts, Move(session_id=OTHER, cwd="/v")) == f"projects/-v/{OTHER}.jsonl"
    side = Facts(SESSION, "claude-code", cwd="/w", sidechain="a1")
    assert SOURCE.place(side, Move()) == f"projects/-w/{SESSION}/subagents/agent-a1.jsonl"


def test_a_moved_file_keeps_its_name_inside_the_session() -> None:
    facts, move = Facts(SESSION, "claude-code", first_cwd="/w"), Move(OTHER, "/v")
    assert place.moved_name(f"{SLUG}/{SESSION}/tool-results/a.txt", facts, move) == (
        f"projects/-v/{OTHER}/tool-results/a.txt"
    )
    assert place.moved_name(f"tasks/{SESSION}/1.json", facts, move) == f"tasks/{OTHER}/1.json"


def test_a_moved_file_says_its_new_folder_and_identity_and_keeps_all_else() -> None:
    file = Transcript()
    file.user("say /w and \u2028")
    file.user("on", cwd="/w/sub")
    file.user("out", cwd="/what")
    torn = b'{"cwd":"/w","x'
    moved = b"".join(place.moved_lines([file.data + torn], Facts(SESSION, "x", first_cwd="/w"), Move(OTHER, "/v")))
    expected = file.data + torn
    expected = expected.replace(SESSION.encode(), OTHER.encode()).replace(b'"cwd":"/w"', b'"cwd":"/v"')
    assert moved == expected.replace(b'"cwd":"/w/sub"', b'"cwd":"/v/sub"')


# -- sessions that are open now


def register(home: Path, pid: object, session: str = SESSION) -> None:
    put(home, f"sessions/{pid}.json", json.dumps({"pid": pid, "sessionId": session}).encode())


def test_a_session_is_live_while_its_process_runs(home: Path) -> None:
    register(home, os.getpid())
    assert SOURCE.live(home, SESSION) == os.getpid()
    assert SOURCE.live(home, OTHER) is None


def test_a_session_of_a_process_that_ended_is_not_live(home: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    register(home, ended.pid)
    assert SOURCE.live(home, SESSION) is None


@pytest.mark.parametrize("pid", [-1, 0, 2**70, "1", None])
def test_a_registry_that_names_no_process_makes_nothing_live(home: Path, pid: object) -> None:
    register(home, pid)
    put(home, "sessions/torn.json", b'{"pid":')
    assert SOURCE.live(home, SESSION) is None


def test_no_registry_makes_nothing_live(home: Path) -> None:
    assert SOURCE.live(home, SESSION) is None
