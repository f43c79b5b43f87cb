"""What exports and logs hold beside plain talk (voices, searches, hidden nodes, pasted prompts, envelopes) is held to
the same laws.
"""

from __future__ import annotations

from pathlib import Path

from muniment.contract.samples import Subject
from muniment.contract.suite import *  # noqa: F403

FOLDER = Path(__file__).parent / "exports"
SUBJECTS = [Subject(name, FOLDER / name) for name in ("chatgpt", "claude-ai", "messages")]
