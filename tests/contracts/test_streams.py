"""What a program prints is held to the same laws, but for that of prompts: a stream holds the answer and no more."""

from __future__ import annotations

from pathlib import Path

from muniment.contract.samples import Sample, Subject
from muniment.contract.suite import *  # noqa: F403

SUBJECTS = [Subject("codex", Path(__file__).parent / "streams" / "codex")]


def test_rounds_are_numbered_and_in_the_order_of_the_file(sample: Sample) -> None:
    """Nobody asks in a stream: it is one round without a prompt."""
    (round_,) = sample.read()
    assert (round_.number, round_.offset, round_.prompted) == (1, 0, False)


def test_what_lies_in_the_agents_home_is_found_there(subject: Subject, tmp_path: Path) -> None:
    """A stream lies wherever somebody saved it: a home is not searched for it."""
    assert list(subject.source.candidates(subject.laid_out(tmp_path))) == []
