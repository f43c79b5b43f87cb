"""Sessions whose transcripts are gone: what a history of prompts has of them is put into the archive, and called so."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.export import Request
from muniment.inscribe import Outcome
from muniment.model import Media, Round, Text
from muniment.restore import Target
from muniment.search import Query
from muniment.store import evidence, page
from tests.builder import ClaudeSession, conversation
from tests.conftest import canonical, tree
from tests.test_cli import Cli

LOST = "0a1b2c3d-0000-4000-8000-000000000001"
OTHER = "0a1b2c3d-0000-4000-8000-000000000002"
THREAD = "0198aaaa-0000-7000-8000-000000000001"
PNG = b"\x89PNG\r\n\x1a\nnot really"

Inscribe = Callable[..., list[Outcome]]


def prompt(words: str, second: int = 0, session: str = LOST, project: str = "/proj/shop", **pasted: Any) -> bytes:
    """A line of the prompt history, as Claude Code writes it."""
    said = {"display": words, "pastedContents": pasted, "timestamp": 1767323045000 + second * 1000}
    return json.dumps(said | {"project": project, "sessionId": session}, ensure_ascii=False).encode() + b"\n"


def asked(words: str, second: int = 0, thread: str = THREAD) -> bytes:
    """A line of the prompt history of Codex."""
    return json.dumps({"session_id": thread, "ts": 1767323045 + second, "text": words}).encode() + b"\n"


def remember(home: Path, *lines: bytes) -> Path:
    """The history of a home, replaced."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "history.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def rescue(archive: Archive) -> list[Outcome]:
    outcomes: list[Outcome] = []
    archive.run(archive.plan(archive.lost()), outcomes.append)
    assert [outcome.note for outcome in outcomes if outcome.what == "failed"] == []
    return outcomes


def rounds(archive: Archive, session: str = LOST) -> list[Round]:
    return list(archive.rounds(archive.session(session)))


def words(archive: Archive, session: str = LOST) -> list[list[str]]:
    """The texts of every round."""
    return [[b.text for b in r.blocks() if isinstance(b, Text)] for r in rounds(archive, session)]


def kept(archive: Archive, session: str = LOST) -> dict[str, bytes]:
    """The evidence of a session, by name."""
    folder = archive.shelf(archive.session(session)).evidence
    manifest = evidence.load(folder)
    assert manifest is not None
    return {file.name: b"".join(evidence.read(folder, file)) for file in manifest.files}


@pytest.fixture
def rescued(archive: Archive, home: Path) -> Archive:
    """An archive with the prompts of a lost session."""
    remember(home, prompt("fix the login"), prompt("not mine", 1, OTHER), prompt("now the tests", 60))
    rescue(archive)
    return archive


# -- what is put in


def test_every_prompt_is_a_round_of_its_own(rescued: Archive) -> None:
    first, second = rounds(rescued)
    assert [(m.role, m.at, m.cwd) for m in first.messages] == [("user", "2026-01-02T03:04:05.000Z", "/proj/shop")]
    assert [(m.role, m.at, m.cwd) for m in second.messages] == [("user", "2026-01-02T03:05:05.000Z", None)]
    assert words(rescued) == [["fix the login"], ["now the tests"]]
    assert first.prompted
    assert second.prompted


def test_the_session_says_that_it_is_the_human_half(rescued: Archive) -> None:
    row = rescued.session(LOST)
    assert row.title == "only the prompts are left: fix the login"
    assert (row.source, row.agent_id, row.cwd, row.prompts) == ("claude-code", "claude", "/proj/shop", 2)
    top = page.load_head(rescued.shelf(row).document)
    assert top is not None
    assert top.title == "Claude · 2026-01-02 · only the prompts are left"
    assert top.summary == row.title
    assert top.own["prompts_only"] is True


def test_the_evidence_is_the_very_lines(archive: Archive, home: Path) -> None:
    odd = b'{ "sessionId" : "%s", "display":"\\u00e9 \xc3\xa9", "timestamp":1767323045000.0 }\n' % LOST.encode()
    remember(home, prompt("not mine", 0, OTHER), odd, b"{torn", b"\n", prompt("two"))
    rescue(archive)
    assert kept(archive) == {"history.jsonl": odd + prompt("two")}
    assert words(archive) == [["é é"], ["two"]]


def test_what_was_pasted_comes_along_where_the_history_has_it(archive: Archive, home: Path) -> None:
    text = {"id": 1, "type": "text", "content": "line 1\nline 2"}
    image = {"id": 2, "type": "image", "mediaType": "image/png", "content": base64.b64encode(PNG).decode()}
    large = {"id": 3, "type": "text", "contentHash": "0123456789abcdef"}
    remember(home, prompt("see [Pasted text #1 +2 lines]", **{"1": text, "2": image, "3": large, "4": None}))
    paste = home / "paste-cache" / "0123456789abcdef.txt"
    paste.parent.mkdir()
    paste.write_bytes(b"a large paste")
    rescue(archive)
    assert words(archive) == [["see [Pasted text #1 +2 lines]", "line 1\nline 2"]]
    (media,) = [block for block in rounds(archive)[0].blocks() if isinstance(block, Media)]
    assert media.name == f"{hashlib.sha256(PNG).hexdigest()}.png"
    assert (archive.shelf(archive.session(LOST)).media / media.name).read_bytes() == PNG
    assert kept(archive)["paste-cache/0123456789abcdef.txt"] == b"a large paste"


@pytest.mark.parametrize("time", ["soon", 1e300, -1e18, None, True])
def test_a_prompt_without_a_usable_time_is_kept_without_one(archive: Archive, home: Path, time: Any) -> None:
    line = json.dumps({"display": "when?", "timestamp": time, "sessionId": LOST}).encode() + b"\n"
    remember(home, line)
    rescue(archive)
    assert words(archive) == [["when?"]]
    assert rounds(archive)[0].started is None


def test_a_line_that_is_no_prompt_is_damage_and_not_lost(archive: Archive, home: Path) -> None:
    remember(home, prompt("one"), b'{"display":7,"sessionId":"%s"}\n' % LOST.encode(), prompt("two"))
    (outcome,) = rescue(archive)
    assert words(archive) == [["one"], ["two"]]
    assert [problem.what for problem in outcome.problems] == ["not a line of a prompt history"]


def test_codex_has_prompts_without_folders(archive: Archive, home: Path) -> None:
    codex = home.parent / ".codex"
    remember(codex, asked("fix it"), asked("again", 5))
    name = b'{"id":"%s","thread_name":"The login","updated_at":"x"}\n' % THREAD.encode()
    (codex / "session_index.jsonl").write_bytes(name)
    rescue(archive)
    assert words(archive, THREAD) == [["fix it"], ["again"]]
    row = archive.session(THREAD)
    assert (row.title, row.started, row.cwd) == (
        "only the prompts are left: fix it",
        "2026-01-02T03:04:05.000Z",
        None,
    )
    assert kept(archive, THREAD) == {"history.jsonl": asked("fix it") + asked("again", 5), "session_index.jsonl": name}


def test_of_a_session_without_prompts_the_name_is_kept(archive: Archive, home: Path) -> None:
    codex = home.parent / ".codex"
    codex.mkdir()
    (codex / "session_index.jsonl").write_bytes(b'{"id":"%s","thread_name":"The login"}\n' % THREAD.encode())
    rescue(archive)
    row = archive.session(THREAD)
    assert (row.title, row.messages) == ("only the name is left: The login", 0)
    assert archive.doctor().lost == ()
    remember(codex, asked("fix it"))
    rescue(archive)
    assert words(archive, THREAD) == [["fix it"]]
    assert archive.session(THREAD).title == "only the prompts are left: fix it"


def test_an_id_that_is_no_uuid_gets_one(archive: Archive, home: Path) -> None:
    remember(home, prompt("hello", session="session-7"))
    (found,) = archive.lost()
    assert found.native_id == "session-7"
    rescue(archive)
    assert words(archive, found.session_id) == [["hello"]]
    assert archive.doctor().lost == ()


# -- twice, later, and after the transcript came back


def test_twice_is_once(rescued: Archive) -> None:
    before = tree(rescued.layout.sessions)
    assert rescue(rescued) == []
    after = tree(rescued.layout.sessions)
    assert {name for name in before if before[name] != after[name]} <= {"sessions.db", "sessions.db-wal"}


def test_a_growing_history_is_an_append(rescued: Archive, home: Path) -> None:
    before = rescued.shelf(rescued.session(LOST)).round_file(1).stat().st_mtime_ns
    remember(home, prompt("fix the login"), prompt("now the tests", 60), prompt("and push", 90, project="/proj/other"))
    assert rescued.doctor().lost == (LOST,)
    (outcome,) = rescue(rescued)
    assert outcome.what == "appended"
    assert words(rescued) == [["fix the login"], ["now the tests"], ["and push"]]
    assert rounds(rescued)[2].messages[0].cwd == "/proj/other"
    assert rescued.shelf(rescued.session(LOST)).round_file(1).stat().st_mtime_ns == before
    assert [hit.round for hit in rescued.search(Query("push"))] == [3]


def test_a_history_that_was_cut_short_takes_nothing_away(rescued: Archive, home: Path) -> None:
    remember(home, prompt("now the tests", 60), prompt("and push", 90))
    rescue(rescued)
    assert words(rescued) == [["fix the login"], ["now the tests"], ["and push"]]
    assert kept(rescued) == {
        "history.jsonl": prompt("fix the login") + prompt("now the tests", 60) + prompt("and push", 90)
    }


def transcript() -> ClaudeSession:
    session = ClaudeSession(LOST, cwd="/proj/shop")
    session.exchange("fix the login", "fixed")
    return session


def test_the_transcript_takes_its_place_when_it_turns_up(rescued: Archive, home: Path, inscribe: Inscribe) -> None:
    path = transcript().write(home, "-proj-shop")
    outcome = next(o for o in inscribe() if o.session_id == LOST)
    assert outcome.what == "appended"
    row = rescued.session(LOST)
    assert (row.title, row.rounds, row.messages, row.path) == ("fix the login", 1, 3, str(path))
    assert words(rescued) == [["fix the login", "On it.", "fixed"]]
    top = page.load_head(rescued.shelf(row).document)
    assert top is not None
    assert (top.title, top.summary, top.fields["source"]) == ("Claude · 2026-03-19", "fix the login", str(path))
    assert "prompts_only" not in top.own
    assert [hit.session_id for hit in rescued.search(Query("tests"))] == []
    assert all(checked.lossless and not checked.problems for checked in rescued.check_stored([LOST]))


def test_the_lines_stay_beside_the_transcript(rescued: Archive, home: Path, inscribe: Inscribe) -> None:
    path = transcript().write(home, "-proj-shop")
    (home / "history.jsonl").unlink()
    inscribe()
    assert kept(rescued) == {
        path.relative_to(home).as_posix(): path.read_bytes(),
        "history.jsonl": prompt("fix the login") + prompt("now the tests", 60),
    }
    told = rescued.doctor()
    assert (told.vanished, told.lost, told.rescued) == ((), (), (OTHER,))
    path.unlink()
    assert rescued.doctor().vanished == (LOST,)
    rescued.restore(LOST)
    assert path.read_bytes() == transcript().data
    assert (home / "history.jsonl").read_bytes() == prompt("fix the login") + prompt("now the tests", 60)


def test_a_rescue_after_the_transcript_was_inscribed_does_nothing(
    home: Path, archive: Archive, inscribe: Inscribe
) -> None:
    remember(home, prompt("fix the login"))
    path = transcript().write(home, "-proj-shop")
    inscribe()
    path.unlink()
    remember(home, prompt("fix the login"), prompt("later", 99))
    assert rescue(archive) == []
    assert archive.session(LOST).title == "fix the login"


def test_what_the_subagents_left_is_joined_with_the_prompts(home: Path, archive: Archive, inscribe: Inscribe) -> None:
    sub = ClaudeSession(LOST, isSidechain=True, agentId="a1")
    sub.exchange("look into it", "found it")
    path = home / "projects" / "-proj-shop" / LOST / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(sub.data)
    remember(home, prompt("fix the login"))
    inscribe()
    row = archive.session(LOST)
    assert (row.title, row.sidechains) == ("only the prompts are left: fix the login", 1)
    assert inscribe() == []
    assert archive.doctor().vanished == ()


def test_reindex_gives_the_same_again(rescued: Archive) -> None:
    before, rows = canonical(rescued.layout.sessions), rescued.sessions()
    rescued.layout.database.unlink()
    rescued.reindex()
    assert canonical(rescued.layout.sessions) == before
    assert rescued.sessions() == rows
    assert rescued.doctor().rescued == (LOST, OTHER)


# -- what comes out


def test_prompts_are_found_like_any_words(rescued: Archive) -> None:
    assert [(hit.session_id, hit.round, hit.kind) for hit in rescued.search(Query("login"))] == [(LOST, 1, "user")]


def test_a_restore_gives_the_lines_back_and_no_transcript(rescued: Archive, home: Path, tmp_path: Path) -> None:
    history = home / "history.jsonl"
    before = tree(home)
    rescued.restore(LOST)
    assert tree(home) == before
    history.write_bytes(prompt("fix the login") + prompt("of another", 5, OTHER))
    rescued.restore(LOST)
    assert history.read_bytes() == prompt("fix the login") + prompt("of another", 5, OTHER) + prompt(
        "now the tests", 60
    )
    rescued.restore(LOST, Target(to=tmp_path / "out"))
    assert tree(tmp_path / "out") == {"history.jsonl": prompt("fix the login") + prompt("now the tests", 60)}


@pytest.mark.parametrize("target", ["claude-code", "codex"])
@pytest.mark.parametrize("session", [LOST, THREAD])
def test_an_export_is_another_session_and_says_what_is_missing(
    archive: Archive, home: Path, target: str, session: str
) -> None:
    paste = {"id": 1, "type": "text", "content": "a log"}
    remember(home, prompt("fix [Pasted text #1]", **{"1": paste}), prompt("now the tests", 60))
    remember(home.parent / ".codex", asked("fix it"), asked("now the tests", 60))
    rescue(archive)
    exported = archive.export(session, Request(target))
    assert exported.session_id != session
    assert ("answer", "only the prompts are left", 2) in [(loss.what, loss.why, loss.count) for loss in exported.losses]
    (path,) = exported.paths
    assert session not in Path(path).read_text()
    again = Archive(archive.layout.root.parent / "again", archive.env)
    again.inscribe([Path(path)])
    assert words(again, exported.session_id) == words(archive, session)
    assert "only the prompts" not in again.session(exported.session_id).title


def test_a_name_alone_cannot_be_exported(archive: Archive, home: Path) -> None:
    codex = home.parent / ".codex"
    codex.mkdir()
    (codex / "session_index.jsonl").write_bytes(b'{"id":"%s","thread_name":"The login"}\n' % THREAD.encode())
    rescue(archive)
    with pytest.raises(NotFound, match="holds no conversation"):
        archive.export(THREAD, Request("codex"))


def test_the_stored_half_is_checked_against_its_lines(rescued: Archive) -> None:
    (checked,) = rescued.check_stored([LOST])
    assert checked.lossless
    assert checked.problems == []
    rescued.shelf(rescued.session(LOST)).round_file(2).unlink()
    (checked,) = rescued.check_stored([LOST])
    assert [problem.what for problem in checked.problems] == ["the round file differs from the evidence"]


# -- what the doctor says


def test_the_doctor_tells_what_is_lost_and_what_was_rescued(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    session = conversation(2)
    session.write(home)
    remember(home, prompt("prompt 0", session=session.id), prompt("gone"))
    inscribe()
    told = archive.doctor()
    assert (told.lost, told.rescued, told.healthy) == ((LOST,), (), False)
    rescue(archive)
    told = archive.doctor()
    assert (told.lost, told.rescued, told.vanished, told.healthy) == ((), (LOST,), (), True)


def test_many_lost_sessions_of_one_history_are_told_apart(archive: Archive, home: Path) -> None:
    ids = [f"0a1b2c3d-0000-4000-8000-{number:012x}" for number in range(50)]
    remember(home, *(prompt(f"prompt {round_} of {id_}", round_, id_) for round_ in range(3) for id_ in ids))
    assert len(rescue(archive)) == 50
    assert rescue(archive) == []
    assert {row.session_id: row.rounds for row in archive.sessions()} == dict.fromkeys(ids, 3)
    assert words(archive, ids[7])[2] == [f"prompt 2 of {ids[7]}"]


def test_the_command_offers_the_rescue_and_carries_it_out(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    remember(cli.home / ".claude", prompt("fix the login"), prompt("now the tests", 60))
    told = cli("doctor", code=1).stdout
    assert "1 session known from prompt history only" in told
    assert "`muniment doctor --rescue`" in told
    told = cli("doctor", "--rescue").stdout
    assert "2 prompts of 1 lost session are in the archive" in told
    assert "1 session in the archive with nothing but your prompts left" in told
    assert "only the prompts are left: fix the login" in cli("sessions").stdout
    assert json.loads(cli("doctor", "--rescue", "--json").stdout)["rescued"] == [LOST]
    assert "not carried: 2 × answer (only the prompts are left)" in cli("export-claude", LOST).stderr
