"""Method, phase and project, by the evidence for each."""

from __future__ import annotations

import pytest

from muniment.ingest import offline
from muniment.ingest.skeleton import Turn
from muniment.model.engagements import Engagement
from tests.ingest.offline.talks import edit, look, run, session, turn

CODE = edit("/proj/app/src/a.py")
ANSWER = "I looked at all of it, and here is what there is to say about it. " * 5


def only(*turns: Turn) -> Engagement:
    (one,) = offline.extract(session(*turns)).engagements
    return one


@pytest.mark.parametrize(
    ("method", "one"),
    [
        ("build", turn("Add an export button to the report page", CODE)),
        ("debug", turn("The export crashes with an error, please fix it", CODE)),
        ("write", turn("Update the README with the new options", edit("/proj/app/README.md"))),
        ("reorg", turn("Rename the billing package and clean up unused helpers", CODE)),
        ("review", turn("Please review this pull request", look("/proj/app/src/a.py"), closing=ANSWER)),
        ("research", turn("How does the cache decide what to drop?", *[look("/proj/a.py")] * 4, closing=ANSWER)),
        ("discuss", turn("What do you think of this idea?", closing=ANSWER)),
        ("design", turn("Brainstorm the architecture of the sync, no code yet", look("/a"), closing=ANSWER)),
        ("plan", turn("Make a plan for the migration", edit("/proj/app/docs/migration-plan.md"))),
        ("deploy", turn("Publish the release", run("git tag v1.2"), run("gh release create v1.2"), closing=ANSWER)),
        ("triage", turn("Go through the open issues and prioritise them", run("gh issue list"), closing=ANSWER)),
    ],
)
def test_methods(method: str, one: Turn) -> None:
    assert only(one).method == method


def test_messages_of_commits_name_the_kind_of_change() -> None:
    asked = "Look at the totals in the monthly table"
    assert only(turn(asked, CODE, run('git commit -m "fix: round totals once"'))).method == "debug"
    assert only(turn(asked, CODE, run('git commit -m "feat: show totals"'))).method == "build"


def test_a_patch_that_is_applied_is_an_edit() -> None:
    asked = "Fix issue 27: arrivals after midnight are shown a day early"
    assert only(turn(asked, *[look("/proj/a.py")] * 4, run("git apply fix.patch"), closing=ANSWER)).method == "debug"


def test_a_single_follow_up_counts_for_less_than_the_request() -> None:
    assert only(turn("The importer crashes on empty rows", CODE), turn("and add a test for it", CODE)).method == "debug"


def test_files_of_the_pipeline_tell_that_it_is_about_delivery() -> None:
    asked = "Add a workflow that checks the spelling on every push"
    assert only(turn(asked, edit("/proj/app/.github/workflows/spelling.yml"))).method == "deploy"
    assert only(turn(asked, CODE)).method == "build"


def test_an_engagement_that_was_delivered_is_completed() -> None:
    assert only(turn("Add a button", CODE)).phase == "completed"


def test_one_that_was_cut_off_is_in_progress() -> None:
    cut = only(turn("Add a button", CODE), turn("Make the other button wider as well", run("sleep 100"), closing=""))
    assert cut.phase == "in-progress"
    assert cut.next_steps == ("Make the other button wider as well",)


def test_a_slip_of_the_keyboard_before_other_work_leaves_nothing_open() -> None:
    other = turn("New feature: draw charts of prices", edit("/proj/shop/chart.py"), cwd="/proj/shop")
    made = offline.extract(session(turn("Add a button", CODE), turn("/", closing=""), other)).engagements
    assert [(one.turn_ranges, one.phase) for one in made] == [(((1, 2),), "completed"), (((3, 3),), "completed")]


def test_one_that_was_announced_is_in_progress() -> None:
    assert only(turn("the footer vanishes on error", closing="Let me fix the footer.")).phase == "in-progress"


def test_a_usage_limit_blocks() -> None:
    stopped = turn("Add a button", closing="", events=(("error", "You've hit your usage limit. Try again later."),))
    assert only(stopped).phase == "blocked"


def test_what_was_given_up_is_abandoned() -> None:
    assert only(turn("Could a worker do this?", look("/a")), turn("Never mind!", closing="Fine.")).phase == "abandoned"


@pytest.mark.parametrize(
    ("folder", "project"),
    [
        ("/proj/app", "app"),
        ("/proj/app/.worktrees/fix", "app"),
        ("C:\\work\\shop", "shop"),
        ("/home/ada", "system"),
        ("/", "system"),
    ],
)
def test_projects(folder: str, project: str) -> None:
    (one,) = offline.extract(session(turn("Add a button", CODE, cwd=folder), cwd=folder)).engagements
    assert one.project == project


def test_a_folder_below_the_first_belongs_to_its_project() -> None:
    assert only(turn("Add a button", CODE, cwd="/proj/app/src/deep")).project == "app"
