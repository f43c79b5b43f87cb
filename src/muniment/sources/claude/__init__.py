"""Claude Code: `~/.claude/projects/<slug>/<uuid>.jsonl` and what lies beside it."""

from __future__ import annotations

from muniment.sources.base import Source
from muniment.sources.claude import find, read


class ClaudeCode(Source):
    """Sessions of Anthropic's Claude Code, all versions met so far (1.0 to 2.1)."""

    name = "claude-code"
    title = "Claude Code"
    family = "claude"
    retention_days = 30
    resume_command = "claude --resume {id}"

    homes = staticmethod(find.homes)
    candidates = staticmethod(find.candidates)
    matches = staticmethod(find.matches)
    gather = staticmethod(find.gather)
    read = staticmethod(read.read)


SOURCE = ClaudeCode()
