"""The permission ledger: what this session was allowed, in memory and nowhere else.

Trust is not restored. A session that is resumed starts with none of the grants of the one before it: an allow that was
given under the influence of a hostile file or tool output must not outlive its session. Restrictions are the other way
round: they are recorded as events, and a resumed session starts with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.model.events import HEADER, RESTRICTION, Event
from muniment.model.grants import is_grant, withholds

Decision = Literal["allow", "deny", "ask"]


class Rule(Struct, frozen=True):
    """Calls of a tool whose input matches a pattern; `*` stands for anything."""

    tool: str
    pattern: str = "*"

    def covers(self, tool: str, input_: Any) -> bool:
        return fnmatchcase(tool, self.tool) and any(fnmatchcase(text, self.pattern) for text in _texts(input_))


def _texts(input_: Any) -> list[str]:
    """What a pattern is held against: each string of the input, and the whole as JSON."""
    values = input_.values() if isinstance(input_, dict) else [input_]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return [v for v in values if isinstance(v, str)] + [codec.encode(input_).decode("utf-8", "replace")]  # pyright: ignore[reportUnknownVariableType]


class Ledger:
    """The decisions of one session."""

    def __init__(self, restrictions: Iterable[Rule] = (), record: Callable[[Rule], None] | None = None) -> None:
        self._grants: list[Rule] = []
        self._restrictions: list[Rule] = list(restrictions)
        self._record = record

    @property
    def restrictions(self) -> tuple[Rule, ...]:
        return tuple(self._restrictions)

    def allow(self, tool: str, pattern: str = "*") -> None:
        """For this session, and in this process only."""
        self._grants.append(Rule(tool, pattern))

    def deny(self, tool: str, pattern: str = "*") -> None:
        """From now on, and in every session resumed from this one. Recorded before it counts."""
        rule = Rule(tool, pattern)
        if self._record:
            self._record(rule)
        self._restrictions.append(rule)

    def decide(self, tool: str, input_: Any = None) -> Decision:
        """A restriction outweighs a grant; what neither covers must be asked for."""
        if any(rule.covers(tool, input_) for rule in self._restrictions):
            return "deny"
        return "allow" if any(rule.covers(tool, input_) for rule in self._grants) else "ask"

    def __getstate__(self) -> Any:
        raise TypeError("a permission ledger is not stored, copied or sent: grants belong to one session")


def restrictions_in(events: Iterable[Event]) -> list[Rule]:
    """What a session was forbidden, in the order in which it was said."""
    said = [mapping(event.payload) for event in events if event.type == RESTRICTION]
    return [Rule(str(rule.get("tool", "*")), str(rule.get("pattern", "*"))) for rule in said]


def refuse_grants(type_: str, payload: Any = None) -> None:
    """Raises ValueError for an event that grants something, and for a header that tells of grants."""
    if is_grant(type_):
        raise ValueError(f"an event {type_!r} is not recorded: grants belong to one session and to no file")
    if type_ == HEADER and (name := next(_granted(mapping(payload)), None)):
        raise ValueError(f"{name!r} is not recorded in a header: grants belong to one session and to no file")


def _granted(said: dict[str, Any]) -> Iterator[str]:
    """Names under which something is granted, at any depth; where only restrictions are told, nothing is."""
    for name, value in said.items():
        inner = mapping(value)
        if is_grant(name) and value and not (inner and all(map(withholds, inner))):
            yield name
        else:
            yield from _granted(inner)
