"""What a real client meets over a large archive: how long the server takes to start and to answer, and what it holds.

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

from mcp import Client, StdioServerParameters
from muniment.archive import Archive

from .process import high_water_bytes
from .searching import SEED, draw
from .tables import figure, table
from .trees import Tree

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
        peak = high_water_bytes(pid)
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


METHOD = """\
## Over MCP

The official client talks to `muniment mcp`, a process of its own on standard input and output: searches drawn from the
stored texts, the round that each found first, and a pack of context.
"""


def mcp_section(tree: Tree, times: McpTimes) -> str:
    """For `docs/benchmarks.md`."""
    rows = [
        ("from the start of the process to its list of tools", figure(times.start_ms, "ms")),
        ("the first search after that", figure(times.first_ms, "ms")),
        (f"search, {times.queries} queries, median", figure(times.p50_ms, "ms")),
        ("search, 95th percentile", figure(times.p95_ms, "ms")),
        ("search, slowest", figure(times.worst_ms, "ms")),
        ("reading a round, median", figure(times.read_ms, "ms")),
        ("a pack of context", figure(times.context_ms, "ms")),
        ("server, most memory", figure(times.peak_mib, "MiB")),
    ]
    return f"{METHOD}\n{tree.title}:\n\n" + table(["", ""], rows)
