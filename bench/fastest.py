"""The fastest Python of this machine, on which the bench runs: prints where it is.

Builds of one version differ by a tenth and more. Distributions build with profile-guided optimisation, and that is what
most people run; a Python that pyenv built its usual way is without. Runs by itself, in any Python.
"""

import os
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
TRIES = 5
WORK = f"""
import sys, time
if sys.version_info < {OLDEST}: sys.exit(1)
def words(text):
    return {{word: len(word) for word in text.split() if not word.isspace()}}
started = time.process_time()
for number in range(20000):
    known = words("a line of words that is " + str(number))
    line = "".join([f"- {{name}}: {{size}}" for name, size in sorted(known.items())])
print(time.process_time() - started)
"""
"""A little of what inscribing does: small functions, short strings, dictionaries."""


def main() -> None:
    usable = [python for python in dict.fromkeys(candidates()) if seconds_of(python)]
    print(min(usable, key=lambda python: min(seconds_of(python) for _ in range(TRIES))))


def candidates() -> list[str]:
    """This one, and whatever goes by the name of a Python 3."""
    folders = [Path(folder) for folder in [*os.environ["PATH"].split(os.pathsep), "/usr/bin"] if folder]
    others = [path for folder in folders for path in sorted(folder.glob("python3*")) if is_python(path)]
    own = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return [str(path.resolve()) for path in [own, *others] if path.exists()]


def is_python(path: Path) -> bool:
    return path.name.removeprefix("python3").removeprefix(".").isdigit() or path.name == "python3"


def seconds_of(python: str) -> float:
    """What the work takes there; none where it is too old, or no Python at all."""
    ran = subprocess.run([python, "-I", "-c", WORK], capture_output=True, text=True)
    return float(ran.stdout) if ran.returncode == 0 else 0.0


if __name__ == "__main__":
    main()
