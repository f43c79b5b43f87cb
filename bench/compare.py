"""Run the contenders on one tree, turn about, and collect what each run cost."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from .contenders import Contender, Home, Muniment
from .process import Ceiling, Run, measure
from .trees import Tree, discard, lay_out, settle, warm

REPEATS = 7
"""How often a short command is run; its figure is the median."""


@dataclass
class Outcome:
    """All runs of one contender at one task."""

    runs: list[Run] = field(default_factory=list)
    kept_bytes: int = 0
    taken_in: int = 0

    @property
    def best(self) -> float:
        return min(run.seconds for run in self.runs)

    @property
    def worst(self) -> float:
        return max(run.seconds for run in self.runs)

    @property
    def median(self) -> float:
        return median(run.seconds for run in self.runs)

    @property
    def cpu_seconds(self) -> float:
        return min(run.cpu_seconds for run in self.runs)

    @property
    def peak_bytes(self) -> int:
        return max(run.peak_bytes for run in self.runs)

    @property
    def stopped(self) -> str:
        return next((run.stopped for run in self.runs if run.stopped), "")

    @property
    def failed(self) -> bool:
        """Whether a run ended badly by itself. One that the harness cut off is a figure, not a failure."""
        return any(run.exit_code and not run.stopped for run in self.runs)

    @property
    def complete(self) -> bool:
        return bool(self.runs) and not self.failed and not self.stopped


@dataclass
class Comparison:
    """What one tree cost each contender."""

    tree: Tree
    first: dict[str, Outcome] = field(default_factory=dict)
    again: dict[str, Outcome] = field(default_factory=dict)
    commands: dict[str, Outcome] = field(default_factory=dict)
    homes: dict[str, Home] = field(default_factory=dict)
    """Where each contender's latest first run left its data."""

    def whole(self, name: str) -> Outcome | None:
        """This contender's first runs, if they came to their end and left no session out."""
        outcome = self.first.get(name)
        return outcome if outcome and outcome.complete and outcome.taken_in >= self.tree.sessions else None


@dataclass(frozen=True)
class Arena:
    """Where runs take place and how far they may go."""

    homes: Path
    contenders: Sequence[Contender]
    ceiling: Ceiling

    def compare(self, tree: Tree, rounds: int | None = None) -> Comparison:
        """All contenders on one tree: from nothing, again with nothing new, and the reading commands."""
        told(f"{tree.title}:")
        warm(tree)
        settle(self.homes.parent)
        result = Comparison(tree)
        self._first_runs(result, rounds)
        self._runs_again(result)
        self._reading_commands(result)
        return result

    def clear(self) -> None:
        """What the contenders wrote is not needed any more."""
        discard(self.homes)

    def _first_runs(self, result: Comparison, rounds: int | None) -> None:
        for number in range(rounds or max((c.rounds for c in self.contenders), default=0)):
            # Every other round the other way round, so that nobody always runs after the heaviest.
            for contender in self.contenders[:: -1 if number % 2 else 1]:
                outcome = result.first.setdefault(contender.name, Outcome())
                if number < contender.rounds and (not number or outcome.complete):
                    # A home of its own each time: see `discard`. Here 4.3 s became 5.4 s, and only one contender
                    # makes many files.
                    home = self.homes / result.tree.projects.name / f"{contender.name}-{number}"
                    result.homes[contender.name] = Home(home)
                    self._first_run(contender, result, outcome, fine=number == 0)

    def _first_run(self, contender: Contender, result: Comparison, outcome: Outcome, fine: bool) -> None:
        home = result.homes[contender.name]
        lay_out(result.tree, home.projects)
        outcome.runs.append(self._measured(contender, home, contender.command(home), "first", fine))
        outcome.kept_bytes = contender.kept_bytes(home)
        outcome.taken_in = contender.taken_in(home) if outcome.complete else 0

    def _runs_again(self, result: Comparison) -> None:
        for _ in range(REPEATS):
            for contender in self._finishers(result):
                home = result.homes[contender.name]
                run = self._measured(contender, home, contender.command(home), "again")
                result.again.setdefault(contender.name, Outcome()).runs.append(run)

    def _reading_commands(self, result: Comparison) -> None:
        for contender in self._finishers(result):
            if isinstance(contender, Muniment):
                home = result.homes[contender.name]
                commands = {"sessions": contender.listing(home), "show last": contender.showing(home)}
                for name, command in commands.items():
                    log = name.replace(" ", "-")
                    runs = [self._measured(contender, home, command, log) for _ in range(REPEATS)]
                    result.commands[name] = Outcome(runs)

    def _finishers(self, result: Comparison) -> list[Contender]:
        return [c for c in self.contenders if result.first[c.name].complete]

    def _measured(self, contender: Contender, home: Home, command: list[str], task: str, fine: bool = False) -> Run:
        os.sync()  # nobody pays for what another has left to be written
        log = self.homes.parent / "logs" / f"{contender.name}-{task}.log"
        run = measure(command, contender.environment(home), log, self.ceiling, fine)
        told(f"  {contender.name} {task}: {run.seconds:.2f} s, {run.peak_bytes / 2**20:.0f} MiB {run.stopped}")
        if run.exit_code and not run.stopped:
            told(f"    exit code {run.exit_code}, see {log}")
        return run


def told(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
