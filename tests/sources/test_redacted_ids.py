"""Exports that a tool for secrets went over: it takes ids for secrets, and many files have the same in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment import demo, sources
from muniment.sources.base import Found

AGENTS = ("claude-code", "codex", "copilot", "gemini", "opencode", "pi", "qwen")
ENV = {"HOME": "/nowhere"}


def mains(name: str) -> list[tuple[Found, Path]]:
    found = [one for one in sources.find_in(demo.SAMPLES / name, ENV) if one.source == name]
    return [(one, Path(one.main.path)) for one in found if one.main]


def redact(name: str, folder: Path) -> int:
    """Every sample under a name that says nothing, without its id; gives how many there are."""
    samples = mains(name)
    for number, (one, path) in enumerate(samples):
        data = path.read_bytes()
        for id_ in filter(None, (one.session_id, one.native_id)):
            data = data.replace(id_.encode(), b"REDACTED")
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / f"full{path.suffix}").write_bytes(data)
    return len(samples)


@pytest.mark.parametrize("name", AGENTS)
def test_sessions_without_an_id_are_found_and_told_apart(name: str, tmp_path: Path) -> None:
    count = redact(name, tmp_path / "one" / "exports")
    redact(name, tmp_path / "another")
    below = [one.session_id for one in sources.find_in(tmp_path / "one" / "exports", ENV)]
    assert len(set(below)) == count >= 1
    assert [one.session_id for one in sources.find_in(tmp_path / "one", ENV)] == below
    assert [one.session_id for one in sources.find_in(tmp_path / "another", ENV)] == below


@pytest.mark.parametrize("name", ["claude-code", "codex", "pi"])
def test_a_session_without_an_id_is_the_same_when_it_has_grown(name: str, tmp_path: Path) -> None:
    redact(name, tmp_path)
    before = [one.session_id for one in sources.find_in(tmp_path, ENV)]
    for path in tmp_path.rglob("full*"):
        path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])
    assert [one.session_id for one in sources.find_in(tmp_path, ENV)] == before


def test_a_name_that_is_an_id_counts_for_more_than_one_that_was_redacted(tmp_path: Path) -> None:
    for name in ("codex", "pi"):
        for one, path in mains(name):
            data = path.read_bytes().replace((one.native_id or one.session_id).encode(), b"REDACTED")
            (tmp_path / path.name).write_bytes(data)
            (found,) = sources.find_in(tmp_path / path.name, ENV)
            assert found.session_id == one.session_id
