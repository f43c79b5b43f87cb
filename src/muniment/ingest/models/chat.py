"""Models behind other servers: whatever speaks OpenAI's chat completions, and Ollama.

Both are a POST of messages with a schema beside them. A server that takes no schema is asked for plain JSON, with the
schema in the words; a schema is a help to the model, the check of the answer does not rely on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.ingest.models import keys, prices
from muniment.ingest.models.answer import SCHEMA
from muniment.ingest.models.client import Reply, failure
from muniment.ingest.models.http import Refused, Server
from muniment.ingest.models.prompt import Prompt, with_schema
from muniment.ingest.models.settings import Settings, base_url
from muniment.model.codec import mapping

_NOT_TAKEN = {400, 415, 422, 501}
_CONTEXT_STEP = 4096
_OPENAI = "api.openai.com"


def _server(settings: Settings, env: Mapping[str, str], near: str = "") -> Server:
    url = base_url(settings, env)
    key = keys.find(settings.kind, env)
    return Server(url.removesuffix(near), key, settings.timeout, settings.retries)


class _Plain:
    """A connection for each question needs no closing."""

    def close(self) -> None:
        pass


class OpenAI(_Plain):
    """Any server with `/chat/completions`."""

    def __init__(self, settings: Settings, env: Mapping[str, str]) -> None:
        self.server = _server(settings, env)
        self.model = settings.model
        self.takes_schema = True

    def ask(self, prompt: Prompt) -> Reply:
        try:
            return _chat_reply(self.server.post("/chat/completions", self._body(prompt)))
        except Refused as refused:
            again = self.takes_schema and refused.status in _NOT_TAKEN
            told = failure(refused.status, refused.said, self.server.name, self.model)
        if not again:
            raise told
        self.takes_schema = False
        return self.ask(prompt)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        shape = {"name": "extraction", "strict": True, "schema": SCHEMA}
        # The newer name is refused by many servers, and the older one by OpenAI's.
        limit = "max_completion_tokens" if self.server.name == _OPENAI else "max_tokens"
        return {
            "model": self.model,
            "messages": _messages(prompt if self.takes_schema else with_schema(prompt)),
            "response_format": {"type": "json_schema", "json_schema": shape}
            if self.takes_schema
            else {"type": "json_object"},
            limit: prices.MAX_OUTPUT_TOKENS,
        }


class Ollama(_Plain):
    """Ollama's own `/api/chat`."""

    def __init__(self, settings: Settings, env: Mapping[str, str]) -> None:
        self.server = _server(settings, env, near="/v1")
        self.model = settings.model

    def ask(self, prompt: Prompt) -> Reply:
        try:
            return _ollama_reply(self.server.post("/api/chat", self._body(prompt)))
        except Refused as refused:
            told = failure(refused.status, refused.said, self.server.name, self.model)
        raise told

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        return {
            "model": self.model,
            "messages": _messages(prompt),
            "format": SCHEMA,
            "stream": False,
            "options": {"num_ctx": _context(prompt), "num_predict": prices.MAX_OUTPUT_TOKENS, "temperature": 0},
        }


def _context(prompt: Prompt) -> int:
    """Room for question and answer: by itself Ollama takes little, and drops the rest without a word."""
    needed = prices.tokens(prompt.text, prices.FEWEST_BYTES_PER_TOKEN) + prices.USUAL_OUTPUT_TOKENS * 2
    return -(-needed // _CONTEXT_STEP) * _CONTEXT_STEP


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]


def _chat_reply(answer: dict[str, Any]) -> Reply:
    choices = answer.get("choices")
    choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}  # pyright: ignore[reportUnknownArgumentType]
    message, usage = mapping(choice.get("message")), mapping(answer.get("usage"))
    reason = choice.get("finish_reason")
    refused = bool(message.get("refusal")) or reason == "content_filter"
    return Reply(
        text=_text(message.get("content")),
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        stop="refusal" if refused else "length" if reason == "length" else "",
    )


def _ollama_reply(answer: dict[str, Any]) -> Reply:
    return Reply(
        text=_text(mapping(answer.get("message")).get("content")),
        input_tokens=_count(answer.get("prompt_eval_count")),
        output_tokens=_count(answer.get("eval_count")),
        stop="length" if answer.get("done_reason") == "length" else "",
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
