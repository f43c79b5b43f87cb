"""What agents wrote before their sessions looked as they do now, or write beside them, is held to the same laws."""

from __future__ import annotations

from pathlib import Path

from muniment.contract.samples import Subject
from muniment.contract.suite import *  # noqa: F403

FOLDER = Path(__file__).parent / "forms"
SUBJECTS = [Subject(name, FOLDER / name) for name in ("copilot", "gemini")]
