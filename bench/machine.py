"""The facts about this machine that a reader needs to place the figures; no names and no paths of it."""

import os
import platform
from pathlib import Path

from muniment.store import scan


def facts() -> dict[str, str]:
    return {
        "processor": processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory_bytes() / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "Python": f"{platform.python_version()}, the fastest of this machine",
        "C module of muniment": "yes" if scan.IN_C else "no",
    }


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def load() -> float:
    """Runnable processes over the last minute, by which a reader sees whether the machine was busy with other work."""
    return os.getloadavg()[0]
