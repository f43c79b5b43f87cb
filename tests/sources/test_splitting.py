"""Rounds that grow too large for one: they are continued in another, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.builder import ClaudeSession, text, tool

from muniment import check
from muniment.archive import Archive
from muniment.contract.samples import Sample, Subject, fold, read, transcripts
from muniment.model import Facts, Round, Tool
from muniment.sources import builder
from muniment.sources.base import Source
from muniment.store import rounds as stored

SPLITTING = ("claude-code", "codex")
SAMPLES = [sample for name in SPLITTING for sample in transcripts(Subject.shipped(name))]


def label(sample: Sample) -> str:
    return f"{sample.source.name}-{sample.file.name}"


def divided(monkeypatch: pytest.MonkeyPatch, source: Source, facts: Facts, data: bytes, limit: int) -> list[Round]:
    """Read with a limit and hold what comes of it against what comes without one."""
    monkeypatch.setattr(builder, "MAX_ROUND_BYTES", 1 << 60)
    whole = check.inscribed(source, facts, [data])
    monkeypatch.setattr(builder, "MAX_ROUND_BYTES", limit)
    parts = check.inscribed(source, facts, [data])
    assert without_made_up_ids(parts.body) == without_made_up_ids(whole.body)
    assert about(parts.facts) == about(whole.facts)
    return parts.rounds


def without_made_up_ids(body: bytes) -> list[bytes]:
    """Calls of Codex that have no id get one with the number of their round."""
    return [line for line in body.splitlines() if not line.startswith(b"<!-- web_search_call-")]


def about(facts: Facts) -> dict[str, object]:
    return {name: getattr(facts, name) for name in facts.__struct_fields__ if name not in ("rounds", "continued")}


def assert_reading_may_begin(source: Source, facts: Facts, data: bytes, rounds: list[Round], step: int = 1) -> None:
    for k in range(0, len(rounds), step):
        offset = rounds[k].offset if k else 0
        again = read(source, data[offset:], facts, offset, rounds[:k])
        assert [stored.decode(stored.encode(round_)) for round_ in again] == rounds[k:], f"from round {k + 1}"


@pytest.mark.parametrize("limit", [1, 500, 2000])
@pytest.mark.parametrize("sample", SAMPLES, ids=label)
def test_samples_say_the_same_in_parts(monkeypatch: pytest.MonkeyPatch, sample: Sample, limit: int) -> None:
    rounds = divided(monkeypatch, sample.source, sample.facts, sample.data, limit)
    assert_reading_may_begin(sample.source, sample.facts, sample.data, rounds)


@pytest.mark.corpus
@pytest.mark.parametrize("name", SPLITTING)
def test_real_sessions_say_the_same_in_parts(monkeypatch: pytest.MonkeyPatch, corpus: Path, name: str) -> None:
    subject, splits = Subject(name, corpus / name), 0
    for number, sample in enumerate(transcripts(subject)):
        limit = (100, 3000, 20000)[number % 3]
        rounds = divided(monkeypatch, sample.source, sample.facts, sample.data, limit)
        splits += sum(round_.continued for round_ in rounds)
        assert_reading_may_begin(sample.source, sample.facts, sample.data, rounds, len(rounds) // 4 + 1)
    assert splits > 1000


def working(calls: int, output: str = "a file") -> ClaudeSession:
    """A session that works for long behind one prompt."""
    session = ClaudeSession("7d0f7f0e-6a4b-4a55-9a37-0d6f4d3b1c99")
    session.user("do it all")
    for number in range(calls):
        session.answer(text("I look."), tool(f"toolu_{number}", "Bash", {"command": "ls"}), id_=f"msg_{number:020}")
        session.result(f"toolu_{number}", output)
    return session


def test_a_prompt_ends_the_continuation(monkeypatch: pytest.MonkeyPatch) -> None:
    session = working(6)
    session.user("and now?")
    session.answer(text("Done."))
    source = Subject.shipped("claude-code").source
    rounds = divided(monkeypatch, source, Facts(session.id, "claude-code"), session.data, 2000)
    assert [round_.prompted for round_ in rounds] == [True, *[False] * (len(rounds) - 2), True]
    assert [round_.continued for round_ in rounds] == [True] * (len(rounds) - 2) + [False, False]
    assert fold(rounds, Facts(session.id, "claude-code")).prompts == 2


def test_a_result_is_never_parted_from_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    session = working(20)
    rounds = divided(monkeypatch, Subject.shipped("claude-code").source, Facts("s", "claude-code"), session.data, 1)
    calls = [[tool.output is not None for tool in round_.of(Tool)] for round_ in rounds]
    assert calls == [[], *[[True]] * 20]


def test_an_append_reads_only_the_open_part(monkeypatch: pytest.MonkeyPatch, archive: Archive, home: Path) -> None:
    monkeypatch.setattr(builder, "MAX_ROUND_BYTES", 4000)
    session = working(40)
    session.write(home)
    archive.inscribe()
    shelf = archive.layout.shelf("claude", session.id)
    former = {path: path.stat().st_mtime_ns for path in shelf.rounds.glob("*.json")}
    session.answer(text("That was all."))
    session.write(home)
    archive.inscribe()
    changed = [path for path in former if path.stat().st_mtime_ns != former[path]]
    assert len(former) > 5
    assert len(changed) <= 1


_MEASURED = """
import sys
from pathlib import Path
from muniment.archive import Archive
Archive(Path(sys.argv[1]) / "store", {"HOME": sys.argv[1]}).inscribe()
(line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]  # ru_maxrss begins with the parent's
print(int(line.split()[1]) >> 10)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is not told here")
def test_one_prompt_may_cause_more_than_the_memory_holds(tmp_path: Path) -> None:
    """64 MB took 300 MB and more while a round was held as a whole; 300 MB are measured in docs/reliability.md."""
    working(640, "a line of many\n" * 7000).write(tmp_path / ".claude")
    ran = subprocess.run([sys.executable, "-c", _MEASURED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 160
