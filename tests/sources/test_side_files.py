"""Files that agents keep beside their sessions: they may hold lines of a transcript, and are none.

A folder that is given and the home of an agent must give the same sessions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.builder import conversation

from muniment import demo, sources
from muniment.archive import Archive
from muniment.errors import UnknownFormat
from muniment.inscribe import Outcome
from muniment.sources.base import Found, found_session, source_file

HOMES = {
    "claude-code": ".claude",
    "codex": ".codex",
    "copilot": ".copilot",
    "cursor": ".cursor",
    "gemini": ".gemini",
    "opencode": ".local/share/opencode",
    "pi": ".pi/agent",
    "qwen": ".qwen",
}
OTHER = "0a1b2c3d-0000-4000-8000-00000000000b"
LINES = conversation(2, OTHER).data
COPILOT = ".copilot/session-state/d2435e0b-68f7-592e-a0d6-59e1f3b92c02"
SIDE_FILES = [
    ".claude/paste-cache/0123456789abcdef.txt",
    ".claude/debug/log.txt",
    f".claude/debug/{OTHER}.jsonl",
    ".claude/backups/q.jsonl",
    ".claude/shell-snapshots/snapshot-bash-1.sh",
    ".claude/plugins/cache/x/fixture.jsonl",
    ".claude/projects/-home-ada-almanac/memory/notes.jsonl",
    ".codex/shell_snapshots/x.sh",
    ".codex/log/codex-tui.log",
    f"{COPILOT}/files/paste.jsonl",
    f"{COPILOT}/files/events.jsonl",
    f"{COPILOT}/rewind-snapshots/backups/a-1",
    f"{COPILOT}/events.jsonl.backup-before-recovery-00ff",
    ".copilot/logs/process.log",
    ".cursor/projects/home-ada-lighthouse/agent-tools/x.txt",
    ".cursor/projects/empty/agent-tools/x.txt",
    ".cursor/projects/home-ada-lighthouse/terminals/1.txt",
    ".gemini/tmp/lighthouse/tool-outputs/session-1/run_1.txt",
    ".gemini/tmp/lighthouse/tool-outputs/session-1/chats/session-1.jsonl",
    ".gemini/tmp/other/tool-outputs/run_1.jsonl",
    ".local/share/opencode/tool-output/tool_abc",
    ".local/share/opencode/log/2026.log",
    ".pi/agent/sessions/--home-ada--/artifacts/o.jsonl",
    ".pi/agent/pi-debug.log",
    ".qwen/tmp/0f/shell.txt",
]


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A user of every agent."""
    for source, home in HOMES.items():
        shutil.copytree(demo.SAMPLES / source, tmp_path / "user" / home)
    (tmp_path / "user/.local/share/opencode/storage/session").mkdir(parents=True)
    return tmp_path / "user"


def put(path: Path, data: bytes = LINES) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def named(found: list[Found]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    return sorted((one.source, one.session_id, [(file.role, file.path) for file in one.files]) for one in found)


def at_home(user: Path) -> list[Found]:
    return [one for one in sources.find_everywhere({"HOME": str(user)}) if one.source in HOMES]


@pytest.mark.parametrize("name", SIDE_FILES)
def test_a_file_beside_sessions_is_none_whatever_is_in_it(user: Path, name: str) -> None:
    put(user / name)
    env = {"HOME": str(user)}
    assert OTHER not in {one.session_id for one in at_home(user)}
    assert named(list(sources.find_in(user, env))) == named(at_home(user))
    assert OTHER not in {one.session_id for one in sources.find_in((user / name).parent, env)}
    with pytest.raises(UnknownFormat):
        list(sources.find_in(user / name, env))


def test_every_home_gives_the_same_wherever_one_points(user: Path) -> None:
    for name in SIDE_FILES:
        put(user / name)
    everywhere = named(at_home(user))
    assert {source for source, _, _ in everywhere} == HOMES.keys()
    assert named(list(sources.find_in(user, {"HOME": str(user)}))) == everywhere
    for source, home in HOMES.items():
        found = named(list(sources.find_in(user / home, {"HOME": str(user)})))
        assert found == [one for one in everywhere if one[0] == source], source


RENAMED = [
    ("old/claude/projects/-w", "old/claude/paste-cache/p.txt"),
    ("old/codex/sessions", "old/codex/shell_snapshots/x.sh"),
    ("old/gemini/tmp/p/chats", "old/gemini/tmp/p/tool-outputs/run.txt"),
    ("old/opencode-data/storage", "old/opencode-data/tool-output/tool_abc"),
    ("old/cursor/projects/p/agent-transcripts", "old/cursor/projects/p/agent-tools/x.txt"),
]


@pytest.mark.parametrize(("shown_by", "name"), RENAMED)
def test_folders_of_outputs_are_known_in_a_home_of_another_name(tmp_path: Path, shown_by: str, name: str) -> None:
    (tmp_path / shown_by).mkdir(parents=True)
    put(tmp_path / name)
    assert list(sources.find_in(tmp_path, {"HOME": "/nowhere"})) == []


KEPT = [
    f"notes/{OTHER}.txt",
    "project/.claude/transcripts/talk.jsonl",
    f".claude/projects.old/-w/{OTHER}.jsonl",
    f".claude/worktrees/x/docs/{OTHER}.txt",
    ".codex/worktrees/ab/shop/talks/talk.jsonl",
    ".claude/shop/.talks/talk.jsonl",
    "opencode/tests/fixture.jsonl",
    "paste-cache/talk.jsonl",
    "tool-output/talk.jsonl",
]


@pytest.mark.parametrize("name", KEPT)
def test_transcripts_that_somebody_put_away_are_found(user: Path, name: str) -> None:
    """Copies with the name of a transcript, and what lies in projects or in folders of other programs."""
    put(user / name)
    assert OTHER in {one.session_id for one in sources.find_in(user, {"HOME": str(user)})}


@pytest.mark.parametrize("name", [name for name in SIDE_FILES if COPILOT not in name][::3])
def test_doctor_tells_of_sessions_that_an_earlier_release_read_from_them(
    user: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(user)})
    outcomes: list[Outcome] = []
    archive.inscribe([], outcomes.append)
    assert archive.doctor().misread == ()
    put(user / name)
    with monkeypatch.context() as earlier:
        earlier.setattr(type(sources.named("claude-code")), "gather", _gather_all)
        earlier.setattr(sources, "_beside", lambda _: None)
        archive.inscribe([user / name], outcomes.append)
    assert OTHER in archive.doctor().misread


def _gather_all(self: object, paths: list[Path], root: Path, homes: list[Path]) -> list[Found]:
    """As a release did that took every file with lines of a transcript for one."""
    return [
        found_session("claude-code", OTHER, root, False, [main])
        for path in paths
        if (main := source_file(path, root, "main"))
    ]
