"""The section about recording in `docs/benchmarks.md`."""

from collections.abc import Iterator
from statistics import median

from .appends import (
    AWAITED,
    BARE,
    ENGINE,
    MUNIMENT,
    ROUNDS,
    SQLITE_SAVER,
    SQLITE_SAVER_HALF,
    SQLITE_SESSION,
    YOUNG,
    Rates,
)
from .recorded import CALLS, RESUMES
from .recording import Recording
from .tables import figure, table

METHOD = f"""\
## Recording

Every writer stores messages of about 1 kB, one after the other, each awaited, in a process of its own that stays open.
All take their turns in {ROUNDS} rounds, in alternating order, after one round to warm up; a run counts only if every
message is found in the file afterwards. A ratio is that of two runs of the same round, and of those the median.

- **Durable**: each message survives a power cut when its append returns. SQLite has `journal_mode=WAL` and
  `synchronous=FULL`.
- **Accepted**: each survives the death of the process. SQLite has `synchronous=OFF`. muniment makes what was accepted
  durable 50 ms later all the same, the others do not.

Who takes part:

"""
WHO = {
    MUNIMENT: (
        "`Recorder.event`, as a harness calls it: makes id and time, encodes, appends, keeps the chain; eight writers "
        "are eight threads"
    ),
    AWAITED: "`Recorder.event` and `await Recorder.settled`, in one event loop; eight writers are eight tasks of it",
    ENGINE: "its append engine alone, `Log.append`, with events that are encoded in its own format",
    BARE: "makes an id, encodes with the same encoder, then `flock` and `write`, or when durable `write` and `fsync`",
    SQLITE_SESSION: "`SQLiteSession.add_items`, awaited in one event loop; eight writers are eight tasks of it",
    SQLITE_SAVER: (
        "`SqliteSaver.put_writes` and `put`, as a graph's step does; the checkpoint holds the new message only, where "
        "a real one holds all"
    ),
    SQLITE_SAVER_HALF: "`put_writes` alone, which stores a message outside of the graph's state",
}
HISTORY_NAMES = {"history-1G": "in one file", "history-1G-rotated": "in files of 10 MiB, as it is rotated"}


def recording_section(recording: Recording) -> str:
    measured = {name for rates in recording.rates for name in rates.rounds}
    parts = [METHOD + "\n".join(f"- **{name}**: {words}." for name, words in WHO.items() if name in measured)]
    for rates in recording.rates:
        if rates.rounds:
            parts += [f"### {rates.task.title}", rates_table(rates)]
    return "\n\n".join([*parts, *resuming(recording), *histories(recording)])


def rates_table(rates: Rates) -> str:
    """Appends a second, and how many times as fast the recorder is; of a growing session, the young one."""
    ours = MUNIMENT if MUNIMENT in rates.rounds else YOUNG
    label = "muniment ÷ it" if ours == MUNIMENT else "the first ÷ it"
    rows = [
        (name, *(f"{rate:,.0f}/s" for rate in (median(seen), max(seen), min(seen))), times(rates.ratio(ours, name)))
        for name, seen in rates.rounds.items()
    ]
    return table(["", "median", "best", "worst", label], rows)


def times(ratio: float | None) -> str:
    return figure(ratio, "x") if ratio is not None else ""


def resuming(recording: Recording) -> Iterator[str]:
    calls, outcome = recording.resume_calls, recording.resumed
    if not calls:
        return
    yield "### Resuming a transcript of 70 MB"
    yield f"A new process each time, {RESUMES} timed; the memory is that of one more."
    row = [figure(median(calls), "s"), figure(min(calls), "s"), figure(max(calls), "s")]
    row += [figure(outcome.median, "s"), figure(outcome.peak_bytes / 2**20, "MiB")]
    heads = ["", "median", "best", "worst", "whole process", "peak memory"]
    yield table(heads, [["`Recorder.resume`", *row]])


def histories(recording: Recording) -> Iterator[str]:
    if not recording.histories:
        return
    yield "### The latest 50 prompts of a history of 1 GiB"
    yield f"The first call of a process, and the next {CALLS - 1}; the file is in the page cache."
    rows = [
        (HISTORY_NAMES[name], figure(asked.first, "ms"), figure(asked.p95, "ms"))
        for name, asked in recording.histories.items()
    ]
    yield table(["`read_history(limit=50)`", "first", "95 % within"], rows)
