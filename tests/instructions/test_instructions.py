"""Which instructions were active: by git, by files that nobody changed, by the transcript; else unknown."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.instructions import Instruction, compare
from muniment.instructions.imports import imports
from tests.builder import ClaudeSession, text, tool
from tests.instructions.repositories import Repo
from tests.test_cli import Cli

PROGRAMS = (
    "core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external", "diff.spy.textconv",
    "filter.spy.smudge", "gpg.program", "alias.rev-list", "uploadpack.packObjectsHook",
)  # fmt: skip
"""Settings of a repository that name a program."""

IDS = [f"{n}1111111-1111-4111-8111-111111111111" for n in range(1, 9)]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "proj")


def put(archive: Archive, home: Path, cwd: Path, at: str, number: int = 0, **fields: Any) -> ClaudeSession:
    """A session that began at a time, inscribed."""
    session = ClaudeSession(IDS[number], cwd=str(cwd), **fields)
    session.user("hello")
    session.answer(text("hi"))
    return keep(archive, home, session, at)


def keep(archive: Archive, home: Path, session: ClaudeSession, at: str) -> ClaudeSession:
    session.lines = [line.replace(b"2026-03-19T10:00:", f"{at}:".encode()) for line in session.lines]
    session.write(home, "-proj")
    archive.inscribe()
    return session


def known(archive: Archive, session: ClaudeSession) -> dict[str, Instruction]:
    return {one.path: one for one in archive.instructions(session.id).files}


def by_text(archive: Archive, session: ClaudeSession) -> dict[str, str | None]:
    return {Path(path).name: one.text for path, one in known(archive, session).items()}


# -- by git


def test_the_last_commit_before_the_session_tells(archive: Archive, home: Path, repo: Repo) -> None:
    first = repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "one\n"})
    second = repo.commit("2026-02-01T00:00:00Z", **{"other.txt": "x"})
    repo.commit("2026-04-01T00:00:00Z", **{"CLAUDE.md": "two\n"})
    session = put(archive, home, repo.root, "2026-03-01T10:00")
    told = archive.instructions(session.id)
    (one,) = told.files
    assert (one.path, one.level, one.known, one.text) == (str(repo.root / "CLAUDE.md"), "project", "git", "one\n")
    assert one.sha256 == hashlib.sha256(b"one\n").hexdigest()
    assert (one.commit, told.commit) == (first, second)
    assert "on main before the session" in told.how
    assert any("not committed" in reason for reason in told.unknown)


def test_all_levels_from_the_root_down_and_what_was_touched(archive: Archive, home: Path, repo: Repo) -> None:
    names = ["CLAUDE.md", "web/CLAUDE.md", "web/.claude/CLAUDE.md", ".claude/rules/style.md", "web/deep/CLAUDE.md"]
    names += ["web/untouched/CLAUDE.md", "api/CLAUDE.md"]
    repo.commit("2026-01-01T00:00:00Z", **dict.fromkeys(names, "words"))
    session = ClaudeSession(IDS[0], cwd=str(repo.root / "web"))
    session.user("look")
    session.answer(tool("t1", "Read", {"file_path": str(repo.root / "web/deep/a.py")}))
    keep(archive, home, session, "2026-03-01T10:00")
    found = {str(Path(path).relative_to(repo.root)): one.level for path, one in known(archive, session).items()}
    assert found == {
        "CLAUDE.md": "project",
        ".claude/rules/style.md": "project",
        "web/CLAUDE.md": "project",
        "web/.claude/CLAUDE.md": "project",
        "web/deep/CLAUDE.md": "below",
    }


def test_the_branch_of_the_session_counts(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "trunk\n"})
    repo.git("checkout", "--quiet", "-b", "side")
    repo.commit("2026-01-02T00:00:00Z", **{"CLAUDE.md": "side\n"})
    repo.git("checkout", "--quiet", "main")
    session = put(archive, home, repo.root, "2026-03-01T10:00", gitBranch="side")
    assert by_text(archive, session) == {"CLAUDE.md": "side\n"}
    gone = put(archive, home, repo.root, "2026-03-02T10:00", 1, gitBranch="deleted")
    assert by_text(archive, gone) == {"CLAUDE.md": "trunk\n"}
    assert "deleted is gone" in archive.instructions(gone.id).how


def test_a_link_inside_of_the_repository_is_followed(archive: Archive, home: Path, repo: Repo) -> None:
    (repo.root / "CLAUDE.md").symlink_to("docs/AGENTS.md")
    repo.commit("2026-01-01T00:00:00Z", **{"docs/AGENTS.md": "shared\n"})
    session = put(archive, home, repo.root, "2026-03-01T10:00")
    assert by_text(archive, session) == {"CLAUDE.md": "shared\n"}


def test_no_commit_before_the_session(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-06-01T00:00:00Z", **{"CLAUDE.md": "late\n"})
    session = put(archive, home, repo.root, "2026-03-01T10:00")
    told = archive.instructions(session.id)
    assert told.commit is None
    assert [one.known for one in told.files] == ["unknown"]
    assert any("no commit from before" in reason for reason in told.unknown)


def test_a_file_that_git_never_knew_is_unknown_once_it_has_changed(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "one\n", ".gitignore": "*.local.md\n"})
    (repo.root / "CLAUDE.local.md").write_text("mine\n")
    session = put(archive, home, repo.root, "2026-03-01T10:00")
    found = known(archive, session)
    assert {Path(path).name: one.known for path, one in found.items()} == {
        "CLAUDE.md": "git",
        "CLAUDE.local.md": "unknown",
    }


def test_a_repository_that_is_gone_is_unknown(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "one\n"})
    session = put(archive, home, repo.root, "2026-03-01T10:00")
    shutil.rmtree(repo.root)
    told = archive.instructions(session.id)
    assert told.files == ()
    assert any("is gone" in reason for reason in told.unknown)


def test_a_folder_without_git(archive: Archive, home: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "CLAUDE.md").write_text("now\n")
    session = put(archive, home, tmp_path / "plain", "2026-03-01T10:00")
    (one,) = archive.instructions(session.id).files
    assert (one.known, one.text) == ("unknown", None)
    assert "changed since" in one.why


# -- by files that nobody changed


def test_a_file_that_is_older_than_the_session_speaks_for_itself(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "committed\n"})
    (repo.root / "CLAUDE.md").write_text("edited, never committed\n")
    (home / "CLAUDE.md").write_text("mine\n")
    session = put(archive, home, repo.root, "2199-03-01T10:00")
    found = known(archive, session)
    assert {(Path(path).name, one.level, one.known, one.text) for path, one in found.items()} == {
        ("CLAUDE.md", "project", "disk", "edited, never committed\n"),
        ("CLAUDE.md", "home", "disk", "mine\n"),
    }


def test_a_link_that_leads_out_of_the_project_is_not_read(archive: Archive, home: Path, repo: Repo) -> None:
    (repo.root.parent / "secret.txt").write_text("private\n")
    (repo.root / "CLAUDE.md").symlink_to(repo.root.parent / "secret.txt")
    repo.commit("2026-01-01T00:00:00Z", **{"a.txt": "x"})
    session = put(archive, home, repo.root, "2199-03-01T10:00")
    assert "private\n" not in by_text(archive, session).values()


# -- imports


def test_imports_are_followed_a_few_steps_and_never_in_circles(archive: Archive, home: Path, repo: Repo) -> None:
    chain = {f"docs/{n}.md": f"see @{n + 1}.md and @../CLAUDE.md" for n in range(8)}
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "read @docs/0.md\n@/etc/passwd", **chain})
    session = put(archive, home, repo.root, "2026-03-01T10:00")
    found = known(archive, session)
    assert [Path(path).name for path, one in found.items() if one.known == "git"] == [
        "CLAUDE.md", "0.md", "1.md", "2.md", "3.md", "4.md",
    ]  # fmt: skip
    unread = {Path(path).name: one.why for path, one in found.items() if one.known == "unknown"}
    assert "imports deep" in unread["5.md"]
    assert "outside" in unread["passwd"]
    assert found[str(repo.root / "docs/0.md")].imported_by == str(repo.root / "CLAUDE.md")


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        ("see @docs/a.md, and (@b.md).", ["docs/a.md", "b.md"]),
        ("@~/mine.md twice @~/mine.md", ["~/mine.md"]),
        ("`@code.md` and ``@more.md``", []),
        ("```\n@fenced.md\n```\n@real.md", ["real.md"]),
        ("~~~\n@open.md", []),
        ("<!-- @hidden.md -->", []),
        ("ask @ada or mail me@example.org", []),
        ("@AGENTS.md", ["AGENTS.md"]),
    ],
)
def test_what_counts_as_an_import(words: str, paths: list[str]) -> None:
    assert imports(words) == paths


# -- by the transcript


def test_what_the_model_got_is_in_the_transcript(archive: Archive, home: Path) -> None:
    session = ClaudeSession(IDS[0], cwd="/proj/gone")
    session.user("hello")
    inner = {"path": "/proj/gone/.claude/rules/go.md", "content": "be brief\n"}
    session.chain("attachment", attachment={"type": "nested_memory", "path": inner["path"], "content": inner})
    session.write(home, "-proj-gone")
    archive.inscribe()
    told = archive.instructions(session.id)
    (one,) = told.files
    assert (one.known, one.text, one.round) == ("recorded", "be brief\n", 1)
    assert any("is gone" in reason for reason in told.unknown)


def rollout(folder: Path, repo: Repo, commit: str) -> None:
    """A small session of Codex that names a commit and its instructions."""
    id_ = "01a00000-0000-7000-8000-000000000001"
    said = f"# AGENTS.md instructions for {repo.root}\n\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>"
    meta = {"id": id_, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": str(repo.root), "originator": "codex_cli_rs"}
    meta |= {"cli_version": "0.120.0", "git": {"commit_hash": commit, "branch": "main"}}
    lines = [("session_meta", meta)]
    for words in (said, "hello"):
        content = [{"type": "input_text", "text": words}]
        lines.append(("response_item", {"type": "message", "role": "user", "content": content}))
    lines.append(("event_msg", {"type": "user_message", "message": "hello"}))
    text_ = "".join(
        json.dumps({"timestamp": "2026-03-01T10:00:01.000Z", "type": kind, "payload": payload}) + "\n"
        for kind, payload in lines
    )
    place = folder / ".codex/sessions/2026/03/01"
    place.mkdir(parents=True)
    (place / f"rollout-2026-03-01T10-00-00-{id_}.jsonl").write_text(text_)


def test_a_commit_that_the_transcript_names_is_the_one(archive: Archive, home: Path, repo: Repo) -> None:
    first = repo.commit("2026-01-01T00:00:00Z", **{"AGENTS.md": "old\n", "CLAUDE.md": "not for this agent\n"})
    repo.commit("2026-02-01T00:00:00Z", **{"AGENTS.md": "new\n"})
    rollout(home.parent, repo, first)
    archive.inscribe()
    told = archive.instructions("01a00000")
    assert (told.commit, told.how) == (first, "the transcript names the commit")
    assert {(one.known, one.text) for one in told.files} == {("recorded", "be kind"), ("git", "old\n")}


def test_of_two_names_only_the_first_counts_for_an_agent_that_says_so(archive: Archive, home: Path, repo: Repo) -> None:
    commit = repo.commit("2026-01-01T00:00:00Z", **{"AGENTS.md": "usual\n", "AGENTS.override.md": "instead\n"})
    rollout(home.parent, repo, commit)
    archive.inscribe()
    files = archive.instructions("01a00000").files
    assert [one.text for one in files if one.known == "git"] == ["instead\n"]


# -- beside the session before


def test_what_changed_since_the_session_before(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "one\ntwo\n", ".claude/rules/a.md": "same\n"})
    before = put(archive, home, repo.root, "2026-01-15T10:00")
    repo.commit("2026-02-01T00:00:00Z", **{"CLAUDE.md": "one\nthree\n", ".claude/rules/b.md": "new\n"})
    session = put(archive, home, repo.root, "2026-03-01T10:00", 1)
    told = archive.instructions(session.id)
    assert told.previous == before.id
    assert {Path(one.path).name: one.what for one in told.changes} == {
        "CLAUDE.md": "changed",
        "a.md": "same",
        "b.md": "new",
    }
    diff = next(one.diff for one in told.changes if one.what == "changed")
    assert "-two" in diff
    assert "+three" in diff


def test_what_is_unknown_on_one_side_is_not_compared() -> None:
    then = [Instruction("/a", "project", "unknown", why="?")]
    now = [Instruction("/a", "project", "git", "00", 1, text="x"), Instruction("/r", "recorded", "recorded", text="y")]
    assert [(one.path, one.what, one.diff) for one in compare(then, now)] == [
        ("/a", "unknown", ""),
        ("/r", "unknown", ""),
    ]


# -- a repository is somebody else's


def test_nothing_of_the_repository_is_run_and_nothing_is_written(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "one\n", ".gitattributes": "* diff=spy filter=spy\n"})
    session = put(archive, home, repo.root, "2026-03-01T10:00")
    trace = repo.root.parent / "was-run"
    spy = repo.root.parent / "spy.sh"
    spy.write_text(f"#!/bin/sh\necho $0 $* >> {trace}\n")
    spy.chmod(0o700)
    for name in PROGRAMS:
        repo.git("config", name, str(spy))
    repo.git("config", "log.showSignature", "true")
    for hook in ("post-checkout", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(spy, repo.root / ".git/hooks" / hook)
    trace.unlink(missing_ok=True)
    before = repo.state()
    assert by_text(archive, session)["CLAUDE.md"] == "one\n"
    assert not trace.exists()
    assert repo.state() == before


def test_names_that_look_like_options_are_names(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "one\n"})
    session = put(archive, home, repo.root, "2026-03-01T10:00", gitBranch="--output=/tmp/x")
    assert by_text(archive, session) == {"CLAUDE.md": "one\n"}


def test_without_git_only_files_are_known(archive: Archive, home: Path, repo: Repo) -> None:
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "one\n"})
    session = put(archive, home, repo.root, "2026-03-01T10:00")
    archive.env = {**archive.env, "PATH": "/nowhere"}
    told = archive.instructions(session.id)
    assert [one.known for one in told.files] == ["unknown"]


# -- the command


def test_the_command(tmp_path: Path, repo: Repo) -> None:
    cli = Cli(tmp_path)
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": "one\n"})
    archive = Archive(cli.home / ".local/share/muniment", {"HOME": str(cli.home)})
    put(archive, cli.home / ".claude", repo.root, "2026-01-15T10:00")
    repo.commit("2026-02-01T00:00:00Z", **{"CLAUDE.md": "two\n"})
    session = put(archive, cli.home / ".claude", repo.root, "2026-03-01T10:00", 1)
    told = cli("instructions", session.id, "--diff").stdout
    assert "git" in told
    assert "changed" in told
    assert "+two" in told
    assert "unknown: whether files had changes that were not committed" in told
    made = json.loads(cli("instructions", session.id, "--json").stdout)
    assert made["files"][0]["text"] is None
    assert made["changes"][0]["what"] == "changed"
    assert made["changes"][0]["diff"] == ""


def test_a_difference_shows_no_secret_and_that_one_changed(tmp_path: Path, repo: Repo) -> None:
    cli = Cli(tmp_path)
    archive = Archive(cli.home / ".local/share/muniment", {"HOME": str(cli.home)})
    old = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    new = "ghp_" + "Z9y8X7w6V5u4T3s2R1q0" + "P9o8N7m6L5k4J3i2"
    repo.commit("2026-01-01T00:00:00Z", **{"CLAUDE.md": f"Use {old}.\n"})
    put(archive, cli.home / ".claude", repo.root, "2026-01-15T10:00")
    repo.commit("2026-02-01T00:00:00Z", **{"CLAUDE.md": f"Use {new}.\nStill {new}.\n"})
    session = put(archive, cli.home / ".claude", repo.root, "2026-03-01T10:00", 1)
    shown = cli("instructions", session.id, "--diff").stdout
    assert re.search(r"-Use \[redacted:[a-z-]+:00000001\]\.", shown)
    assert re.search(r"\+Use (\[redacted:[a-z-]+:00000002\])\.\n\+Still \1\.", shown)
    for told in (shown, cli("instructions", session.id, "--diff", "--json").stdout):
        assert old not in told
        assert new not in told
