"""Anthropic's Messages API by the official SDK, one question at a time or many as a batch.

The SDK is imported when the first question is asked: it takes seconds, and most runs need none. It retries by itself
what a server refuses for the moment. Its errors hold the request with its headers, so none of them is passed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from muniment import config
from muniment.errors import MunimentError, Unsupported
from muniment.ingest.models import keys
from muniment.ingest.models.answer import SCHEMA
from muniment.ingest.models.client import Reply, Unanswered, failure
from muniment.ingest.models.http import LONGEST_PAUSE, pause_asked
from muniment.ingest.models.prices import MAX_OUTPUT_TOKENS
from muniment.ingest.models.prompt import Prompt
from muniment.ingest.models.settings import Settings, base_url

if TYPE_CHECKING:
    from anthropic import APIError, APIRequest, APIResponse, CallNext
    from anthropic.types import Message
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
    from anthropic.types.messages.batch_create_params import Request

_CANNOT_SPARE = ("claude-sonnet-4-5", "claude-haiku-4-5")
_STOPS = {"refusal": "refusal", "max_tokens": "length", "model_context_window_exceeded": "length"}


def _sdk() -> Any:
    try:
        import anthropic
    except ImportError:
        missing = "asking Anthropic needs its SDK, which is not there"
        raise Unsupported(missing, config.installing("llm")) from None
    return anthropic


class Claude:
    """A model of Anthropic's."""

    def __init__(self, settings: Settings, env: Mapping[str, str]) -> None:
        self.sdk = _sdk()
        self.key = keys.require("anthropic", env)
        self.model = settings.model
        self.frugal = not self.model.startswith(_CANNOT_SPARE)
        """Ask for little thinking. A model that cannot be told so refuses the question, and is asked without."""
        self.client = self.sdk.Anthropic(
            api_key=self.key.reveal(),
            base_url=base_url(settings, env),
            timeout=settings.timeout,
            max_retries=settings.retries,
            open_telemetry=False,
            middleware=[_impatient],
        )

    def ask(self, prompt: Prompt) -> Reply:
        """One question, one reply."""
        try:
            return self._asked(prompt)
        except self.sdk.APIError as error:
            again = self.frugal and getattr(error, "status_code", 0) == 400
            refused = self._failure(error)
        except ValueError:
            again, refused = False, Unanswered("the server answered with something that is not JSON", perhaps_paid=True)
        if not again:
            raise refused
        self.frugal = False
        return self.ask(prompt)

    def close(self) -> None:
        self.client.close()

    def _asked(self, prompt: Prompt) -> Reply:
        return _reply(self.client.messages.create(**self._params(prompt)))

    def _params(self, prompt: Prompt) -> MessageCreateParamsNonStreaming:
        config: dict[str, Any] = {"format": {"type": "json_schema", "schema": SCHEMA}}
        if self.frugal:
            config["effort"] = "low"
        return {
            "model": self.model,
            "max_tokens": MAX_OUTPUT_TOKENS,
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.user}],
            "output_config": config,  # pyright: ignore[reportReturnType]
        }

    def _failure(self, error: APIError) -> MunimentError | Unanswered:
        status = getattr(error, "status_code", None)
        if isinstance(error, self.sdk.APITimeoutError):
            return Unanswered("the server did not answer in time", perhaps_paid=True)
        if not isinstance(status, int):
            return Unanswered("the server could not be reached")
        said = getattr(error, "api_message", None) or ""
        return failure(status, self.key.hide(str(said)), "Anthropic", self.model)

    # -- batches

    def send(self, prompts: Sequence[tuple[str, Prompt]]) -> str:
        """Start a batch of questions, each with a name; gives the id of the batch."""
        requests: list[Request] = [{"custom_id": name, "params": self._params(prompt)} for name, prompt in prompts]
        try:
            return str(self.client.messages.batches.create(requests=requests).id)
        except self.sdk.APIError as error:
            refused = self._failure(error)
        raise refused

    def progress(self, batch_id: str) -> tuple[bool, int, int] | None:
        """Whether a batch has ended, how many of it are done, and of how many; None if there is no such batch."""
        try:
            batch = self.client.messages.batches.retrieve(batch_id)
        except self.sdk.NotFoundError:
            return None
        except self.sdk.APIError as error:
            refused = self._failure(error)
        else:
            counts = batch.request_counts
            done = counts.succeeded + counts.errored + counts.canceled + counts.expired
            return batch.processing_status == "ended", done, done + counts.processing
        raise refused

    def results(self, batch_id: str) -> Iterator[tuple[str, Reply | None]]:
        """The replies of a batch that has ended, by name; None for a question that got none."""
        try:
            for result in self.client.messages.batches.results(batch_id):
                good = result.result.type == "succeeded"
                yield result.custom_id, _reply(result.result.message) if good else None
            return
        except self.sdk.APIError as error:
            refused = self._failure(error)
        except (self.sdk.AnthropicError, ValueError):
            refused = Unanswered("the results of the batch could not be read")
        raise refused


def _impatient(request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
    """The SDK waits as long as a server asks it to, be it a day."""
    response = call_next(request)
    if (wait := pause_asked(response.headers.get("retry-after")) or 0) > LONGEST_PAUSE:
        raise Unanswered(f"the server asks to wait for {wait:.0f} seconds")
    return response


def _reply(message: Message) -> Reply:
    """What was said; thinking is not. The SDK checks no shapes, so what a stranger's server sends may have any."""
    try:
        usage = message.usage
        taken = usage.input_tokens + (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        text = "".join(block.text for block in message.content if block.type == "text")
        return Reply(text, taken, usage.output_tokens, _STOPS.get(message.stop_reason or "", ""))
    except (AttributeError, TypeError):
        raise Unanswered("the server answered with something that is no message", perhaps_paid=True) from None
