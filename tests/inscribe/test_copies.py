"""Every file that was inscribed comes back byte for byte: also two that hold the same records in other bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from muniment.archive import Archive
from muniment.inscribe import Outcome
from tests.builder import ClaudeSession, conversation
from tests.conftest import tree
from tests.sources.codex.rollouts import CASES
from tests.sources.opencode import homes

Inscribe = Callable[..., list[Outcome]]

ROLLOUT = next(path for path in CASES if path.parent.name == "paginated").read_bytes()
LINES = ROLLOUT.splitlines(keepends=True)
NAME = "rollout-2026-01-02T03-04-05-01a00000-0000-7000-8000-000000000001.jsonl"


def packed(data: bytes, level: int = 3) -> bytes:
    return zstandard.ZstdCompressor(level=level).compress(data)


def other_order(data: bytes) -> bytes:
    """The same objects, their fields the other way round."""
    lines = (json.loads(line) for line in data.splitlines())
    turned = (dict(reversed(line.items())) for line in lines)
    return b"".join(json.dumps(line).encode() + b"\n" for line in turned)


def spaced(value: object, indent: int | None) -> bytes:
    return json.dumps(value, indent=indent).encode()


SHORTER = b"".join(LINES[:-2])
GROWN = ROLLOUT + LINES[-1].replace(b'"timestamp":"2026', b'"timestamp":"2027')
DOCUMENT = homes.DOCUMENT
ENDED = DOCUMENT | {"messages": DOCUMENT["messages"][:1]}

FOLDERS = {
    "plain and packed": {f"a/{NAME}": ROLLOUT, f"a/{NAME}.zst": packed(ROLLOUT)},
    "packed and plain": {f"a/{NAME}.zst": packed(ROLLOUT), f"b/{NAME}": ROLLOUT},
    "packed in two ways": {f"a/{NAME}.zst": packed(ROLLOUT, 1), f"b/{NAME}.zst": packed(ROLLOUT, 19)},
    "packed before it grew": {f"a/{NAME}": ROLLOUT, f"b/{NAME}.zst": packed(SHORTER)},
    "packed after it grew": {f"a/{NAME}": ROLLOUT, f"b/{NAME}.zst": packed(GROWN)},
    "plain and shorter than packed": {f"a/{NAME}.zst": packed(ROLLOUT), f"b/{NAME}": SHORTER},
    "fields in another order": {f"a/{NAME}": ROLLOUT, f"b/{NAME}": other_order(ROLLOUT)},
    "another order, packed": {
        f"a/{NAME}": ROLLOUT,
        f"b/{NAME}": other_order(ROLLOUT),
        f"c/{NAME}.zst": packed(other_order(ROLLOUT)),
        f"d/{NAME}.zst": packed(other_order(SHORTER)),
    },
    "documents with other blanks": {
        "a/x.json": spaced(DOCUMENT, None),
        "b/x.json": spaced(DOCUMENT, 2),
        "c/x.json": spaced(DOCUMENT, 2) + b"\n\n",
        "d/x.json": spaced(DOCUMENT | {"info": {"slug": DOCUMENT["info"]["slug"]} | DOCUMENT["info"]}, 4),
        "e/x.json": spaced(ENDED, None),
    },
}


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("together", [True, False], ids=["one run", "one by one"])
def test_copies_in_other_bytes_all_come_back(
    archive: Archive, inscribe: Inscribe, tmp_path: Path, name: str, together: bool
) -> None:
    folder = tmp_path / "copies"
    for place, data in FOLDERS[name].items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if not together:
            inscribe(folder)
    before = tree(folder)
    inscribe(folder)
    assert len(archive.sessions()) == 1
    assert inscribe(folder) == []
    shutil.rmtree(folder)
    archive.restore("last")
    assert tree(folder) == before


@pytest.mark.parametrize("name", ["plain and packed", "packed in two ways", "packed before it grew"])
def test_the_same_records_in_other_bytes_are_no_version(
    archive: Archive, inscribe: Inscribe, tmp_path: Path, name: str
) -> None:
    for place, data in FOLDERS[name].items():
        path = tmp_path / "copies" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    inscribe(tmp_path / "copies")
    assert archive.sessions()[0].versions == 0


def test_a_packed_copy_that_is_packed_again_is_kept_as_it_is_now(
    archive: Archive, inscribe: Inscribe, tmp_path: Path
) -> None:
    plain, other = tmp_path / "c" / NAME, tmp_path / "c" / f"{NAME}.zst"
    plain.parent.mkdir()
    plain.write_bytes(ROLLOUT)
    for level in (1, 5, 19):
        other.write_bytes(packed(ROLLOUT, level))
        inscribe(tmp_path / "c")
    for path in (plain, other):
        path.unlink()
    archive.restore("last")
    assert tree(tmp_path / "c") == {NAME: ROLLOUT, f"{NAME}.zst": packed(ROLLOUT, 19)}


def _with_beside(folder: Path, session: ClaudeSession, output: bytes) -> Path:
    path = folder / f"{session.id}.jsonl"
    beside = folder / session.id / "tool-results" / "t1.txt"
    beside.parent.mkdir(parents=True)
    path.write_bytes(session.data)
    beside.write_bytes(output)
    return beside


def test_files_of_one_name_in_two_copies_stay_apart_when_one_changes(
    archive: Archive, inscribe: Inscribe, tmp_path: Path
) -> None:
    session, folder = conversation(2), tmp_path / "copies"
    _with_beside(folder / "a", session, b"the first")
    other = _with_beside(folder / "b", session, b"another")
    for content in (b"another", b"and another still"):
        other.write_bytes(content)
        inscribe(folder / "a")
        inscribe(folder / "b")
    before = tree(folder)
    shutil.rmtree(folder)
    archive.restore("last")
    assert tree(folder) == before


def test_a_backup_with_the_times_of_the_original_comes_back_too(
    archive: Archive, inscribe: Inscribe, tmp_path: Path
) -> None:
    folder = tmp_path / "copies"
    _with_beside(folder / "a", conversation(2), b"an output")
    shutil.copytree(folder / "a", folder / "b")  # which keeps the times of the files
    before = tree(folder)
    inscribe(folder / "a")
    inscribe(folder / "b")
    shutil.rmtree(folder)
    archive.restore("last")
    assert tree(folder) == before


def test_subagents_of_diverging_copies_stay_apart_while_they_grow(
    archive: Archive, inscribe: Inscribe, tmp_path: Path
) -> None:
    """The one that was met first is the one that is read."""
    session, folder = conversation(2), tmp_path / "copies"
    first = ClaudeSession(session.id, isSidechain=True, agentId="a1")
    first.exchange("look into it", "found it")
    other = ClaudeSession(session.id, isSidechain=True, agentId="a1")
    other.exchange("look elsewhere", "nothing there")
    for name, sub in (("a", first), ("b", other)):
        path = folder / name / session.id / "subagents" / "agent-a1.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(sub.data)
        (folder / name / f"{session.id}.jsonl").write_bytes(session.data)
    for root in (folder / "a", folder / "b"):
        inscribe(root)
    other.exchange("and again", "still nothing")
    path.write_bytes(other.data)
    inscribe(folder / "b")
    assert b"found it" in archive.shelf(archive.sessions()[0]).sidechain("a1").document.read_bytes()
    before = tree(folder)
    shutil.rmtree(folder)
    archive.restore("last")
    assert tree(folder) == before


def test_a_document_that_goes_on_under_another_name_is_the_session_now(tmp_path: Path) -> None:
    """SpecStory gives a history its title as a name once it knows one."""
    folder = tmp_path / ".specstory" / "history"
    folder.mkdir(parents=True)
    begun = (
        "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# 2026-02-03 09:15:20Z\n\n"
        "<!-- Claude Code Session 547a94dc-c0be-4b3b-85d2-000000000001 (2026-02-03 09:15:20Z) -->\n\n"
        "_**User (2026-02-03 09:15:20Z)**_\n\ntrim the wick\n\n---\n"
    )
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path / "nobody")})
    (folder / "2026-02-03_09-15-20Z.md").write_text(begun)
    archive.inscribe([tmp_path])
    (folder / "2026-02-03_09-15-20Z-trim-the-wick.md").write_text(
        f"{begun}\n_**User (2026-02-03 09:20:00Z)**_\n\nand polish the lens\n\n---\n"
    )
    archive.inscribe([tmp_path])
    (listed,) = archive.sessions()
    assert (listed.prompts, listed.versions) == (2, 1)
    assert "and polish the lens" in archive.shelf(listed).document.read_text()
