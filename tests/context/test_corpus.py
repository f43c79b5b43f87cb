"""Every real session beside the project, at three budgets: the laws hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.check import check_found
from muniment.context import Request, Selection, Target, build, write
from tests.context import laws

pytestmark = pytest.mark.corpus
BUDGETS = (2_000, 20_000, 200_000)
IN_LINES = ("claude-code", "codex", "copilot", "pi")
CASES: list[tuple[Any, str, bool]] = [("successor", "markdown", True), ("archaeology", "json", False)]


@pytest.fixture(scope="module")
def real(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Archive:
    archive = Archive(tmp_path_factory.mktemp("store"), {"HOME": "/nowhere"})
    archive.inscribe([corpus])
    archive.ingest()
    return archive


@pytest.mark.parametrize("budget", BUDGETS)
def test_no_pack_breaks_a_law(real: Archive, budget: int) -> None:
    looked = 0
    for session in real.sessions():
        if not session.rounds:
            continue
        for policy, form, redact in CASES:
            selection = Selection(sessions=(session.session_id,))
            pack = build(real.layout, Request(selection, policy, budget=budget, redact=redact), form)
            laws.costs_no_more(pack.text, budget)
            looked += laws.quotes_are_found(real, pack, redact)
            laws.pairs_are_whole(real, pack)
            laws.left_out_is_said(pack)
            if form == "markdown":
                laws.nothing_of_the_past_is_outside(pack)
            elif budget == BUDGETS[1] and session.source in IN_LINES:
                laws.quotes_are_in_the_evidence(real, pack)
    assert looked > 1000


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_pack_becomes_a_session_that_passes_check(real: Archive, budget: int, tmp_path: Path) -> None:
    made = 0
    for session in real.sessions():
        if session.rounds:
            request = Request(Selection(sessions=(session.session_id,)), "successor", budget=budget)
            written = write(real.layout, request, Target("claude", to=tmp_path), {})
            assert written.tokens <= budget
            assert laws.loader_problems(Path(written.path)) == []
            made += 1
    reports = [report for found in real.find([tmp_path]) for report in check_found(found)]
    assert len(reports) == made
    assert [report.path for report in reports if not report.lossless] == []
