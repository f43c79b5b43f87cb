"""Plain frozen values that every other part speaks in, and pure functions on them.

Nothing here opens a file, asks the clock or knows an agent's name.
"""

from muniment.model.blocks import Block, Compaction, Event, Media, Ref, Text, Thinking, Tool, Unknown
from muniment.model.facts import Facts
from muniment.model.problems import Loss, Problem
from muniment.model.rounds import Message, Round, Usage

__all__ = [
    "Block",
    "Compaction",
    "Event",
    "Facts",
    "Loss",
    "Media",
    "Message",
    "Problem",
    "Ref",
    "Round",
    "Text",
    "Thinking",
    "Tool",
    "Unknown",
    "Usage",
]
