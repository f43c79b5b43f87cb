"""Bundles that are whole and mean harm: whatever they name, a restore writes files of the session and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct, structs

from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.restore import Restored, Target
from muniment.sources.base import Move
from muniment.store.evidence import Copy, Manifest
from tests.builder import ClaudeSession
from tests.bundle import forging
from tests.bundle.forging import HARM, SOURCES, Change, Extra, Person, without_main
from tests.conftest import tree

OTHER_ID = "99999999-2222-4333-8444-555555555555"
FORK_ID = "77777777-2222-4333-8444-555555555555"
LINE = b'{"display":"HARM","timestamp":1,"project":"/p","sessionId":"%b"}\n'


class Trick(Struct, frozen=True):
    """What an attacker forges; `{user}` stands for the folder of the victim."""

    extras: tuple[Extra, ...] = ()
    change: Change = lambda manifest: manifest


def put_main_at(place: str) -> Change:
    def change(manifest: Manifest) -> Manifest:
        files = tuple(structs.replace(k, place=place) if k.role == "main" else k for k in manifest.files)
        return structs.replace(manifest, files=files)

    return change


def claim_copy(manifest: Manifest) -> Manifest:
    main = manifest.main
    assert main
    copy = Copy(main.name, "/x/AGENTS.md", manifest.root, "AGENTS.md", main.size, True)
    return structs.replace(manifest, copies=(copy,))


def rename_session(manifest: Manifest) -> Manifest:
    return structs.replace(manifest, native_id="memory")


def take_other_name(manifest: Manifest) -> Manifest:
    return structs.replace(manifest, native_id=OTHER_ID)


def history(place: str) -> Trick:
    """Lines that a restore would append to a file in the home."""
    return Trick((Extra("history.jsonl", "history", place=place),))


TRICKS = {
    "instructions as history": history("CLAUDE.md"),
    "hooks as history": history("settings.json"),
    "servers as history": history("config.toml"),
    "AGENTS.md as history": history("AGENTS.md"),
    "history of others": Trick((Extra("history.jsonl", "history", data=LINE % OTHER_ID.encode()),)),
    "history that is none": Trick((Extra("history.jsonl", "history"),)),
    "a skill beside an empty transcript": Trick((Extra("skills/x/SKILL.md"),), without_main),
    "settings beside an empty transcript": Trick((Extra("settings.json"),), without_main),
    "keys": Trick((Extra("authorized_keys", root="{user}/.ssh"),)),
    "keys beside an empty transcript": Trick((Extra("authorized_keys", root="{user}/.ssh"),), without_main),
    "a shell start file": Trick((Extra(".bashrc", root="{user}"),), without_main),
    "a shell start file as history": Trick((Extra("x.jsonl", "history", ".bashrc", "{user}"),), without_main),
    "autostart": Trick((Extra("x.desktop", root="{user}/.config/autostart"),), without_main),
    "hooks, commands, agents, plug-ins": Trick(
        (
            Extra("hooks/x"),
            Extra("commands/x.md"),
            Extra("agents/x.md", "sidechain", id="x"),
            Extra("plugins/x/plugin.json"),
        )
    ),
    "the transcript itself": Trick((), put_main_at("CLAUDE.md")),
    "another case": Trick((Extra("claude.md"), Extra("SETTINGS.json"))),
    "another form of the letters": Trick((Extra("CLAUDE\u200b.md"), Extra("\uff23LAUDE.md"), Extra("cafe\u0301/x"))),
    "a way around": Trick((Extra("projects/./../CLAUDE.md", "side"),)),
    "memory of a project": Trick((Extra("projects/-p/memory/MEMORY.md"),), rename_session),
    "files of another session": Trick((Extra(f"projects/-p/{OTHER_ID}/tool-results/x.txt"),)),
    "files of another session, by its name": Trick(
        (Extra(f"projects/-p/{OTHER_ID}/tool-results/x.txt"),), take_other_name
    ),
    "a copy elsewhere": Trick((), claim_copy),
}

EVERY = ("claude-code", "codex", "gemini")
SOME = (
    "instructions as history", "hooks as history", "a skill beside an empty transcript",
    "keys beside an empty transcript", "a shell start file as history", "hooks, commands, agents, plug-ins",
    "the transcript itself", "a copy elsewhere",
)  # fmt: skip
"""Tried with every agent; all of them with three."""
TRIED = [(name, trick) for name in SOURCES for trick in TRICKS if name in EVERY or trick in SOME]

OPTIONS: dict[str, Callable[[Path], Target]] = {
    "as it is": lambda folder: Target(),
    "force": lambda folder: Target(force=True),
    "cwd": lambda folder: Target(move=Move(cwd="/new/place")),
    "cwd and force": lambda folder: Target(move=Move(cwd="/new/place"), force=True),
    "new id": lambda folder: Target(move=Move(session_id=FORK_ID)),
    "to the home": lambda folder: Target(to=folder, force=True),
}


@pytest.fixture
def attacker(tmp_path: Path) -> Person:
    return Person(tmp_path / "attacker")


@pytest.fixture
def victim(tmp_path: Path) -> Person:
    """Somebody whose agents and shell are set up."""
    person = Person(tmp_path / "victim")
    for name in (".bashrc", ".ssh/authorized_keys"):
        path = person.user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine\n")
    return person


def forged(trick: Trick, attacker: Person, victim: Person, session_id: str) -> Path | None:
    """The bundle of a trick; None if it cannot even be made."""
    extras = tuple(
        structs.replace(extra, root=extra.root and extra.root.format(user=victim.user)) for extra in trick.extras
    )
    try:
        return forging.forged_bundle(attacker, session_id, extras, trick.change)
    except MunimentError:
        return None


def taken_in(victim: Person, bundle: Path | None) -> bool:
    try:
        return bool(bundle and victim.archive.unbundle(bundle))
    except MunimentError as error:
        assert_told(error)
        return False


def assert_told(error: MunimentError) -> None:
    assert "\n" not in error.message + error.hint
    assert error.hint


def restored(archive: Archive, session_id: str, target: Target) -> list[Restored]:
    try:
        return archive.restore(session_id, target)
    except MunimentError as error:
        assert_told(error)
        return []


def own_files(person: Person, session_id: str, name: str) -> set[str]:
    """The names below the user's folder of the files that a session honestly has."""
    manifest = forging.evidence.load(forging.evidence_of(person, session_id))
    assert manifest
    home = person.home(forging.source(name)).relative_to(person.user)
    return {str(home / kept.name) for kept in manifest.files}


def assert_no_harm(victim: Person, name: str, before: dict[str, bytes], own: set[str]) -> None:
    """Whatever was there is as it was, but for the files of the session; and nothing of the attacker's is there."""
    after = tree(victim.user)
    kept = before.keys() - own
    assert {file: after.get(file) for file in kept} == {file: before[file] for file in kept}
    assert [file for file, data in after.items() if b"HARM" in data] == []
    new = after.keys() - before.keys() - own
    assert [file for file in new if not is_of_a_session(victim, name, file)] == []


def is_of_a_session(victim: Person, name: str, file: str) -> bool:
    """Whether a file that no honest session had is at least where such files lie: it was moved, or got a new id."""
    source = forging.source(name)
    home = victim.home(source)
    path = victim.user / file
    below = path.relative_to(home).as_posix() if path.is_relative_to(home) else ""
    return any(source.owns(below, role) for role in ("main", "sidechain", "side"))


def try_all(victim: Person, session_id: str, name: str, own: set[str]) -> None:
    """Restore in every way; the agent's own folder is where harm would lie."""
    before = tree(victim.user)
    home = victim.home(forging.source(name))
    for target in OPTIONS.values():
        restored(victim.archive, session_id, target(home))
    assert_no_harm(victim, name, before, own)
    restored(victim.archive, session_id, Target(to=victim.user, force=True))
    kept = before.keys() - own
    assert {file: data for file, data in tree(victim.user).items() if file in kept} == {f: before[f] for f in kept}


@pytest.mark.parametrize(("name", "trick"), TRIED)
def test_nothing_but_a_session_is_written(attacker: Person, victim: Person, name: str, trick: str) -> None:
    source = forging.source(name)
    session_id = attacker.works_with(source)
    own = own_files(attacker, session_id, name)
    if taken_in(victim, forged(TRICKS[trick], attacker, victim, session_id)):
        try_all(victim, session_id, name, own)


@pytest.mark.parametrize(("name", "trick"), TRIED)
def test_nothing_but_a_session_is_joined(attacker: Person, victim: Person, name: str, trick: str) -> None:
    """The victim has the session already, and gets it back as it was."""
    source = forging.source(name)
    session_id = attacker.works_with(source)
    victim.works_with(source)
    before, own = tree(victim.user), own_files(victim, session_id, name)
    taken_in(victim, forged(TRICKS[trick], attacker, victim, session_id))
    try_all(victim, session_id, name, own)
    shutil.rmtree(victim.home(source))
    victim.archive.restore(session_id)
    given = tree(victim.home(source))
    home = victim.home(source).relative_to(victim.user)
    assert {str(home / file): data for file, data in given.items()} == {f: before[f] for f in own if f in before}


@pytest.mark.parametrize(("name", "trick"), TRIED)
def test_nothing_but_a_session_is_joined_in_a_folder(
    attacker: Person, victim: Person, tmp_path: Path, name: str, trick: str
) -> None:
    """The victim inscribed it from a plain folder: that one is written to again, and to nothing beside it."""
    source = forging.source(name)
    session_id = attacker.works_with(source)
    manifest = forging.evidence.load(forging.evidence_of(attacker, session_id))
    assert manifest
    assert manifest.main
    plain = tmp_path / "plain"
    plain.mkdir()
    data = b"".join(forging.evidence.read(forging.evidence_of(attacker, session_id), manifest.main))
    (plain / Path(manifest.main.name).name).write_bytes(data)
    victim.archive.inscribe([plain])
    before, home_before = tree(plain), tree(victim.user)
    if taken_in(victim, forged(TRICKS[trick], attacker, victim, session_id)):
        for target in (Target(), Target(force=True), Target(move=Move(cwd="/new/place"))):
            for session in victim.archive.sessions():
                restored(victim.archive, session.session_id, target)
            assert tree(plain) == before
            assert_no_harm(victim, name, home_before, set())


@pytest.mark.parametrize(("name", "trick"), TRIED)
@pytest.mark.parametrize("bundled", ["whole", ""])
def test_what_a_former_version_took_in_does_no_harm(victim: Person, name: str, trick: str, bundled: str) -> None:
    """The verdict is given when a file is written, whatever the manifest in the store says."""
    source = forging.source(name)
    session_id = victim.works_with(source)
    own = own_files(victim, session_id, name)
    extras = tuple(
        structs.replace(extra, root=extra.root and extra.root.format(user=victim.user))
        for extra in TRICKS[trick].extras
    )
    folder = forging.evidence_of(victim, session_id)
    forging.forge(folder, extras, lambda m: structs.replace(TRICKS[trick].change(m), bundled=bundled, home=True))
    try_all(victim, session_id, name, own)


# -- other ways


def test_an_honest_session_comes_whole(attacker: Person, victim: Person) -> None:
    """What a bundle brings of an honest session lies where it lay, for every agent."""
    for name in SOURCES:
        source = forging.source(name)
        session_id = attacker.works_with(source)
        bundle = attacker.folder / f"{name}.bundle"
        attacker.archive.bundle([session_id], bundle)
        victim.archive.unbundle(bundle)
        victim.archive.restore(session_id)
        manifest = forging.evidence.load(forging.evidence_of(attacker, session_id))
        assert manifest
        theirs, ours = tree(attacker.home(source)), tree(victim.home(source))
        assert ours
        assert {file: theirs[file] for file in ours} == ours
        assert {kept.name for kept in manifest.files if source.given_back(kept.name)} <= ours.keys()


def test_a_link_in_the_home_leads_nowhere(attacker: Person, victim: Person, tmp_path: Path) -> None:
    source = forging.source("claude-code")
    session_id = attacker.works_with(source)
    bundle = forged(Trick(), attacker, victim, session_id)
    assert taken_in(victim, bundle)
    outside = tmp_path / "outside"
    outside.mkdir()
    victim.home(source).mkdir(parents=True)
    (victim.home(source) / "projects").symlink_to(outside)
    assert restored(victim.archive, session_id, Target(force=True)) == []
    assert tree(outside) == {}


def test_a_home_under_another_name_is_a_home(attacker: Person, victim: Person, tmp_path: Path) -> None:
    """A link to the home, or the same letters in another case, is no way around."""
    source = forging.source("claude-code")
    session_id = attacker.works_with(source)
    assert taken_in(victim, forged(Trick((Extra("settings.json"),)), attacker, victim, session_id))
    victim.home(source).mkdir(parents=True)
    (tmp_path / "link").symlink_to(victim.home(source))
    for to in (tmp_path / "link", victim.user, victim.home(source) / "..", Path(str(victim.home(source)).upper())):
        restored(victim.archive, session_id, Target(to=to, force=True))
    assert not (victim.home(source) / "settings.json").exists()


def test_below_a_folder_that_holds_something_it_gets_one_of_its_own(
    attacker: Person, victim: Person, tmp_path: Path
) -> None:
    """A project is no place for instructions that a stranger wrote."""
    source = forging.source("claude-code")
    session_id = attacker.works_with(source)
    assert taken_in(victim, forged(Trick((Extra("CLAUDE.md"),)), attacker, victim, session_id))
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.py").write_text("mine\n")
    for _ in range(2):
        victim.archive.restore(session_id, Target(to=project))
        assert sorted(os.listdir(project)) == sorted(["main.py", session_id])
    victim.archive.restore(session_id, Target(to=tmp_path / "new"))
    assert (tmp_path / "new" / "CLAUDE.md").read_bytes() == HARM


def test_what_a_bundle_added_returns_to_a_plain_folder_once_it_was_seen_there(
    attacker: Person, victim: Person, tmp_path: Path
) -> None:
    """A friend has a subagent of the session; later it is found here, and then it is the victim's own."""
    made = ClaudeSession("aaaaaaaa-2222-4333-8444-555555555555")
    made.exchange("hello", "hi")
    agent = ClaudeSession(made.id, isSidechain=True, agentId="a1")
    agent.exchange("look around", "seen")
    theirs, ours = attacker.folder / "plain", tmp_path / "plain"
    for folder in (theirs, ours):
        folder.mkdir(parents=True)
        (folder / f"{made.id}.jsonl").write_bytes(made.data)
    (theirs / "agent-a1.jsonl").write_bytes(agent.data)
    attacker.archive.inscribe([theirs])
    victim.archive.inscribe([ours])
    attacker.archive.bundle([made.id], attacker.folder / "x.bundle")
    assert [placed.what for placed in victim.archive.unbundle(attacker.folder / "x.bundle")] == ["appended"]
    before = tree(ours)
    assert [file.what for file in victim.archive.restore(made.id)] == ["unchanged", "left out"]
    assert tree(ours) == before
    (ours / "agent-a1.jsonl").write_bytes(agent.data)
    victim.archive.inscribe([ours])
    before = tree(ours)
    shutil.rmtree(ours)
    victim.archive.restore(made.id)
    assert tree(ours) == before


def test_a_copy_that_was_found_here_returns(attacker: Person, victim: Person, tmp_path: Path) -> None:
    """The session came in a bundle; a copy of it in a folder of this machine comes back to that folder."""
    source = forging.source("claude-code")
    session_id = attacker.works_with(source)
    attacker.archive.bundle([session_id], attacker.folder / "x.bundle")
    victim.archive.unbundle(attacker.folder / "x.bundle")
    (main,) = [Path(p) for p in tree(attacker.user) if p.endswith(f"{session_id}.jsonl")]
    copy = tmp_path / "plain" / "copy.jsonl"
    copy.parent.mkdir()
    copy.write_bytes((attacker.user / main).read_bytes())
    victim.archive.inscribe([copy])
    copy.unlink()
    victim.archive.restore(session_id)
    assert copy.read_bytes() == (attacker.user / main).read_bytes() == (victim.user / main).read_bytes()


def test_a_history_gets_the_lines_of_its_session_only(attacker: Person, victim: Person) -> None:
    source = forging.source("claude-code")
    session_id = attacker.works_with(source)
    own = LINE.replace(b"HARM", b"hello") % session_id.encode()
    assert taken_in(victim, forged(Trick((Extra("history.jsonl", "history", data=own),)), attacker, victim, session_id))
    restored(victim.archive, session_id, Target())
    assert (victim.home(source) / "history.jsonl").read_bytes() == own


def test_all_is_told_of_each_that_is_refused(attacker: Person, victim: Person) -> None:
    """`restore --all` gives back the others."""
    from click.testing import CliRunner

    from muniment.surfaces.cli.main import cli

    source = forging.source("claude-code")
    session_id = attacker.works_with(source)
    assert taken_in(victim, forged(Trick((Extra("settings.json"),)), attacker, victim, session_id))
    ran = CliRunner().invoke(
        cli, ["--store", str(victim.folder / "store"), "restore", "--all"], env={"HOME": str(victim.user)}
    )
    assert ran.exit_code == 1
    assert f"{session_id}: " in ran.stderr
    assert not (victim.home(source) / "settings.json").exists()
