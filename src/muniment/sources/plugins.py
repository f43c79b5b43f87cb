"""Sources of installed packages, which announce them by the entry point `muniment.sources`.

One that cannot be loaded, or is no source, takes nothing else down: it is kept by its name, with what is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from muniment.sources.base import Source

_GROUP = "muniment.sources"
_NAMES = ("name", "title", "family")
"""What every source must say of itself."""


def load(taken: set[str]) -> tuple[list[Source], dict[str, str]]:
    """The sources of other packages, under none of the names that are taken; and the broken ones, with the reason."""
    found: list[Source] = []
    broken: dict[str, str] = {}
    for name, point in _announced():
        try:
            source = point.load()
        except (Exception, SystemExit) as error:
            broken[name] = " ".join(f"it cannot be loaded ({type(error).__name__}: {error})".split())
            continue
        if wrong := _wrong(source, taken | {other.name for other in found}):
            broken[name] = wrong
        else:
            found.append(source)
    return found, broken


def _announced() -> list[tuple[str, Any]]:
    """Entry points and what to call them. What reads the metadata of packages is slow to import: only if need be."""
    if not any(f"[{_GROUP}]" in _text(path) for folder in sys.path for path in _lists_in(folder)):
        return []
    from importlib.metadata import entry_points

    return [(f"plug-in {point.name} ({point.value})", point) for point in entry_points(group=_GROUP)]


def _lists_in(folder: str) -> list[Path]:
    try:
        return list(Path(folder).glob("*-info/entry_points.txt"))
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _wrong(source: Any, taken: set[str]) -> str:
    """Why an object cannot be used as a source; nothing if it can."""
    if isinstance(source, type):
        return "it is a class; let the entry point name an instance of it"
    if not isinstance(source, Source):
        return f"it is a {type(source).__name__} and no Source"
    for name in _NAMES:
        if not isinstance(getattr(source, name, None), str):
            return f"it has no {name}"
    return f"there is another source called {source.name}" if source.name in taken else ""
