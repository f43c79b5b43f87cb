"""The key of one running viewer, by which it and another `muniment view` of the same person know each other.

It is made when the server starts, lies in a file that only its owner can read, and is gone when the server ends. What
it proves holds for one port, one store and one start.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Generator, Mapping
from pathlib import Path

from muniment import files
from muniment.errors import NotFound, StoreError

KEY_BYTES = 32


def home(env: Mapping[str, str]) -> Path:
    """Return the folder of the key: `$XDG_STATE_HOME/muniment`, else `~/.local/state/muniment`."""
    given = env.get("XDG_STATE_HOME")
    base = Path(given) if given and Path(given).is_absolute() else Path(env.get("HOME") or Path.home()) / ".local/state"
    return base / "muniment"


def locate(env: Mapping[str, str], port: int) -> Path:
    """Return the place of the key of the viewer at a port."""
    return home(env) / f"view-{port}.key"


class Keys:
    """What a key proves, at one port and for one store."""

    def __init__(self, key: bytes, port: int, store: Path) -> None:
        self.key = key
        self.place = f"{port}\0{store}"

    def prove(self, purpose: str, words: str) -> str:
        """Return a proof that only who has the key can give."""
        whole = f"{purpose}\0{self.place}\0{words}".encode("utf-8", "surrogatepass")
        return hmac.new(self.key, whole, hashlib.sha256).hexdigest()

    def accepts(self, purpose: str, words: str, proof: str) -> bool:
        """Tell whether a proof is right, in the same time whatever is given."""
        return hmac.compare_digest(proof.encode("utf-8", "surrogatepass"), self.prove(purpose, words).encode())


@contextlib.contextmanager
def publish(env: Mapping[str, str], port: int, store: Path) -> Generator[Keys]:
    """Make the key of a server that has the port, and remove it when the server ends."""
    path, key = locate(env, port), secrets.token_bytes(KEY_BYTES)
    files.write_atomic(path, [key])
    try:
        yield Keys(key, port, store)
    finally:
        # Who takes the port next may have published a key already.
        with contextlib.suppress(FileNotFoundError):
            if path.read_bytes() == key:
                path.unlink()


def load(env: Mapping[str, str], port: int, store: Path) -> Keys | None:
    """Return the key of the viewer at a port; None if there is none. One that others may read is refused."""
    path = locate(env, port)
    try:
        with files.open_regular(path) as file:
            status = os.fstat(file.fileno())
            key = file.read(KEY_BYTES + 1) or b""
    except NotFound:
        return None
    if status.st_mode & 0o077 or status.st_uid != os.getuid():
        raise StoreError(f"{path}: others may read this key", "end the viewer that made it, and remove the file")
    return Keys(key, port, store) if len(key) == KEY_BYTES else None
