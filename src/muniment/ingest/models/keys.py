"""Keys: from the environment, else from `~/.secrets` if nobody else can read that file.

A key is never an argument, part of an address, or in a message. It is not a `Struct`: what cannot be encoded cannot
end up in a file by mistake.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from muniment.errors import MunimentError

VARIABLES: Mapping[str, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "ollama": "OLLAMA_API_KEY",
}
_MAX_BYTES = 1 << 20


class Key:
    """A secret that shows itself only when asked outright."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself, for the one header it belongs in."""
        return self._value

    def hide(self, text: str) -> str:
        """A text without the key: servers quote what they were sent."""
        return text.replace(self._value, "…")

    def __repr__(self) -> str:
        return "Key(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")


def find(kind: str, env: Mapping[str, str]) -> Key | None:
    """The key for this kind of server, if there is one."""
    variable = VARIABLES[kind]
    if given := env.get(variable, "").strip():
        return _checked(given, f"${variable}")
    path = secrets_file(env)
    value = dict(_entries(path)).get(variable)
    return _checked(value, str(path)) if value else None


def require(kind: str, env: Mapping[str, str]) -> Key:
    """The key, or a word on where to put it."""
    if key := find(kind, env):
        return key
    variable = VARIABLES[kind]
    raise MunimentError(
        f"no key for {kind}: neither ${variable} nor {secrets_file(env)} has one",
        f"export {variable}, or write {variable}=… into that file and chmod 600 it",
    )


def secrets_file(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home()) / ".secrets"


def _checked(value: str, where: str) -> Key:
    """A header refuses other signs, with an error that quotes the key."""
    if not value.isascii() or not value.isprintable() or " " in value:
        raise MunimentError(f"the key in {where} has signs that no key has", "was it pasted whole, on one line?")
    return Key(value)


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    """The `NAME=value` lines of the file; nothing if there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise MunimentError(f"{path}: {error.strerror}", "set the key in the environment instead") from None
    try:
        _refuse_open_to_others(path, os.fstat(descriptor))
        data = os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)
    for line in data.decode("utf-8", "replace").splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            yield name.strip(), value.strip().strip("\"'")


def _refuse_open_to_others(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise MunimentError(f"{path}: is no file", "keys are read from a plain file, one NAME=value in a line")
    if os.name == "posix" and status.st_mode & 0o077:
        raise MunimentError(f"{path}: others can read it, so it is not used", f"chmod 600 {path}")
