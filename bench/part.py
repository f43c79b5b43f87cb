"""What one part of the bench gives to the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .promises import Judged


@dataclass(frozen=True)
class Part:
    """Sections of the report, promises, and what could not be run."""

    sections: Sequence[str]
    judged: Sequence[Judged]
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of the tools that took part."""
    missing: Sequence[str] = ()
    """Rivals that cannot be had here: the others are measured without them."""
    broken: Sequence[str] = ()
    """What failed, so that its figures mean nothing."""
