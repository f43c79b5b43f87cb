"""The options of the suite, and what its tests are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from muniment import sources
from muniment.contract.samples import Sample, Subject, transcripts
from muniment.errors import NotFound
from muniment.sources.base import Source


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("contract", "the contract of a source (muniment)")
    group.addoption("--contract-source", metavar="NAME", help="the installed source that is tested")
    group.addoption("--contract-samples", metavar="DIR", help="its sample sessions, laid out as the agent's home is")


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Each subject, each of its transcripts, or each of those with each format that can be written."""
    of: dict[str, Callable[[Sequence[Subject]], list[Any]]] = {
        "subject": list,
        "sample": _samples,
        "own": lambda subjects: [sample for sample in _samples(subjects) if sample.source.writable],
        "way": lambda subjects: _ways([subject.name for subject in subjects], _samples(subjects)),
    }
    for name in of.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(name, of[name](_subjects(metafunc)), ids=_label)


def _subjects(metafunc: pytest.Metafunc) -> Sequence[Subject]:
    """What the test module names, else what the command line does."""
    module = cast("object", metafunc.module)  # pyright: ignore[reportUnknownMemberType]
    named: Sequence[Subject] | None = getattr(module, "SUBJECTS", None)
    if named is not None:
        return named
    name: str | None = metafunc.config.getoption("contract_source", None)
    folder: str | None = metafunc.config.getoption("contract_samples", None)
    if not name or not folder:
        raise pytest.UsageError("say what is tested: --contract-source NAME --contract-samples DIR")
    return [_subject(name, Path(folder).absolute())]


def _subject(name: str, folder: Path) -> Subject:
    try:
        subject = Subject(sources.named(name).name, folder)
        found = _transcripts(subject)
    except NotFound as error:
        raise pytest.UsageError(f"{error.message}; {error.hint}") from None
    if not found:
        raise pytest.UsageError(f"{folder}: no session of {name} was found here; does `matches` know it?")
    return subject


@cache
def _transcripts(subject: Subject) -> tuple[Sample, ...]:
    return tuple(transcripts(subject))


def _samples(subjects: Sequence[Subject]) -> list[Sample]:
    return [sample for subject in subjects for sample in _transcripts(subject)]


def _ways(tested: Sequence[str], samples: list[Sample]) -> list[tuple[Sample, Source]]:
    """What is tested into every format, and everything that muniment has samples of into what is tested."""
    targets = [source for source in sources.all_sources() if source.writable]
    ways = [(sample, target) for sample in samples for target in targets]
    own = [target for target in targets if target.name in tested]
    foreign = [sample for source in sources.all_sources() if source.name not in tested for sample in _shipped(source)]
    return ways + [(sample, target) for sample in foreign for target in own]


def _shipped(source: Source) -> tuple[Sample, ...]:
    subject = Subject.shipped(source.name)
    return _transcripts(subject) if subject.samples.is_dir() else ()


def _label(value: Any) -> str:
    if isinstance(value, tuple):
        sample, target = cast("tuple[Sample, Source]", value)
        return f"{_label(sample)}-{target.name}"
    return value.name if isinstance(value, Subject) else f"{value.source.name}-{Path(value.file.path).stem[-12:]}"
