"""Damage to the store: the index is said to be damaged and is built anew; the evidence never gives wrong bytes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from .checks import differences, not_restored, view
from .world import Tree, contents, copy, done, identity, normal, one_line, run, small


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tree, Path]:
    """A store with sidechains, side files and evidence of several frames."""
    folder = tmp_path_factory.mktemp("damage")
    tree = small(folder / "home")
    done(folder / "store", "inscribe", tree.home)
    tree.grow()
    done(folder / "store", "inscribe", tree.home)
    return tree, folder / "store"


@pytest.fixture
def tree(made: tuple[Tree, Path]) -> Tree:
    return made[0]


@pytest.fixture
def store(made: tuple[Tree, Path], tmp_path: Path) -> Path:
    return copy(made[1], tmp_path / "store")


# -- the index


def index_of(store: Path) -> Path:
    return store / "data" / "sessions" / "sessions.db"


def delete(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 // 4096 * 4096])


def cut_in_a_page(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def flip_pages(path: Path) -> None:
    """The header stays, every page behind it is noise."""
    data = bytearray(path.read_bytes())
    noise = random.Random(2)
    for place in range(100, len(data), 97):
        data[place] ^= 1 << noise.randrange(8)
    path.write_bytes(data)


def other_version(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("PRAGMA user_version=99")
    db.close()


DAMAGE = [delete, empty, halve, cut_in_a_page, garbage, flip_pages, other_version]


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_index_is_built_anew(tree: Tree, store: Path, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    expected = view(store)
    damage(index_of(store))
    done(store, "reindex")
    assert differences(store, expected) == []
    assert not_restored(store, tree, tmp_path / "back") == []


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_index_is_named(tree: Tree, store: Path, damage: Callable[[Path], None]) -> None:
    """Nobody is told that the archive is empty while its documents are there."""
    damage(index_of(store))
    for words in (("sessions",), ("show", tree.sessions[0].id), ("inscribe", tree.home)):
        ran = run(store, *words)
        if ran.code == 0:  # it had no need of the damaged place
            listed = ran if words[0] == "sessions" else done(store, "sessions")
            assert len(listed.out.splitlines()) == 1 + len(tree.sessions), (words, ran)
            continue
        assert ran.code == 8, (words, ran)
        assert one_line(ran) == [], (words, ran)
        assert "muniment reindex" in ran.err, (words, ran)


def test_sessions_without_a_source_stay_in_the_index(tree: Tree, store: Path, tmp_path: Path) -> None:
    """The index is lost, one source is gone, and an inscription comes first: the session must not vanish."""
    index_of(store).unlink()
    part = tmp_path / "part"
    shutil.copytree(tree.home, part)
    (part / tree.transcript(2).relative_to(tree.home)).unlink()
    run(store, "inscribe", part)
    ran = run(store, "sessions")
    assert identity("session 2")[:8] in ran.out or "muniment reindex" in ran.err, ran


# -- what is derived


@pytest.mark.parametrize("name", ["{id}.md", "{id}/rounds/001.json", "{id}/rounds/003.json", "{id}/session.db"])
@pytest.mark.parametrize("damage", [delete, empty, garbage])
def test_damaged_derived_file(
    tree: Tree, store: Path, tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    """A check tells (of what people read), and a reindex gives the same bytes again."""
    session, expected = tree.sessions[1].id, view(store)
    damage(store / "data" / "sessions" / "claude" / name.format(id=session))
    ran = run(store, "check", "--stored")
    assert "Traceback" not in ran.err + ran.out, ran
    if not name.endswith(".db"):
        assert ran.code in (1, 8), ran
        assert session in ran.out + ran.err, ran
    for words in (("show", session), ("show", session, "1"), ("show", session, "--document")):
        shown = run(store, *words)
        assert "Traceback" not in shown.err, (words, shown)
    done(store, "reindex")
    assert [wrong for wrong in differences(store, expected) if "/edited-" not in wrong] == []


@pytest.mark.parametrize("name", ["{id}.md", "{id}/rounds/001.json", "{id}/rounds/003.json", "{id}/session.db"])
@pytest.mark.parametrize("damage", [delete, empty])
def test_append_after_damage(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    """An append either heals what was lost or says so; it never leaves a part of it as if it were the whole."""
    tree = small(tmp_path / "home", 2)
    store = tmp_path / "store"
    done(store, "inscribe", tree.home)
    damage(store / "data" / "sessions" / "claude" / name.format(id=tree.sessions[1].id))
    tree.grow()
    ran = run(store, "append")
    assert "Traceback" not in ran.out + ran.err, ran
    done(tmp_path / "whole", "inscribe", tree.home)
    wrong = differences(store, view(tmp_path / "whole"))
    told = "reindex" in ran.out + ran.err or run(store, "check", "--stored").code != 0
    assert not wrong or told, (wrong, ran)
    done(store, "reindex")
    assert [w for w in differences(store, view(tmp_path / "whole")) if "/edited-" not in w] == []


# -- the evidence


def frames(store: Path) -> list[tuple[Path, str, str, int, int]]:
    """Every frame: file, session, role, offset and length in it."""
    found = []
    for manifest in sorted(store.rglob("manifest.json")):
        value = json.loads(manifest.read_bytes())
        packed = sorted(p for p in manifest.parent.iterdir() if p.suffix == ".zst")
        for kept in value["files"]:
            end = sum(frame[3] for frame in kept["frames"])
            path = next(p for p in packed if p.stat().st_size == end and starts(p, kept["name"]))
            found += [(path, value["session_id"], kept["role"], f[2], f[3]) for f in kept["frames"]]
    return found


def starts(path: Path, name: str) -> bool:
    return path.name.startswith(Path(name).stem.split(".")[0]) or path.name.startswith("x")


def test_every_damaged_frame_is_reported(tree: Tree, store: Path, tmp_path: Path) -> None:
    """One flipped bit in each frame: the check tells, and no restored file has a wrong byte."""
    noise = random.Random(3)
    wrong: list[str] = []
    sources = normal(contents(tree.home))
    for number, (path, session, role, offset, length) in enumerate(frames(store)):
        data = path.read_bytes()
        place = offset + noise.randrange(length)
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << noise.randrange(8)]) + data[place + 1 :])
        into = tmp_path / f"back{number}"
        restored = run(store, "restore", session, "--to", into)
        given = contents(into) if into.exists() else {}
        bad = [name for name, content in given.items() if name != "history.jsonl" and content != sources[name]]
        at = f"{role} {path.name} byte {place}"
        same = restored.code == 0 and path.name.split("-")[0] in str(given.keys()) and not bad
        if bad or (restored.code != 8 and not same):
            wrong.append(f"restore with a flip in {at}: wrong files {bad}, {restored}")
        checked = run(store, "check", "--stored")
        if checked.code == 0 and not same:
            wrong.append(f"check --stored is content with a flip in {at}")
        path.write_bytes(data)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("damage", [delete, empty, garbage, cut_in_a_page])
@pytest.mark.parametrize("what", ["*.zst", "manifest.json"])
def test_lost_evidence_is_reported(tree: Tree, store: Path, what: str, damage: Callable[[Path], None]) -> None:
    session = tree.sessions[0].id
    victim = next((store / "data" / "sessions" / "claude" / session / "source").glob(what))
    if damage is cut_in_a_page:
        victim.write_bytes(victim.read_bytes()[:-10])
    else:
        damage(victim)
    for words in (("check", "--stored"), ("restore", session, "--to", store.parent / "back")):
        ran = run(store, *words)
        assert ran.code != 0, (words, ran)
        assert "Traceback" not in ran.err + ran.out, (words, ran)
        assert session in ran.out + ran.err, (words, ran)


def test_one_damaged_session_does_not_hide_another(tree: Tree, store: Path, tmp_path: Path) -> None:
    """Two sessions are damaged: both are named by a check, and everything else is restored and inscribed."""
    damaged = [tree.sessions[0].id, tree.sessions[2].id]
    for session in damaged:
        path = store / "data" / "sessions" / "claude" / session / "source" / f"{session}.jsonl.zst"
        path.write_bytes(bytes(len(path.read_bytes())))
    checked = run(store, "check", "--stored")
    assert checked.code != 0
    restored = run(store, "restore", "--all", "--to", tmp_path / "back")
    assert restored.code == 1
    back = contents(tmp_path / "back" / "projects")
    wanted = contents(tree.home / "projects")
    assert {n: hashlib.sha256(d).hexdigest() for n, d in back.items()} == {
        n: hashlib.sha256(d).hexdigest() for n, d in wanted.items() if not any(session in n for session in damaged)
    }
    assert [session for session in damaged if session not in checked.out + checked.err] == [], checked


def test_reindex_goes_on_after_a_damaged_session(tree: Tree, store: Path) -> None:
    damaged = tree.sessions[0].id
    path = store / "data" / "sessions" / "claude" / damaged / "source" / f"{damaged}.jsonl.zst"
    path.write_bytes(bytes(len(path.read_bytes())))
    gone = tree.transcript(0).read_bytes()
    tree.transcript(0).unlink()  # else it would be mended from there
    documents = {path.name: path.read_bytes() for path in (store / "data" / "sessions" / "claude").glob("*-*.md")}
    ran = run(store, "reindex")
    tree.transcript(0).write_bytes(gone)
    assert ran.code in (1, 8), ran
    assert "Traceback" not in ran.err + ran.out, ran
    assert damaged in ran.out + ran.err
    for name, data in documents.items():
        assert (store / "data" / "sessions" / "claude" / name).read_bytes() == data, name
    listed = run(store, "sessions").out
    assert [s.id for s in tree.sessions.values() if s.id[:8] not in listed] == []
