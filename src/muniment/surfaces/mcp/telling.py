"""`record_engagement`: what an agent says of its own work, into `engagement.md` of its project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from muniment.errors import Conflict, MunimentError
from muniment.model import codec
from muniment.prospective import folder, steps
from muniment.prospective.record import Record
from muniment.prospective.steps import Begin, Speaker, Step
from muniment.surfaces.mcp.fence import REDACTOR, Answer

ACTIONS = ("start", "phase", "decide", "obligation", "close_obligation", "handoff", "complete")


class Said(Struct, frozen=True, kw_only=True):
    """What the tool was given."""

    action: str
    id: str = ""
    text: str = ""
    method: str = ""
    phase: str = ""
    to: str = ""
    number: int = 0
    project: str = ""


def tell(root: Path, cwd: Path, said: Said, by: Speaker) -> Answer:
    """Take one step; the engagement as it then stands."""
    if said.action == "start":
        given = Begin(topic=said.text, method=said.method, id=said.id, project=said.project or str(cwd))
        told = folder.begin(root, given, by)
    else:
        if not said.id:
            raise MunimentError("which engagement?", "give the id that start returned")
        told = folder.say(root, said.id, _step(said, by))
    assert told.record, "what was written can be read"
    data = REDACTOR.value(codec.mapping(codec.loads(codec.encode(told.record))))
    owed = len(told.record.open_obligations)
    line = f"Engagement {told.record.id} is {told.record.phase}; {owed} open obligation{'' if owed == 1 else 's'}."
    return Answer(line, data)


def _complete(record: Record, by: Speaker, outcome: str) -> Step:
    """The last step. What is owed was written by others, so an error, which stands in no fence, only counts it."""
    try:
        return steps.complete(record, by, outcome)
    except Conflict as error:
        if not record.open_obligations:
            raise
        raise Conflict(error.message, "close each with close_obligation, or hand it off") from None


def _step(said: Said, by: Speaker) -> Callable[[Record], Step]:
    match said.action:
        case "phase" if said.phase != "completed":
            return lambda record: steps.phase(record, said.phase, by, said.text)
        case "phase" | "complete":
            return lambda record: _complete(record, by, said.text)
        case "decide":
            return lambda record: steps.decide(record, said.text, by)
        case "obligation":
            return lambda record: steps.oblige(record, said.text, by)
        case "close_obligation":
            return lambda record: steps.fulfil(record, said.number, by)
        case "handoff":
            return lambda record: steps.hand_off(record, said.to, by, said.text)
        case _:
            raise MunimentError(f"there is no action {said.action[:40]!r}", f"say one of {', '.join(ACTIONS)}")
