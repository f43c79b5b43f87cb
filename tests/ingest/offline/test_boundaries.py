"""Where an engagement begins, by one kind of evidence at a time."""

from __future__ import annotations

import pytest

from muniment.ingest import offline
from muniment.ingest.offline.boundaries import segments
from muniment.ingest.offline.features import NAMES, features
from muniment.ingest.offline.weights import WEIGHTS
from muniment.ingest.skeleton import Skeleton
from tests.ingest.offline.talks import edit, look, run, session, turn


def starts(skeleton: Skeleton) -> list[int]:
    return [part.start + 1 for one in segments(offline.listen(skeleton)) for part in one]


def feature(name: str, skeleton: Skeleton) -> float:
    """Of the second turn."""
    return features(offline.listen(skeleton))[0][NAMES.index(name)]


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
    assert feature("opening", session(turn("a", cwd="/proj/app"), turn("b", cwd="/proj/app/src"))) == 0
    assert feature("opening", session(turn("a", cwd="/proj/app"), turn("b", cwd="/proj/app/.worktrees/x"))) == 0
    assert feature("opening", session(turn("a", cwd="/proj/app"), turn("b", cwd="/proj/apple"))) == 1


def test_a_repeated_prompt_opens_nothing() -> None:
    again = turn("New task: draw the logo again in blue")
    assert feature("opening", session(again, again)) == 0


def test_new_words_and_the_end_of_old_ones_speak_for_a_boundary() -> None:
    talk = turn("the parser reads invoices and statements", closing="the parser reads invoices")
    music = turn("violins and trumpets need louder recordings", closing="violins and trumpets")
    row = dict(zip(NAMES, features(offline.listen(session(talk, talk, music, music, music)))[1], strict=True))
    same = dict(zip(NAMES, features(offline.listen(session(talk, talk, talk, talk, talk)))[1], strict=True))
    assert row["novel"] > same["novel"] == 0
    assert row["ends"] > same["ends"] == 0


def test_documents_after_code_are_another_kind_of_deliverable() -> None:
    code, prose = turn("a", edit("/proj/app/a.py")), turn("b", edit("/proj/app/README.md"))
    assert feature("kind", session(code, prose)) == feature("kind", session(prose, code)) == 1
    assert feature("kind", session(code, code)) == 0


def test_papers_on_the_way_and_instructions_for_agents_are_not() -> None:
    code = turn("a", edit("/proj/app/a.py"))
    assert feature("kind", session(code, turn("commit", edit("/proj/app/CHANGELOG.md")))) == 0
    assert feature("kind", session(code, turn("b", edit("/proj/app/docs/plan.md")))) == 0
    assert feature("kind", session(code, turn("b", edit("/proj/app/skills/x/SKILL.md")))) == 0


def test_the_same_files_speak_for_one_engagement_also_where_they_were_only_read() -> None:
    before = turn("a", look("/proj/app/a.py"), edit("/proj/app/b.py"))
    assert feature("files", session(before, turn("b", edit("/proj/app/a.py")))) == 1
    assert feature("files", session(before, turn("b", edit("/proj/app/c.py")))) == 0


@pytest.mark.parametrize("words", ["no, the second column", "That isn’t what I meant", "and a test for it", "fix both"])
def test_corrections_and_additions_follow(words: str) -> None:
    assert feature("following", session(WORK, turn(words))) == 1
    assert feature("following", session(WORK, turn("Draw the logo in blue"))) == 0


def test_the_pace_is_the_work_a_prompt_is_worth_without_the_last() -> None:
    busy = turn("Write the importer for bank statements", *[edit("/proj/app/importer.py")] * 30)
    assert feature("pace", session(busy, turn("thanks"))) > feature("pace", session(WORK, busy)) > 0
    assert feature("pace", session(turn("hello"), busy)) == 0


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
