"""muniment: the durable record of what AI agents do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.archive import Archive

__version__ = "0.1.0"
__all__ = ["Archive", "__version__"]


def __getattr__(name: str) -> Any:
    """`Archive` is imported when it is asked for, so that the command line starts fast."""
    if name == "Archive":
        from muniment.archive import Archive

        return Archive
    raise AttributeError(name)
