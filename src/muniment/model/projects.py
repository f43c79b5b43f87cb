"""Which project work was on, from the folder that the agent worked in."""

from __future__ import annotations

import re

_WORKTREE = re.compile(r"^(.+?)/(?:\.worktrees|\.claude/worktrees|\.git/worktrees)(?:/|$)")
_HOMES = re.compile(r"^(?:/root|/home/[^/]+|/Users/[^/]+|[A-Za-z]:/Users/[^/]+|[A-Za-z]:|)/?$", re.IGNORECASE)

_PATH = re.compile(r"/|[A-Za-z]:[/\\]")


def name(cwd: str | None, first: str | None) -> str | None:
    """The last part of a project's folder; `system` for a home folder or the root.

    `first` is where the session began: a folder below it belongs to the same project."""
    if not cwd:
        return None
    path = root(first if first and not switched(first, cwd) and not _HOMES.match(root(first)) else cwd)
    last = "".join(character if character.isprintable() else " " for character in path.rsplit("/", 1)[-1])
    return "system" if _HOMES.match(path) else last.strip() or None


def told(project: str | None, first: str | None) -> str | None:
    """The name of a project that somebody named, or whose path they gave: the same as if it were found."""
    return name(project, first) if project and _PATH.match(project) else project


def switched(former: str | None, now: str | None) -> bool:
    """Whether the work moved to another project: neither into a folder of the same one nor out of it."""
    if not former or not now or former == now:
        return False
    left, right = root(former) + "/", root(now) + "/"
    return not left.startswith(right) and not right.startswith(left)


def root(cwd: str) -> str:
    path = cwd[:4000].replace("\\", "/").rstrip("/")
    found = _WORKTREE.match(path)
    return found[1] if found else path
