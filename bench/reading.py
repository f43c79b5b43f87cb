"""Reads what was recorded, as the process that is measured.

Run as a script by the Python that has muniment installed: `reading.py resume TRANSCRIPT FOLDER`, where FOLDER is for
what the resumed session writes, or `reading.py history FOLDER CALLS`.
"""

import json
import sys
import time
from pathlib import Path


def resume(transcript: str, folder: str) -> dict[str, float]:
    from muniment.record import Recorder

    started = time.perf_counter()
    recorder = Recorder.resume(transcript, root=folder, home=folder)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "events": len(recorder.chain)}


def history(folder: str, calls: str) -> dict[str, list[float]]:
    from muniment.record import read_history

    times: list[float] = []
    for _ in range(int(calls)):
        started = time.perf_counter()
        found = read_history(limit=50, home=Path(folder))
        times.append((time.perf_counter() - started) * 1000)
        assert len(found) == 50, "the history gives as many prompts as it was asked for"
    return {"milliseconds": times}


if __name__ == "__main__":
    task, *rest = sys.argv[1:]
    print(json.dumps({"resume": resume, "history": history}[task](*rest)))
