"""Inscribing: what goes in, what an append does, and what happens when the source changes under us."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.model import Text, codec
from muniment.search import Query
from tests.builder import ClaudeSession, conversation, hurt, text, tool
from tests.conftest import canonical, tree

Inscribe = Callable[..., list[Outcome]]


def test_a_session_lies_where_the_design_says(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation()
    session.write(home)
    assert [o.what for o in inscribe()] == ["new"]
    names = set(tree(archive.layout.sessions))
    folder = f"claude/{session.id}"
    expected = {
        "index.md",
        "sessions.db",
        "claude/index.md",
        f"{folder}.md",
        f"{folder}/session.db",
        f"{folder}/index.md",
    }
    expected |= {f"{folder}/rounds/00{n}.json" for n in (1, 2, 3)} | {f"{folder}/source/manifest.json"}
    assert expected <= names


def test_a_round_file_has_the_specified_shape(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    conversation().write(home)
    inscribe()
    (listed,) = archive.sessions()
    stored = codec.mapping(codec.loads(archive.shelf(listed).round_file(2).read_bytes()))
    assert stored["round"] == 2
    assert stored["started"] == "2026-03-19T10:00:07.000Z"
    assert stored["engagement_id"] is None
    assert stored["user"]["blocks"][0]["text"] == "prompt 1"
    assert [block["type"] for block in stored["agent"]] == ["text", "tool", "thinking", "text"]
    assert stored["token_count"] == 2 * 108, "two API messages, each counted once"


def test_a_second_run_writes_nothing(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    conversation().write(home)
    inscribe()
    before = {p: p.stat().st_mtime_ns for p in archive.layout.root.rglob("*") if p.is_file()}
    assert inscribe() == []
    assert {p: p.stat().st_mtime_ns for p in archive.layout.root.rglob("*") if p.is_file()} == before


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, len(hurt(conversation(4)).data)), max_size=3).map(sorted), st.booleans())
def test_appending_piece_by_piece_gives_what_inscribing_at_once_gives(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], damaged: bool
) -> None:
    """Wherever the file was cut while it was being written, half lines included."""
    folder = tmp_path_factory.mktemp("pieces")
    session = hurt(conversation(4)) if damaged else conversation(4)
    env = {"HOME": str(folder)}
    pieces, whole = Archive(folder / "pieces", env), Archive(folder / "whole", env)
    path = session.write(folder / ".claude")
    whole.inscribe()
    read = 0
    for cut in [*cuts, len(session.data)]:
        path.write_bytes(session.data[:cut])
        outcomes: list[Outcome] = []
        pieces.inscribe(report=outcomes.append)
        read += sum(o.bytes_read for o in outcomes)
    assert canonical(pieces.layout.sessions / "claude") == canonical(whole.layout.sessions / "claude")
    assert read == len(session.data), "every byte was read once"
    assert _texts(pieces) == _texts(whole)


def _texts(archive: Archive) -> list[tuple[object, ...]]:
    from muniment.store.index import Index

    with Index(archive.layout) as index:
        return sorted(index.rows("SELECT round, kind, tool, offset FROM texts"))


def test_what_is_whole_on_damaged_lines_is_read_and_checked(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    whole, damaged = conversation(4), hurt(conversation(4))
    path = damaged.write(home)
    inscribe()
    (listed,) = archive.sessions()
    said = [block.text for round_ in archive.rounds(listed) for block in round_.blocks() if isinstance(block, Text)]
    assert said == [words for number in range(4) for words in (f"prompt {number}", "On it.", f"reply {number}")]
    (report,) = archive.check([path])
    assert report.lossless
    assert report.export["id"].equal == len(whole.lines)
    data = damaged.data
    parts = [data[problem.offset : problem.offset + problem.length] for problem in report.problems]
    assert {part[:20] for part in parts} == {b'{"parentUuid":null,"', bytes(12), bytes(2)}
    assert not any(b"2026-03-19" in part for part in parts), "no record is among them"


def test_a_record_that_is_cut_behind_a_whole_one_is_told_with_its_place(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    session = conversation(2)
    path = session.write(home)
    whole = session.data[:-1]
    path.write_bytes(whole + b'{"type":"us')
    (outcome,) = inscribe()
    assert [(problem.offset, problem.length) for problem in outcome.problems] == [(len(whole), 11)]
    path.write_bytes(whole + b'{"type":"user","uuid":"u","message":{"content":"zebra"}}\n')
    inscribe()
    assert [hit.round for hit in archive.search(Query("zebra"))] == [3]


def test_words_of_an_append_are_found_once(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(1)
    session.write(home)
    inscribe()
    session.exchange("zebra crossing", "done")
    session.write(home)
    inscribe()
    from muniment.store.index import Index

    with Index(archive.layout) as index:
        sql = "SELECT t.round, t.kind FROM texts_fts f JOIN texts t ON t.id = f.rowid WHERE texts_fts MATCH ?"
        hits = index.rows(f"{sql} ORDER BY t.id", "zebra")
    assert hits == [(2, "user"), (2, "tool"), (2, "result")]


def test_an_edited_summary_is_kept(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(1)
    session.write(home)
    inscribe()
    (listed,) = archive.sessions()
    document = archive.shelf(listed).document
    edited = document.read_text().replace("\nprompt 0\n\n---", "\nWhat we decided about login\n\n---", 1)
    document.write_text(edited)
    session.exchange("more", "done")
    session.write(home)
    inscribe()
    assert "\nWhat we decided about login\n" in document.read_text()
    assert archive.sessions()[0].summary == "What we decided about login"


def test_edited_messages_are_kept_aside_and_the_document_is_written_anew(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    session = conversation(1)
    session.write(home)
    inscribe()
    (listed,) = archive.sessions()
    document = archive.shelf(listed).document
    document.write_text(document.read_text().replace("reply 0", "a reply that was never given"))
    session.exchange("more", "done")
    session.write(home)
    (outcome,) = inscribe()
    assert "reply 0" in document.read_text()
    assert any("edited" in problem.what for problem in outcome.problems)
    kept = list((archive.shelf(listed).folder / "versions").glob("edited-*.md"))
    assert "never given" in kept[0].read_text()


def test_beside_an_edited_document_other_content_is_still_a_version(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    session = conversation(1)
    session.write(home)
    inscribe()
    (listed,) = archive.sessions()
    document = archive.shelf(listed).document
    document.write_text(document.read_text() + "a remark")
    session.exchange("more", "done")
    session.write(home)
    inscribe()
    other = ClaudeSession(session.id)
    other.exchange("another road", "taken")
    (outcome,) = inscribe(other.write(tmp_path / "backup"))
    assert (outcome.what, outcome.problems) == ("version", ())
    (again,) = archive.sessions()
    assert (again.rounds, again.versions) == (2, 1)


def test_a_rewritten_source_becomes_the_current_version_and_the_old_one_stays(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    old = conversation(2)
    path = old.write(home)
    inscribe()
    new = ClaudeSession(old.id)
    new.exchange("something else", "entirely")
    new.write(home)
    (outcome,) = inscribe()
    assert outcome.what == "version"
    assert "both versions are kept" in outcome.note
    (listed,) = archive.sessions()
    assert (listed.rounds, listed.versions) == (1, 1)
    (version,) = (archive.shelf(listed).folder / "versions").iterdir()
    stored = tree(version)
    assert f"{old.id}.md" in stored
    assert b"reply 1" in stored[f"{old.id}.md"]
    assert inscribe() == []
    path.unlink()
    archive.restore(old.id)
    assert path.read_bytes() == new.data


def test_a_shrunk_source_loses_nothing(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(3)
    path = session.write(home)
    inscribe()
    before = canonical(archive.layout.sessions)
    path.write_bytes(session.data[:700])
    (outcome,) = inscribe()
    assert outcome.what == "shrunk"
    assert canonical(archive.layout.sessions) == before


def test_a_vanished_source_loses_nothing(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    path = conversation(3).write(home)
    inscribe()
    before = tree(archive.layout.sessions)
    path.unlink()
    assert inscribe() == []
    assert tree(archive.layout.sessions) == before
    assert archive.doctor().vanished == (path.stem,)


def test_copies_of_one_session_are_stored_once_and_all_come_back(
    archive: Archive, inscribe: Inscribe, tmp_path: Path
) -> None:
    """A backup folder, a snapshot that is shorter, one that is longer, and one that diverges."""
    session = conversation(2)
    longer = conversation(3)
    other = ClaudeSession(session.id)
    other.exchange("another road", "taken")
    contents = {"a": session.data, "b": session.data, "c": session.data[:500], "d": longer.data, "e": other.data}
    folder = tmp_path / "copies"
    for name, data in contents.items():
        path = folder / name / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    before = tree(folder)
    inscribe(folder)
    (listed,) = archive.sessions()
    assert (listed.rounds, listed.versions) == (3, 1)
    assert inscribe(folder) == []
    for path in folder.rglob("*.jsonl"):
        path.unlink()
    archive.restore(session.id)
    assert tree(folder) == before


def test_a_shorter_copy_has_not_shrunk_because_another_is_longer(
    archive: Archive, inscribe: Inscribe, tmp_path: Path
) -> None:
    """Each path is looked at again by itself, as `append` does: below another folder than it was found in."""
    short, long = conversation(2), conversation(3)
    paths = [tmp_path / "copies" / name / f"{short.id}.jsonl" for name in ("a", "b")]
    for path, data in zip(paths, (short.data, long.data), strict=True):
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    inscribe(tmp_path / "copies")
    kept = tree(archive.layout.root / "data")
    for path in paths:
        assert {outcome.what for outcome in inscribe(path)} <= {"unchanged"}
    assert {n: d for n, d in tree(archive.layout.root / "data").items() if ".db" not in n} == {
        n: d for n, d in kept.items() if ".db" not in n
    }
    paths[0].write_bytes(short.data[:500])
    (outcome,) = inscribe(paths[0])
    assert (outcome.what, outcome.note[:17]) == ("shrunk", "the source shrank")


def test_forks_and_resume_copies_are_told_apart_in_the_listing(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    original = conversation(2)
    fork = ClaudeSession("11111111-2222-4333-8444-555555555555")
    fork.lines = [line.replace(original.id.encode(), fork.id.encode()) for line in original.lines]
    original.write(home)
    fork.write(home)
    inscribe()
    assert [(row.copies, row.rounds) for row in archive.sessions()] == [(1, 2), (1, 2)]


def test_a_rewound_branch_keeps_its_rounds_and_is_known_as_left(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    session = ClaudeSession()
    session.exchange("first", "one")
    fork_point = session.last
    session.exchange("wrong way", "two")
    session.last = fork_point
    session.exchange("right way", "three")
    session.write(home)
    inscribe()
    from muniment.store.index import Index

    with Index(archive.layout) as index:
        assert index.abandoned(session.id) == {2}
    assert archive.sessions()[0].rounds == 3


def test_damage_is_reported_with_its_place_and_comes_back(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(2)
    session.lines.insert(3, b'{"type":"user","mess\0\n')
    session.lines.insert(5, b"\0" * 40 + b"\n")
    path = session.write(home)
    (outcome,) = inscribe()
    places = [(problem.offset, problem.length) for problem in outcome.problems]
    assert places == [(session.data.index(b'{"type":"user","mess'), 21), (session.data.index(b"\0" * 40), 40)]
    path.unlink()
    archive.restore(session.id)
    assert path.read_bytes() == session.data


def test_an_unfinished_last_line_is_not_read_yet_and_not_lost(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(1)
    path = home / "projects" / "-w" / f"{session.id}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(session.data + b'{"type":"user","mes')
    (outcome,) = inscribe()
    assert "unfinished" in outcome.problems[0].what
    path.unlink()
    archive.restore(session.id)
    assert path.read_bytes().endswith(b'{"type":"user","mes')


def test_media_are_files_that_the_document_links(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = ClaudeSession()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    session.chain("user", message={"role": "user", "content": [text("what is this?"), image]})
    session.answer(text("A picture."), tool("t1", "Read", {"file_path": "x.png"}))
    session.result("t1", [image])
    session.write(home)
    inscribe()
    (listed,) = archive.sessions()
    shelf = archive.shelf(listed)
    (name,) = [p.name for p in shelf.media.iterdir()]
    assert (shelf.media / name).read_bytes() == b"\x89PNG\r\n\x1a\n"
    assert shelf.document.read_text().count(f"![image/png]({session.id}/media/{name})") == 2


def test_subagents_and_side_files_belong_to_their_session(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(1)
    path = session.write(home)
    sub = ClaudeSession(session.id, isSidechain=True, agentId="a1")
    sub.exchange("look into it", "found it")
    for name, data in {
        "subagents/agent-a1.jsonl": sub.data,
        "subagents/agent-a1.meta.json": b'{"agentType":"x"}',
        "tool-results/t1.txt": b"long output",
    }.items():
        file = path.with_suffix("") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    history = home / "history.jsonl"
    history.write_text(f'{{"display":"prompt 0","sessionId":"{session.id}"}}\n{{"display":"x","sessionId":"other"}}\n')
    backup = home / "file-history" / session.id / "0123456789abcdef@v1"
    backup.parent.mkdir(parents=True)
    backup.write_bytes(b"before")
    before = tree(home)
    inscribe()
    (listed,) = archive.sessions()
    assert listed.sidechains == 1
    shelf = archive.shelf(listed)
    assert b"found it" in shelf.sidechain("a1").document.read_bytes()
    assert shelf.sidechain("a1").round_file(1).exists()
    for file in [path, backup, *path.with_suffix("").rglob("*.*")]:
        file.unlink()
    history.write_text('{"display":"x","sessionId":"other"}\n')
    archive.restore(session.id)
    after = tree(home)
    assert set(after.pop("history.jsonl").splitlines()) == set(before.pop("history.jsonl").splitlines())
    assert after == before


def test_a_path_is_kept_without_steps_back(
    archive: Archive, inscribe: Inscribe, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = conversation().write(home)
    crooked = path.parent / ".." / "-w" / path.name
    inscribe(crooked)
    assert archive.session("last").path == str(path)
    assert archive.session(str(crooked)) == archive.session("last")
    monkeypatch.chdir(path.parent)
    assert archive.session(f"./../-w/{path.name}") == archive.session("last")


def test_a_link_is_not_followed(archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(conversation().data)
    folder = home / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / "99999999-2222-4333-8444-555555555555.jsonl").symlink_to(secret)
    assert inscribe() == []
    assert archive.sessions() == []


def test_everything_is_private(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    old = os.umask(0)
    try:
        conversation().write(home)
        inscribe()
    finally:
        os.umask(old)
    modes = {p.stat().st_mode & 0o777 for p in archive.layout.root.rglob("*") if p.is_file()}
    folders = {p.stat().st_mode & 0o777 for p in archive.layout.sessions.rglob("*") if p.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_a_decision_that_is_no_text_stops_nobody(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(2)
    session.write(home)
    inscribe()
    archive.set_tags("last", ["release"])
    with archive.layout.edits.open("ab") as file:
        file.write(b'{"at":"2026","kind":"tags","session_id":"\xff","value":"[]"}\n')
        file.write(b'{"at":"2026","kind":"tags","session_id":"x","value":"[\\"\\ud800\\"]"}\n')
    session.user("one more word")
    session.write(home)
    assert [outcome.what for outcome in inscribe()] == ["appended"]
    assert archive.tags("last") == ("release",)


def test_a_tag_lives_in_the_index_and_survives_append_and_reindex(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    session = conversation(2)
    session.write(home)
    inscribe()
    (listed,) = archive.sessions()
    before = archive.shelf(listed).round_file(2).read_bytes()
    archive.tag("last", [2], "console-work")
    session.user("one more word")
    session.write(home)
    inscribe()
    archive.reindex()
    from muniment.store.index import Index

    with Index(archive.layout) as index:
        assert index.rows("SELECT engagement_id FROM rounds ORDER BY round") == [(None,), ("console-work",), (None,)]
    assert "| console-work |" in archive.shelf(listed).listing.read_text()
    assert archive.shelf(listed).round_file(2).read_bytes() == before


def test_a_source_that_flips_between_two_contents_loses_neither(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    one = conversation(2)
    other = ClaudeSession(one.id)
    other.exchange("something else", "entirely")
    for session in (one, other, one, other, one):
        path = session.write(home)
        assert [o.what for o in inscribe()] in (["new"], ["version"])
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000))
    (listed,) = archive.sessions()
    assert listed.rounds == 2
    assert listed.versions >= 2
    path.unlink()
    archive.restore(one.id)
    assert path.read_bytes() == one.data


def test_numbers_that_no_database_can_hold_do_not_keep_a_session_out(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    session = ClaudeSession()
    session.user("count")
    for tokens in (2**63 - 1, 2**64, -(2**70)):
        usage = {"input_tokens": tokens, "output_tokens": 1}
        said = {"model": "claude-x", "id": f"msg_{tokens}", "role": "assistant", "usage": usage}
        session.chain("assistant", message=said | {"content": [{"type": "text", "text": "many"}]})
    session.write(home)
    (outcome,) = inscribe()
    assert outcome.what == "new", outcome.note
    assert archive.sessions()[0].messages == 4
    assert all(checked.lossless for checked in archive.check_stored())
