"""Bundles by somebody who knows no more than the id of a session: nothing of theirs gets to where its owner works."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from muniment import batch, demo, reindex
from muniment.bundle import pack
from muniment.errors import Conflict, MunimentError, StoreError
from muniment.restore import Target
from muniment.sources.base import FileRole
from muniment.store import evidence
from muniment.store.evidence import Appender, Kept, Manifest
from tests.builder import ClaudeSession
from tests.bundle import forging
from tests.bundle.forging import Extra, Person
from tests.conftest import tree

OWN = "aaaaaaaa-2222-4333-8444-555555555555"
OTHER = "bbbbbbbb-2222-4333-8444-555555555555"
LINE = b'{"display":"! HARM","timestamp":1,"project":"/p","sessionId":"%b"}\n' % OWN.encode()
BEGUN = b'{"type":"permission-mode","permissionMode":"default","sessionId":"%b"}\n' % OWN.encode()
"""A first record that says nothing but the id."""
ONE_RECORD = (
    b'{"type":"user","uuid":"e","parentUuid":null,"isSidechain":false,"sessionId":"%b",'
    b'"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"HARM"}}\n' % OWN.encode()
)


@pytest.fixture
def attacker(tmp_path: Path) -> Person:
    return Person(tmp_path / "attacker")


@pytest.fixture
def victim(tmp_path: Path) -> Person:
    person = Person(tmp_path / "victim")
    person.user.mkdir(parents=True)
    return person


def talk(session_id: str = OWN, prompt: str = "hello", **fixed: Any) -> bytes:
    made = ClaudeSession(session_id, **fixed)
    made.exchange(prompt, "hi")
    return made.data


def put(person: Person, data: bytes, session_id: str = OWN, slug: str = "-p") -> Path:
    """Put a transcript into Claude's home and inscribe it."""
    path = person.user / ".claude/projects" / slug / f"{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    person.archive.inscribe()
    return path


def impostor(person: Person, main: bytes, extras: tuple[Extra, ...] = ()) -> Path:
    """The bundle of somebody who knows the id and made up the rest."""
    put(person, main)
    return forging.forged_bundle(person, OWN, extras)


def manifest_of(person: Person, session_id: str) -> Manifest:
    manifest = evidence.load(forging.evidence_of(person, session_id))
    assert manifest
    return manifest


def copy_main_under(folder: Path, name: str, role: FileRole = "main") -> Manifest:
    """Write the transcript of an evidence folder anew, under another name."""
    manifest = evidence.load(folder)
    assert manifest
    assert manifest.main
    data = b"".join(evidence.read(folder, manifest.main))
    appender = Appender(folder, structs.replace(manifest.main, name=name, role=role, frames=(), path=f"/x/{name}"))
    for _ in appender.through([data]):
        pass
    others = tuple(kept for kept in manifest.files if kept.role != "main")
    return structs.replace(manifest, files=(appender.close(), *others))


# -- what a session has on this machine is added to by nobody who only knows its id

ADDED = (
    Extra(f"projects/-p/{OWN}/subagents/agent-evil.jsonl", "sidechain", data=talk(prompt="HARM"), id="evil"),
    Extra(f"file-history/{OWN}/0011223344556677@v1"),
    Extra(f"tasks/{OWN}/1.json"),
    Extra("history.jsonl", "history", data=LINE),
)


@pytest.mark.parametrize("main", [b"{", BEGUN, ONE_RECORD], ids=["one byte", "the id alone", "another record"])
def test_who_knows_only_the_id_adds_nothing(attacker: Person, victim: Person, main: bytes) -> None:
    put(victim, BEGUN + talk())
    before = tree(victim.user)
    assert [one.what for one in victim.archive.unbundle(impostor(attacker, main, ADDED))] == ["version"]
    for _ in range(2):
        victim.archive.restore(OWN)
        victim.archive.restore(OWN, Target(force=True))
        assert tree(victim.user) == before
        victim.archive.inscribe()
    assert [kept.name for kept in manifest_of(victim, OWN).files] == [f"projects/-p/{OWN}.jsonl"]


def test_what_a_bundle_added_waits_until_it_is_asked_for(attacker: Person, victim: Person, tmp_path: Path) -> None:
    """A friend has subagents and side files of the session: they are joined, and written by --to alone."""
    put(victim, talk())
    before = tree(victim.user)
    assert [one.what for one in victim.archive.unbundle(impostor(attacker, talk(), ADDED))] == ["appended"]
    told = victim.archive.restore(OWN)
    assert sorted(file.what for file in told) == ["left out"] * len(ADDED) + ["unchanged"]
    assert tree(victim.user) == before
    victim.archive.restore(OWN, Target(to=tmp_path / "to"))
    assert {extra.name for extra in ADDED} < tree(tmp_path / "to").keys()


def test_lines_of_ones_own_history_come_back_without_those_of_a_bundle(attacker: Person, victim: Person) -> None:
    own = put(victim, talk())
    victim.archive.unbundle(impostor(attacker, talk(), ADDED))
    history = victim.user / ".claude/history.jsonl"
    history.write_bytes(LINE.replace(b"! HARM", b"hello"))
    put(victim, talk())
    before = tree(victim.user)
    shutil.rmtree(victim.user / ".claude")
    victim.archive.restore(OWN)
    assert own.exists()
    assert tree(victim.user) == before


def test_a_side_file_that_a_bundle_goes_on_with_comes_back_as_it_was_here(attacker: Person, victim: Person) -> None:
    name = f"file-history/{OWN}/0011223344556677@v1"
    for person, data in ((victim, b"one\n"), (attacker, b"one\nHARM\n")):
        path = person.user / ".claude" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        put(person, talk())
    before = tree(victim.user)
    attacker.archive.bundle([OWN], attacker.folder / "x.bundle")
    assert [one.what for one in victim.archive.unbundle(attacker.folder / "x.bundle")] == ["appended"]
    for _ in range(2):
        shutil.rmtree(victim.user / ".claude")
        victim.archive.restore(OWN)
        assert tree(victim.user) == before
        victim.archive.inscribe()


def test_a_version_from_a_bundle_waits_until_it_is_asked_for(attacker: Person, victim: Person) -> None:
    own = put(victim, talk())
    before = tree(victim.user)
    put(attacker, ONE_RECORD, slug="-elsewhere")
    victim.archive.unbundle(forging.forged_bundle(attacker, OWN, ADDED))
    assert {file.what for file in victim.archive.restore(OWN)} == {"unchanged", "left out"}
    assert tree(victim.user) == before
    (version,) = victim.archive.versions(victim.archive.session(OWN))
    victim.archive.restore(OWN, version=version)
    assert (own.parent.parent / "-elsewhere" / own.name).read_bytes() == ONE_RECORD


# -- where a bundle says that files lay


def test_a_bundle_lays_no_copy_where_it_wants(attacker: Person, victim: Person) -> None:
    """The victim has the session from a plain folder; two files share a name, one of them with another place."""
    plain = victim.user / "project"
    (plain / "logs").mkdir(parents=True)
    (plain / "logs" / f"{OWN}.jsonl").write_bytes(talk())
    victim.archive.inscribe([plain])
    lure = f"projects/-p/{OWN}/tool-results/t.txt"
    extras = (Extra("z", place=lure, data=forging.HARM + b"more"), Extra(lure, place="CLAUDE.md"))
    for main in (b"{", talk()):
        take_in(victim, impostor(attacker, main, extras))
    for _ in range(3):
        victim.archive.restore(OWN)
        put_lure(victim, lure)
        victim.archive.inscribe()
    assert sorted(tree(plain)) == [f"logs/{OWN}.jsonl"]


def put_lure(victim: Person, lure: str) -> None:
    path = victim.user / ".claude" / lure
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(forging.HARM + b"more")


def take_in(person: Person, bundle: Path) -> None:
    """Unbundle; a bundle that is refused does no harm either."""
    with contextlib.suppress(StoreError):
        person.archive.unbundle(bundle)


TALK = (
    b"<!-- Generated by SpecStory -->\n\n<!-- Claude Code Session aaaaaaaa-2222-4333-8444-555555555555 (2026-01-01) -->"
    b"\n\nssh-ed25519 AAAAHARM attacker\n\n_**User**_\n\nhello\n"
)


@pytest.mark.parametrize("role", ["old", "main"])
def test_a_session_without_a_home_goes_to_no_path_of_a_bundle(attacker: Person, victim: Person, role: FileRole) -> None:
    theirs, ours = attacker.user / "dl", victim.user / "dl"
    for folder, data in ((theirs, TALK), (ours, TALK + b"\n_**Agent**_\n\nhi\n\n---\n\n")):
        folder.mkdir(parents=True)
        (folder / "talk.md").write_bytes(data)
    attacker.archive.inscribe([theirs])
    (session,) = attacker.archive.sessions()
    ssh = victim.user / ".ssh"

    def change(manifest: Manifest) -> Manifest:
        files = tuple(
            structs.replace(kept, role=role, root=str(ssh), place="authorized_keys", path=str(ssh / "authorized_keys"))
            for kept in manifest.files
        )
        return structs.replace(manifest, home=True, root=str(ssh), files=files)

    folder = forging.evidence_of(attacker, session.session_id)
    manifest = copy_main_under(folder, "talk.md", role)
    evidence.save(folder, manifest)
    take_in(victim, forging.forged_bundle(attacker, session.session_id, (), change))
    victim.archive.inscribe([ours])
    before = tree(victim.user)
    for target in (Target(), Target(force=True)):
        victim.archive.restore(session.session_id, target)
        assert tree(victim.user) == before


# -- a session that was there before its owner inscribed it


@pytest.mark.parametrize("kind", ["folder", "redacted", "other", "nothing but side files"])
@pytest.mark.parametrize("main", [b"{", BEGUN, ONE_RECORD], ids=["one byte", "the id alone", "another record"])
def test_what_is_found_here_is_its_owners(attacker: Person, victim: Person, kind: str, main: bytes) -> None:
    def change(manifest: Manifest) -> Manifest:
        if kind == "nothing but side files":
            return structs.replace(manifest, files=tuple(kept for kept in manifest.files if kept.role != "main"))
        return structs.replace(manifest, home=kind != "folder")

    put(attacker, main)
    bundle = forging.forged_bundle(attacker, OWN, ADDED[1:], change)
    if kind == "redacted":
        bundle.unlink()
        pack.pack(attacker.archive.layout, list(attacker.archive.sessions()), bundle, redacted=True)
    victim.archive.unbundle(bundle)
    own = put(victim, BEGUN + talk())
    assert manifest_of(victim, OWN).bundled == ""
    victim.archive.restore(OWN, Target(force=True))
    assert tree(victim.user) == {str(own.relative_to(victim.user)): BEGUN + talk()}
    own.unlink()
    victim.archive.restore(OWN)
    assert tree(victim.user) == {str(own.relative_to(victim.user)): BEGUN + talk()}
    assert victim.archive.versions(victim.archive.session(OWN))


def test_no_version_of_the_owner_becomes_part_of_a_strangers(attacker: Person, victim: Person, tmp_path: Path) -> None:
    put(victim, talk())
    victim.archive.unbundle(impostor(attacker, b"{"))
    backup = tmp_path / "backup" / f"{OWN}.jsonl"
    backup.parent.mkdir()
    backup.write_bytes(talk(prompt="otherwise"))
    victim.archive.inscribe([backup])
    backup.unlink()
    victim.archive.restore(OWN)
    assert backup.read_bytes() == talk(prompt="otherwise")


def test_a_session_goes_on_where_it_was_moved_to(attacker: Person, victim: Person) -> None:
    """One's own session on a new machine: what is said there is appended, and all of it comes back."""
    agent = ClaudeSession(OWN, isSidechain=True, agentId="a1")
    agent.exchange("look", "seen")
    beside = attacker.user / f".claude/projects/-p/{OWN}/subagents/agent-a1.jsonl"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(agent.data)
    put(attacker, talk())
    attacker.archive.bundle([OWN], attacker.folder / "x.bundle")
    victim.archive.unbundle(attacker.folder / "x.bundle")
    victim.archive.restore(OWN)
    assert tree(victim.user) == tree(attacker.user)
    own = victim.user / f".claude/projects/-p/{OWN}.jsonl"
    more = own.read_bytes() + talk(prompt="more")
    put(victim, more)
    assert victim.archive.versions(victim.archive.session(OWN)) == {}
    before = tree(victim.user)
    shutil.rmtree(victim.user / ".claude")
    victim.archive.restore(OWN)
    assert tree(victim.user) == before


# -- files of other sessions


@pytest.mark.parametrize("role", ["sidechain", "side"])
@pytest.mark.parametrize("agent", ["evil", "a1"])
def test_a_subagent_of_another_session_is_neither_written_nor_replaced(
    attacker: Person, victim: Person, agent: str, role: FileRole
) -> None:
    put_agent(victim, OWN)
    put(victim, talk())
    put(attacker, talk(OTHER), OTHER)
    before = tree(victim.user)
    data = talk(isSidechain=True, agentId="evil") if agent == "evil" else b'{"HARM":1}\n'
    extra = Extra(f"projects/-p/agent-{agent}.jsonl", role, data=data, id=agent)
    victim.archive.unbundle(forging.forged_bundle(attacker, OTHER, (extra,)))
    for target in (Target(), Target(force=True), Target(to=victim.user / ".claude", force=True)):
        with pytest.raises(Conflict):
            victim.archive.restore(OTHER, target)
    assert tree(victim.user) == before


def put_agent(person: Person, session_id: str) -> None:
    """A subagent's file as old clients wrote it, beside the transcripts."""
    path = person.user / ".claude/projects/-p/agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(talk(session_id, isSidechain=True, agentId="a1"))


def test_a_subagent_of_its_own_replaces_none_of_another_session(attacker: Person, victim: Person) -> None:
    put_agent(victim, OWN)
    put(victim, talk())
    put_agent(attacker, OTHER)
    put(attacker, talk(OTHER), OTHER)
    before = tree(victim.user)
    attacker.archive.bundle([OTHER], attacker.folder / "x.bundle")
    victim.archive.unbundle(attacker.folder / "x.bundle")
    with pytest.raises(Conflict):
        victim.archive.restore(OTHER, Target(force=True))
    assert tree(victim.user) == before


@pytest.mark.parametrize("name", ["codex", "pi", "gemini", "agent", "atif", "native"])
def test_a_transcript_replaces_none_of_another_session(attacker: Person, victim: Person, name: str) -> None:
    """Their names do not tell whose they are, or not to us."""
    source = forging.source(name)
    session_id = attacker.works_with(source)
    main = manifest_of(attacker, session_id).main
    assert main
    other = session_id[:-6] + "123456"
    data = (attacker.home(source) / main.name).read_bytes().replace(session_id.encode(), other.encode())
    place = re.sub(r"[^/.]{6}(?=\.json)", "123456", main.name)
    path = victim.home(source) / place
    path.parent.mkdir(parents=True)
    path.write_bytes(data + b"\n")
    folder = forging.evidence_of(attacker, session_id)
    evidence.save(folder, copy_main_under(folder, place))
    take_in(victim, forging.forged_bundle(attacker, session_id, ()))
    before = tree(victim.user)
    for target in (Target(), Target(force=True), Target(to=victim.home(source), force=True)):
        with pytest.raises(MunimentError):
            victim.archive.restore(session_id, target)
    assert tree(victim.user) == before


def test_what_sessions_share_is_left_as_it_is(attacker: Person, victim: Person) -> None:
    """The mark of a Gemini project names its folder here, and it is another on the other machine."""
    source = forging.source("gemini")
    session_id = attacker.works_with(source)
    attacker.archive.bundle([session_id], attacker.folder / "x.bundle")
    victim.archive.unbundle(attacker.folder / "x.bundle")
    (marker,) = [name for name in tree(attacker.home(source)) if name.endswith(".project_root")]
    path = victim.home(source) / marker
    path.parent.mkdir(parents=True)
    path.write_bytes(b"/home/me/project")
    told = {file.what for file in victim.archive.restore(session_id, Target(force=True))}
    assert told == {"written", "left out"}
    assert path.read_bytes() == b"/home/me/project"


# -- evidence that is no evidence


def test_two_files_of_a_bundle_have_two_names(attacker: Person, victim: Person) -> None:
    put(attacker, talk())
    forging.forge(forging.evidence_of(attacker, OWN), (Extra(f"tasks/{OWN}/1.json"),))

    def twice(manifest: Manifest) -> Manifest:
        return structs.replace(manifest, files=(*manifest.files, manifest.files[-1]))

    with pytest.raises(StoreError, match="twice"):
        victim.archive.unbundle(forging.forged_bundle(attacker, OWN, (), twice))


@pytest.mark.parametrize("id_", [None, ""])
def test_a_subagent_of_a_bundle_has_an_id(attacker: Person, victim: Person, id_: str | None) -> None:
    put(attacker, talk())
    name = f"projects/-p/{OWN}/subagents/agent-e.jsonl"
    extra = Extra(name, "sidechain", data=talk(isSidechain=True), id=id_)
    with pytest.raises(StoreError, match="subagent"):
        victim.archive.unbundle(forging.forged_bundle(attacker, OWN, (extra,)))
    put(victim, talk(OTHER), OTHER)
    assert [one.session_id for one in victim.archive.sessions()] == [OTHER]


def test_a_subagent_that_its_client_moved_comes_twice(attacker: Person, victim: Person) -> None:
    """Honest sessions have such: the client left the file behind, or somebody made a copy."""
    for name in ("agent-a1.jsonl", f"{OWN}/subagents/agent-a1.jsonl", f"{OWN}/subagents/w/agent-a1.jsonl"):
        path = attacker.user / ".claude/projects/-p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(talk(isSidechain=True, agentId="a1", prompt=name))
    put(attacker, talk())
    attacker.archive.bundle([OWN], attacker.folder / "x.bundle")
    victim.archive.unbundle(attacker.folder / "x.bundle")
    victim.archive.restore(OWN)
    assert tree(victim.user) == tree(attacker.user)
    victim.archive.inscribe()
    reindex.reindex(victim.archive.layout, lambda outcome: None)
    assert [one.session_id for one in victim.archive.sessions()] == [OWN]


def test_a_bundle_has_one_transcript_of_a_session(attacker: Person, victim: Person) -> None:
    put(attacker, talk())
    extras = (Extra("projects/-q/other.jsonl", "main", data=talk()),)
    with pytest.raises(StoreError, match="transcripts"):
        victim.archive.unbundle(forging.forged_bundle(attacker, OWN, extras))


def test_no_file_of_a_bundle_takes_the_place_of_another(attacker: Person, victim: Person) -> None:
    """In the evidence, side files are told apart by eight digits of a hash, which can be found by trying."""
    name = "a0/session-2026-06-03T19-10.jsonl"
    digits = hashlib.sha256(name.encode()).hexdigest()[:8]
    sample = next(path for path in sorted((demo.SAMPLES / "gemini").rglob("*.jsonl")))
    data = sample.read_bytes()
    known = re.search(rb'"sessionId":\s*"([^"]+)"', data)
    assert known
    session_id = digits + known[1].decode()[8:]
    data = data.replace(known[1], session_id.encode())
    for person in (attacker, victim):
        path = person.user / f".gemini/tmp/lighthouse/chats/session-2026-06-03T19-10-{digits}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        person.archive.inscribe()
    folder = forging.evidence_of(attacker, session_id)
    evidence.save(folder, copy_main_under(folder, "tmp/lighthouse/chats/session-x.jsonl"))
    (folder / f"session-2026-06-03T19-10-{digits}.jsonl.zst").unlink()
    victim.archive.unbundle(forging.forged_bundle(attacker, session_id, (Extra(name),)))
    manifest = manifest_of(victim, session_id)
    assert manifest.main
    assert b"".join(evidence.read(forging.evidence_of(victim, session_id), manifest.main)) == data
    assert not manifest.get(name)


def test_a_bundle_in_which_one_file_takes_the_place_of_another_is_refused(attacker: Person, victim: Person) -> None:
    name = f"tasks/{OWN}/1.json"
    put(attacker, talk())
    folder = forging.evidence_of(attacker, OWN)
    forging.forge(folder, (Extra(name),))
    packed = evidence.packed_path(folder, Kept(name, "side", "")).name.removesuffix(".zst")
    evidence.save(folder, copy_main_under(folder, f"projects/-p/{packed}"))
    with pytest.raises(StoreError):
        victim.archive.unbundle(forging.forged_bundle(attacker, OWN, ()))


@pytest.mark.parametrize("held", [batch.HELD_BYTES, 0], ids=["small", "large"])
def test_one_session_that_cannot_be_indexed_fails_alone(
    victim: Person, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an older version of this program took in: from then on nothing else could be inscribed."""
    monkeypatch.setattr(batch, "HELD_BYTES", held)
    put(victim, talk(OTHER), OTHER)
    put(victim, talk())
    extra = Extra(f"projects/-p/{OWN}/subagents/agent-e.jsonl", "sidechain", data=talk(isSidechain=True))
    forging.forge(forging.evidence_of(victim, OWN), (extra,))
    failed: list[str] = []
    reindex.reindex(
        victim.archive.layout, lambda outcome: failed.append(outcome.session_id) if outcome.what == "failed" else None
    )
    assert failed == [OWN]
    assert [one.session_id for one in victim.archive.sessions()] == [OTHER]
    put(victim, talk(OTHER, prompt="again"), OTHER)
    assert OTHER in {one.session_id for one in victim.archive.sessions()}
