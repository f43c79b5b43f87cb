"""The checks can fail: each of them notices a product that was broken on purpose."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .checks import (
    control_characters,
    differences,
    left_over,
    not_restored,
    tampered,
    view,
    wrong_modes,
)
from .test_disk import clear_failure
from .test_hostile import everything
from .world import Tree, contents, done, one_line, run, small

TORN = """
import os, signal
from pathlib import Path
from muniment import files
whole = files.write_atomic
def write(path, pieces, durable=False):
    data = b"".join(pieces)
    if os.path.basename(path) == {name!r}:
        Path(path).write_bytes(data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    whole(path, [data], durable)
files.write_atomic = write
"""
LEAKS_A_TEMPORARY = """
from pathlib import Path
from muniment import files
whole = files.write_atomic
def write(path, pieces, durable=False):
    whole(path, pieces, durable)
    files.temporary_beside(Path(path)).write_bytes(b"")
files.write_atomic = write
"""
NOTHING_IS_CLEARED = """
from muniment.store import round_table
from muniment.store.index import Index
def clear(self, key, session_id, sidechain, round_, offset, same):
    if sidechain is None:
        round_table.delete(self.db, session_id, round_)
Index.clear_from = clear
"""
NO_SEARCH = """
from muniment.store.index import Index
put = Index.put_texts
Index.put_texts = lambda self, key, rows: put(self, key, [(place, ("", "")) for place, _ in rows])
"""
NO_VERIFICATION = """
import hashlib, zstandard
from muniment.store import evidence
def unpack(decompressor, data, frame):
    try:
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=frame.length)
    except zstandard.ZstdError:
        return b"?" * frame.length
evidence._unpack = unpack
"""
LOSES_A_BYTE = """
from muniment.store import evidence
read = evidence.read
def shorter(folder, kept, start=0):
    for piece in read(folder, kept, start):
        yield piece.replace(b"word1", b"word2")
evidence.read = shorter
"""
PUBLIC = """
import os
from muniment import files
os.umask = lambda mode: 0
files.FILE_MODE, files.FOLDER_MODE = 0o644, 0o755
"""
LEAVES_THE_TARGET = """
from muniment import restore
restore.inside = lambda base, name: base / name
"""
PRINTS_ANYTHING = """
from muniment.surfaces.cli import output
output.plain = lambda text: text
"""
FOLLOWS_PIPES = """
import os
from muniment import files
def walk(root):
    with os.scandir(root) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.is_dir(follow_symlinks=False):
                yield from walk(entry.path)
            else:
                yield entry
files.walk = walk
files.open_regular = lambda path: open(path, "rb", buffering=0)
"""
CRASHES = """
from muniment.archive import Archive
def crash(self, *_):
    raise RuntimeError("a bug")
Archive.plan = crash
"""
STOPS_READING = """
from muniment.sources import lines
def records(pieces, offset=0, whole=lines.records):
    for number, record in enumerate(whole(pieces, offset)):
        if number < 6:
            yield record
lines.records = records
"""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return small(tmp_path / "home", 2)


@pytest.fixture
def whole(tmp_path: Path, tree: Tree) -> Path:
    done(tmp_path / "whole", "inscribe", tree.home)
    return tmp_path / "whole"


@pytest.mark.parametrize("name", ["manifest.json", "sessions.db", "{id}.md"])
def test_a_writer_that_tears_is_noticed(tmp_path: Path, tree: Tree, name: str) -> None:
    """Half a file and a kill: the next append stumbles over it."""
    store, name = tmp_path / "store", name.format(id=tree.sessions[1].id)
    done(store, "inscribe", tree.home)
    tree.grow()
    done(tmp_path / "whole", "inscribe", tree.home)
    if name == "sessions.db":
        index = store / "data" / "sessions" / name
        index.write_bytes(index.read_bytes()[:9000])
    else:
        assert run(store, "append", patch=TORN.format(name=name)).code == -9
    again = run(store, "append")
    assert (
        again.code != 0
        or "damaged place" in again.out
        or "healed" in again.out
        or differences(store, view(tmp_path / "whole"))
    )


def test_a_left_temporary_file_is_noticed(tmp_path: Path, tree: Tree) -> None:
    done(tmp_path / "store", "inscribe", tree.home, patch=LEAKS_A_TEMPORARY)
    assert left_over(tmp_path / "store")


@pytest.mark.parametrize("patch", [NOTHING_IS_CLEARED, NO_SEARCH, STOPS_READING])
def test_another_index_is_noticed(tmp_path: Path, tree: Tree, patch: str) -> None:
    store = tmp_path / "store"
    for number in range(2):
        if number:
            tree.grow()
        assert run(store, "inscribe", tree.home, patch=patch).code in (0, 1)
    done(tmp_path / "whole", "inscribe", tree.home)
    assert differences(store, view(tmp_path / "whole"))


def test_a_missing_round_is_noticed(tmp_path: Path, whole: Path) -> None:
    expected = view(whole)
    next(whole.rglob("002.json")).unlink()
    assert differences(whole, expected)


def test_wrong_bytes_are_noticed(tmp_path: Path, tree: Tree, whole: Path) -> None:
    done(whole, "restore", "--all", "--to", tmp_path / "back", patch=LOSES_A_BYTE)
    assert contents(tmp_path / "back") != contents(tree.home)
    (tree.transcript(0)).write_bytes(b"{}\n")
    assert not_restored(whole, tree, tmp_path / "other")


def test_unverified_evidence_is_noticed(tmp_path: Path, tree: Tree, whole: Path) -> None:
    """Without the hashes, damage comes out as wrong bytes: what the test of frames looks for."""
    session = tree.sessions[0].id
    path = whole / "data" / "sessions" / "claude" / session / "source" / f"{session}.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    assert run(whole, "restore", session, "--to", tmp_path / "back").code == 8
    assert contents(tmp_path / "back") == {}
    ran = run(whole, "restore", session, "--to", tmp_path / "back", patch=NO_VERIFICATION)
    restored = tmp_path / "back" / tree.transcript(0).relative_to(tree.home)
    assert ran.code == 0, ran
    assert restored.read_bytes() != tree.transcript(0).read_bytes()


def test_public_files_are_noticed(tmp_path: Path, tree: Tree) -> None:
    done(tmp_path / "store", "inscribe", tree.home, patch=PUBLIC, umask=0)
    assert wrong_modes(tmp_path / "store")


def test_writing_outside_is_noticed(tmp_path: Path, tree: Tree, whole: Path) -> None:
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    session = tree.sessions[0].id
    manifest = whole / "data" / "sessions" / "claude" / session / "source" / "manifest.json"
    tampered(manifest, lambda value: value["files"][0].update(place="../x"))
    before = everything(tmp_path, whole, out)
    run(whole, "restore", session, "--to", out, patch=LEAVES_THE_TARGET)
    assert everything(tmp_path, whole, out) != before


def test_control_characters_are_noticed(tmp_path: Path, tree: Tree, whole: Path) -> None:
    ran = run(whole, "show", "\x1b]52;c;x\x07", patch=PRINTS_ANYTHING)
    assert not control_characters(run(whole, "show", "\x1b]52;c;x\x07").err)
    assert control_characters(ran.err.replace("\\x1b", "\x1b"))
    assert control_characters("\x1b[2J")
    assert control_characters("a\u202eb")
    assert control_characters("\x9b")
    assert not control_characters("\x1b[1mour own\x1b[0m\tü 漢\r\n")


def test_a_pipe_that_blocks_is_noticed(tmp_path: Path, tree: Tree) -> None:
    os.mkfifo(tree.home / "projects" / "pipe.jsonl")
    with pytest.raises(subprocess.TimeoutExpired):
        run(tmp_path / "store", "inscribe", tree.home, patch=FOLLOWS_PIPES, timeout=2)
    done(tmp_path / "store2", "inscribe", tree.home)


def test_a_crash_is_no_clear_error(tmp_path: Path, tree: Tree) -> None:
    ran = run(tmp_path / "store", "inscribe", tree.home, patch=CRASHES)
    assert one_line(ran)
    assert clear_failure(ran)
