"""Who is let in: one secret key of the user, and what is derived from it.

    cookie    what a browser shows on every request; the same after a restart, so that bookmarks go on working
    token     stands in the link that `muniment view` prints; good for one use and ten minutes
    proof     what the server answers a nonce with, so that another `muniment view` knows it for its own

All three are keyed hashes over the port and the store. The key lies in a file that only its owner can read.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from muniment import files
from muniment.errors import StoreError

KEY_BYTES = 32
TOKEN_SECONDS = 600


def home(env: Mapping[str, str]) -> Path:
    """Where the key lies: `$XDG_STATE_HOME/muniment`, else `~/.local/state/muniment`."""
    given = env.get("XDG_STATE_HOME")
    base = Path(given) if given and Path(given).is_absolute() else Path(env.get("HOME") or Path.home()) / ".local/state"
    return base / "muniment"


def load(env: Mapping[str, str]) -> bytes:
    """The user's key, made if there is none. One that others may read is refused."""
    path = home(env) / "view.key"
    files.make_folder(path.parent)
    with contextlib.suppress(FileExistsError):
        _make(path)
    with files.open_regular(path) as file:
        status = os.fstat(file.fileno())
        if status.st_mode & 0o077 or status.st_uid != os.getuid():
            raise StoreError(f"{path}: others may read this key", "remove it; a new one is made")
        key = file.read(KEY_BYTES + 1) or b""
    if len(key) != KEY_BYTES:
        raise StoreError(f"{path}: not a key", "remove it; a new one is made")
    return key


def _make(path: Path) -> None:
    """Written beside its place and linked, so that nobody meets half a key."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with files.open_new(beside) as file:
        file.write(secrets.token_bytes(KEY_BYTES))
    try:
        os.link(beside, path)
    finally:
        beside.unlink()


class Keys:
    """What the key is good for, at one port and for one store."""

    def __init__(self, key: bytes, port: int, store: Path) -> None:
        self.key = key
        self.place = f"{port}\0{store}"
        self.cookie_name = f"muniment_{port}"
        """Browsers do not tell ports apart when they send cookies."""
        self.cookie = self._hash("cookie", "")
        self.guard = threading.Lock()
        self.used: dict[str, float] = {}

    def proof(self, nonce: str) -> str:
        return self._hash("proof", nonce)

    def mint(self) -> str:
        """A token for one link."""
        nonce = f"{int(time.time()) + TOKEN_SECONDS:x}.{secrets.token_hex(16)}"
        return f"{nonce}.{self._hash('token', nonce)}"

    def redeem(self, token: str) -> bool:
        """Whether a token is good; it is not any more afterwards."""
        nonce, _, mac = token.rpartition(".")
        if not equal(mac, self._hash("token", nonce)):
            return False
        until, now = int(nonce.partition(".")[0], 16), time.time()
        with self.guard:
            self.used = {old: at for old, at in self.used.items() if at > now}
            if until <= now or nonce in self.used:
                return False
            self.used[nonce] = until
        return True

    def _hash(self, purpose: str, value: str) -> str:
        words = f"{purpose}\0{self.place}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.new(self.key, words, hashlib.sha256).hexdigest()


def equal(given: str, wanted: str) -> bool:
    """Compared in the same time whatever is given."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())
