"""`make load`: the viewer under load, with its figures."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.load.run import Load, Result, run

GROWTH = 1.1
"""Memory has levelled off if the last quarter of the time is at most this much above the quarter before."""


def main() -> int:
    told = argparse.ArgumentParser(prog="make load", description=__doc__)
    for name in Load.__struct_fields__:
        told.add_argument(f"--{name}", type=int, default=getattr(Load(), name))
    load = Load(**vars(told.parse_args()))
    with tempfile.TemporaryDirectory(prefix="muniment-load-") as folder:
        return 0 if report(run(Path(folder), load, print)) else 1


def report(result: Result) -> bool:
    """Print the figures; tells whether all held."""
    third, fourth = result.mean(0.5, 0.75), result.mean(0.75, 1.0)
    print(f"memory   {result.rss[0] >> 20} MB at first, {third >> 20} and {fourth >> 20} MB in the last two quarters,")
    print(f"         {max(result.rss) >> 20} MB at the most")
    print(f"answers  {dict(result.answers)}, {result.events:,} events")
    print(f"messages {result.written:,} written, {result.archived:,} archived; missing: {result.missing}")
    fine = not result.missing and set(result.answers) == {200} and fourth <= third * GROWTH
    print("all held" if fine else "FAILED", flush=True)
    return fine


if __name__ == "__main__":
    sys.exit(main())
