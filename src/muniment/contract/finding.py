"""Laws of finding: a source knows its own files, all of them, and takes nobody else's."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

import pytest

from muniment import sources
from muniment.contract.samples import ENV, Sample, Subject
from muniment.errors import StoreError
from muniment.sources.base import FileRole, Found, SourceFile, head_of
from muniment.store.layout import is_session_id


def test_a_sample_shows_a_conversation(subject: Subject) -> None:
    """What nobody ever said shows nothing: the other laws would hold of an empty reader."""
    sessions = subject.sessions()
    assert sessions
    assert all(session.main for session in sessions)


def test_the_names_are_fit_for_a_command_line(subject: Subject) -> None:
    source = subject.source
    assert source.name == source.name.lower().strip()
    assert source.name.replace("-", "").isalnum()
    assert source.title
    assert source.family
    assert [other.name for other in sources.all_sources()].count(source.name) == 1


def on_disk(file: SourceFile) -> Path:
    """The file that a transcript comes from."""
    path = Path(file.path.partition("#")[0])
    return path if path.is_file() else pytest.skip("the transcript is put together from other files")


def test_a_source_claims_its_own_files_and_nobody_elses(sample: Sample) -> None:
    path = on_disk(sample.file)
    assert [s.name for s in sources.all_sources() if s.matches(path, head_of(path))] == [sample.source.name]


@pytest.mark.parametrize("head", [b"", b"\0" * 100, b"{", b"[]", b"null", b"\xff\xfe", b"# notes\n", b"[" * 60_000])
def test_what_is_no_session_is_not_claimed(subject: Subject, head: bytes) -> None:
    assert not subject.source.matches(Path("notes.jsonl"), head)


def test_every_file_is_found_below_its_root(subject: Subject) -> None:
    for session in subject.sessions():
        assert is_session_id(session.session_id)
        for file in session.files:
            name = PurePosixPath(file.name)
            assert not name.is_absolute()
            assert ".." not in name.parts
            assert file.size == len(b"".join(subject.source.content(file)))
            if file.start is None and file.text is None and "#" not in file.path:
                assert Path(session.root, file.name) == Path(file.path)


def test_any_part_of_a_file_can_be_had(sample: Sample) -> None:
    whole = b"".join(sample.source.content(sample.file))
    middle = len(whole) // 2
    assert b"".join(sample.source.content(sample.file, middle)) == whole[middle:]
    assert b"".join(sample.source.content(sample.file, 1, middle)) == whole[1:middle]


def test_sessions_that_share_a_file_have_all_of_its_bytes(subject: Subject) -> None:
    shared: dict[str, list[SourceFile]] = {}
    for session in subject.sessions():
        for file in session.files:
            if file.start is not None and file.text is None:
                shared.setdefault(file.path, []).append(file)
    for path, parts in shared.items():
        ordered = sorted(parts, key=lambda part: part.name)
        assert b"".join(piece for part in ordered for piece in subject.source.content(part)) == Path(path).read_bytes()


def test_a_transcript_given_by_itself_is_the_same_session(sample: Sample) -> None:
    if sample.file.role == "main":
        path = on_disk(sample.file)
        alone = [(session.source, session.session_id) for session in sources.find_in(path, ENV)]
        assert (sample.source.name, sample.facts.session_id) in alone
        assert len(alone) == 1 or sample.file.start is not None or "#" in sample.file.path


def test_what_lies_in_the_agents_home_is_found_there(subject: Subject, tmp_path: Path) -> None:
    source, home = subject.source, subject.laid_out(tmp_path)
    homes = source.homes({"HOME": str(tmp_path)})
    assert all(path.is_relative_to(tmp_path) for path in homes), (
        "a home that is not in $HOME must be named by a variable"
    )
    if not homes:
        pytest.skip(f"{source.title} has no home: its sessions are found where somebody points")
    found = {session.session_id for session in source.gather(source.candidates(home), home, [home])}
    assert found == {session.session_id for session in subject.sessions(home)}


SOMEBODY = "01234567-89ab-4cde-8f01-23456789abcd"
HEEDED = (
    "CLAUDE.md", "claude.md", "AGENTS.md", "GEMINI.md", "settings.json", "settings.local.json", "config.toml",
    "config.json", "auth.json", "mcp.json", "hooks/x", "hooks/x.json", "skills/x/SKILL.md", "plugins/x/plugin.json",
    "commands/x.md", "agents/x.md", "rules/x.md", "prompts/x.md", "projects/x/memory/MEMORY.md", "projects/x/CLAUDE.md",
    ".bashrc", "../x", "a/../../x", "/x", "", ".", "a//b", "./x", "a\\..\\x", "x\0",
)  # fmt: skip
"""What agents and shells heed, and ways out of a folder."""


def test_every_file_in_the_home_is_owned(subject: Subject, tmp_path: Path) -> None:
    """A restore writes nothing into a home that the source does not own."""
    source, home = subject.source, subject.laid_out(tmp_path)
    found = [*source.gather(source.candidates(home), home, [home]), *source.remembered(home)]
    for session in found:
        id_ = session.native_id or session.session_id
        files = [file for file in session.files if session.home and source.given_back(file.name)]
        assert [file.name for file in files if not source.owns(file.name, file.role, id_)] == []
        assert [file.name for file in files if not source.owns(file.name, file.role)] == []
        for file in (file for file in files if file.role == "history"):
            lines = b"".join(source.content(file)).splitlines()
            assert all(source.notes(file.name, line, id_) for line in lines)


def test_nothing_that_is_heeded_is_owned(subject: Subject) -> None:
    source = subject.source
    ids = [None, SOMEBODY, "", "..", "memory", "../..", "x/y", "*"]
    ids += [session.native_id or session.session_id for session in subject.sessions()]
    roles: tuple[FileRole, ...] = ("main", "sidechain", "side", "history", "old")
    names = {*HEEDED, *source.instruction_files.in_home}
    assert [(n, r, i) for n in names for r in roles for i in ids if source.owns(n, r, i)] == []
    assert not any(source.notes(name, b"harm", SOMEBODY) for name in names)


def test_a_home_holds_the_same_sessions_wherever_one_points(subject: Subject, tmp_path: Path) -> None:
    """As a home, as a folder, from above, and as a copy elsewhere; also where a side file holds a transcript."""
    source, home = subject.source, subject.laid_out(tmp_path / "user")
    if not source.homes({"HOME": str(tmp_path)}):
        pytest.skip(f"{source.title} has no home: its sessions are found where somebody points")
    if not list(source.gather(source.candidates(home), home, [home])):
        pytest.skip("these samples were saved by a person: they do not lie as in a home")
    for copy in (tmp_path / "backup" / "as it was", tmp_path / "backup" / "with transcripts"):
        expected = files_below(home, source.gather(source.candidates(home), home, [home]))
        shutil.copytree(home, copy)
        for folder, top in ((home, home), (home.parent, home), (copy, copy)):
            assert files_below(top, sources.find_in(folder, ENV)) == expected
        _put_transcripts_beside(source.gather(source.candidates(home), home, [home]))


def _put_transcripts_beside(found: Iterable[Found]) -> None:
    for session in found:
        source, main = sources.named(session.source), session.main
        transcript = b"".join(source.content(main)) if main else b""  # some are made of their side files: read it once
        for file in session.files:
            if file.role == "side" and main:
                Path(file.path).write_bytes(transcript)


def files_below(home: Path, found: Iterable[Found]) -> list[tuple[str, str, list[tuple[str, str, str | None]]]]:
    """Sessions with their files, named from the home on."""
    return sorted(
        (one.source, one.session_id, sorted((str(Path(f.path).relative_to(home)), f.role, f.id) for f in one.files))
        for one in found
    )


def test_a_home_that_is_not_there_holds_nothing(subject: Subject, tmp_path: Path) -> None:
    source, home = subject.source, tmp_path / "nobody" / "home"
    assert list(source.gather(source.candidates(home), home, [home])) == []
    assert list(source.remembered(home)) == []
    assert source.live(home, "../../somebody") is None


def test_finding_twice_gives_the_same(subject: Subject) -> None:
    assert subject.sessions() == subject.sessions()


def test_links_are_not_followed(subject: Subject, tmp_path: Path) -> None:
    """A link may lead to anything that its maker is not allowed to read."""
    work = subject.laid_out(tmp_path)
    for session in subject.sessions(work):
        main = session.main
        path = Path(main.path.partition("#")[0]) if main else work
        if path.is_file():
            elsewhere = tmp_path / f"elsewhere-{session.session_id}"
            shutil.move(path, elsewhere)
            path.symlink_to(elsewhere)
            with suppress(StoreError):  # a refusal follows nothing either
                found = subject.source.gather([path], work, [work])
                assert [file.path for other in found for file in other.files if file.path == str(path)] == []


def test_a_file_that_is_gone_is_no_reason_to_fail(subject: Subject, tmp_path: Path) -> None:
    work = subject.laid_out(tmp_path)
    paths = [Path(file.path.partition("#")[0]) for session in subject.sessions(work) for file in session.files]
    shutil.rmtree(work)
    assert [session for session in subject.source.gather(paths, work, [work]) if session.files] == []
