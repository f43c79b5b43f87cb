"""Claude Code's sessions go into the archive, vanish from the disk, come back, and the real client resumes them."""

import re
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .archive import Archive
from .cases import CASES
from .claude import Claude
from .client import wait_until
from .conftest import Recorded
from .history import conversation, difference, placeless, readable, renamed
from .terminal import TITLE, Terminal, picker_screen
from .wires import Json


def only(*cases: str) -> pytest.MarkDecorator:
    """Run a test with these cases and not with all."""
    return pytest.mark.parametrize("recording", cases, indirect=True)


class TestRestore:
    """The very bytes, back where the client keeps them."""

    def test_every_byte_is_back(self, recorded: Recorded, tmp_path: Path) -> None:
        before = tree(recorded.claude.config)
        archive = Archive(tmp_path / "store", recorded.claude.home)
        archive.inscribe()
        recorded.claude.delete_session(recorded.session_id)
        assert tree(recorded.claude.config) != before
        archive.restore(recorded.session_id)
        assert changed_files(before, tree(recorded.claude.config)) == []

    def test_a_second_restore_changes_nothing(self, recorded: Recorded, archive: Archive) -> None:
        archive.restore(recorded.session_id)
        once = tree(recorded.claude.config)
        archive.restore(recorded.session_id)
        assert changed_files(once, tree(recorded.claude.config)) == []

    def test_files_are_fresh_so_that_the_client_does_not_erase_them(self, recorded: Recorded, archive: Archive) -> None:
        left = set(tree(recorded.claude.config))
        archive.restore(recorded.session_id)
        restored = [recorded.claude.config / name for name in tree(recorded.claude.config) if name not in left]
        assert restored
        assert [path for path in restored if abs(time.time() - path.stat().st_mtime) > 60] == []

    def test_the_transcript_is_private(self, recorded: Recorded, archive: Archive) -> None:
        archive.restore(recorded.session_id)
        mode = recorded.claude.transcript(recorded.session_id).stat().st_mode
        assert stat.filemode(mode) == "-rw-------"

    def test_the_client_tells_the_model_the_same_as_before(self, recorded: Recorded, archive: Archive) -> None:
        archive.restore(recorded.session_id)
        run = recorded.claude.resume(recorded.session_id)
        assert difference(recorded.original, run) is None
        assert run.session_id == recorded.session_id

    def test_a_session_that_went_on_is_archived_and_restored_again(self, recorded: Recorded, archive: Archive) -> None:
        archive.restore(recorded.session_id)
        recorded.claude.resume(recorded.session_id)
        grown = tree(recorded.claude.config)
        archive.inscribe()
        recorded.claude.delete_session(recorded.session_id)
        archive.restore(recorded.session_id)
        assert changed_files(grown, tree(recorded.claude.config)) == []

    def test_a_moved_session_resumes_in_its_new_folder(
        self, recorded: Recorded, archive: Archive, tmp_path: Path
    ) -> None:
        archive.restore(recorded.session_id, "--cwd", str(new_folder(tmp_path)))
        assert_resumes_in(new_folder(tmp_path), recorded)

    @only("chat")
    @pytest.mark.parametrize("name", ["link", "folder-" * 35, "Ünïcode 斑马 🦓"], ids=["link", "long", "unicode"])
    def test_a_session_moves_to_any_folder(
        self, recorded: Recorded, archive: Archive, tmp_path: Path, name: str
    ) -> None:
        folder = tmp_path / name
        if name == "link":
            folder.symlink_to(new_folder(tmp_path))
        folder.mkdir(exist_ok=True)
        archive.restore(recorded.session_id, "--cwd", str(folder))
        assert conversation(recorded.claude.resume_latest(folder)) == conversation(recorded.original)

    @only("big_output")
    def test_a_moved_session_knows_where_its_saved_output_is(
        self, recorded: Recorded, archive: Archive, tmp_path: Path
    ) -> None:
        archive.restore(recorded.session_id, "--cwd", str(new_folder(tmp_path)))
        run = recorded.claude.resume(recorded.session_id, cwd=new_folder(tmp_path))
        (result,) = (block["content"] for block in conversation(run) if block["type"] == "tool_result")
        (told,) = re.findall(r"saved to: (\S+)", result)
        assert Path(told).is_relative_to(recorded.claude.project_folder(new_folder(tmp_path)))
        assert Path(told).read_text().startswith("1\n2\n")

    @only("edits", "big_output", "subagent")
    def test_a_new_id_makes_a_fork_beside_the_original(self, recorded: Recorded, archive: Archive) -> None:
        archive.restore(recorded.session_id)
        assert_forks(recorded, lambda: archive.restore(recorded.session_id, "--new-id"))

    @only("edits", "subagent")
    def test_another_folder_gets_the_same_files(self, recorded: Recorded, archive: Archive, tmp_path: Path) -> None:
        archive.restore(recorded.session_id, "--to", str(tmp_path / "elsewhere"))
        left = tree(recorded.claude.config)
        archive.restore(recorded.session_id)
        home = tree(recorded.claude.config)
        assert tree(tmp_path / "elsewhere") == {name: home[name] for name in home if name not in left}

    @only("edits")
    def test_edited_files_rewind(self, recorded: Recorded, archive: Archive) -> None:
        archive.restore(recorded.session_id)
        rewind_to_first_prompt(recorded.claude, recorded.session_id, recorded.claude.project)
        assert texts(recorded.claude.project) == {"note.txt": "alpha\nbeta\n"}

    @only("edits")
    def test_edited_files_rewind_in_a_moved_project(self, recorded: Recorded, archive: Archive, tmp_path: Path) -> None:
        moved = new_folder(tmp_path)
        shutil.copytree(recorded.claude.project, moved, dirs_exist_ok=True)
        archive.restore(recorded.session_id, "--cwd", str(moved))
        rewind_to_first_prompt(recorded.claude, recorded.session_id, moved)
        assert texts(moved) == {"note.txt": "alpha\nbeta\n"}

    @only("typed")
    def test_the_picker_shows_the_session(self, recorded: Recorded, archive: Archive) -> None:
        assert TITLE not in picker_screen(recorded.claude)
        archive.restore(recorded.session_id)
        assert TITLE in picker_screen(recorded.claude)

    @only("typed")
    def test_a_session_that_a_client_has_open_is_left_alone(self, recorded: Recorded, archive: Archive) -> None:
        archive.restore(recorded.session_id)
        with Terminal(recorded.claude, "--resume", recorded.session_id) as terminal:
            terminal.wait_for("Second answer.")
            wait_until(lambda: list(recorded.claude.config.glob("sessions/*.json")))
            recorded.claude.delete_session(recorded.session_id)
            assert archive.run("restore", recorded.session_id).returncode != 0
            # The client itself may have written a new file by now, so the old contents are looked for, not the name.
            assert b"Second answer." not in b"".join(tree(recorded.claude.config / "projects").values())


class TestExport:
    """A transcript written anew from the canonical form."""

    def test_the_conversation_is_the_same(self, recorded: Recorded, archive: Archive) -> None:
        archive.export(recorded.session_id)
        run = recorded.claude.resume(recorded.session_id)
        assert conversation(run) == conversation(recorded.original)
        assert run.session_id == recorded.session_id

    def test_a_moved_export_resumes_in_its_new_folder(
        self, recorded: Recorded, archive: Archive, tmp_path: Path
    ) -> None:
        archive.export(recorded.session_id, "--cwd", str(new_folder(tmp_path)))
        assert_resumes_in(new_folder(tmp_path), recorded)

    def test_a_new_id_makes_a_fork_beside_the_original(self, recorded: Recorded, archive: Archive) -> None:
        archive.restore(recorded.session_id)
        assert_forks(recorded, lambda: archive.export(recorded.session_id, "--new-id"))

    # Left out: a page shows abandoned branches and what a compaction removed like all the rest, so those two come back
    # longer than they were.
    @only(*(name for name in CASES if name not in ("rewound", "compacted")))
    def test_the_document_alone_is_enough(self, recorded: Recorded, archive: Archive) -> None:
        archive.export(recorded.session_id, "--from-document")
        run = recorded.claude.resume(recorded.session_id)
        assert readable(conversation(run)) == readable(conversation(recorded.original))

    @only("chat")
    def test_a_file_anywhere_resumes_by_its_path(self, recorded: Recorded, archive: Archive, tmp_path: Path) -> None:
        path = tmp_path / f"{recorded.session_id}.jsonl"
        archive.export(recorded.session_id, "-o", str(path))
        assert conversation(recorded.claude.resume(str(path))) == conversation(recorded.original)

    @only("chat")
    def test_chosen_rounds_are_the_whole_conversation(
        self, recorded: Recorded, archive: Archive, tmp_path: Path
    ) -> None:
        path = tmp_path / f"{recorded.session_id}.jsonl"
        archive.export(recorded.session_id, "--rounds", "2-2", "-o", str(path))
        assert conversation(recorded.claude.resume(str(path))) == conversation(recorded.original)[2:]

    @only("typed")
    def test_the_picker_shows_the_session(self, recorded: Recorded, archive: Archive) -> None:
        archive.export(recorded.session_id)
        assert TITLE in picker_screen(recorded.claude)


def assert_resumes_in(cwd: Path, recorded: Recorded) -> None:
    """The client finds the session from this folder, by its id and as the folder's last one, and goes on with it."""
    claude = recorded.claude
    folders = claude.project_folder(claude.project), claude.project_folder(cwd)
    said = placeless(conversation(recorded.original), folders)
    assert claude.transcript(recorded.session_id).parent == claude.project_folder(cwd)
    resumed = claude.resume(recorded.session_id, cwd=cwd)
    continued = claude.resume_latest(cwd)
    assert placeless(conversation(resumed), folders) == said
    assert continued.session_id == recorded.session_id
    assert placeless(conversation(continued), folders) == [*said, PROBED]


PROBED: Json = {"role": "assistant", "type": "text", "text": "probed"}


def assert_forks(recorded: Recorded, make_fork: Callable[[], None]) -> None:
    """A new session appears which resumes under its own id, and the original is as it was."""
    claude = recorded.claude
    before = tree(claude.config)
    make_fork()
    after = tree(claude.config)
    fork_id = Path(only_new_transcript(before, after)).stem
    fork = claude.resume(fork_id)
    assert fork.session_id == fork_id
    assert renamed(conversation(fork), fork_id, recorded.session_id) == conversation(recorded.original)
    assert changed_files(before, {name: after[name] for name in before}) == []
    assert difference(recorded.original, claude.resume(recorded.session_id)) is None


def new_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "new place"
    folder.mkdir(exist_ok=True)
    return folder


def rewind_to_first_prompt(claude: Claude, session_id: str, cwd: Path) -> None:
    first = next(record for record in claude.records(session_id) if record["type"] == "user")
    assert claude.rewind_files(session_id, first["uuid"], cwd).exit_code == 0


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changed_files(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """The names of files that are missing, new or different; contents would drown the message."""
    return sorted(name for name in before | after if before.get(name) != after.get(name))


def only_new_transcript(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    (name,) = (name for name in after if name not in before and name.endswith(".jsonl") and "/subagents/" not in name)
    return name
