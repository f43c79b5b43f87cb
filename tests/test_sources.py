"""`muniment sources`: what of every agent is here, what is in the archive, what could be lost."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from muniment import demo
from muniment.sources import all_sources
from tests.test_cli import Cli

DAYS = 86_400


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A home in which every agent has left its samples; those without a home lie among the downloads."""
    made = Cli(tmp_path)
    for source in all_sources():
        homes = source.homes({"HOME": str(made.home)})
        shutil.copytree(
            demo.SAMPLES / source.name, homes[0] if homes else made.home / "Downloads" / source.name, dirs_exist_ok=True
        )
    return made


def rows(cli: Cli) -> dict[str, Any]:
    return {row["name"]: row for row in json.loads(cli("sources", "--json").stdout)}


def test_every_agent_is_found_in_its_home_and_inscribed(cli: Cli) -> None:
    before = rows(cli)
    at_home = [row for row in before.values() if row["homes"]]
    assert len(at_home) == sum(bool(source.homes({"HOME": "/x"})) for source in all_sources())
    assert all(row["found"] == row["pending"] > 0 and row["bytes"] > 0 and not row["inscribed"] for row in at_home)
    cli("inscribe")
    after = rows(cli)
    assert all(row["inscribed"] == row["found"] > 0 and not row["pending"] for row in after.values() if row["homes"])


def test_what_lies_elsewhere_is_found_where_somebody_points(cli: Cli) -> None:
    named = [name for name, row in rows(cli).items() if not row["homes"]]
    assert named
    assert "nothing here of: " + ", ".join(named) in cli("sources").stdout
    cli("inscribe", cli.home / "Downloads")
    after = rows(cli)
    assert all(after[name]["only_kept"] == after[name]["inscribed"] > 0 for name in named)


def test_what_the_agent_will_delete_is_told_until_it_is_inscribed(cli: Cli) -> None:
    for source in all_sources():
        if source.retention_days:
            old = time.time() - (source.retention_days - 2) * DAYS
            for path in source.homes({"HOME": str(cli.home)})[0].rglob("*"):
                os.utime(path, (old, old))
    risky = {source.name for source in all_sources() if source.retention_days}
    assert {name for name, row in rows(cli).items() if row["at_risk"]} == risky
    assert "will be deleted by their agent" in cli("sources").stdout
    cli("inscribe")
    assert not any(row["at_risk"] for row in rows(cli).values())


def test_what_is_gone_is_only_in_the_archive(cli: Cli) -> None:
    cli("inscribe")
    shutil.rmtree(cli.home / ".codex")
    row = rows(cli)["codex"]
    assert (row["found"], row["only_kept"]) == (0, row["inscribed"])
    assert row["inscribed"] > 0
