"""Our own sources, through the suite that others run on theirs."""

from muniment.contract.samples import Subject
from muniment.contract.suite import *  # noqa: F403
from muniment.sources import all_sources

SUBJECTS = [Subject.shipped(source.name) for source in all_sources()]


def test_every_source_has_a_sample() -> None:
    assert [subject.name for subject in SUBJECTS if not subject.samples.is_dir()] == []
