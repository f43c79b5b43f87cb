"""The source of `docs/adding-a-source.md`, taken out of the document and installed as an entry point."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "adding-a-source.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\S+)\n")


def blocks(language: str) -> list[str]:
    """The blocks of the document in a language."""
    return [body for kind, body in _BLOCK.findall(DOCUMENT.read_text(encoding="utf-8")) if kind == language]


def files(language: str) -> dict[str, str]:
    """What the blocks that begin with the name of a file put into it, one after the other."""
    made: dict[str, str] = {}
    for body in blocks(language):
        named = _FILE.match(body)
        assert named, body[:80]
        made[named[1]] = made.get(named[1], "") + body[named.end() :]
    return made


def module() -> str:
    """The example's one module."""
    (code,) = files("python").values()
    return code


def command() -> list[str]:
    """The line by which a reader runs the contract."""
    return shlex.split(blocks("sh")[0])


def put_samples(folder: Path) -> Path:
    """The sample session, where the agent would keep it."""
    talk = folder / "talks" / "t-0042.jsonl"
    talk.parent.mkdir(parents=True)
    talk.write_text(blocks("json")[0], encoding="utf-8")
    return folder


def install(site: Path) -> None:
    """The module, and beside it what an installer leaves of the project: its name and its entry points."""
    project = tomllib.loads(files("toml")["pyproject.toml"])["project"]
    about = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    for name, code in files("python").items():
        (site / name).write_text(code, encoding="utf-8")
    told = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(told, encoding="utf-8")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in points.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
