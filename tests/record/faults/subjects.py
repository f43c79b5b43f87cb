"""Our append engine as the conformance kit sees it."""

from __future__ import annotations

from pathlib import Path

from muniment.model.events import RECOVERY, USER, Event
from muniment.record import disk, log, read
from muniment.record.conformance.subject import Subject
from muniment.sources.native.dialect import Native

FORM = Native()


class LogWriter:
    """A `Log` that takes texts."""

    def __init__(self, opened: log.Log) -> None:
        self.log = opened

    def append(self, session: str, uuid: str, payload: str) -> None:
        [line] = FORM.lines([Event(USER, "2026-01-02T03:04:05.678Z", uuid, None, {"text": payload})])
        self.log.append(line)

    def flush(self) -> None:
        self.log.flush()

    def close(self) -> None:
        self.log.close()


def text_of(event: Event) -> str:
    """What was appended; of a line that was put together from two, whatever it says."""
    payload = event.payload
    return payload["text"] if isinstance(payload, dict) and "text" in payload else repr(payload)


class Ours(Subject):
    """The engine as it is."""

    def open(self, path: Path) -> LogWriter:
        return LogWriter(log.Log(path, FORM))

    def read(self, path: Path) -> list[tuple[str, str]]:
        """What a failing disk made us write again, to another segment, is the same event."""
        found: list[tuple[str, str]] = []
        for segment in disk.segments(path):
            here: list[tuple[str, str]] = []
            for line in read.read(segment):
                try:
                    [event] = FORM.events(line.raw)
                except ValueError:
                    continue
                if event.type != RECOVERY:
                    here.append((event.uuid, text_of(event)))
            earlier = {*found}
            found += [event for event in here if event not in earlier]
        return found

    def files(self, path: Path) -> list[Path]:
        return [disk.segment_path(path, number) for number in range(3)]
