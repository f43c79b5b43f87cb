"""What each feature of `features` counts for: what `python -m tests.quality --fit` prints. Not to be edited by hand."""

from __future__ import annotations

WEIGHTS = (-5.4, 2.2, 0.54, 1.43, 0.54, 3.49, -0.81, 0.75, 1.87, -0.41, -0.62)

THRESHOLD = 0.31
"""Below one half, because a boundary that is missed joins two engagements under one name."""
