"""Group commit: whoever waits is told, whatever becomes of the others."""

import signal
import threading
import time
from collections.abc import Callable, Sequence

import pytest

from muniment.record.commit import Group


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.005)


@pytest.mark.usefixtures("ctrl_c")
def test_who_is_interrupted_during_a_commit_keeps_nobody_waiting() -> None:
    """A leader commits for three; the second of them is interrupted meanwhile, and the third is told all the same."""
    begun: list[tuple[str, ...]] = []
    go_on = {"first": threading.Event(), "leader": threading.Event()}

    def commit(items: Sequence[str]) -> None:
        begun.append(tuple(items))
        go_on[items[0]].wait(60)

    group = Group[str](commit)
    threads: dict[str, threading.Thread] = {}

    def submit(name: str) -> None:
        threads[name] = threading.Thread(target=group.submit, args=(name,), daemon=True)
        threads[name].start()

    def others() -> None:
        until(lambda: len(group._waiting) == 2)  # the leader, and whoever is interrupted
        submit("third")
        until(lambda: len(group._waiting) == 3)
        go_on["first"].set()
        until(lambda: len(begun) == 2)
        time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    submit("first")
    until(lambda: begun)
    submit("leader")
    until(lambda: group._waiting)
    threading.Thread(target=others, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        group.submit("interrupted")
    assert begun[1] == ("leader", "interrupted", "third")
    go_on["leader"].set()
    threads["third"].join(10)
    assert not threads["third"].is_alive()
