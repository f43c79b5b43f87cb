"""A session that is written anew as it grows is kept once; what contradicts what was there is kept as a version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment import files
from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.store import evidence
from muniment.store.index import Index
from muniment.store.layout import Shelf
from tests.conftest import canonical
from tests.inscribe import growing
from tests.inscribe.growing import FORMS, Moment

Inscribe = Callable[..., list[Outcome]]
LAW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
ALL = (len(growing.SAID), 1000)


class World:
    """One file that an agent writes anew, and an archive that follows it."""

    def __init__(self, folder: Path, name: str = "x.json") -> None:
        self.folder = folder
        self.path = folder / "agent" / name
        self.path.parent.mkdir(parents=True)
        self.archive = Archive(folder / "store", {"HOME": str(folder / "nobody")})

    def inscribe(self, data: bytes, into: Archive | None = None) -> list[Outcome]:
        self.path.write_bytes(data)
        outcomes: list[Outcome] = []
        (into or self.archive).inscribe([self.path], outcomes.append)
        assert [o.note for o in outcomes if o.what == "failed"] == []
        return outcomes

    @property
    def shelf(self) -> Shelf:
        return self.archive.shelf(self.archive.sessions()[0])

    def fresh(self) -> Archive:
        """Another archive, into which the last state alone is put."""
        made = Archive(self.folder / "fresh", {"HOME": str(self.folder / "nobody")})
        made.inscribe([self.path])
        return made

    def kept(self) -> list[bytes]:
        """The transcript of every version, the current one first."""
        names = sorted(p.name for p in (self.shelf.folder / "versions").glob("*"))
        return [_main(shelf) for shelf in (self.shelf, *map(self.shelf.version, names))]


def _main(shelf: Shelf) -> bytes:
    manifest = evidence.load(shelf.evidence)
    assert manifest
    assert manifest.main
    return b"".join(evidence.read(shelf.evidence, manifest.main))


def texts(archive: Archive) -> list[tuple[object, ...]]:
    with Index(archive.layout) as index:
        rows = index.rows("SELECT round, kind, tool, offset FROM texts")
        return sorted(rows, key=repr) + found(index)


def found(index: Index) -> list[tuple[object, ...]]:
    """Where some words are found: each place once."""
    sql = "SELECT t.round, t.kind, t.offset FROM texts_fts f JOIN texts t ON t.id = f.rowid WHERE texts_fts MATCH ?"
    return [hit for word in ("lamp", "the", "dusk", "Of") for hit in sorted(index.rows(sql, word))]


def grown(world: World, states: Sequence[bytes]) -> None:
    """Step by step is the same as the last alone, and the last comes back."""
    for state in states:
        world.inscribe(state)
    whole = world.fresh()
    assert canonical(world.archive.layout.sessions) == canonical(whole.layout.sessions)
    assert texts(world.archive) == texts(whole)
    assert world.kept() == [states[-1]]
    assert len(list(world.shelf.evidence.glob("*.zst"))) <= 2
    world.path.unlink()
    world.archive.restore("last")
    assert world.path.read_bytes() == states[-1]


@pytest.mark.parametrize("form", FORMS)
@LAW
@given(growing.moments())
def test_step_by_step_gives_what_the_last_alone_gives(
    tmp_path_factory: pytest.TempPathFactory, form: str, moments: list[Moment]
) -> None:
    grown(World(tmp_path_factory.mktemp("w")), [FORMS[form](growing.at(moment)) for moment in moments])


@LAW
@given(growing.whole())
def test_messages_without_names_are_known_by_what_they_say(
    tmp_path_factory: pytest.TempPathFactory, moments: list[Moment]
) -> None:
    grown(World(tmp_path_factory.mktemp("w")), [growing.chat(growing.at(moment)) for moment in moments])


@pytest.mark.parametrize("form", FORMS)
@LAW
@given(growing.moments(), st.integers(0, 5), st.sampled_from(["gone", "other", "shorter"]))
def test_what_contradicts_what_was_there_is_kept(
    tmp_path_factory: pytest.TempPathFactory, form: str, moments: list[Moment], at: int, how: str
) -> None:
    """One message is taken back, says something else, or says less: before and after are both there."""
    world = World(tmp_path_factory.mktemp("w"))
    before = growing.at(ALL)
    after = list(before)
    if how == "gone":
        after = after[:at]
    else:
        after[at] = "Something else." if how == "other" else after[at][:5]
    states = [FORMS[form](growing.at(moment)) for moment in moments] + [FORMS[form](before), FORMS[form](after)]
    for state in states:
        world.inscribe(state)
    if after:
        assert world.kept() == [states[-1], states[-2]]
        assert world.archive.sessions()[0].versions == 1
    world.path.unlink()
    world.archive.restore("last")
    assert world.path.read_bytes() == states[-1]


@pytest.mark.parametrize("form", FORMS)
def test_a_version_that_was_left_stays_while_the_other_grows(tmp_path: Path, form: str) -> None:
    world = World(tmp_path)
    left, make = growing.at(ALL), FORMS[form]
    world.inscribe(make(left))
    for number in range(3):
        world.inscribe(make([*left[:2], "Another question.", "An answer"[: 3 + number]]))
    assert world.kept() == [make([*left[:2], "Another question.", "An an"]), make(left)]
    again = world.inscribe(make(left))
    assert [outcome.what for outcome in again] == ["version"], "what was left is taken up again: nothing goes"
    assert make([*left[:2], "Another question.", "An an"]) in world.kept()


def test_records_that_a_document_has_no_more_are_kept_beside_it(tmp_path: Path) -> None:
    """Titles and numbers change with every state, and an unfinished text was once what it was."""
    world = World(tmp_path)
    for moment in ((3, 1), (4, 9), (4, 20), ALL):
        world.inscribe(growing.opencode(growing.at(moment)))
    manifest = evidence.load(world.shelf.evidence)
    assert manifest
    (former,) = (kept for kept in manifest.files if kept.role == "old")
    lines = b"".join(evidence.read(world.shelf.evidence, former)).splitlines()
    assert [title in b"".join(lines) for title in (b'"Of 3"', b'"Of 4"', b'"Of 6"')] == [True, True, False]
    assert sum(b'"text":"The keepe"' in line for line in lines) == 1
    assert not any(growing.SAID[0].encode() in line for line in lines), "what still stands there is not kept twice"


def test_the_document_that_somebody_edited_is_kept_when_its_session_grows(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.inscribe(growing.opencode(growing.at((2, 1000))))
    document = world.shelf.document
    document.write_text(document.read_text().replace("From the lamp", "From one candle"))
    (outcome,) = world.inscribe(growing.opencode(growing.at(ALL)))
    assert any("edited" in problem.what for problem in outcome.problems)
    (kept,) = (world.shelf.folder / "versions").glob("edited-*.md")
    assert "From one candle" in kept.read_text()
    assert "From the lamp" in document.read_text()


def test_a_summary_that_somebody_wrote_stays(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.inscribe(growing.opencode(growing.at((2, 1000))))
    document = world.shelf.document
    document.write_text(document.read_text().replace("\nOf 2\n\n---", "\nWhat we learned of lamps\n\n---", 1))
    world.inscribe(growing.opencode(growing.at(ALL)))
    assert world.archive.sessions()[0].summary == "What we learned of lamps"


def test_a_copy_elsewhere_comes_back_as_it_was(tmp_path: Path) -> None:
    """A document that lies at two paths and grows at one of them must not go."""
    world = World(tmp_path)
    early, late = growing.opencode(growing.at((2, 1000))), growing.opencode(growing.at(ALL))
    other = tmp_path / "backup" / "x.json"
    other.parent.mkdir()
    other.write_bytes(early)
    world.inscribe(early)
    world.archive.inscribe([other])
    world.inscribe(late)
    world.inscribe(late.replace(b"Of 6", b"Six"))
    assert world.kept() == [late.replace(b"Of 6", b"Six"), early]
    for path in (world.path, other):
        path.unlink()
    world.archive.restore("last")
    assert (world.path.read_bytes(), other.read_bytes()) == (late.replace(b"Of 6", b"Six"), early)


def test_a_copy_that_goes_its_own_way_is_one_version_however_often_it_grows(tmp_path: Path) -> None:
    world = World(tmp_path)
    said = growing.at(ALL)
    world.inscribe(growing.opencode(said))
    other = tmp_path / "backup" / "x.json"
    other.parent.mkdir()
    for number in range(3):
        state = growing.opencode([*said[:3], "Nobody does.", *said[4 : 4 + number]])
        other.write_bytes(state)
        world.archive.inscribe([other])
    assert world.kept() == [growing.opencode(said), state]


def test_lines_that_were_put_between_others_are_no_new_version(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    """The rule is the same for agents that append lines and have once written a file anew."""
    from tests.builder import conversation

    session = conversation(3)
    path = session.write(home)
    inscribe()
    session.lines.insert(2, b'{"type":"summary","summary":"Of prompts","leafUuid":"x"}\n')
    session.write(home)
    (outcome,) = inscribe()
    assert (outcome.what, archive.sessions()[0].versions) == ("appended", 0)
    path.unlink()
    archive.restore("last")
    assert path.read_bytes() == session.data


class Killed(BaseException):
    """The process ends here: nothing that it would still have done happens."""


def dying(call: Callable[..., None], number: int) -> Callable[..., None]:
    """A function during whose n-th call the process ends."""
    left = iter(range(number))

    def called(*values: object) -> None:
        if next(left) == number - 1:
            raise Killed
        call(*values)

    return called


@pytest.mark.parametrize("number", range(1, 11))
def test_a_run_that_was_killed_loses_neither_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """At every file that is put in place, and before the index vouches for them."""
    world = World(tmp_path)
    early, late = growing.opencode(growing.at((4, 9))), growing.opencode(growing.at(ALL))
    world.inscribe(early)
    with monkeypatch.context() as patched:
        patched.setattr(files, "write_atomic", dying(files.write_atomic, number))
        patched.setattr(Index, "commit", dying(Index.commit, 1))
        with pytest.raises(Killed):
            world.inscribe(late)
    assert world.kept() in ([early], [late])
    world.inscribe(late)
    whole = world.fresh()
    assert canonical(world.archive.layout.sessions) == canonical(whole.layout.sessions)
    assert texts(world.archive) == texts(whole)
    assert world.kept() == [late]
    assert len(list(world.shelf.evidence.glob("*.zst"))) == 2, "one document, and what it has no more"


def test_the_archive_can_be_built_anew_and_checked(tmp_path: Path) -> None:
    world = World(tmp_path)
    for moment in ((2, 5), (4, 9), ALL):
        world.inscribe(growing.opencode(growing.at(moment)))
    before = canonical(world.archive.layout.sessions)
    world.archive.reindex()
    assert canonical(world.archive.layout.sessions) == before
    assert world.inscribe(growing.opencode(growing.at(ALL)) + b"\n")[0].what == "appended"
    assert [report.note for report in world.archive.check_stored()] == [""]
