"""Questions that an agent put to the person, with the answers it offered, as markdown."""

from __future__ import annotations

from typing import Any, cast

from muniment.model.codec import mapping
from muniment.render import fields
from muniment.render.fields import Given

NAMES = ("questions", "question", "choices", "options")


def first(given: Given) -> str:
    """The first question, empty if nothing is asked."""
    return next((fields.text(one, ("question",)) for one in _questions(given)), "")


def spelt(given: Given) -> str:
    """All questions; empty if this is not their shape."""
    listed = _questions(given)
    return "\n\n".join(map(_spelt, listed)) if listed and all(fields.text(one, ("question",)) for one in listed) else ""


def _questions(given: Given) -> list[Given]:
    """One question counts only by itself: tools that do something else may be asked one too."""
    several = given.get("questions")
    if isinstance(several, list):
        return [mapping(one) for one in cast("list[Any]", several)]
    return [given] if given.keys() <= set(NAMES) else []


def _spelt(one: Given) -> str:
    offered = next((one[name] for name in ("options", "choices") if isinstance(one.get(name), list)), None)
    answers = [f"- {_answer(answer)}" for answer in cast("list[Any]", offered or ())]
    return "\n".join([f"**{fields.text(one, ('question',))}**", "", *answers])


def _answer(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    said = mapping(answer)
    label, about = fields.text(said, ("label", "value", "name")), fields.text(said, ("description",))
    return f"{label}: {about}" if label and about else label or about or fields.spelt_json(answer)
