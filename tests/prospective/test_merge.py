"""What agents told meets what was found: at ingest, in the document, after the project is gone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from muniment.archive import Archive
from muniment.ingest.planning import Choice
from muniment.ingest.skeleton import Skeleton
from muniment.model.engagements import Engagement, Extraction, Ingested
from muniment.prospective import folder, steps
from muniment.prospective.steps import Begin, Speaker
from muniment.search import Query
from muniment.store import page
from muniment.surfaces.cli.main import cli
from tests.builder import ClaudeSession, conversation

AGAIN = Choice(skip_existing=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "proj"
    path.mkdir()
    return path


def tell(project: Path, session: ClaudeSession, from_: str, to: str | None = None, id_: str = "login") -> None:
    """An engagement from one second of the session to another; without an end it stays open."""
    root = folder.root(project, {})
    given = Begin(topic="Make the login page work", method="deploy", id=id_, project=str(project))
    folder.begin(root, given, Speaker(f"2026-03-19T10:{from_}Z", "Reed", session.id))
    if to:
        by = Speaker(f"2026-03-19T10:{to}Z", "Reed", session.id)
        folder.say(root, id_, lambda record: steps.phase(record, "in-progress", by))
        folder.say(root, id_, lambda record: steps.decide(record, "keep the cookie", by))
        folder.say(root, id_, lambda record: steps.complete(record, by, "It works."))


def only(archive: Archive) -> Ingested:
    (record,) = archive.engagements()
    return record


def ranges(record: Ingested) -> dict[str, tuple[tuple[int, int], ...]]:
    return {e.engagement_id: e.turn_ranges for e in record.engagements}


def test_what_was_told_wins_for_its_turns(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(6, cwd=str(project))  # a round takes six seconds
    session.write(home)
    tell(project, session, "00:08", "00:20")
    inscribe()
    archive.ingest()
    record = only(archive)
    told = next(e for e in record.engagements if e.engagement_id == "login")
    assert (told.turn_ranges, told.method, told.extractor) == (((2, 4),), "deploy", "prospective")
    assert (told.phase_at_start, told.phase, told.outcome) == ("started", "completed", "It works.")
    assert told.key_decisions == ("keep the cookie",)
    taken = [n for e in record.engagements if e is not told for a, b in e.turn_ranges for n in range(a, b + 1)]
    assert sorted(taken) == [1, 5, 6]
    (found,) = archive.find_engagements(Query("login page"))[:1]
    assert found.engagement_id == "login"
    top = page.load_head(archive.shelf(archive.session(session.id)).document)
    assert top
    assert {"id": "login", "phase_at_start": "started", "phase_at_end": "completed"} in top.fields["engagements"]


def test_one_that_is_completed_from_a_shell_is_completed(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    """The session that worked on it has said nothing of its end; a person did, later, without a session."""
    session = conversation(6, cwd=str(project))
    session.write(home)
    tell(project, session, "00:08")
    root = folder.root(project, {})
    inscribe()
    archive.ingest()
    assert next(e for e in only(archive).engagements if e.engagement_id == "login").phase == "started"
    person = Speaker("2026-03-20T08:00:00Z")
    folder.say(root, "login", lambda record: steps.phase(record, "in-progress", person))
    folder.say(root, "login", lambda record: steps.complete(record, person, "It works."))
    archive.ingest(AGAIN)
    told = next(e for e in only(archive).engagements if e.engagement_id == "login")
    assert (told.phase, told.outcome) == ("completed", "It works.")
    top = page.load_head(archive.shelf(archive.sessions()[0]).document)
    assert top
    assert {entry["id"]: entry["phase_at_end"] for entry in top.fields["engagements"]}["login"] == "completed"


def test_a_session_that_left_it_earlier_keeps_where_it_stood_then(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    first, second = (conversation(6, id_, cwd=str(project)) for id_ in ("1" * 8 + "-1111-4111-8111-" + "1" * 12, None))
    for session in (first, second):
        session.write(home)
    tell(project, first, "00:08")
    root = folder.root(project, {})
    later = Speaker("2026-03-19T10:00:20Z", "Reed", second.id)
    folder.say(root, "login", lambda record: steps.phase(record, "in-progress", later))
    folder.say(root, "login", lambda record: steps.complete(record, Speaker("2026-03-20T08:00:00Z"), "It works."))
    inscribe()
    archive.ingest()
    phases = {
        r.session_id: [e.phase for e in r.engagements if e.engagement_id == "login"] for r in archive.engagements()
    }
    assert phases == {first.id: ["started"], second.id: ["completed"]}


def test_a_disagreement_is_kept_and_noted(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(4, cwd=str(project))
    session.write(home)
    tell(project, session, "00:00", "00:23")
    inscribe()
    archive.ingest()
    record = only(archive)
    assert ranges(record) == {"login": ((1, 4),)}
    assert ("login", "method", "deploy") in {(c.engagement_id, c.field, c.told) for c in record.conflicts}
    assert "disagree" in record.note


def test_the_command_shows_where_they_disagree(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(4, cwd=str(project))
    session.write(home)
    tell(project, session, "00:00", "00:23")
    inscribe()
    archive.ingest()
    command = ["--store", str(archive.layout.root), "engagement", "list", "--conflicts"]
    shown = CliRunner().invoke(cli, command)
    assert shown.exit_code == 0
    assert f"{session.id[:8]}  login" in shown.output
    found = json.loads(CliRunner().invoke(cli, [*command, "--json"]).stdout)
    assert {(c["field"], c["told"]) for c in found} >= {("method", "deploy")}


def test_a_session_that_moved_on_is_found_where_it_was_last(
    archive: Archive, home: Path, tmp_path: Path, inscribe: Callable[..., object]
) -> None:
    later = tmp_path / "later"
    later.mkdir()
    session = conversation(3, cwd="/proj/gone")
    session.fixed["cwd"] = str(later)
    session.exchange("here now", "yes")
    session.write(home)
    tell(later, session, "00:20")
    inscribe()
    archive.ingest()
    assert ranges(only(archive))["login"] == ((4, 4),)


def test_an_open_one_reaches_to_the_next(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(6, cwd=str(project))
    session.write(home)
    tell(project, session, "00:01", id_="first")
    tell(project, session, "00:20", id_="second")
    inscribe()
    archive.ingest()
    assert ranges(only(archive)) == {"first": ((1, 3),), "second": ((4, 6),)}


def test_something_told_later_is_taken_in_and_a_second_run_is_none(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(4, cwd=str(project))
    session.write(home)
    inscribe()
    archive.ingest()
    assert "login" not in ranges(only(archive))
    tell(project, session, "00:01")
    assert len(archive.ingest_plan(AGAIN).jobs) == 1
    archive.ingest()
    assert "login" in ranges(only(archive))
    assert archive.ingest_plan(AGAIN).jobs == ()


def test_what_was_told_and_what_was_found_name_the_project_alike(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(6, cwd=str(project))
    session.write(home)
    tell(project, session, "00:08", "00:20")
    inscribe()
    archive.ingest()
    assert [engagement.project for engagement in only(archive).engagements] == ["proj", "proj"]


def test_it_outlives_the_project(archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]) -> None:
    session = conversation(4, cwd=str(project))
    session.write(home)
    tell(project, session, "00:01", "00:09")
    inscribe()
    archive.ingest()
    file = folder.find(folder.root(project, {}), "login")
    assert (archive.layout.prospective / "login.md").read_bytes() == file.data
    before = only(archive)
    shutil.rmtree(project)
    assert archive.ingest_plan(AGAIN).jobs == ()
    archive.ingest(Choice())
    assert only(archive) == before
    archive.reindex()
    top = page.load_head(archive.shelf(archive.session(session.id)).document)
    assert top
    assert "login" in [e["id"] for e in top.fields["engagements"]]


def test_a_ghost_that_was_told_of_is_none(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(1, cwd=str(project))
    session.write(home)
    inscribe()
    archive.ingest()
    assert only(archive).ghost
    tell(project, session, "00:01")
    archive.ingest()
    record = only(archive)
    assert (record.ghost, ranges(record)) == (False, {"login": ((1, 1),)})


def test_the_same_id_in_two_projects_is_two_engagements(
    archive: Archive, home: Path, tmp_path: Path, inscribe: Callable[..., object]
) -> None:
    for number, name in enumerate(("one", "two")):
        place = tmp_path / name
        place.mkdir()
        session = conversation(3, cwd=str(place))
        session.write(home, f"-{name}")
        tell(place, session, f"00:0{number + 1}")
    inscribe()
    archive.ingest()
    assert len(list(archive.layout.prospective.glob("login*.md"))) == 2
    assert all("login" in ranges(record) for record in archive.engagements())


def test_an_old_document_with_plain_ids_is_still_read(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(3, cwd=str(project))
    session.write(home)
    inscribe()
    document = archive.shelf(archive.session(session.id)).document
    document.write_bytes(document.read_bytes().replace(b"engagements: []", b'engagements: ["old-1"]'))
    top = page.load_head(document)
    assert top
    assert top.fields["engagements"] == ["old-1"]
    page.replace_head(document, top)
    assert page.load_head(document) == top
    archive.ingest()
    again = page.load_head(document)
    assert again
    assert all(set(e) == {"id", "phase_at_start", "phase_at_end"} for e in again.fields["engagements"])


def modelled(archive: Archive, session: ClaudeSession) -> None:
    """What a model made of the session."""

    def ask(skeletons: Iterable[Skeleton]) -> Iterator[tuple[Skeleton, Extraction]]:
        for read in skeletons:
            own = Engagement(topic="Lamps", method="research", phase="completed", turn_ranges=((1, 4),))
            yield read, Extraction(engagements=(own,), session_summary="Of lamps", extractor="a-model", note="asked")

    plan = archive.ingest_plan(Choice(), "a-model")
    archive.run_ingest(plan, Choice(), lambda _: None, lambda: None, ask)
    assert only(archive).extractor == "a-model"


@pytest.mark.parametrize("choice", [AGAIN, Choice()], ids=["what is new", "everything"])
def test_what_is_told_later_goes_above_what_a_model_found(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object], choice: Choice
) -> None:
    """It was paid for, and the session has not changed: only the other half is merged anew."""
    session = conversation(4, cwd=str(project))
    session.write(home)
    inscribe()
    modelled(archive, session)
    found = only(archive)
    tell(project, session, "00:01", "00:09")
    archive.ingest(choice)
    record = only(archive)
    assert (record.extractor, record.session_summary) == ("a-model", "Of lamps")
    own = f"{session.id[:13]}-1"
    assert ranges(record) == {"login": ((1, 2),), own: ((3, 4),)}
    assert record.found == found.engagements
    assert archive.ingest_plan(choice).jobs == ()


def test_every_word_that_is_told_is_merged_with_what_was_found_at_first(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    """Step by step is the same as at once: what was told in between leaves no trace."""
    session = conversation(4, cwd=str(project))
    session.write(home)
    inscribe()
    modelled(archive, session)
    tell(project, session, "00:01")
    archive.ingest()
    assert ranges(only(archive)) == {"login": ((1, 4),)}, "it is open, and reaches to the end"
    by = Speaker("2026-03-19T10:00:09Z", "Reed", session.id)
    for step in (lambda r: steps.phase(r, "in-progress", by), lambda r: steps.complete(r, by, "It works.")):
        folder.say(folder.root(project, {}), "login", step)
        archive.ingest()
    step_by_step = only(archive)
    assert ranges(step_by_step) == {"login": ((1, 2),), f"{session.id[:13]}-1": ((3, 4),)}
    modelled(archive, session)
    assert only(archive) == step_by_step


def test_a_model_is_not_asked_about_what_was_only_told_of(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(4, cwd=str(project))
    session.write(home)
    inscribe()
    modelled(archive, session)
    tell(project, session, "00:01", "00:09")
    plan = archive.ingest_plan(AGAIN, "a-model")
    assert [job.known is not None for job in plan.jobs] == [True]
    asked: list[object] = []
    archive.run_ingest(plan, AGAIN, lambda _: None, lambda: None, lambda skeletons: iter(asked.extend(skeletons) or ()))
    assert asked == []
    assert "login" in ranges(only(archive))


def test_a_session_that_grew_is_extracted_again_whatever_was_told(
    archive: Archive, home: Path, project: Path, inscribe: Callable[..., object]
) -> None:
    session = conversation(4, cwd=str(project))
    session.write(home)
    inscribe()
    modelled(archive, session)
    tell(project, session, "00:01", "00:09")
    session.exchange("one more thing", "done")
    session.write(home)
    inscribe()
    archive.ingest()
    assert (only(archive).extractor or "").startswith("offline")
