"""Who speaks: the agent and session that a command was run by, as its environment tells."""

from __future__ import annotations

from collections.abc import Mapping

from muniment import sources
from muniment.prospective import folder
from muniment.prospective.steps import Speaker, on_one_line

AGENT = "MUNIMENT_AGENT"
SESSION = "MUNIMENT_SESSION"
MAX_ID = 128


def speaker(env: Mapping[str, str], agent: str | None = None, session_id: str | None = None) -> Speaker:
    """What was said outright, else our own variables, else that of the agent which runs us."""
    theirs = (env.get(source.session_variable) for source in sources.all_sources() if source.session_variable)
    session = session_id or env.get(SESSION) or next(filter(None, theirs), None)
    name = agent or env.get(AGENT)
    told = (on_one_line(text)[:MAX_ID] if text else None for text in (name, session))
    return Speaker(folder.now(), *told)
