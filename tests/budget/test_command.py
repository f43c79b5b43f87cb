"""`muniment budget`, as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builder import conversation
from tests.test_cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_bars_sums_and_json(cli: Cli) -> None:
    session = conversation(2, cwd="/proj/one")
    session.lines = [line.replace(b"claude-x", b"claude-opus-5") for line in session.lines]
    session.write(cli.home / ".claude", "-proj-one")
    cli("inscribe")
    told = cli("budget", session.id).stdout
    assert "4 calls, 432 tokens: 12 in · 20 out · 400 cache read · 0 written" in told
    assert "at list prices of" in told
    assert "········" in told
    made = json.loads(cli("budget", session.id, "--json").stdout)
    assert [one["window"] for one in made["rounds"]] == [108, 108]
    assert made["rounds"][0]["limit"] == 1_000_000
    assert made["spent"]["dollars"] == pytest.approx((12 * 5 + 20 * 25 + 400 * 0.5) / 1e6)


def test_a_model_that_nobody_knows(cli: Cli) -> None:
    session = conversation(1, cwd="/proj/two")
    session.write(cli.home / ".claude", "-proj-two")
    cli("inscribe")
    told = cli("budget", session.id).stdout
    assert "cost unknown" in told
    assert "no price for claude-x" in told
    assert "%" not in told
