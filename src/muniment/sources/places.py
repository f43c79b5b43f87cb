"""Where the files of a session may lie below an agent's home: a closed list, which a source declares.

    Places(main=("talks/{id}.jsonl",), side=("talks/{id}/**",))

`{id}` is the id of the session, `*` anything within one part of a name, `**/` any folders or none, `**` all below. A
restore writes nothing into an agent's home that is not on its source's list, so no manifest can bring settings,
instructions or hooks.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from muniment.sources.base import FileRole

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\{id\}|[^*{]+|\{")
_ANY = {"**/": r"(?:.+/)?", "**": r".+", "*": r"[^/]*"}


class Places(Struct, frozen=True):
    """The names that the files of a session may have, by their roles."""

    main: tuple[str, ...] = ()
    sidechain: tuple[str, ...] = ()
    side: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    id: str = r"[^/]+"
    """What ids look like, as a regular expression: one that looks otherwise names no file."""

    def own(self, name: str, role: FileRole, native_id: str | None = None) -> bool:
        """Whether a session with this id, or some session, may have a file of this name."""
        if not is_plain(name) or (native_id is not None and not re.fullmatch(self.id, native_id)):
            return False
        id_ = self.id if native_id is None else re.escape(native_id)
        return any(_compiled(pattern, id_).fullmatch(name) for pattern in self._of(role))

    def _of(self, role: FileRole) -> tuple[str, ...]:
        match role:
            case "main":
                return self.main
            case "sidechain":
                return self.sidechain
            case "side":  # a second file with the name of a transcript is kept beside the first and not read
                return (*self.side, *self.sidechain, *self.main)
            case "history":
                return self.history
            case "old":
                return ()


def is_plain(name: str) -> bool:
    """Whether a name leads down from a folder and nowhere else, on every system."""
    parts = name.split("/")
    return not any(part in ("", ".", "..") for part in parts) and not re.search(r"[\\\x00-\x1f\x7f]", name)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, id_: str) -> re.Pattern[str]:
    pieces = (id_ if token == "{id}" else _ANY.get(token) or re.escape(token) for token in _TOKEN.findall(pattern))
    return re.compile("".join(f"(?:{piece})" for piece in pieces), re.DOTALL)
