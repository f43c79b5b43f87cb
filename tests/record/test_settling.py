"""Recording in an event loop: the disk is waited for, and the loop goes on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from muniment.errors import NotRecorded
from muniment.record import Recorder
from muniment.record import log as log_module


class Disk:
    """Syncs as it is told to, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced = 0
        self.sizes: list[int] = []
        self.path: Path | None = None
        self.may_finish = threading.Event()
        self.may_finish.set()
        self.begun = threading.Event()
        self.broken = False
        self._sync = log_module.sync_file
        monkeypatch.setattr(log_module, "sync_file", self.sync)

    async def at_work(self) -> None:
        """Until it has begun to sync; the loop goes on."""
        while not self.begun.is_set():
            await asyncio.sleep(0)

    def sync(self, descriptor: int) -> None:
        size = self.path.stat().st_size if self.path else 0
        self.begun.set()
        assert self.may_finish.wait(60), "nobody let the disk go on"
        if self.broken:
            raise OSError(5, "the disk is broken")
        self._sync(descriptor)
        self.synced += 1
        self.sizes.append(size)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def rec(tmp_path: Path, disk: Disk) -> Recorder:
    made = Recorder.start(cwd=tmp_path, home=tmp_path / "home")
    disk.path = made.path
    return made


def test_what_is_awaited_is_durable(rec: Recorder, disk: Disk) -> None:
    async def say() -> None:
        for number in range(5):
            made = rec.assistant(f"answer {number}")
            await rec.settled()
            assert made.byte_offset is not None
            assert disk.sizes[-1] > made.byte_offset, "the line was there when the disk was synced"

    asyncio.run(say())
    rec.close()


def test_tasks_that_wait_together_share_a_sync(rec: Recorder, disk: Disk) -> None:
    tasks, events, before = 8, 20, disk.synced

    async def say() -> None:
        for number in range(events):
            rec.assistant(f"answer {number}")
            await rec.settled()

    async def all_of_them() -> None:
        await asyncio.gather(*(say() for _ in range(tasks)))

    asyncio.run(all_of_them())
    assert disk.synced - before < tasks * events // 2, "not one for each of them"
    rec.close()


def test_the_loop_goes_on_while_the_disk_works(rec: Recorder, disk: Disk) -> None:
    disk.may_finish.clear()

    async def say() -> None:
        rec.assistant("answer")
        waiting = asyncio.create_task(rec.settled())
        await disk.at_work()
        assert not waiting.done()
        disk.may_finish.set()  # only the loop could do so
        await waiting

    disk.begun.clear()
    asyncio.run(say())
    rec.close()


def test_what_comes_while_the_disk_works_waits_for_the_next_sync(rec: Recorder, disk: Disk) -> None:
    disk.may_finish.clear()

    async def say() -> None:
        rec.assistant("first")
        first = asyncio.create_task(rec.settled())
        await disk.at_work()
        made = rec.assistant("second")
        second = asyncio.create_task(rec.settled())
        disk.may_finish.set()
        await asyncio.gather(first, second)
        assert made.byte_offset is not None
        assert disk.sizes[-1] > made.byte_offset

    disk.begun.clear()
    asyncio.run(say())
    rec.close()


def test_a_broken_disk_is_told_to_every_task(rec: Recorder, disk: Disk) -> None:
    async def say(number: int) -> None:
        rec.assistant(f"answer {number}")
        await rec.settled()

    async def all_of_them() -> list[BaseException | None]:
        return await asyncio.gather(*(say(n) for n in range(4)), return_exceptions=True)

    disk.broken = True
    assert [type(told) for told in asyncio.run(all_of_them())] == [NotRecorded] * 4


def test_a_task_that_is_cancelled_keeps_nobody_waiting(rec: Recorder, disk: Disk) -> None:
    disk.may_finish.clear()

    async def say() -> None:
        rec.assistant("answer")
        one, other = asyncio.create_task(rec.settled()), asyncio.create_task(rec.settled())
        await disk.at_work()
        one.cancel()
        disk.may_finish.set()
        await other
        assert one.cancelled()
        await rec.settled()

    disk.begun.clear()
    asyncio.run(say())
    rec.close()


def test_one_recorder_serves_one_loop_after_the_other(rec: Recorder, disk: Disk) -> None:
    before = disk.synced
    for _ in range(3):
        rec.assistant("answer")
        asyncio.run(rec.settled())
    assert disk.synced == before + 3
    rec.close()


def test_a_prompt_need_not_block(rec: Recorder, disk: Disk) -> None:
    disk.may_finish.clear()
    before = disk.synced
    rec.user("hello", durable=False)
    assert disk.synced == before
    disk.may_finish.set()
    asyncio.run(rec.settled())
    assert disk.synced > before
    rec.close()


@pytest.mark.parametrize(("fails", "status"), [(False, "completed"), (True, "failed")])
def test_leaving_the_block_ends_the_session(tmp_path: Path, fails: bool, status: str) -> None:
    async def run() -> Recorder:
        async with Recorder.start(cwd=tmp_path, home=tmp_path / "home") as made:
            made.assistant("answer")
            if fails:
                raise KeyError("the harness failed")
        return made

    if fails:
        with pytest.raises(KeyError):
            asyncio.run(run())
    else:
        asyncio.run(run())
    (path,) = (tmp_path / ".transcripts").glob("*.jsonl")
    assert f'"status":"{status}"'.encode() in path.read_bytes().splitlines()[-1]
