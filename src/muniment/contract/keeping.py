"""Laws of keeping: what goes into an archive comes out to the byte, and nothing else on the machine changes."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.contract.reading import needs_claims
from muniment.contract.samples import Subject, seen_on_disk
from muniment.errors import MunimentError
from muniment.export import Request
from muniment.inscribe import Outcome
from muniment.restore import Target
from muniment.sources.base import Found, SourceFile

STEPS = (0.3, 0.55, 0.8, 1)
"""How much of a file was there when it was looked at."""
HOSTILE = ("../../../evil", "/evil", "..", "", "a\0b", "a\nb", "~root", "..\\..\\evil", "e" * 4096, "\ud800")


def archive_in(folder: Path) -> Archive:
    return Archive(folder / "store", {"HOME": str(folder / "user")})


def inscribed(archive: Archive, *paths: Path) -> list[Outcome]:
    """What became of each session; none may fail, and no file may be passed over."""
    outcomes: list[Outcome] = []
    archive.inscribe(paths, outcomes.append)
    assert archive.unreadable == {}, archive.unreadable
    assert [outcome.note for outcome in outcomes if outcome.what == "failed"] == []
    return outcomes


def canonical(archive: Archive, session_id: str) -> list[Any]:
    """Document and rounds: what must not depend on how they came to be."""
    session = archive.session(session_id)
    return [archive.shelf(session).document.read_bytes(), *archive.rounds(session)]


def originals(subject: Subject, sessions: list[Found]) -> dict[str, bytes]:
    """Every file that a restore must write, by its name."""
    source = subject.source
    found = [file for session in sessions for file in session.files]
    return {file.name: b"".join(source.content(file)) for file in found if is_given_back(subject, file)}


def is_given_back(subject: Subject, file: SourceFile) -> bool:
    return file.role != "history" and subject.source.given_back(file.name)


def test_every_byte_comes_back(subject: Subject, tmp_path: Path) -> None:
    work, archive = subject.laid_out(tmp_path), archive_in(tmp_path)
    expected = originals(subject, subject.sessions(work))
    assert expected
    inscribed(archive, work)
    shutil.rmtree(work)
    for session in archive.sessions():
        archive.restore(session.session_id)
    assert {name: (work / name).read_bytes() for name in expected if (work / name).is_file()} == expected


def test_nothing_in_the_agents_folders_is_touched(subject: Subject, tmp_path: Path) -> None:
    work, archive, source = subject.laid_out(tmp_path), archive_in(tmp_path), subject.source
    before = seen_on_disk(work)
    inscribed(archive, work)
    list(archive.check([work]))
    list(source.remembered(work))
    for session in archive.sessions():
        source.live(work, session.session_id)
    assert seen_on_disk(work) == before


def test_check_finds_no_loss(subject: Subject, tmp_path: Path) -> None:
    needs_claims(subject.source)
    work, archive = subject.laid_out(tmp_path), archive_in(tmp_path)
    reports = list(archive.check([work]))
    assert [(report.path, report.export, report.document) for report in reports if not report.lossless] == []
    assert sum(report.document["text"].equal for report in reports if "text" in report.document) > 0
    inscribed(archive, work)
    stored = list(archive.check_stored())
    assert [(report.path, report.problems) for report in stored if not report.lossless or report.problems] == []
    assert len(stored) == len(reports)


def test_inscribing_again_changes_nothing(subject: Subject, tmp_path: Path) -> None:
    work, archive = subject.laid_out(tmp_path), archive_in(tmp_path)
    inscribed(archive, work)
    before = {session.session_id: canonical(archive, session.session_id) for session in archive.sessions()}
    assert archive.plan(archive.find([work])).tasks == ()
    for path in work.rglob("*"):
        path.touch()
    assert {outcome.what for outcome in inscribed(archive, work)} <= {"unchanged"}
    assert {session.session_id: canonical(archive, session.session_id) for session in archive.sessions()} == before


def test_two_archives_hold_the_same(subject: Subject, tmp_path: Path) -> None:
    work = subject.laid_out(tmp_path)
    one, other = archive_in(tmp_path / "one"), archive_in(tmp_path / "other")
    inscribed(one, work)
    inscribed(other, work)
    for session in one.sessions():
        assert canonical(one, session.session_id) == canonical(other, session.session_id)


def alone(subject: Subject, work: Path) -> list[tuple[str, Path]]:
    """Sessions whose transcript is a file of their own."""
    mains = [(session.session_id, session.main) for session in subject.sessions(work)]
    plain = [(id_, main) for id_, main in mains if main and main.start is None and main.text is None]
    return [(id_, Path(main.path)) for id_, main in plain if "#" not in main.path]


def test_growing_step_by_step_gives_what_the_whole_gives(subject: Subject, tmp_path: Path) -> None:
    """Half a line is completed later; what is there twice is kept once."""
    work = subject.laid_out(tmp_path)
    growing, whole = archive_in(tmp_path / "growing"), archive_in(tmp_path / "whole")
    sessions = alone(subject, work) or pytest.skip("no session has a file of its own")
    contents = {path: path.read_bytes() for _, path in sessions}
    for step in STEPS:
        for path, content in contents.items():
            path.write_bytes(content[: int(len(content) * step)])
        inscribed(growing, work)
        inscribed(growing, work)
    inscribed(whole, work)
    for session_id, _ in sessions:
        assert canonical(growing, session_id) == canonical(whole, session_id)


def test_what_is_damaged_comes_back_as_it_was(subject: Subject, tmp_path: Path) -> None:
    work, archive = subject.laid_out(tmp_path), archive_in(tmp_path)
    sessions = alone(subject, work) or pytest.skip("no session has a file of its own")
    for _, path in sessions:
        content = path.read_bytes()
        middle = len(content) * 2 // 3
        path.write_bytes(content[:middle] + b'\xff\0"\\{' + content[middle + 9 :])
    found = subject.sessions(work)
    expected = originals(subject, found)
    inscribed(archive, work)
    shutil.rmtree(work)
    for session in found:
        archive.restore(session.session_id)
    assert {name: (work / name).read_bytes() for name in expected} == expected


def test_an_id_is_never_a_path(subject: Subject, tmp_path: Path) -> None:
    """An id that a file holds goes through archive, restore and export, and nothing is written beside them."""
    for number, text in enumerate(HOSTILE):
        folder = tmp_path / str(number)
        work = subject.laid_out(folder)
        for session in subject.sessions(work):
            put_in(session, text)
        store, out = folder / "a" / "b" / "store", folder / "c" / "d" / "out"
        before = seen_on_disk(folder)
        archive = Archive(store, {"HOME": str(out / "user")})
        inscribed(archive, work)
        for session in archive.sessions():
            give_back(archive, session.session_id, out, subject)
        after = seen_on_disk(folder)
        apart = {name: told for name, told in after.items() if name.split("/")[0] not in ("a", "c")}
        assert apart == before, f"with {text!r} as id"


def put_in(session: Found, text: str) -> None:
    """Another id wherever the file has its own."""
    path = Path(session.main.path.partition("#")[0]) if session.main else None
    if path and path.is_file():
        content = path.read_bytes()
        if b"\0" in content:
            return  # no text: other bytes in it make a damaged file, and no other id
        for id_ in {session.session_id, session.native_id or session.session_id}:
            content = content.replace(id_.encode(), json.dumps(text)[1:-1].encode())
        path.write_bytes(content)


def give_back(archive: Archive, session_id: str, out: Path, subject: Subject) -> None:
    """Restored and exported; what is refused writes nothing."""
    archive.restore(session_id, Target(to=out / "restored"))
    if subject.source.writable:
        with suppress(MunimentError, OSError):
            archive.export(session_id, Request(subject.name, to=out / "exported"))
