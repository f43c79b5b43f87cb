"""What a real client meets over a large archive: how long the server takes to start and to answer, and what it holds.

    python -m bench.mcp STORE

The client is the official one, the server a process of its own on standard input and output.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.process import resident_bytes
from bench.searching import SEED, draw
from mcp import Client, StdioServerParameters
from muniment.archive import Archive

QUERIES = 100


class McpTimes(Struct, frozen=True):
    """Milliseconds, and MiB."""

    queries: int
    start_ms: float
    """From starting the process to the first answer of its own: the list of tools."""
    first_ms: float
    """The first search after that."""
    p50_ms: float
    p95_ms: float
    worst_ms: float
    read_ms: float
    context_ms: float
    peak_mib: float
    """The most that the server held in memory, by the kernel's own count."""


def mcp_times(store: Path, seed: int = SEED, count: int = QUERIES) -> McpTimes:
    """One conversation: searches drawn from the archive, a round for each, and a pack."""
    return asyncio.run(_talk(store, draw(Archive(store), seed, count)))


async def _talk(store: Path, asked: list[str]) -> McpTimes:
    before = set(_children())
    code = f"from muniment.surfaces.cli.main import main; main(['--store', {str(store)!r}, 'mcp'])"
    began = time.perf_counter()
    async with Client(StdioServerParameters(command=sys.executable, args=["-c", code], cwd="/")) as client:
        await client.list_tools()
        started = (time.perf_counter() - began) * 1000
        (pid,) = set(_children()) - before
        found = [await _timed(client, "search", {"query": text}) for text in asked]
        hits = [answer.structured_content["hits"] for _, answer in found]
        places = [(hit[0]["session"], hit[0]["round"]) for hit in hits if hit]
        reads = [await _timed(client, "read", {"session": s, "round": r}) for s, r in places]
        pack, _ = await _timed(client, "context", {"session": "last"})
        peak = max(_peak_bytes(pid), resident_bytes(pid))
    times = sorted(ms for ms, _ in found)
    return McpTimes(
        queries=len(asked),
        start_ms=started,
        first_ms=found[0][0],
        p50_ms=statistics.median(times),
        p95_ms=times[int(len(times) * 0.95)],
        worst_ms=times[-1],
        read_ms=statistics.median(ms for ms, _ in reads),
        context_ms=pack,
        peak_mib=peak / 2**20,
    )


async def _timed(client: Any, name: str, arguments: dict[str, Any]) -> tuple[float, Any]:
    before = time.perf_counter()
    answer = await client.call_tool(name, arguments)
    spent = (time.perf_counter() - before) * 1000
    if answer.is_error:
        raise RuntimeError(answer.content[0].text)
    return spent, answer


def _children() -> list[int]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(pid) for pid in path.read_text().split()]


def _peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    made = mcp_times(Path(sys.argv[1]))
    for name in made.__struct_fields__:
        print(f"{name:12} {getattr(made, name):.0f}")
