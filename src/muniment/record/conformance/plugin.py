"""The options of the kit, and what its suite is given. The only modules that know pytest are this one and `suite`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
import pytest
from msgspec import Struct

from muniment.record.conformance.processes import Nursery


class Counts(Struct, frozen=True):
    """How often each thing is tried. 0 stands for: at every point there is."""

    kills: int = 40
    largest: int = 1 << 20
    """Of a payload, in characters."""
    points: int = 8
    fsyncs: int = 3
    levels: int = 12
    cuts: int = 4
    writers: int = 4
    events: int = 150
    seed: int = 1


_FULL = Counts(kills=2000, largest=8 << 20, points=0, fsyncs=0, levels=1024, cuts=200, writers=8, events=2000)
SCALES = {
    "quick": Counts(),
    "full": _FULL,
    "soak": msgspec.structs.replace(_FULL, kills=100_000, cuts=10_000, events=20_000),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "crash conformance of a writer (muniment)")
    group.addoption("--conformance-subject", help="what is tested, as module:Name")
    group.addoption("--conformance-scale", choices=[*SCALES], help="how much: quick (seconds), full, soak (hours)")
    group.addoption("--conformance-count", action="append", default=[], metavar="NAME=N", help="one count, as kills=50")


def counts_of(config: pytest.Config) -> Counts:
    """Options first, then the variables CONFORMANCE_SCALE and CONFORMANCE_COUNT (as `kills=50,cuts=9`)."""
    scale = config.getoption("conformance_scale", None) or os.environ.get("CONFORMANCE_SCALE") or "quick"
    if scale not in SCALES:
        raise pytest.UsageError(f"CONFORMANCE_SCALE is one of {', '.join(SCALES)}, not {scale!r}")
    given: list[str] = config.getoption("conformance_count", None) or os.environ.get("CONFORMANCE_COUNT", "").split(",")
    counts = dict(word.split("=", 1) for word in given if word)
    try:
        return msgspec.convert(msgspec.structs.asdict(SCALES[scale]) | counts, Counts, strict=False)
    except msgspec.ValidationError as error:
        raise pytest.UsageError(f"a count of the conformance kit is not a number: {error}") from None


@pytest.fixture(scope="session")
def counts(request: pytest.FixtureRequest) -> Counts:
    return counts_of(request.config)


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> str:
    """What is tested. A suite that always tests the same overrides this fixture."""
    name: str | None = request.config.getoption("conformance_subject", None) or os.environ.get("CONFORMANCE_SUBJECT")
    if not name:
        pytest.skip("nothing to test: name it by --conformance-subject module:Name")
    return name


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened
