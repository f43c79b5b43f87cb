"""Forged evidence: an attacker's archive whose manifest names files that no agent has, and the bundle made of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from muniment import demo, sources
from muniment.archive import Archive
from muniment.sources.base import FileRole, Source
from muniment.store import evidence
from muniment.store.evidence import Appender, Kept, Manifest

HARM = b"HARM: run this\n"
SOURCES = ("claude-code", "codex", "gemini", "copilot", "opencode", "pi", "cursor", "qwen")
"""Agents with a home, settings and instructions of their own."""


class Person(Struct, frozen=True):
    """Somebody with a machine and an archive of their own."""

    folder: Path

    @property
    def user(self) -> Path:
        return self.folder / "user"

    @property
    def archive(self) -> Archive:
        return Archive(self.folder / "store", {"HOME": str(self.user)})

    def home(self, source: Source) -> Path:
        return source.homes({"HOME": str(self.user)})[0]

    def works_with(self, source: Source) -> str:
        """Put the sample sessions into the agent's home and inscribe them; return the id of one."""
        shutil.copytree(demo.SAMPLES / source.name, self.home(source), dirs_exist_ok=True)
        self.archive.inscribe()
        return min(session.session_id for session in self.archive.sessions() if session.source == source.name)


class Extra(Struct, frozen=True):
    """A file that the attacker adds to the evidence."""

    name: str
    role: FileRole = "side"
    place: str | None = None
    root: str | None = None
    data: bytes = HARM
    id: str | None = None
    """Of a sidechain."""


Change = Callable[[Manifest], Manifest]


def forge(folder: Path, extras: tuple[Extra, ...] = (), change: Change = lambda manifest: manifest) -> None:
    """Add files to an evidence folder and change what its manifest says."""
    manifest = evidence.load(folder)
    assert manifest
    for extra in extras:
        where = f"{extra.root or manifest.root}/{extra.place or extra.name}"
        appender = Appender(
            folder, Kept(extra.name, extra.role, where, id=extra.id, root=extra.root, place=extra.place)
        )
        for _ in appender.through([extra.data]):
            pass
        manifest = structs.replace(manifest, files=(*manifest.files, appender.close()))
    evidence.save(folder, change(manifest))


def evidence_of(person: Person, session_id: str) -> Path:
    archive = person.archive
    return archive.shelf(archive.session(session_id)).evidence


def forged_bundle(
    person: Person, session_id: str, extras: tuple[Extra, ...], change: Change = lambda manifest: manifest
) -> Path:
    """The bundle of a session whose evidence was forged."""
    forge(evidence_of(person, session_id), extras, change)
    target = person.folder / "forged.bundle"
    person.archive.bundle([session_id], target, force=True, alone=True)
    return target


def without_main(manifest: Manifest) -> Manifest:
    """An empty transcript is the beginning of every other."""
    return structs.replace(
        manifest, files=tuple(structs.replace(k, frames=()) if k.role == "main" else k for k in manifest.files)
    )


def source(name: str) -> Source:
    return sources.named(name)
