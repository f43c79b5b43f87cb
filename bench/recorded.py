"""Long recorded files: a transcript that is resumed, a history that is asked. They are made once and kept.

Nothing large is ever held in memory here: the kernel counts the highest memory of a parent as that of its children.
"""

import json
import os
import random
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from .appends import Failed
from .compare import Outcome, told
from .process import Ceiling, measure
from .trees import fresh, warm_file

TRANSCRIPT_BYTES = 70_000_000
HISTORY_BYTES = 1 << 30
ROLLED_BYTES = 10 << 20
CALLS = 100
RESUMES = 5
NOW = "2026-01-02T03:04:05.678Z"
WORDS = ["the", "token", "check", "login", "header", "cache", "parser", "retry", "is", "not", "inverted", "expired"]


@dataclass(frozen=True)
class Asked:
    """How long the history took to give its latest 50 prompts, in milliseconds."""

    first: float
    """In a new process."""
    p95: float


@dataclass(frozen=True)
class Reader:
    """Reads recorded files with the muniment that this Python has."""

    python: Path
    work: Path
    ceiling: Ceiling

    def resumed(self) -> tuple[Outcome, list[float]]:
        """A process that does nothing but resume the long transcript, and how long the call itself took in each run.

        Memory is watched closely in the first run, which does not count for the time of the call."""
        transcript = self._kept("transcript-70M", write_transcript) / "session.jsonl"
        warm_file(transcript)
        outcome, calls = Outcome(), list[float]()
        for number in range(RESUMES + 1):
            folder = fresh(self.work / "resumed")
            log = self.work.parent / "logs" / "resume.log"
            command = [*self._command("resume"), str(transcript), str(folder)]
            outcome.runs.append(measure(command, bare_environment(folder), log, self.ceiling, fine=not number))
            shutil.rmtree(folder)
            if outcome.failed:
                raise Failed("the resuming of a transcript came to an early end, see the logs of the bench")
            if number:
                calls.append(json.loads(log.read_bytes())["seconds"])
        told(f"  muniment, resuming {transcript.stat().st_size / 1e6:.0f} MB: {min(calls):.2f} s")
        return outcome, calls

    def asked(self, name: str, write: Callable[[Path], None]) -> Asked:
        """The history in a folder that `write` makes."""
        folder = self._kept(name, write)
        command = [*self._command("history"), str(folder), str(CALLS)]
        run = subprocess.run(command, env=bare_environment(folder), capture_output=True)
        if run.returncode:
            raise Failed("the reading of the history failed: " + run.stderr.decode(errors="replace")[-300:])
        first, *later = json.loads(run.stdout)["milliseconds"]
        told(f"  muniment, {name}: first {first:.2f} ms")
        return Asked(first, quantiles(later, n=20)[-1])

    def _command(self, task: str) -> list[str]:
        return [str(self.python), "-P", str(Path(__file__).with_name("reading.py")), task]

    def _kept(self, name: str, write: Callable[[Path], None]) -> Path:
        """A folder that is made once."""
        folder = self.work / name
        if not folder.is_dir():
            unfinished = fresh(folder.with_name(f"{name}.part"))
            write(unfinished)
            unfinished.rename(folder)
        return folder


def bare_environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def write_transcript(folder: Path) -> None:
    """A session in muniment's own format: prompts, thoughts, tool calls with results, answers."""
    chance = random.Random(1)
    with (folder / "session.jsonl").open("w", encoding="utf-8") as out:
        written = out.write(line("header", None, session_id="session", start_ts=NOW, resumed_from=None, cwd="/proj"))
        before: str | None = None
        while written < TRANSCRIPT_BYTES:
            for type_, payload in turn(chance):
                said = uuid.UUID(int=chance.getrandbits(128)).hex
                written += out.write(line(type_, before, said, **payload))
                before = said


def turn(chance: random.Random) -> Iterator[tuple[str, dict[str, object]]]:
    """One prompt and what follows, of about the sizes that agents' sessions have."""
    yield "user", {"text": prose(chance, 200)}
    for _ in range(chance.randrange(1, 8)):
        call = f"call_{chance.getrandbits(64):016x}"
        yield "thinking", {"text": prose(chance, 400)}
        yield "tool_call", {"id": call, "name": "bash", "input": {"command": prose(chance, 100)}}
        output = prose(chance, int(chance.paretovariate(1.2) * 800) % 50_000)
        yield "tool_result", {"id": call, "name": "bash", "output": output, "is_error": False}
    yield "assistant", {"text": prose(chance, 900)}


def line(type_: str, before: str | None, id_: str = "0" * 32, **payload: object) -> str:
    event = {"type": type_, "ts": NOW, "uuid": id_, "prev_uuid": before, "payload": payload}
    return json.dumps(event, separators=(",", ":")) + "\n"


def prose(chance: random.Random, size: int) -> str:
    start = chance.randrange(len(_PROSE) // 2)
    return _PROSE[start : start + size]


_PROSE = " ".join(random.Random(0).choices(WORDS, k=40_000))


def write_history(folder: Path) -> None:
    """All prompts in one file, as if it had never been rotated."""
    block = folder / "block"
    write_prompts(block)
    with (folder / "history.jsonl").open("wb") as out:
        for _ in range(HISTORY_BYTES // block.stat().st_size + 1):
            with block.open("rb") as piece:
                shutil.copyfileobj(piece, out)
    block.unlink()


def write_rotated_history(folder: Path) -> None:
    """As the recorder keeps it: files of at most 10 MiB; a hundred names of one file will do to read them."""
    newest = folder / "history.jsonl"
    write_prompts(newest)
    for number in range(1, HISTORY_BYTES // ROLLED_BYTES + 1):
        os.link(newest, folder / f"history.jsonl.{number}")


def write_prompts(path: Path) -> None:
    """About 10 MiB of prompts."""
    chance = random.Random(2)
    size = 0
    with path.open("w", encoding="utf-8") as out:
        while size < ROLLED_BYTES - 4096:
            text = prose(chance, chance.randrange(20, 2000))
            entry = {"prompt": text, "ts": NOW, "session_id": "session", "uuid": f"{chance.getrandbits(128):032x}"}
            size += out.write(json.dumps(entry, separators=(",", ":")) + "\n")
