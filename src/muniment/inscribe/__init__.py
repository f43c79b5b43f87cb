"""Inscribing one session: its files into evidence, its records into rounds, document and index rows.

An append is the same operation begun later: the reader starts at the open round, whose bytes come from the
evidence, and goes on with the bytes that were added to the source. Everything written is a function of the
evidence, so a killed run leaves nothing that the next one does not write again, equal.
"""

from __future__ import annotations

from muniment.inscribe.messages import Begin, Done, Outcome, Progress, Rows, Sink, Task, key_path, signature, stand_in
from muniment.inscribe.session import Inscription
from muniment.store.layout import Layout

__all__ = [
    "Begin",
    "Done",
    "Outcome",
    "Progress",
    "Rows",
    "Sink",
    "Task",
    "inscribe",
    "key_path",
    "signature",
    "stand_in",
]


def inscribe(layout: Layout, task: Task, sink: Sink) -> Outcome:
    """Put one session into the store, or what is new of it."""
    inscription = Inscription(layout, task, sink)
    return inscription.run() if task.rebuild is None else inscription.rebuild(task.rebuild)
