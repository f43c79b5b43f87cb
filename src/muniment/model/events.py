"""Events: what a recorder is told, in no format's words. A dialect writes them as the lines of its format.

| type | payload |
| --- | --- |
| `header` | `session_id`, `start_ts`, `resumed_from`, `cwd`, and whatever else the harness knows at the start |
| `user`, `assistant`, `thinking` | `text`, or `content` as a list of parts; an answer may have `model`, `usage`, … |
| `tool_call` | `id`, `name`, `input` |
| `tool_result` | `id`, `name`, `output` (text, or a list of parts), `is_error` |
| `summary` | `text`: what takes the place of a compacted span |
| `compaction_boundary` | `headUuid`, `anchorUuid`, `tailUuid`, `summary_event_uuid`, `first_kept`, `tokens_before` |
| `branch` | `parent_session`, `parent_path`, `fork_uuid`, `summary` |
| `checkpoint` | `path`, `sha256` (null: there was no such file), `mode` |
| `sidechain` | `task_id`, `status`, `summary`, `error` where one came after the summary |
| `restriction` | `tool`, `pattern`: what the session may not do, and no session resumed from it either |
| `recovery` | `offset`, `length`, `sha256` of a damaged span |
| `snapshot_created` | `hash`, `label` |
| `mask_generated` | `name`, `provider`, `target` |
| `vocabulary_gap_logged` | `description`, `workaround` |
| `taste_proposal`, `taste_confirmation` | `update` |
| `terminator` | `end_ts`, `status`, `statistics` |

Any other type is the harness's own, and is kept. Tools are also understood by the names that other writers have for
`id`, `name`, `input` and `output` (`call_said`, `result_said`); without any of them what is said is shown whole.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from muniment.model.codec import mapping

HEADER = "header"
USER = "user"
ASSISTANT = "assistant"
THINKING = "thinking"
TOOL_CALL = "tool_call"
TOOL_RESULT = "tool_result"
SUMMARY = "summary"
COMPACTION = "compaction_boundary"
BRANCH = "branch"
CHECKPOINT = "checkpoint"
SIDECHAIN = "sidechain"
RESTRICTION = "restriction"
RECOVERY = "recovery"
TERMINATOR = "terminator"

SPOKEN = frozenset({USER, ASSISTANT, THINKING, TOOL_CALL, TOOL_RESULT, SUMMARY})
"""Types that make up the conversation; the others tell what happened around it."""

ANSWERS = frozenset({ASSISTANT, THINKING, TOOL_CALL})
"""What the agent says and does."""

SHOWN = frozenset(
    {"snapshot_created", "mask_generated", "vocabulary_gap_logged", "taste_proposal", "taste_confirmation"}
)
"""Types beside the conversation that a reader wants to see, with all that they say."""

_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")
_NAMES = ("name", "tool", "tool_name")
_INPUTS = ("input", "args", "arguments", "params", "parameters")
_OUTPUTS = ("output", "result", "return_value", "content")
"""Our own name first, then those of other writers."""

_MILLISECONDS_FROM = 100_000_000_000
"""A count of seconds this large would be a year far off; one of milliseconds is 1973."""


class Event(Struct, frozen=True):
    """One thing that happened in a session."""

    type: str
    ts: str = ""
    """ISO 8601, UTC."""
    uuid: str = ""
    prev_uuid: str | None = None
    """The event that it follows."""
    payload: Any = None


class ToolSaid(Struct, frozen=True, gc=False):
    """What a tool call or its result says, by whatever names."""

    id: str | None
    name: str | None
    value: Any
    """The input of a call, the output of a result."""


class Written(Struct, frozen=True, gc=False):
    """A line for a log, and what makes it the same line again."""

    line: bytes
    """Without its newline."""
    key: str | None = None
    """Id of the event in its session; None for a line that has none."""
    fingerprint: int = 0
    """Of its content, the time left out: the same key with another fingerprint is a conflict. Holds in this process."""


def told_time(ts: Any) -> str:
    """A time as a line tells it: text as it stands, a count of seconds or milliseconds since 1970 as we write times.

    Empty for anything else."""
    if isinstance(ts, str):
        return ts
    if type(ts) not in (int, float):
        return ""
    try:
        at = datetime.fromtimestamp(ts / 1000 if ts >= _MILLISECONDS_FROM else ts, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def words_of(payload: Any) -> str | None:
    """What was said as a single text; None where it is a list of parts, or nothing."""
    said = mapping(payload)
    given = (said.get("text"), said.get("content"), payload)
    return next((words for words in given if isinstance(words, str)), None)


def call_said(payload: Any) -> ToolSaid:
    """What a tool call says."""
    return _tool_said(payload, _INPUTS)


def result_said(payload: Any) -> ToolSaid:
    """What a tool gave back."""
    return _tool_said(payload, _OUTPUTS)


def _tool_said(payload: Any, names: tuple[str, ...]) -> ToolSaid:
    said = mapping(payload)
    id_, name = _first_text(said, _IDS), _first_text(said, _NAMES)
    given = [said[key] for key in names if key in said]
    if given:
        value = next((one for one in given if one is not None), None)
    elif isinstance(payload, dict):
        value = {key: one for key, one in said.items() if key not in (id_, name, "is_error")} or None
    else:
        value = payload
    return ToolSaid(said.get(id_ or ""), said.get(name or ""), value)


def _first_text(said: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of these fields that holds a text."""
    return next((name for name in names if isinstance(said.get(name), str) and said[name]), None)
