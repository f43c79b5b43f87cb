"""The recorder's part of the bench: appends against rivals, and how long files are read again."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from . import appends
from .appends import ACCEPTED, ALONE, GROWTH, TOGETHER, Failed, Rates
from .compare import Outcome, told
from .contenders import NotInstalled, installed
from .process import Ceiling
from .recorded import Asked, Reader, write_history, write_rotated_history

RIVALS = {
    ("openai-agents", "0.24.0"): (appends.SQLITE_SESSION,),
    ("langgraph-checkpoint-sqlite", "3.1.2"): (appends.SQLITE_SAVER, appends.SQLITE_SAVER_HALF),
}
"""Packages and the writers that need them."""
OURS = (appends.MUNIMENT, appends.AWAITED, appends.ENGINE, appends.BARE)
HISTORIES = {"history-1G": write_history, "history-1G-rotated": write_rotated_history}


@dataclass
class Recording:
    """What recording costs, as far as it could be measured."""

    rates: list[Rates] = field(default_factory=list)
    resumed: Outcome = field(default_factory=Outcome)
    """Whole processes."""
    resume_calls: list[float] = field(default_factory=list)
    """Seconds of the calls in them."""
    histories: dict[str, Asked] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    """Rivals that cannot be had here: the others are measured without them."""
    failures: list[str] = field(default_factory=list)

    def of(self, task: appends.Task) -> Rates:
        """The rates of a task, empty if it was not run."""
        return next((rates for rates in self.rates if rates.task is task), Rates(task))


def record_all(python: Path, work: Path, ceiling: Ceiling) -> Recording:
    """Everything about recording, with the muniment that this Python has."""
    told("recording:")
    result = Recording()
    pythons = dict.fromkeys(OURS, python) | rivals(work, result)
    folder = work / "appends"
    shutil.rmtree(folder, ignore_errors=True)
    with appends.workers(pythons, folder) as everybody:
        result.rates += [appends.compare(task, everybody, result.failures) for task in (ALONE, TOGETHER, ACCEPTED)]
    with appends.workers(dict.fromkeys(GROWTH.names, python), folder) as sessions:
        result.rates.append(appends.compare(GROWTH, sessions, result.failures))
    read_all(Reader(python, work / "recorded", ceiling), result)
    return result


def read_all(reader: Reader, result: Recording) -> None:
    try:
        result.resumed, result.resume_calls = reader.resumed()
        for name, write in HISTORIES.items():
            result.histories[name] = reader.asked(name, write)
    except Failed as failure:
        result.failures.append(str(failure))


def rivals(work: Path, result: Recording) -> dict[str, Path]:
    """The Python of each rival that can be had here."""
    pythons: dict[str, Path] = {}
    for (package, version), names in RIVALS.items():
        try:
            python = installed(package, version, work) / "bin" / "python"
        except NotInstalled as absent:
            result.missing.append(str(absent))
            told(f"bench: {absent}")
            continue
        result.versions[package] = version
        pythons |= dict.fromkeys(names, python)
    return pythons
