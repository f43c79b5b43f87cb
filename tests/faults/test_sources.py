"""The agent deletes, cuts or rewrites its files, or somebody puts something else in their place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.store import evidence
from muniment.store.layout import Layout

from .checks import differences, view
from .world import Tree, contents, done, run, small

BLOCKED = 20
"""Seconds after which a command is taken to hang."""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return small(tmp_path / "home")


@pytest.fixture
def store(tmp_path: Path, tree: Tree) -> Path:
    done(tmp_path / "store", "inscribe", tree.home)
    return tmp_path / "store"


def restored(store: Path, tree: Tree, number: int, into: Path) -> bytes:
    done(store, "restore", tree.sessions[number].id, "--to", into)
    return (into / tree.transcript(number).relative_to(tree.home)).read_bytes()


def test_deleted(tmp_path: Path, tree: Tree, store: Path) -> None:
    before, expected = contents(tree.home / "projects"), view(store)
    shutil.rmtree(tree.home / "projects")
    run(store, "inscribe", tree.home)
    done(store, "append")
    assert differences(store, expected) == []
    done(store, "restore", "--all", "--to", tmp_path / "back")
    assert contents(tmp_path / "back" / "projects") == before


def test_reindex_needs_no_source(tmp_path: Path, tree: Tree, store: Path) -> None:
    expected = view(store)
    shutil.rmtree(tree.home)
    done(store, "reindex")
    assert differences(store, expected) == []


@pytest.mark.parametrize("keep", [0, 1, 500, 2000])
def test_shrunk_and_grown_again(tmp_path: Path, tree: Tree, store: Path, keep: int) -> None:
    path = tree.transcript(2)
    whole, expected = path.read_bytes(), view(store)
    os.truncate(path, keep)
    done(store, "inscribe", tree.home)
    documents = {name: value for name, value in view(store).items() if name.endswith((".md", ".json"))}
    assert documents == {name: value for name, value in expected.items() if name in documents}
    done(store, "restore", tree.sessions[2].id, "--to", tmp_path / "other", "--force")
    path.write_bytes(whole)
    done(store, "inscribe", tree.home)
    assert restored(store, tree, 2, tmp_path / "back") == whole
    assert differences(store, expected) == []


def test_rewritten_in_place(tmp_path: Path, tree: Tree, store: Path) -> None:
    path = tree.transcript(2)
    before = path.read_bytes()
    after = before.replace(b"lighthouse", b"watchtower") + b"".join(tree.sessions[2].round())
    path.write_bytes(after)
    done(store, "inscribe", tree.home)
    assert restored(store, tree, 2, tmp_path / "back") == after
    assert older(store, tree, 2) == [before]
    expected = view(store)
    done(store, "inscribe", tree.home)
    done(store, "reindex")
    assert differences(store, expected) == []
    assert older(store, tree, 2) == [before]


def older(store: Path, tree: Tree, number: int) -> list[bytes]:
    """The transcripts of the versions that were set aside."""
    shelf = Layout(store).shelf("claude", tree.sessions[number].id)
    found = []
    for folder in sorted((shelf.folder / "versions").iterdir()):
        own = shelf.version(folder.name).evidence
        manifest = evidence.load(own)
        assert manifest, folder
        assert manifest.main, folder
        found.append(b"".join(evidence.read(own, manifest.main)))
    return found


def fifo(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def link(path: Path) -> None:
    home = next(folder for folder in path.parents if folder.name == "home")
    target = home.parent / "elsewhere.jsonl"
    target.write_bytes(b'{"type":"user","sessionId":"x","message":{"role":"user","content":"stolen"}}\n')
    path.symlink_to(target)


@pytest.mark.parametrize("put", [fifo, folder, loop, link])
def test_replaced_by(tmp_path: Path, tree: Tree, store: Path, put: Callable[[Path], None]) -> None:
    path, side = tree.transcript(2), next((tree.home / "projects").rglob("out1.txt"))
    run(store, "ingest")  # as `up` does below
    whole, expected = path.read_bytes(), view(store)
    for victim in (path, side, tree.home / "history.jsonl"):
        victim.unlink()
        put(victim)
    for words in (("inscribe", tree.home), ("append",), ("inscribe", path), ("check", tree.home)):
        ran = run(store, *words, timeout=BLOCKED)
        assert "Traceback" not in ran.err + ran.out, (words, ran)
    for words in (("inscribe",), ("sources",), ("doctor",), ("up",)):
        ran = run(store, *words, timeout=BLOCKED, env={"CLAUDE_CONFIG_DIR": str(tree.home)})
        assert "Traceback" not in ran.err + ran.out, (words, ran)
    assert differences(store, expected) == []
    assert restored(store, tree, 2, tmp_path / "back") == whole
    assert b"stolen" not in b"".join(contents(store).values())


def test_links_and_pipes_in_the_projects_folder(tmp_path: Path, tree: Tree) -> None:
    """Loops of links, links out of the tree, pipes and sockets: passed by, never waited for."""
    projects = tree.home / "projects"
    (projects / "loop").symlink_to(projects)
    (projects / "-home-ada-project0" / "up").symlink_to("..")
    os.mkfifo(projects / "pipe")
    os.mkfifo(projects / "-home-ada-project1" / "00000000-0000-4000-8000-000000000001.jsonl")
    os.mkfifo(next(projects.rglob("subagents")) / "agent-pipe.jsonl")
    secret = tmp_path / "secret"
    secret.mkdir()
    shutil.copy(tree.transcript(0), secret / "00000000-0000-4000-8000-000000000002.jsonl")
    (projects / "out").symlink_to(secret)
    for env in ({}, {"CLAUDE_CONFIG_DIR": str(tree.home)}):
        ran = run(tmp_path / "store", "inscribe", *([] if env else [tree.home]), env=env, timeout=BLOCKED)
        assert ran.code == 0, ran
    assert len(done(tmp_path / "store", "sessions").out.splitlines()) == 1 + len(tree.sessions)
