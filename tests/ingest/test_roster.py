"""Names and roles that people register, and the bucket of a role."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muniment import moving
from muniment.archive import Archive
from muniment.errors import Ambiguous, NotFound
from muniment.ingest.planning import Choice
from muniment.restore import Target
from muniment.search import Query
from muniment.store import edits, page, roster
from muniment.store.pulse import Pulse
from muniment.store.roster import Entry
from muniment.viewing import everything
from tests.builder import ClaudeSession, conversation
from tests.conftest import canonical


def put(home: Path, name: str = "one") -> ClaudeSession:
    session = conversation(4, cwd=f"/proj/{name}")
    session.write(home, f"-proj-{name}")
    return session


def ready(archive: Archive, home: Path) -> ClaudeSession:
    session = put(home)
    archive.inscribe()
    archive.ingest()
    return session


def test_a_registered_name_and_role_are_known_everywhere(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    archive.register(session.id[:8], "Reed", "historian")
    assert archive.roster().entries == (Entry(session.id[:8], "Reed", "historian"),)
    (record,) = archive.engagements()
    assert (record.agent_name, record.agent_name_from, record.agent_role) == ("Reed", "roster", "historian")
    top = page.load_head(archive.shelf(archive.session(session.id)).document)
    assert top
    assert (top.title, top.fields["role"]) == ("Reed · 2026-03-19", "historian")
    archive.unregister(session.id[:8])
    (record,) = archive.engagements()
    assert (record.agent_name, record.agent_role) == (None, None)


def test_registering_again_replaces_and_other_lines_stay(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    archive.layout.roster.write_text('{"session":"ABCDEF01","name":"Ash","role":"scout","note":"x"}\nnot JSON\n')
    archive.register(session.id, "Reed", None)
    archive.register(session.id, "Moss", None)
    assert archive.roster().entries == (Entry("abcdef01", "Ash", "scout"), Entry(session.id[:8], "Moss", None))
    assert "not JSON" in archive.layout.roster.read_text()
    assert '"note":"x"' in archive.layout.roster.read_text()


def test_who_is_not_registered_cannot_be_removed(archive: Archive, home: Path) -> None:
    ready(archive, home)
    assert not archive.unregister("00000000")


def test_a_name_that_is_taken_back_leaves_the_document(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    document = archive.shelf(archive.session(session.id)).document
    before = document.read_bytes()
    archive.register(session.id, "Reed", "Lead Historian")
    assert b"Reed" in document.read_bytes()
    assert archive.unregister(session.id)
    assert document.read_bytes() == before
    listing = archive.shelf(archive.session(session.id)).folder
    assert not any(b"Reed" in path.read_bytes() for path in listing.rglob("*") if path.suffix in (".md", ".jsonl"))


def test_a_session_moves_to_its_role_and_everything_follows(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    archive.register(session.id, "Reed", "Lead Historian")
    assert archive.movable() == [session.id]
    assert archive.move(session.id) == "lead-historian"
    row = archive.session(session.id)
    assert row.agent_id == "lead-historian"
    shelf = archive.shelf(row)
    top = page.load_head(shelf.document)
    assert top
    assert top.fields["agent_id"] == "lead-historian"
    assert not (archive.layout.sessions / "claude").exists()
    assert session.id in (archive.layout.agent("lead-historian") / "index.md").read_text()
    assert "lead-historian" in archive.layout.listing.read_text()
    assert f"(lead-historian/{session.id}.md)" in archive.layout.engagements_listing.read_text()
    assert len(list(archive.rounds(row))) == 4
    assert archive.movable() == []
    assert archive.restore(session.id)


def test_after_a_move_appends_and_reindex_find_it_in_its_place(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    archive.register(session.id, None, "historian")
    archive.move(session.id)
    session.exchange("more", "done")
    session.write(home, "-proj-one")
    archive.inscribe()
    archive.reindex()
    row = archive.session(session.id)
    assert (row.agent_id, row.rounds) == ("historian", 5)
    assert not (archive.layout.sessions / "claude").exists()


def test_a_new_session_of_a_registered_id_goes_to_its_role_at_once(archive: Archive, home: Path) -> None:
    session = put(home)
    roster.put(archive.layout, Entry(session.id[:8], "Reed", "historian"))
    archive.inscribe()
    assert archive.session(session.id).agent_id == "historian"


def test_without_a_role_nothing_is_moved(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    with pytest.raises(NotFound, match="no role"):
        archive.move(session.id)


@pytest.mark.parametrize("by", ["inscribe", "reindex"])
@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_move_that_was_cut_off_is_brought_to_its_end(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch, renames: int, by: str
) -> None:
    session = ready(archive, home)
    archive.register(session.id, None, "historian")
    whole = os.rename
    left = [renames]

    def rename(source: Path, target: Path) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        whole(source, target)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(moving.os, "rename", rename)
    monkeypatch.setattr(moving, "_reword", interrupted)
    with pytest.raises(KeyboardInterrupt):
        archive.move(session.id)
    monkeypatch.undo()
    assert len(list(archive.rounds(archive.session(session.id)))) == 4, "nothing is out of reach until then"
    assert archive.restore(session.id, Target(to=home.parent / "back"))
    put(home, "two")
    archive.inscribe() if by == "inscribe" else archive.reindex()
    row = archive.session(session.id)
    assert row.agent_id == "historian"
    assert archive.shelf(row).document.exists()
    assert len(list(archive.rounds(row))) == 4
    assert not list(archive.layout.sessions.glob(f"claude/{session.id}*"))


@pytest.mark.parametrize(("role", "name"), [("Historian", "historian"), ("  Code / Review ", "code-review")])
def test_a_role_is_a_folder_name(role: str, name: str) -> None:
    assert moving.bucket(role) == name


def test_a_role_that_is_no_name_still_gets_a_harmless_folder(archive: Archive) -> None:
    for role in ("../..", "..", "con", "日本", "/"):
        assert archive.layout.agent(moving.bucket(role)).parent == archive.layout.sessions


def test_a_move_is_an_edit_that_is_kept(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    archive.register(session.id, None, "historian")
    archive.move(session.id)
    assert edits.moves(archive.layout) == {session.id: "historian"}
    before = canonical(archive.layout.root)
    archive.move(session.id)
    assert canonical(archive.layout.root) == before


# -- sessions of the same minute: ids that begin with the time begin alike

TWINS = ("01890abc-0001-7000-8000-000000000001", "01890abc-0001-7000-8000-000000000002")
NEAR = "01890abc-0002-7000-8000-000000000003"
FAR = "55555555-0002-7000-8000-000000000004"


def inscribed(archive: Archive, home: Path, *ids: str) -> None:
    for id_ in ids:
        conversation(3, id_, f"/proj/{id_}").write(home, f"-{id_}")
    archive.inscribe()
    archive.ingest()


def names(archive: Archive) -> dict[str, str | None]:
    return {record.session_id: record.agent_name for record in archive.engagements()}


def test_a_session_is_registered_by_as_much_of_its_id_as_is_its_own(archive: Archive, home: Path) -> None:
    inscribed(archive, home, *TWINS, NEAR, FAR)
    for id_, name in zip((*TWINS, NEAR, FAR), ("Ash", "Birch", "Cedar", "Date"), strict=True):
        archive.register(id_, name, name)
    written = [entry.session_id for entry in archive.roster().entries]
    assert written == [*TWINS, "01890abc-0002", "55555555"]
    assert names(archive) == dict(zip((*TWINS, NEAR, FAR), ("Ash", "Birch", "Cedar", "Date"), strict=True))
    for id_ in archive.movable():
        archive.move(id_)
    assert archive.session(TWINS[0]).agent_id == "ash"
    assert archive.unregister(TWINS[0])
    assert names(archive) == {TWINS[0]: None, TWINS[1]: "Birch", NEAR: "Cedar", FAR: "Date"}


def test_an_entry_that_fits_several_sessions_is_left_to_the_others(archive: Archive, home: Path) -> None:
    archive.layout.roster.parent.mkdir(parents=True)
    archive.layout.roster.write_text('{"session":"01890ABC","name":"Elder"}\n')
    inscribed(archive, home, TWINS[0], NEAR)
    archive.register(NEAR, "Cedar", None)
    assert names(archive) == {TWINS[0]: "Elder", NEAR: "Cedar"}
    with pytest.raises(Ambiguous, match="01890abc"):
        archive.unregister(TWINS[0])
    assert archive.unregister(NEAR)
    assert archive.unregister("01890abc")
    assert archive.roster().entries == ()
    assert names(archive)[TWINS[0]] is None


def test_a_longer_entry_gives_way_to_what_is_enough(archive: Archive, home: Path) -> None:
    inscribed(archive, home, FAR)
    archive.layout.roster.write_text(f'{{"session":"{FAR[:13]}","name":"Elder"}}\n{{"session":"{FAR[:8]}"}}\n')
    assert archive.roster().of(FAR) == Entry(FAR[:13], "Elder")
    archive.register(FAR, "Date", None)
    assert archive.roster().entries == (Entry(FAR[:8], "Date"),)


def test_a_registered_session_is_removed_by_any_name_and_when_it_is_gone(archive: Archive, home: Path) -> None:
    inscribed(archive, home, FAR, NEAR)
    archive.register("last", "Date", None)
    assert archive.unregister("last")
    archive.register(FAR, "Date", None)
    archive.forget(FAR)
    assert archive.unregister(FAR)
    assert archive.roster().entries == ()


def test_a_bundle_brings_a_name_to_its_own_session_alone(archive: Archive, home: Path, tmp_path: Path) -> None:
    inscribed(archive, home, TWINS[0])
    archive.register(TWINS[0], "Ash", None)
    archive.bundle([TWINS[0]], tmp_path / "one.bundle")
    other = Archive(tmp_path / "other", archive.env)
    (home / "projects" / f"-{TWINS[0]}" / f"{TWINS[0]}.jsonl").unlink()
    inscribed(other, home, TWINS[1])
    other.unbundle(tmp_path / "one.bundle")
    assert other.roster().entries == (Entry(TWINS[0], "Ash"),)


def by_another_program(archive: Archive, session_id: str, name: str, role: str) -> None:
    with archive.layout.roster.open("a") as file:
        file.write(f'{{"session":"{session_id[:8]}","name":"{name}","role":"{role}"}}\n')


def test_what_another_program_writes_is_seen_at_once(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    pulse = Pulse(archive.layout)
    before = pulse.state()
    by_another_program(archive, session.id, "Reed", "historian")
    (found,) = archive.find_engagements(Query(agent="reed"))
    assert (found.agent_name, found.agent_role) == ("Reed", "historian")
    assert everything.sessions(archive.layout, "").columns.agent_name == ["Reed"]
    assert pulse.state() != before
    by_another_program(archive, session.id, "Moss", "scout")
    (found,) = archive.find_engagements(Query(agent="scout"))
    assert found.agent_name == "Moss"
    archive.layout.roster.write_text("")
    assert archive.find_engagements(Query())[0].agent_name is None


def test_a_name_that_the_session_itself_gives_is_not_hidden_by_it(archive: Archive, home: Path) -> None:
    session = put(home)
    session.user("/rename Ash")
    session.write(home, "-proj-one")
    archive.inscribe()
    archive.ingest()
    by_another_program(archive, session.id, "Reed", "historian")
    (found,) = archive.find_engagements(Query())[:1]
    assert (found.agent_name, found.agent_role) == ("Ash", "historian")


def test_the_next_run_writes_it_down(archive: Archive, home: Path) -> None:
    session = ready(archive, home)
    by_another_program(archive, session.id, "Reed", "historian")
    archive.ingest()  # what `up` and `ingest --skip-existing` do
    (record,) = archive.engagements()
    assert (record.agent_name, record.agent_name_from, record.agent_role) == ("Reed", "roster", "historian")
    assert "Reed" in archive.layout.engagements_listing.read_text()
    top = page.load_head(archive.shelf(archive.session(session.id)).document)
    assert top
    assert top.title == "Reed · 2026-03-19"
    assert archive.ingest_plan(Choice(skip_existing=True)).renamed == ()
    assert archive.find_engagements(Query("Reed"))


def test_a_session_that_cannot_be_read_keeps_no_other_from_its_name(archive: Archive, home: Path) -> None:
    one, two = put(home), put(home, "two")
    archive.inscribe()
    archive.ingest()
    archive.shelf(archive.session(one.id)).round_file(2).write_bytes(b"{")
    for session in (one, two):
        by_another_program(archive, session.id, "Reed", "historian")
    archive.ingest()
    assert {record.agent_name for record in archive.engagements()} == {None, "Reed"}
    assert {found.agent_name for found in archive.find_engagements(Query())} == {"Reed"}
