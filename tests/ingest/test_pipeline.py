"""From the archive to engagements: the files, the index, the document; and what survives what."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import structs

from muniment import search
from muniment.archive import Archive
from muniment.errors import StoreError
from muniment.ingest import offline, pipeline
from muniment.ingest.pipeline import Outcome
from muniment.ingest.planning import Choice, Plan
from muniment.model.engagements import Engagement, Extraction
from muniment.search import Query
from muniment.store import engagements, page
from tests.builder import ClaudeSession, conversation, text, tool


def put(home: Path, name: str, rounds: int = 4) -> ClaudeSession:
    session = conversation(rounds, cwd=f"/proj/{name}")
    session.write(home, f"-proj-{name}")
    return session


def ingest(archive: Archive, choice: Choice | None = None) -> list[Outcome]:
    outcomes: list[Outcome] = []
    archive.inscribe()
    archive.ingest(choice, outcomes.append)
    return outcomes


def tags(archive: Archive, session_id: str) -> list[str | None]:
    with sqlite3.connect(archive.layout.database) as db:
        sql = "SELECT engagement_id FROM rounds WHERE session_id = ? ORDER BY round"
        return [tag for (tag,) in db.execute(sql, (session_id,))]


def test_a_session_becomes_a_line_an_index_and_tags(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    (outcome,) = ingest(archive)
    assert (outcome.what, outcome.extractor) == ("extracted", offline.NAME)
    (line,) = archive.layout.engagements.read_bytes().splitlines()
    record = json.loads(line)
    assert record["session_id"] == session.id
    assert record["user_turns"] == 4
    first = record["engagements"][0]
    assert {"topic", "project", "method", "phase", "key_decisions", "outcome", "turn_range"} <= first.keys()
    assert first["turn_range"][0] == 1
    assert first["engagement_id"] == f"{session.id[:13]}-1"
    assert tags(archive, session.id)[0] == first["engagement_id"]
    assert f"[{session.id[:8]}](claude/{session.id}.md)" in archive.layout.engagements_listing.read_text()


def test_the_session_s_own_files_say_it_too_and_round_files_do_not(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    archive.inscribe()
    shelf = archive.shelf(archive.session(session.id))
    before = {path.name: path.read_bytes() for path in shelf.rounds.iterdir()}
    ingest(archive)
    assert f"{session.id[:13]}-1" in shelf.listing.read_text()
    top = page.load_head(shelf.document)
    assert top
    (touched,) = top.fields["engagements"]
    assert (touched["id"], touched["phase_at_start"]) == (f"{session.id[:13]}-1", None)
    assert touched["phase_at_end"] == next(archive.engagements()).engagements[0].phase
    assert not page.is_edited(shelf.document)
    with sqlite3.connect(shelf.database) as db:
        assert {tag for (tag,) in db.execute("SELECT engagement_id FROM rounds")} == {f"{session.id[:13]}-1"}
    assert {path.name: path.read_bytes() for path in shelf.rounds.iterdir()} == before


@pytest.mark.parametrize("part", ["team/cli", "srv", "CLI"])
def test_a_project_is_found_by_any_part_of_its_path(archive: Archive, home: Path, part: str) -> None:
    conversation(4, cwd="/srv/team/cli").write(home, "-srv-team-cli")
    put(home, "other")
    ingest(archive)
    (found,) = archive.find_engagements(Query(project=part))
    assert found.project == "cli"
    assert archive.find_engagements(Query(project="cli", exact=True)) == [found]
    assert archive.find_engagements(Query(project="/srv/team/cli", exact=True)) == []
    assert {hit.session_id for hit in archive.search(Query("prompt", project=part))} == {found.session_id}


def test_twice_is_once(archive: Archive, home: Path) -> None:
    put(home, "one")
    put(home, "two")
    ingest(archive)
    before = archive.layout.engagements.read_bytes()
    assert ingest(archive) == []
    assert [outcome.what for outcome in ingest(archive, Choice())] == ["extracted", "extracted"]
    assert sorted(archive.layout.engagements.read_bytes().splitlines()) == sorted(before.splitlines())


def test_a_session_that_grew_is_understood_again_and_the_others_are_left(archive: Archive, home: Path) -> None:
    put(home, "one")
    grown = put(home, "two")
    ingest(archive)
    grown.exchange("one more thing", "done")
    grown.write(home, "-proj-two")
    assert [outcome.session_id for outcome in ingest(archive)] == [grown.id]
    assert tags(archive, grown.id)[-1] is not None
    assert len(list(archive.engagements())) == 2


def test_only_what_was_chosen(archive: Archive, home: Path) -> None:
    one, two = put(home, "one"), put(home, "two")
    assert [o.session_id for o in ingest(archive, Choice(sessions=(two.id,)))] == [two.id]
    assert ingest(archive, Choice(since="2026-03-20")) == []
    assert {o.session_id for o in ingest(archive, Choice(since="2026-03-19"))} == {one.id, two.id}


def test_a_ghost_is_recorded_and_not_extracted(archive: Archive, home: Path) -> None:
    put(home, "one", rounds=2)
    (outcome,) = ingest(archive)
    assert outcome.what == "ghost"
    (record,) = archive.engagements()
    assert (record.ghost, record.engagements, record.extractor) == (True, (), None)
    listing = archive.layout.engagements_listing.read_text()
    assert record.session_id[:8] not in listing
    assert "ghosts, which are not listed: 1" in listing
    (shown,) = archive.find_engagements(Query(ghosts=True))
    assert shown.project == "one"
    counts = search.count(archive.layout, Query())
    assert (counts.engagements, counts.sessions, counts.ghosts) == (0, 0, 1)
    assert ingest(archive) == []


def test_a_one_shot_run_that_did_much_is_work_unless_the_rule_is_strict(archive: Archive, home: Path) -> None:
    session = ClaudeSession()
    session.user("do it all")
    for number in range(10):
        session.answer(tool(f"t{number}", "Bash", {"command": "ls"}))
        session.result(f"t{number}", "a", is_error=False)
    session.answer(text("All is done."))
    session.write(home)
    assert [outcome.what for outcome in ingest(archive)] == ["extracted"]
    assert [outcome.what for outcome in ingest(archive, Choice(strict_ghosts=True))] == ["ghost"]


def test_the_summary_is_filled_in_and_a_person_s_is_kept(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    ingest(archive)
    document = archive.shelf(archive.session(session.id)).document
    filled = page.load_head(document)
    assert filled
    (record,) = archive.engagements()
    assert filled.summary == record.session_summary == archive.session(session.id).summary
    assert filled.summary in (archive.layout.agent("claude") / "index.md").read_text()
    document.write_text(document.read_text().replace(f"\n{filled.summary}\n", "\nMy own words.\n", 1))
    session.exchange("more", "done")
    session.write(home, "-proj-one")
    ingest(archive)
    kept = page.load_head(document)
    assert kept
    assert kept.summary == "My own words."
    assert archive.session(session.id).summary == "My own words."


def test_a_filled_in_summary_is_renewed(archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = put(home, "one")
    ingest(archive)
    real = offline.extract
    monkeypatch.setattr(offline, "extract", lambda s: structs.replace(real(s), session_summary="Something else."))
    ingest(archive, Choice())
    top = page.load_head(archive.shelf(archive.session(session.id)).document)
    assert top
    assert top.summary == "Something else."


def test_what_was_understood_survives_append_and_reindex(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    ingest(archive)
    before = tags(archive, session.id)
    archive.tag(session.id, [2], "mine")
    archive.layout.database.unlink()
    archive.reindex()
    assert tags(archive, session.id) == [before[0], "mine", *before[2:]]
    assert ingest(archive) == []
    shelf = archive.shelf(archive.session(session.id))
    assert "mine" in shelf.listing.read_text()


def test_a_line_that_says_nothing_takes_no_round_out_of_its_engagement(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    ingest(archive)
    before = tags(archive, session.id)
    shelf = archive.shelf(archive.session(session.id))
    listing = shelf.listing.read_text()
    assert all(before)
    session.add({"type": "last-prompt", "lastPrompt": "hello", "sessionId": session.id})
    session.write(home, "-proj-one")
    archive.inscribe()
    assert tags(archive, session.id) == before
    assert shelf.listing.read_text() == listing


def test_a_tag_by_hand_outlives_ingestion_and_can_be_taken_away(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    ingest(archive)
    found = tags(archive, session.id)
    archive.tag(session.id, [1, 3], "mine")
    ingest(archive, Choice())
    assert tags(archive, session.id) == ["mine", found[1], "mine", found[3]]
    archive.tag(session.id, [1, 3], None)
    assert tags(archive, session.id) == found


def test_forgetting_a_session_forgets_what_was_understood(archive: Archive, home: Path) -> None:
    one, two = put(home, "one"), put(home, "two")
    ingest(archive)
    archive.forget(one.id)
    assert [record.session_id for record in archive.engagements()] == [two.id]
    assert one.id[:8] not in archive.layout.engagements_listing.read_text()
    with sqlite3.connect(archive.layout.database) as db:
        assert list(db.execute("SELECT DISTINCT session_id FROM engagements")) == [(two.id,)]
        assert db.execute("SELECT count(*) FROM engagements_fts").fetchone() == (len(tags(archive, two.id)) and 1,)


def test_a_damaged_round_fails_one_session_and_the_others_go_on(archive: Archive, home: Path) -> None:
    one, two = put(home, "one"), put(home, "two")
    archive.inscribe()
    archive.shelf(archive.session(one.id)).round_file(2).write_bytes(b"{")
    outcomes = {outcome.session_id: outcome for outcome in ingest(archive)}
    assert (outcomes[one.id].what, outcomes[two.id].what) == ("failed", "extracted")
    assert "damaged round file" in outcomes[one.id].note


def test_a_line_that_cannot_be_read_is_kept(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    ingest(archive)
    strange = b'{"written by":"another program"}'
    with archive.layout.engagements.open("ab") as file:
        file.write(strange + b"\n")
    ingest(archive, Choice())
    lines = archive.layout.engagements.read_bytes().splitlines()
    assert strange in lines
    assert [record.session_id for record in archive.engagements()] == [session.id]


MODEL = "anthropic:some-model"


def modelled(skeletons: object) -> object:
    for one in skeletons:  # type: ignore[attr-defined]
        whole = ((one.turns[0].number, one.turns[-1].number),)
        found = Engagement(topic="what a model says", method="design", phase="completed", turn_ranges=whole)
        yield one, Extraction(engagements=(found,), session_summary="Told by a model.", extractor=MODEL)


def run_model(archive: Archive, choice: Choice) -> None:
    plan = archive.ingest_plan(choice, MODEL)
    pipeline.run_with(archive.layout, plan, choice, modelled, lambda _: None, lambda: None)  # type: ignore[arg-type]


def test_what_a_model_made_is_not_replaced_offline_until_the_session_grows(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    put(home, "ghost", rounds=1)
    archive.inscribe()
    run_model(archive, Choice())
    by_id = {record.session_id: record for record in archive.engagements()}
    assert by_id[session.id].extractor == MODEL
    assert sum(record.ghost for record in by_id.values()) == 1
    ingest(archive, Choice())
    assert {r.extractor for r in archive.engagements()} == {MODEL, None}
    session.exchange("more", "done")
    session.write(home, "-proj-one")
    ingest(archive)
    assert {r.extractor for r in archive.engagements()} == {offline.NAME, None}


def test_an_older_index_is_built_anew(archive: Archive, home: Path) -> None:
    put(home, "one")
    archive.inscribe()
    with sqlite3.connect(archive.layout.database) as db:
        db.execute("DROP TABLE ingested")
        db.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreError, match="version 1") as refused:
        archive.sessions()
    assert "reindex" in refused.value.hint
    put(home, "two")
    archive.inscribe()
    assert len(ingest(archive)) == 2


def test_engagements_are_stored_as_they_were_extracted(archive: Archive, home: Path) -> None:
    put(home, "one")
    ingest(archive)
    (record,) = archive.engagements()
    engagements.put(archive.layout, [record])
    assert list(archive.engagements()) == [record]


def test_a_document_is_the_same_whether_it_was_ingested_or_rebuilt(archive: Archive, home: Path) -> None:
    session = put(home, "one")
    ingest(archive)
    archive.register(session.id, "Reed", None)
    document = archive.shelf(archive.session(session.id)).document
    before = document.read_bytes()
    archive.reindex()
    assert document.read_bytes() == before


def test_half_a_character_in_the_name_of_a_folder_does_not_stop_the_others(archive: Archive, home: Path) -> None:
    for name in ("MARK", "two"):
        path = put(home, name).write(home, f"-proj-{name}")
        path.write_bytes(path.read_bytes().replace(b"MARK", b"\\ud83d"))
    assert [outcome.what for outcome in ingest(archive)] == ["extracted", "extracted"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_no_more_processes_than_cores_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, count: int, *_: object) -> None:
            started.append(count)
            super().__init__(count)

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(pipeline, "SMALL_BYTES", 0)
    monkeypatch.setattr(pipeline, "ProcessPoolExecutor", Pool)
    with pipeline._workers(Plan((), 0)):  # pyright: ignore[reportPrivateUsage]
        assert started == [1]
