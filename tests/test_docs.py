"""The documents say what the program does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from muniment import __version__
from muniment.sources import all_sources
from muniment.surfaces.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]


def test_the_page_of_help_screens_is_the_programs_own() -> None:
    """In a process of its own: click keeps the help option of a command as it was first asked for, by any test."""
    words = [sys.executable, "-m", "muniment.surfaces.cli.help"]
    made = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert (ROOT / "docs" / "cli.md").read_text() == made, "run `make docs`"


def test_every_command_is_documented_and_listed_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert [name for name in COMMANDS if f"`{name}`" not in changelog] == []


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_links_between_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            if "/media/" not in target and "…" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_source_has_a_name_a_title_and_a_way_to_resume() -> None:
    for source in all_sources():
        assert re.fullmatch(r"[a-z][a-z0-9-]*", source.name)
        assert source.title
        assert source.family
        of_an_agent = source.name != "atif"  # a format for exchange
        assert not (source.writable and of_an_agent) or "{id}" in source.resume_command
