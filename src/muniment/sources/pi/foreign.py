"""Messages of other agents as pi would have kept them.

Words, calls and results stay what they are. pi sends thinking back as thinking only where provider and model are the
same and the signature is there; otherwise it sends it as plain text, which is what it does when a model is changed.
"""

from __future__ import annotations

from typing import Any

from muniment.model import Block, Event, Media, Message, Text, Thinking, Tool, Unknown, Usage
from muniment.sources.base import MediaBytes
from muniment.sources.foreign import other_media
from muniment.sources.losses import NO_PLACE, Losses
from muniment.sources.pi import parts
from muniment.sources.pi.place import milliseconds

_PROVIDERS = (
    ("claude", "anthropic-messages", "anthropic"),
    ("gpt", "openai-responses", "openai"),
    ("gemini", "google-generative-ai", "google"),
)
"""By the beginning of a model's name: its API and its provider, as pi calls them."""


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
        return parts.call(block) if block.name is not None else None
    return parts.written(block, media) if isinstance(block, Text | Media) else None


def _thought(block: Thinking, provider: str, losses: Losses) -> dict[str, Any] | None:
    """Thinking; of what was sealed by another provider the words remain, if there are any."""
    if block.signature and provider == "anthropic":
        return parts.written(block, lambda _: b"")
    if not block.text.strip():
        losses.add_thinking(block)
        return None
    if block.signature:
        losses.add_signature(block)
    return {"type": "thinking", "thinking": block.text}


def _usage(usage: Usage) -> dict[str, Any]:
    """Tokens as pi counts them; without a price, as it is not known."""
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    counted = {"input": usage.input, "output": usage.output}
    counted |= {"cacheRead": usage.cache_read, "cacheWrite": usage.cache_write, "totalTokens": usage.total}
    return {**counted, "cost": cost}


def account(block: Block, losses: Losses) -> None:
    """Count what a message cannot carry."""
    if isinstance(block, Unknown | Event) or other_media(block):
        losses.add_block(block)
    elif isinstance(block, Tool) and block.sidechain:
        losses.add("link to a subagent", NO_PLACE)
