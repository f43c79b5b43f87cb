"""Messages of other agents as pi would have kept them.

Words, calls and results stay what they are. pi sends thinking back as thinking only where provider and model are the
same and the signature is there; otherwise it sends it as plain text, which is what it does when a model is changed.
"""

from __future__ import annotations

from typing import Any, cast

from muniment.model import Block, Event, Media, Message, Text, Thinking, Tool, Unknown, Usage, codec
from muniment.sources.base import MediaBytes
from muniment.sources.pi import parts
from muniment.sources.pi.place import milliseconds
from muniment.sources.recorded.retell import Losses

_PROVIDERS = (
    ("claude", "anthropic-messages", "anthropic"),
    ("gpt", "openai-responses", "openai"),
    ("gemini", "google-generative-ai", "google"),
)
"""By the beginning of a model's name: its API and its provider, as pi calls them."""
_MADE_ANEW = frozenset({"link", "title", "header", "session meta", "terminator"})
"""Quiet events that the new file has of its own, or that say nothing to it."""


def asked(message: Message, at: str, media: MediaBytes) -> dict[str, Any] | None:
    """A message of the person, if anything is said in it."""
    content = [parts.written(block, media) for block in message.blocks if isinstance(block, Text | Media)]
    return {"role": "user", "content": content, "timestamp": milliseconds(at)} if content else None


def answered(message: Message, at: str, media: MediaBytes, losses: Losses) -> dict[str, Any] | None:
    """An answer, if it has any content."""
    model = message.model or "unknown"
    api, provider = next((found for name, *found in _PROVIDERS if model.startswith(name)), ("unknown", "unknown"))
    content = [part for block in message.blocks if (part := _part(block, provider, media, losses))]
    if not content:
        if message.usage:
            losses.add("tokens of an answer without content", "they are counted with what is said")
        return None
    calls = any(part["type"] == "toolCall" for part in content)
    made: dict[str, Any] = {"role": "assistant", "content": content, "api": api, "provider": provider, "model": model}
    made |= {"usage": _usage(message.usage or Usage()), "stopReason": "toolUse" if calls else "stop"}
    return made | {"timestamp": milliseconds(at)} | ({"responseId": message.id} if message.id else {})


def _part(block: Block, provider: str, media: MediaBytes, losses: Losses) -> dict[str, Any] | None:
    if isinstance(block, Thinking):
        return _thought(block, provider, losses)
    if isinstance(block, Tool):
        return parts.call(block) | {"arguments": _arguments(block.input)} if block.name is not None else None
    return parts.written(block, media) if isinstance(block, Text | Media) else None


def _thought(block: Thinking, provider: str, losses: Losses) -> dict[str, Any] | None:
    """Thinking; of what was sealed by another provider the words remain, if there are any."""
    if block.signature and provider == "anthropic":
        return parts.written(block, lambda _: b"")
    if not block.text.strip():
        losses.add("thinking", "a signature is valid only for its own provider, and there are no words")
        return None
    if block.signature:
        losses.add("signature", "it is valid only for its own provider: the model is given the thought as plain text")
    return {"type": "thinking", "thinking": block.text}


def _arguments(value: Any) -> Any:
    """The API takes nothing but an object."""
    if isinstance(value, dict):
        return codec.mapping(cast("Any", value))
    return {} if value is None else {"input": value}


def _usage(usage: Usage) -> dict[str, Any]:
    """Tokens as pi counts them; without a price, as it is not known."""
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    counted = {"input": usage.input, "output": usage.output}
    counted |= {"cacheRead": usage.cache_read, "cacheWrite": usage.cache_write, "totalTokens": usage.total}
    return {**counted, "cost": cost}


def output(block: Text | Media | Unknown, media: MediaBytes) -> dict[str, Any]:
    """A part of what a tool gave back; what is neither text nor media is given as text."""
    if isinstance(block, Unknown) and block.kind != "media":
        return {"type": "text", "text": codec.encode(block.value).decode()}
    return parts.written(block, media)


def account(block: Block, losses: Losses) -> None:
    """Count what a message cannot carry."""
    no_place = "this format has no place for it"
    if isinstance(block, Unknown):
        damaged = ("damaged line", "only a restore gives it back")
        losses.add(*(damaged if block.damage else (f"part: {block.kind}", no_place)))
    elif isinstance(block, Event) and block.text:
        losses.add(f"event: {block.kind}", no_place)
    elif isinstance(block, Event) and block.kind not in _MADE_ANEW:
        losses.add("quiet events", "they say nothing to the conversation")
    elif isinstance(block, Tool) and block.sidechain:
        losses.add("link to a subagent", no_place)
