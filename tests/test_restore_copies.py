"""Copies of one session: whatever was inscribed in whatever order, the longest comes back, and none is lost."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.archive import Archive
from muniment.restore import Target
from tests.builder import ClaudeSession, conversation
from tests.conftest import tree

ID = "aaaaaaaa-2222-4333-8444-555555555555"
PLACE = f"projects/-w/{ID}.jsonl"
LINES = conversation(6, ID).data.splitlines(keepends=True)
"""What everybody has, some of it."""


def branch(number: int) -> list[bytes]:
    """A session that begins alike and then goes another way."""
    other = ClaudeSession(ID)
    for at in range(3):
        other.exchange(f"branch {number} prompt {at}", "reply")
    return LINES[:2] + other.data.splitlines(keepends=True)


def put(home: Path, lines: list[bytes], side: bytes | None = None) -> Path:
    path = home / PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    if side is not None:
        beside = path.with_suffix("") / "tool-results" / "t1.txt"
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(side)
    return home


@pytest.mark.parametrize("order", [("backup", "live"), ("live", "backup")])
def test_the_longer_copy_comes_back_whichever_came_first(tmp_path: Path, order: tuple[str, str]) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})
    homes = {"backup": put(tmp_path / "backup", LINES[:4]), "live": put(tmp_path / "user" / ".claude", LINES[:8])}
    for name in order:
        archive.inscribe([homes[name]])
    archive.restore(ID, Target(to=tmp_path / "to"))
    assert tree(tmp_path / "to") == {PLACE: b"".join(LINES[:8])}
    shutil.rmtree(tmp_path / "backup")
    shutil.rmtree(tmp_path / "user")
    archive.restore(ID)
    assert (tmp_path / "backup" / PLACE).read_bytes() == b"".join(LINES[:4])
    assert (tmp_path / "user" / ".claude" / PLACE).read_bytes() == b"".join(LINES[:8])


CONTENT = st.one_of(
    st.integers(2, len(LINES)).map(lambda count: LINES[:count]),
    st.tuples(st.integers(1, 2), st.integers(4, 8)).map(lambda given: branch(given[0])[: given[1]]),
)
SIDES = st.one_of(st.none(), st.sampled_from([b"out", b"output", b"another"]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(CONTENT, SIDES), min_size=1, max_size=4), st.booleans())
def test_every_copy_comes_back_somewhere(copies: list[tuple[list[bytes], bytes | None]], live: bool) -> None:
    """One of them may be in the agent's home. Each is there, or is the beginning of one that is."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        archive = Archive(top / "store", {"HOME": str(top / "user")})
        for number, (lines, side) in enumerate(copies):
            archive.inscribe([put(top / "user" / ".claude" if live and not number else top / str(number), lines, side)])
        archive.restore(ID, Target(to=top / "to"))
        given_back = tree(top / "to")
        there = [data for name, data in given_back.items() if name.endswith(".jsonl")]
        for lines, _ in copies:
            assert any(data.startswith(b"".join(lines)) for data in there)
        for side in {side for _, side in copies if side is not None}:
            assert any(data.startswith(side) for name, data in given_back.items() if "tool-results" in name)
        first = given_back[PLACE]
        alike = [b"".join(lines) for lines, _ in copies if b"".join(lines).startswith(first)]
        assert max(alike, key=len) == first, "the longest of those that begin alike has the path"


def test_a_version_whose_path_a_copy_has_is_named(archive: Archive, home: Path, tmp_path: Path) -> None:
    """The home once held a copy of the backup, and then something else: both cannot lie there."""
    put(home, LINES[:6])
    archive.inscribe([put(tmp_path / "backup", LINES[:6])])
    archive.inscribe()
    put(home, branch(1))
    archive.inscribe()
    shutil.rmtree(home)
    restored = archive.restore(ID)
    (left,) = [file for file in restored if file.what == "left out"]
    (version,) = archive.versions(archive.session(ID))
    assert f"--version {version}" in left.note
    archive.restore(ID, Target(to=tmp_path / "to"))
    assert set(tree(tmp_path / "to").values()) == {b"".join(LINES[:6]), b"".join(branch(1))}


@pytest.mark.parametrize("other", ["-W", "-\u1e9e\u0301"], ids=["letters", "forms of letters"])
def test_paths_that_a_disk_may_take_for_one_are_one(tmp_path: Path, other: str) -> None:
    """On such a disk the file that is written last would take the place of the first."""
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})
    first = other.lower() if other == "-W" else "-ss\u0301"
    folder = tmp_path / "user" / ".claude" / "projects"
    for name, lines in ((first, LINES), (other, branch(1))):
        path = folder / name / f"{ID}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"".join(lines))
    if len(list(folder.iterdir())) < 2:
        pytest.skip("this disk takes them for one")
    archive.inscribe([folder / first])
    archive.inscribe([folder / other])
    shutil.rmtree(folder)
    assert sorted(file.what for file in archive.restore(ID)) == ["left out", "written"]
    assert len(tree(folder)) == 1


def test_a_shorter_copy_of_a_version_does_not_replace_it(tmp_path: Path) -> None:
    """The version and its copy get the same new name, below the folder that a person named."""
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})
    other = branch(1)
    for name, lines in (("a", LINES[:8]), ("b", other[:8]), ("c", other[:5]), ("d", branch(2)[:8])):
        archive.inscribe([put(tmp_path / name, lines)])
    archive.restore(ID, Target(to=tmp_path / "to"))
    there = sorted(tree(tmp_path / "to").values())
    assert there == sorted(b"".join(lines) for lines in (LINES[:8], other[:8], branch(2)[:8]))
