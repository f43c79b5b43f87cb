"""The progress bar of commands that take a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def bar(label: str, total: int) -> Generator[Callable[[], None]]:
    """A bar on a terminal, nothing elsewhere; what it gives is called once for each thing done."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (f"[bold]{label}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Drawn by hand: a thread that draws must not be running when worker processes are forked.
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.update(task, advance=1, refresh=True)
