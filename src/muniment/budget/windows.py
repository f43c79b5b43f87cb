"""How many tokens fit into a model's context, by family. Some models come with two sizes of window.

The table says when it was read; `$MUNIMENT_WINDOWS` names a JSON file whose entries come first: `{"MODEL": 200000}`.
A model in neither has no window, and no share of one is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.errors import MunimentError
from muniment.prices import names_of, own_table

WINDOWS_DATE = "2026-11"
_EXAMPLE = '{"MODEL": 200000}'
_SMALL, _LARGE = 200_000, 1_000_000

WINDOWS: Mapping[str, tuple[int, ...]] = {
    "claude-3": (_SMALL,),
    "claude-haiku-4": (_SMALL,),
    "claude-opus-4": (_SMALL,),
    "claude-opus-4-6": (_SMALL, _LARGE),
    "claude-opus-4-7": (_SMALL, _LARGE),
    "claude-opus-4-8": (_SMALL, _LARGE),
    "claude-sonnet-4": (_SMALL, _LARGE),
    "claude-fable-5": (_LARGE,),
    "claude-haiku-5": (_LARGE,),
    "claude-opus-5": (_LARGE,),
    "claude-sonnet-5": (_LARGE,),
    "gpt-5": (400_000,),
    "gpt-5.4": (1_050_000,),
    "gpt-5.6": (1_050_000,),
}
"""By the beginning of a model's name, the longest one that fits; the smallest window first."""


def windows_of(model: str, env: Mapping[str, str]) -> tuple[int, ...]:
    """The sizes of window that a model comes with, the smallest first; none if nobody has told them."""
    own = _own_windows(env)
    if told := next((own[name] for name in names_of(model) if name in own), None):
        return (told,)
    if model.endswith("[1m]"):
        return (_LARGE,)
    families = [name for name in WINDOWS if model == name or model.startswith((f"{name}-", f"{name}."))]
    return WINDOWS[max(families, key=len)] if families else ()


def fitting(windows: tuple[int, ...], used: int) -> int | None:
    """The smallest window that what was used fits into: a session that filled more had the larger one."""
    return next((window for window in windows if used <= window), None)


def _own_windows(env: Mapping[str, str]) -> dict[str, int]:
    own = own_table(env, "MUNIMENT_WINDOWS", dict[str, int], _EXAMPLE)
    if any(size <= 0 for size in own.values()):
        raise MunimentError(
            f"{env['MUNIMENT_WINDOWS']}: a window holds at least one token", f"it looks like {_EXAMPLE}"
        )
    return own
