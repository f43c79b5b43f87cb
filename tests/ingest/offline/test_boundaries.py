"""Where an engagement begins, by one kind of evidence at a time."""

from __future__ import annotations

import pytest

from muniment.ingest import offline
from muniment.ingest.offline.boundaries import segments
from muniment.ingest.offline.features import NAMES, Row, walk
from muniment.ingest.offline.weights import WEIGHTS
from muniment.ingest.skeleton import Skeleton
from tests.ingest.offline.talks import edit, look, run, session, turn


def starts(skeleton: Skeleton) -> list[int]:
    return [part.start + 1 for one in segments(offline.listen(skeleton)) for part in one]


def rows(skeleton: Skeleton, *begun: int) -> dict[int, dict[str, float]]:
    """The features of every turn that has any, if engagements began at these."""
    found: dict[int, dict[str, float]] = {}

    def begins(at: int, row: Row) -> bool:
        found[at + 1] = dict(zip(NAMES, row, strict=True))
        return at + 1 in begun

    list(walk(offline.listen(skeleton), begins))
    return found


def feature(name: str, skeleton: Skeleton) -> float:
    """Of the second turn."""
    return rows(skeleton)[2][name]


WORK = turn("Write the importer for bank statements", edit("/proj/app/importer.py"), look("/proj/app/bank.csv"))


@pytest.mark.parametrize(
    "words",
    [
        "New feature: export every chart as a vector picture for printing",
        "OK, now build the login page with a password reset by mail",
        "While we're here, the footer of the landing page overlaps the cookie banner",
        "Let's move on to the mobile layout of the customer dashboard",
    ],
)
def test_saying_so_opens(words: str) -> None:
    assert starts(session(WORK, WORK, turn(words, edit("/proj/app/other.py")))) == [1, 3]


@pytest.mark.parametrize(
    "words",
    ["yes", "ok do it", "fix both", "it still fails on empty lines", "commit and push", "why is that?", "continue"],
)
def test_a_follow_up_goes_on(words: str) -> None:
    assert starts(session(WORK, turn(words, edit("/proj/app/importer.py")), turn("thanks"))) == [1]


def test_another_project_opens() -> None:
    here = turn(
        "Write the importer for statements", edit("/proj/app/importer.py"), look("/proj/app/a"), cwd="/proj/app"
    )
    there = turn("Fix the rendering of long invoice tables", edit("/proj/shop/table.py"), cwd="/proj/shop")
    assert starts(session(here, there)) == [1, 2]


def test_a_folder_of_the_same_project_does_not() -> None:
    def opening(folder: str) -> float:
        return feature("opening", session(turn("bread", cwd="/proj/app"), turn("butter", cwd=folder)))

    assert opening("/proj/app/src") == opening("/proj/app/.worktrees/x") == 0
    assert opening("/proj/apple") == 1


def test_a_repeated_prompt_opens_nothing() -> None:
    again = turn("New task: draw the logo again in blue")
    assert feature("opening", session(again, again)) == 0


def test_new_words_and_the_end_of_old_ones_speak_for_a_boundary() -> None:
    talk = turn("the parser reads invoices and statements", closing="the parser reads invoices")
    music = turn("violins and trumpets need louder recordings", closing="violins and trumpets")
    row = rows(session(talk, talk, music, music, music))[3]
    same = rows(session(talk, talk, talk, talk, talk))[3]
    assert row["novel"] > same["novel"] == 0
    assert row["ends"] > same["ends"] == 0


def test_words_are_new_that_the_engagement_has_not_heard_yet() -> None:
    talk = turn("the parser reads invoices and statements")
    music = turn("violins and trumpets need louder recordings")
    assert rows(session(talk, music, music, music, talk))[5]["novel"] == 0
    assert rows(session(talk, music, music, music, talk), 2)[5]["novel"] > 0


def test_words_of_a_single_turn_before_end_easily_and_count_half() -> None:
    talk, music = turn("parser invoices statements columns amounts"), turn("violins trumpets")
    assert rows(session(talk, talk, music))[3]["ends"] == 2 * rows(session(talk, music))[2]["ends"] > 0


@pytest.mark.parametrize("words", ["yes please", "ok, continue", "", "go ahead", "commit and push"])
def test_an_answer_begins_nothing_whatever_follows(words: str) -> None:
    assert 2 not in rows(session(WORK, turn(words, edit("/proj/shop/README.md"))))


def test_documents_after_code_are_another_kind_of_deliverable() -> None:
    code, prose = turn("bread", edit("/proj/app/a.py")), turn("butter", edit("/proj/app/README.md"))
    assert feature("kind", session(code, prose)) == feature("kind", session(prose, code)) == 1
    assert feature("kind", session(code, code)) == 0


def test_papers_on_the_way_and_instructions_for_agents_are_not() -> None:
    code = turn("bread", edit("/proj/app/a.py"))
    for document in ("CHANGELOG.md", "docs/plan.md", "skills/x/SKILL.md"):
        assert feature("kind", session(code, turn("butter", edit(f"/proj/app/{document}")))) == 0


def test_the_same_files_speak_for_one_engagement_also_where_they_were_only_read() -> None:
    before = turn("bread", look("/proj/app/a.py"), edit("/proj/app/b.py"))
    same, other = (rows(session(before, turn("butter", edit(f"/proj/app/{name}.py"))))[2] for name in "ac")
    assert (same["same"], same["other"]) == (1, 0)
    assert (other["same"], other["other"]) == (0, 1)


def test_files_of_the_next_turn_tell_too_and_those_of_other_engagements_do_not() -> None:
    first, ask, later = (turn("bread", edit(f"/proj/app/{name}.py")) for name in "abc")
    assert rows(session(first, turn("butter and jam"), later))[2]["other"] == 1
    assert rows(session(first, ask, later, first), 2)[4]["other"] == 1
    assert rows(session(first, ask, later, first))[4]["other"] == 0


def test_it_counts_that_something_was_written_before() -> None:
    assert feature("worked", session(WORK, turn("butter"))) == 1
    assert feature("worked", session(turn("bread", look("/proj/app/a.py")), turn("butter"))) == 0


@pytest.mark.parametrize(("words", "asks"), [("Please add a chart of prices", 1), ("The chart of prices is fine", 0)])
def test_a_request_is_told_by_its_first_words(words: str, asks: float) -> None:
    assert feature("asking", session(WORK, turn(words))) == asks


@pytest.mark.parametrize("words", ["no, the second column", "That isn’t what I meant", "and a test for it"])
def test_corrections_and_additions_follow(words: str) -> None:
    assert feature("following", session(WORK, turn(words))) == 1
    assert feature("following", session(WORK, turn("Draw the logo in blue"))) == 0


def test_interrupted_work_resumes_as_a_second_range() -> None:
    renew = edit("/proj/ops/cert.sh"), run("openssl")
    skeleton = session(
        WORK,
        turn("Next task: renew the certificate of the test server first", *renew),
        turn("it fails, renew it again", *renew),
        turn("Now back to the statements: read amounts from spreadsheets too", edit("/proj/app/importer.py")),
    )
    found = offline.extract(skeleton).engagements
    assert [one.turn_ranges for one in found] == [((1, 1), (4, 4)), ((2, 3),)]


def test_there_is_a_weight_for_every_feature() -> None:
    assert len(WEIGHTS) == len(NAMES)
