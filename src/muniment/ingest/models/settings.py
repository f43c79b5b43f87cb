"""Which model to ask, where it is, and within what limits. Nothing secret stands here, so settings can be shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

from msgspec import Struct

from muniment.errors import MunimentError

Kind = Literal["anthropic", "openai", "ollama"]
KINDS: tuple[str, ...] = get_args(Kind)

DEFAULT_MODELS: Mapping[str, str] = {"anthropic": "claude-sonnet-5-5"}
"""The model where only the kind was named. The other kinds have no model that every server knows."""

_DEFAULT_URLS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434",
}
_URL_VARIABLES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_HOST"}


class Settings(Struct, frozen=True):
    """How sessions are given to a model."""

    kind: Kind
    model: str
    url: str | None = None
    """Another server than the usual one."""
    redact: bool = True
    """Take secrets out before anything is sent."""
    batch: bool | None = None
    """Send many sessions as one batch, at half the price and hours later; None decides by their number."""
    max_cost: float | None = None
    """In dollars: no call is made that could lead beyond it."""
    timeout: float = 600
    """Seconds to wait for an answer."""
    retries: int = 4
    """How often a call is repeated that a server refused for the moment."""
    poll: float = 10
    """Seconds before a batch is looked at for the first time; later looks come more rarely."""
    cache: Path | None = None
    """Where answers are kept; None keeps them only for this run."""

    @property
    def name(self) -> str:
        """What an extraction says it was made by."""
        return f"{self.kind}:{self.model}"


def parse_name(text: str) -> tuple[Kind, str]:
    """`anthropic`, `anthropic:MODEL`, `openai:MODEL` or `ollama:MODEL`, as kind and model."""
    kind, _, model = text.strip().partition(":")
    if kind not in KINDS:
        raise MunimentError(f"{text!r} is no extractor", "one of: offline, anthropic, openai:MODEL, ollama:MODEL")
    model = model.strip() or DEFAULT_MODELS.get(kind, "")
    if not model or not model.isprintable():
        raise MunimentError(f"{kind} needs the name of a model", f"for example {kind}:MODEL")
    return cast("Kind", kind), model


def base_url(settings: Settings, env: Mapping[str, str]) -> str:
    """Where the server is: as told, as the environment says, or the usual place."""
    given = settings.url or env.get(_URL_VARIABLES[settings.kind]) or _DEFAULT_URLS[settings.kind]
    url = given.rstrip("/") if "://" in given else f"http://{given.rstrip('/')}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        parts, usable = urlsplit(""), False
    if parts.username or parts.password or "@" in parts.netloc or parts.query:
        raise MunimentError(
            "an address must not hold a name, a key or a question mark", "keys come from the environment"
        )
    if not usable:
        raise MunimentError("the address of the server is not one", "it looks like http://127.0.0.1:11434")
    return url
