"""The values of a tool's input: reading them by name, and spelling those that have no place of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from muniment.render.shown import Field
from muniment.render.visible import one_line, visible

Given = dict[str, Any]
TOO_DEEP = "(nested too deep to show)"
_MAX_FIELDS = 200


def text(given: Given, names: Iterable[str]) -> str:
    """The first of these values that is there and says something."""
    return next((value for name in names if isinstance(value := given.get(name), str) and value), "")


def without(given: Given, names: Iterable[str]) -> Given:
    """All values but these."""
    return {name: value for name, value in given.items() if name not in names}


def rest(given: Given, used: set[str]) -> tuple[Field, ...]:
    """What has no place of its own; false and null say nothing to a reader."""
    return fields({n: value for n, value in without(given, used).items() if not (value is None or value is False)})


def fields(given: Given) -> tuple[Field, ...]:
    """Every value with its name."""
    listed = [Field(one_line(name, 80), _spelt(value)) for name, value in list(given.items())[:_MAX_FIELDS]]
    left = len(given) - len(listed)
    return (*listed, Field("…", f"{left:,} more")) if left > 0 else tuple(listed)


def whole(value: Any) -> tuple[Field, ...]:
    """An input that is no object, as one field."""
    return () if value in (None, "", {}) else (Field("input", _spelt(value)),)


def _spelt(value: Any) -> str:
    return visible(value) if isinstance(value, str) else spelt_json(value)


def spelt_json(value: Any) -> str:
    """A value of JSON for a reader: on one line if it is short."""
    try:
        short = json.dumps(value, ensure_ascii=False)
        return visible(short if len(short) <= 100 else json.dumps(value, ensure_ascii=False, indent=2))
    except (ValueError, RecursionError):
        return TOO_DEEP


def brief(given: Given) -> str:
    """The first short words of an input of no known shape."""
    named = text(given, ("description", "title", "subject", "name", "summary", "reason"))
    return one_line(named or next((v for v in given.values() if isinstance(v, str) and v and len(v) <= 200), ""))
