"""Rewinds: edits go back, what others wrote is not destroyed, every rewind can be undone, and a kill does no harm."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muniment.errors import Ambiguous, Conflict, NotFound, NotRecorded, StoreError
from muniment.record import Recorder, paths
from muniment.record.checkpoints import OBJECTS, Checkpoints
from muniment.record.rewind import rewind, undo
from muniment.record.rewind_session import Request, rewind_files

from .project import SESSION, Project, left_over, needs_permissions, scenario, whole

POINTS = int(os.environ.get("MUNIMENT_POINTS", "30"))
"""File-system calls at which each kind of run is killed; 0 for every one of them."""
CALLS = ("open", "write", "fsync", "rename", "replace", "unlink", "link", "symlink", "mkdir", "fchmod")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    made.kept.close()


def test_everything_goes_back_to_before_the_session(project: Project) -> None:
    project.write("a.txt", "one")
    project.write("gone.txt", "was here")
    project.edit("a.txt", "two")
    project.edit("new/b.txt", "new")
    project.edit("gone.txt", None)
    project.edit("a.txt", "three")
    report = rewind(project.kept)
    assert project.tree() == {"a.txt": "one", "gone.txt": "was here"}
    assert project.names(report.restored) == {"a.txt", "gone.txt"}
    assert project.names(report.deleted) == {"new/b.txt"}
    again = rewind(project.kept)
    assert (again.rewind, again.restored, again.deleted) == (None, (), ())
    assert project.names(again.unchanged) == {"a.txt", "gone.txt", "new/b.txt"}


def test_back_to_an_entry(project: Project) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", "two")
    project.edit("b.txt", "b")
    project.edit("a.txt", "three")
    rewind(project.kept, "e2")
    assert project.tree() == {"a.txt": "two"}
    rewind(project.kept, "e1")
    assert project.tree() == {"a.txt": "one"}
    rewind(project.kept, "e2")
    assert project.tree() == {"a.txt": "two"}, "forward again: the file as it was before e2"


def test_an_entry_that_is_no_edit_stands_for_the_next_one_that_is(project: Project) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", "two")
    project.edit("a.txt", "three")
    order = ["u1", "e1", "u2", "tool", "e2", "u3"]
    assert rewind(project.kept, "u3", order=order).restored == ()
    rewind(project.kept, "u2", order=order)
    assert project.tree() == {"a.txt": "two"}
    with pytest.raises(NotFound, match="no entry u9"):
        rewind(project.kept, "u9", order=order)


def test_edits_of_others_are_not_destroyed(project: Project) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", "two")
    project.edit("b.txt", "b")
    project.edit("c.txt", "c")
    project.write("b.txt", "by hand")
    os.chmod(project.root / "c.txt", 0o755)
    before = project.tree()
    with pytest.raises(Conflict) as refused:
        rewind(project.kept)
    assert refused.value.exit_code == 6
    assert "b.txt: changed by others since" in refused.value.message
    assert "c.txt" in refused.value.message
    assert "a.txt" not in refused.value.message
    assert project.tree() == before
    report = rewind(project.kept, force=True)
    assert len(report.conflicts) == 2
    assert project.tree() == {"a.txt": "one"}
    undo(project.kept)
    assert project.tree() == before
    assert stat.S_IMODE((project.root / "c.txt").stat().st_mode) == 0o755


def test_an_edit_of_others_between_two_of_the_session(project: Project) -> None:
    project.edit("a.txt", "one")
    project.write("a.txt", "one, and by hand")
    project.edit("a.txt", "one, and by hand, two")
    with pytest.raises(Conflict, match="between the session's edits"):
        rewind(project.kept)
    rewind(project.kept, "e2")
    assert project.tree() == {"a.txt": "one, and by hand"}


def test_an_edit_that_nobody_settled(project: Project) -> None:
    """Whose the content is cannot be told; if the edit never happened, there is nothing to tell."""
    project.write("a.txt", "one")
    project.edit("a.txt", "one", settle=False)
    project.edit("b.txt", "b", settle=False)
    with pytest.raises(Conflict, match=r"b\.txt: may hold edits by others"):
        rewind(project.kept)
    rewind(project.kept, force=True)
    assert project.tree() == {"a.txt": "one"}


def test_undo_goes_back_one_rewind_at_a_time(project: Project) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", "two")
    project.edit("a.txt", "three")
    rewind(project.kept, "e2")
    last = rewind(project.kept, "e1")
    undo(project.kept)
    assert project.tree() == {"a.txt": "two"}
    undone = undo(project.kept)
    assert project.tree() == {"a.txt": "three"}
    with pytest.raises(NotFound, match="no rewind to undo"):
        undo(project.kept)
    rewind(project.kept, undone.rewind)
    assert project.tree() == {"a.txt": "two"}, "an undo is a rewind, too, and can be named"
    rewind(project.kept, last.rewind)
    assert project.tree() == {"a.txt": "two"}


def test_undo_does_not_destroy_what_came_after_the_rewind(project: Project) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", "two")
    rewind(project.kept)
    project.edit("a.txt", "another way")
    with pytest.raises(Conflict, match="changed since the rewind"):
        undo(project.kept)
    undo(project.kept, force=True)
    assert project.tree() == {"a.txt": "two"}


def test_a_dry_run_changes_nothing(project: Project) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", "two")
    project.edit("b.txt", "b")
    project.write("b.txt", "by hand")
    before = {p: p.read_bytes() for p in project.folder.parents[2].rglob("*") if p.is_file()}
    report = rewind(project.kept, dry_run=True)
    assert project.names(report.restored) == {"a.txt"}
    assert project.names(report.deleted) == {"b.txt"}
    assert len(report.conflicts) == 1
    assert {p: p.read_bytes() for p in project.folder.parents[2].rglob("*") if p.is_file()} == before


def test_paths_outside_are_rewound_and_listed(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "notes.txt"
    outside.write_text("one")
    project.kept.before_edit(outside, "e1")
    outside.write_text("two")
    project.edit("a.txt", "a")
    report = rewind(project.kept)
    assert outside.read_text() == "one"
    assert report.outside == (str(outside.resolve()),)


def test_a_folder_that_became_a_link_leads_nowhere(project: Project, tmp_path: Path) -> None:
    project.write("src/a.txt", "one")
    project.edit("src/a.txt", "two")
    project.edit("b.txt", "b")
    elsewhere = tmp_path / "elsewhere"
    (project.root / "src").rename(elsewhere)
    (project.root / "src").symlink_to(elsewhere)
    with pytest.raises(Conflict, match="src is no folder any more"):
        rewind(project.kept)
    report = rewind(project.kept, force=True)
    assert len(report.skipped) == 1
    assert (elsewhere / "a.txt").read_text() == "two"
    assert not (project.root / "b.txt").exists()


def test_a_link_put_in_the_place_of_a_file_is_replaced_and_not_followed(project: Project, tmp_path: Path) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", "two")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (project.root / "a.txt").unlink()
    (project.root / "a.txt").symlink_to(victim)
    rewind(project.kept, force=True)
    assert victim.read_text() == "precious"
    assert not (project.root / "a.txt").is_symlink()
    undo(project.kept)
    assert os.readlink(project.root / "a.txt") == str(victim)


def test_a_folder_in_the_place_of_a_file_is_left_alone(project: Project) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", None)
    (project.root / "a.txt").mkdir()
    with pytest.raises(Conflict, match="is a folder"):
        rewind(project.kept)
    assert rewind(project.kept, force=True).skipped
    assert (project.root / "a.txt").is_dir()


def test_modes_come_back(project: Project) -> None:
    path = project.write("run.sh", "one")
    os.chmod(path, 0o751)
    project.kept.before_edit(path, "e1")
    path.unlink()
    path.write_text("two")
    project.kept.settle()
    rewind(project.kept)
    assert stat.S_IMODE(path.stat().st_mode) == 0o751


def test_a_damaged_copy_stops_the_rewind_before_anything_changes(project: Project) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        project.write(name, f"{name} one")
        project.edit(name, f"{name} two")
    before = project.tree()
    (project.folder / OBJECTS / hashlib.sha256(b"c.txt one").hexdigest()).write_bytes(b"rotten")
    with pytest.raises(StoreError, match="damaged"):
        rewind(project.kept)
    assert project.tree() == before


@needs_permissions
def test_a_folder_without_permission_stops_the_rewind_before_anything_changes(project: Project) -> None:
    project.write("a.txt", "one")
    project.write("shut/b.txt", "one")
    project.edit("a.txt", "two")
    project.edit("shut/b.txt", "two")
    before = project.tree()
    os.chmod(project.root / "shut", 0o555)
    try:
        with pytest.raises(PermissionError):
            rewind(project.kept)
        assert project.tree() == before
    finally:
        os.chmod(project.root / "shut", 0o755)
    rewind(project.kept)
    assert project.tree() == {"a.txt": "one", "shut/b.txt": "one"}


def test_a_change_in_the_middle_of_a_rewind_is_left_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("a.txt", "one")
    project.write("b.txt", "one")
    project.edit("a.txt", "two")
    project.edit("b.txt", "two")
    real = paths.put

    def put(path: Path, temporary: str) -> None:
        real(path, temporary)
        project.write("b.txt", "by hand, just now")

    monkeypatch.setattr(paths, "put", put)
    with pytest.raises(Conflict, match="at this moment"):
        rewind(project.kept)
    assert project.tree() == {"a.txt": "one", "b.txt": "by hand, just now"}
    monkeypatch.undo()
    with pytest.raises(Conflict, match=r"b\.txt"):
        rewind(project.kept)
    undo(project.kept, force=True)
    assert project.tree() == {"a.txt": "two", "b.txt": "two"}


def test_another_process_is_waited_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.edit("a.txt", "one")
    monkeypatch.setattr("muniment.record.disk.LOCK_SECONDS", 0.05)
    with Checkpoints(project.folder) as other, other.alone(), pytest.raises(NotRecorded, match="locked by process"):
        rewind(project.kept)


def test_what_another_process_logged_is_known(project: Project) -> None:
    with Checkpoints(project.folder, cwd=project.root) as reader:
        project.edit("a.txt", "one")
        rewind(reader)
        assert project.tree() == {}
    project.edit("a.txt", "two")
    rewind(project.kept)
    assert project.tree() == {}


# -- a kill at any moment


def killed_at(number: int, half: bool, act: Callable[[], object]) -> int:
    """Do something in a child that dies at its n-th file-system call; gives how many there were if it did not."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            counted = _arm(number, half)
            act()
            os.write(writing, b"%d" % counted[0])
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as said:
        answer = said.read()
    assert answer or os.waitstatus_to_exitcode(status) == 9, "it was killed, or it came to its end"
    return int(answer or 0)


def _arm(number: int, half: bool) -> list[int]:
    counted = [0]
    for name in CALLS:
        setattr(os, name, _dying(getattr(os, name), number, half and name == "write", counted))
    return counted


def _dying(real: Callable[..., object], number: int, half: bool, counted: list[int]) -> Callable[..., object]:
    exit_ = os._exit

    def call(*args: object, **kwargs: object) -> object:
        counted[0] += 1
        if counted[0] == number:
            if half:
                real(args[0], bytes(args[1])[: len(args[1]) // 2])  # type: ignore[arg-type]
            exit_(9)
        return real(*args, **kwargs)

    return call


def some(total: int) -> list[int]:
    """Calls spread over a run, its first and last among them."""
    count = min(POINTS or total, total)
    return sorted({1 + i * (total - 1) // max(1, count - 1) for i in range(count)})


def do(project: Project, act: Callable[[Checkpoints], object]) -> Callable[[], object]:
    def run() -> object:
        with Checkpoints(project.folder) as kept:
            return act(kept)

    return run


@pytest.mark.parametrize("half", [False, True])
def test_a_rewind_killed_at_any_call_is_finished_by_the_next(tmp_path: Path, half: bool) -> None:
    def fresh(number: int) -> Project:
        return scenario(tmp_path / f"{number}")

    project = fresh(0)
    after = whole(project)
    total = killed_at(0, half, do(project, rewind))
    before = whole(project)
    assert total > 60
    assert not any(after[name] == before[name] for name in after)
    for number in some(total):
        project = fresh(number)
        killed_at(number, half, do(project, rewind))
        for name, state in whole(project).items():
            assert state in (before[name], after[name]), f"{name} is torn, killed at {number}"
        do(project, rewind)()
        assert (whole(project), left_over(project)) == (before, []), f"not finished, killed at {number}"
        do(project, undo)()
        assert (whole(project), left_over(project)) == (after, []), f"not undone, killed at {number}"


def test_an_undo_killed_at_any_call_is_finished_by_the_next(tmp_path: Path) -> None:
    project = scenario(tmp_path / "0")
    after = whole(project)
    do(project, rewind)()
    before = whole(project)
    total = killed_at(0, False, do(project, undo))
    assert whole(project) == after
    for number in some(total):
        project = scenario(tmp_path / f"{number}")
        do(project, rewind)()
        killed_at(number, False, do(project, undo))
        for name, state in whole(project).items():
            assert state in (before[name], after[name]), f"{name} is torn, killed at {number}"
        with contextlib.suppress(NotFound):  # it was done, only its end was not heard of
            do(project, undo)()
        assert (whole(project), left_over(project)) == (after, []), f"not undone, killed at {number}"


def test_a_killed_rewind_can_be_undone_at_once(tmp_path: Path) -> None:
    project = scenario(tmp_path / "0")
    after = whole(project)
    total = killed_at(0, False, do(project, rewind))
    for number in some(total):
        project = scenario(tmp_path / f"{number}")
        killed_at(number, False, do(project, rewind))
        with contextlib.suppress(NotFound):  # killed before it was begun
            do(project, undo)()
        assert (whole(project), left_over(project)) == (after, []), f"not undone, killed at {number}"


@pytest.mark.parametrize("half", [False, True])
def test_a_checkpoint_killed_at_any_call_does_no_harm(tmp_path: Path, half: bool) -> None:
    def announce(project: Project) -> Callable[[], object]:
        return do(project, lambda kept: kept.before_edit(project.root / "a.txt", "e9"))

    def fresh(number: int) -> Project:
        project = Project(tmp_path / f"{number}")
        project.write("a.txt", "one")
        project.write("b.txt", "b")
        project.edit("b.txt", "bb")
        project.kept.close()
        return project

    total = killed_at(0, half, announce(fresh(0)))
    assert total > 10
    for number in some(total):
        project = fresh(number)
        killed_at(number, half, announce(project))
        assert project.tree() == {"a.txt": "one", "b.txt": "bb"}
        announce(project)()
        project.write("a.txt", "two")
        do(project, Checkpoints.settle)()
        do(project, rewind)()
        assert project.tree() == {"a.txt": "one", "b.txt": "b"}, f"killed at {number}"


# -- the command


class Command:
    """The installed program with a recorder's home of its own."""

    def __init__(self, home: Path) -> None:
        self.env = {"MUNIMENT_RECORDER": str(home), "HOME": str(home.parent), "PATH": os.environ["PATH"]}

    def __call__(self, *args: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        program = [str(Path(sys.executable).with_name("muniment")), "rewind-files", *map(str, args)]
        done = subprocess.run(program, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done


def test_the_command_shows_does_refuses_and_undoes(tmp_path: Path) -> None:
    project = scenario(tmp_path)
    command = Command(project.home)
    after = whole(project)
    assert "5 files would change" in command(SESSION[:6], "--dry-run").stderr
    assert whole(project) == after
    project.write("a.txt", "by hand")
    refused = command(SESSION, code=6)
    assert "a.txt: changed by others since" in refused.stderr
    assert "--force" in refused.stderr
    assert refused.stdout == ""
    report = json.loads(command("last", "--force", "--json").stdout)
    assert (len(report["restored"]), len(report["deleted"]), len(report["conflicts"])) == (4, 1, 1)
    assert "0 files changed" in command("last").stderr
    assert "restored   " in command("last", "--undo").stdout
    assert project.tree()["a.txt"] == "by hand"
    assert "no rewind to undo" in command("last", "--undo", code=3).stderr


def test_the_command_names_what_is_not_there(tmp_path: Path) -> None:
    project = scenario(tmp_path)
    command = Command(project.home)
    assert "no checkpoints of session" in command("ffff", code=3).stderr
    assert "no such file" in command(tmp_path / "nothing.jsonl", code=3).stderr
    assert "no entry zz" in command("last", "--to", "zz", code=3).stderr
    assert "--to or --undo" in command("last", "--to", "e1", "--undo", code=2).stderr
    with Checkpoints(project.home / "checkpoints" / f"{SESSION[:-1]}7") as other:
        other.before_edit(project.root / "a.txt", "e1")
    assert "could be 2 sessions" in command(SESSION[:6], code=4).stderr


def test_an_entry_is_named_by_a_unique_beginning(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for id_ in ("abc1", "abd2"):
        project.kept.before_edit(project.root / "a.txt", id_)
        project.write("a.txt", id_)
        project.kept.settle()
    project.kept.close()
    with pytest.raises(Ambiguous):
        rewind_files(project.home, Request("last", to="ab"))
    rewind_files(project.home, Request("last", to="abd"))
    assert project.tree() == {"a.txt": "abc1"}


def test_a_transcript_tells_the_order_and_the_commands(tmp_path: Path) -> None:
    root, home = tmp_path / "proj", tmp_path / "recorder"
    root.mkdir()
    (root / "a.txt").write_text("one")
    with Recorder.start(root, home=home) as rec:
        rec.tool_result(rec.tool_call("bash", {"command": "touch early"}), "")
        prompt = rec.user("Change it")
        call = rec.tool_call("edit", {"path": "a.txt"})
        rec.before_edit(root / "a.txt")
        (root / "a.txt").write_text("two")
        rec.tool_result(call, "done")
        rec.tool_result(rec.tool_call("bash", {"command": "touch  late"}), "")
    report = rewind_files(home, Request(str(rec.path), to=prompt.uuid[:12]))
    assert (root / "a.txt").read_text() == "one"
    assert report.shell_calls == ("bash: touch late",)
    assert rec.outputs.checkpoint_hash != hashlib.sha256().hexdigest()
