"""A model's answer: the shape it is asked for, and how it becomes an `Extraction`.

The shape is written once; the schema sent to servers comes from it. What only needs tidying is tidied (order, length,
line breaks), what is wrong is refused in words that can be told to the model.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct

from muniment.model.engagements import Engagement, Extraction, Method, Phase
from muniment.model.words import shortened

MAX_DECISIONS = 3
MAX_WORDS = 15
MAX_ENGAGEMENTS = 60
_LONGEST = {"topic": 160, "name": 80, "sentence": 400}
_MAX_CHARS = 400_000
_QUOTED = re.compile(r"'[^']*'")
_NOTHING = {"", "none", "null", "unknown", "n/a"}


class Range(Struct, frozen=True):
    """Turns in a row, both ends included."""

    first: int
    last: int


class Found(Struct, frozen=True, kw_only=True):
    """One engagement, as the model says it."""

    topic: Annotated[str, Meta(description=f"5 to {MAX_WORDS} words")]
    project: str | None = None
    method: Method
    phase: Phase
    key_decisions: Annotated[list[str], Meta(description=f"at most {MAX_DECISIONS}")] = []
    outcome: Annotated[str, Meta(description="one sentence")] = ""
    next_steps: list[str] = []
    turn_ranges: Annotated[list[Range], Meta(description="at least one, in order")]


class Answer(Struct, frozen=True, kw_only=True):
    """What a model says about a session."""

    engagements: list[Found]
    session_summary: Annotated[str, Meta(description="one line")]
    agent_name: str | None = None
    agent_role: str | None = None


class BadAnswer(Exception):
    """The answer cannot be used; says why, in words of ours only."""


def _strict(schema: Any, parts: dict[str, Any]) -> Any:
    """A schema as servers want it: nothing optional, nothing added, no references, no defaults."""
    if isinstance(schema, list):
        return [_strict(item, parts) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    given = cast("dict[str, Any]", schema)
    if "$ref" in given:
        return _strict(parts[given["$ref"].rpartition("/")[2]], parts)
    kept = {name: _strict(value, parts) for name, value in given.items() if name not in ("title", "default", "$defs")}
    if "enum" in given:
        kept["type"] = "string"
    if given.get("type") == "object":
        kept |= {"required": list(given["properties"]), "additionalProperties": False}
        kept.pop("description", None)
    return kept


def _schema() -> dict[str, Any]:
    made = msgspec.json.schema(Answer)
    return _strict(made, made["$defs"])


SCHEMA: dict[str, Any] = _schema()


def read(text: str, turns: int, extractor: str) -> Extraction:
    """The extraction that an answer gives for a session of so many turns. Raises BadAnswer."""
    answer = _decoded(text)
    if not answer.engagements:
        raise BadAnswer("it has no engagement")
    if len(answer.engagements) > MAX_ENGAGEMENTS:
        raise BadAnswer(f"it has more than {MAX_ENGAGEMENTS} engagements")
    found = [_engagement(one, number, turns) for number, one in enumerate(answer.engagements, 1)]
    summary = one_line(answer.session_summary, "sentence")
    if not summary:
        raise BadAnswer("session_summary is empty")
    return Extraction(
        engagements=tuple(sorted(found, key=lambda engagement: engagement.span)),
        session_summary=summary,
        agent_name=_name(answer.agent_name),
        agent_role=_name(answer.agent_role),
        extractor=extractor,
    )


def _decoded(text: str) -> Answer:
    """The answer in a text; some models put words or a fence around it."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start or len(text) > _MAX_CHARS:
        raise BadAnswer("it is not a JSON object")
    try:
        return msgspec.json.decode(text[start : end + 1].encode("utf-8", "replace"), type=Answer)
    except msgspec.ValidationError as error:
        raise BadAnswer(_QUOTED.sub("'…'", str(error))[:200]) from None
    except (msgspec.DecodeError, RecursionError):
        raise BadAnswer("it is not valid JSON") from None


def _engagement(found: Found, number: int, turns: int) -> Engagement:
    topic = " ".join(one_line(found.topic, "topic").split(" ")[:MAX_WORDS])
    if not topic:
        raise BadAnswer(f"engagement {number} has no topic")
    return Engagement(
        topic=topic,
        project=_name(found.project),
        method=found.method,
        phase=found.phase,
        key_decisions=_sentences(found.key_decisions),
        outcome=one_line(found.outcome, "sentence"),
        next_steps=_sentences(found.next_steps),
        turn_ranges=_ranges(found.turn_ranges, number, turns),
    )


def _ranges(given: list[Range], number: int, turns: int) -> tuple[tuple[int, int], ...]:
    """In order, and those that touch or overlap as one."""
    if not given:
        raise BadAnswer(f"engagement {number} has no turn_ranges")
    joined: list[tuple[int, int]] = []
    for first, last in sorted((one.first, one.last) for one in given):
        if not 1 <= first <= last <= turns:
            raise BadAnswer(
                f"engagement {number} has a range outside of 1 to {turns}, or one that ends before it begins"
            )
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def _sentences(given: list[str]) -> tuple[str, ...]:
    return tuple(filter(None, (one_line(text, "sentence") for text in given)))[:MAX_DECISIONS]


def _name(given: str | None) -> str | None:
    name = one_line(given or "", "topic" if "/" in (given or "") else "name")
    return None if name.lower() in _NOTHING else name


def one_line(text: str, kind: str) -> str:
    """Printable signs on one line, not longer than its kind may be."""
    longest = _LONGEST[kind]
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: longest * 4]).split())
    return shortened(words, longest)
