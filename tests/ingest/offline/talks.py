"""Small skeletons for tests, turn by turn."""

from __future__ import annotations

from muniment.ingest.skeleton import Act, Skeleton, Turn
from muniment.model import Facts

SESSION = "5c1e0a11-9d2b-5e3f-8a47-1b2c3d4e5f60"


def turn(user: str, *acts: Act, closing: str = "Done, it works now.", cwd: str | None = None, **fields: object) -> Turn:
    """A turn whose number is given by `session`."""
    return Turn(number=0, user=user, assistant=closing, closing=closing, acts=acts, cwd=cwd, **fields)  # pyright: ignore


def session(*turns: Turn, title: str | None = None, cwd: str = "/proj/app") -> Skeleton:
    numbered = tuple(
        Turn(**{name: getattr(one, name) for name in one.__struct_fields__} | {"number": at})
        for at, one in enumerate(turns, 1)
    )
    facts = Facts(SESSION, "claude-code", title=title, title_by="ai", cwd=cwd, first_cwd=cwd)
    return Skeleton(facts, "claude", numbered)


def edit(*paths: str) -> Act:
    return Act("Edit", paths, writes=True)


def look(*paths: str) -> Act:
    return Act("Read", paths)


def run(command: str, output: str = "", failed: bool = False) -> Act:
    return Act("Bash", command=command, output=output, failed=failed)
