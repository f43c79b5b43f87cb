"""Who is let in: codes that are good once, and the tokens that browsers get for them.

    code     `muniment view` prints it and puts it in the file that it opens; good for one use and ten minutes
    token    what the page shows on every request; good until it signs out or the server ends

Both are random and known to this one run of the server alone. They are kept as hashes: so a look-up takes the same time
whatever is asked for.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from pathlib import Path

from muniment.surfaces.web import redirect

CODE_SECONDS = 600
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Base 32 without letters that look like digits."""
_GROUPS, _GROUP_SIGNS = 3, 4
"""60 bits: ten minutes of ten thousand guesses a second hit one with a chance of 1 in 10^11, so nothing counts them."""
_TYPED = str.maketrans("OIL", "011", " -\t\r\n")
"""Letters that are taken for the digits they look like, and signs that do not count."""
TOKEN_BYTES = 32


class Pass:
    """What one token is good for. A request that takes long looks whether it still is."""

    def __init__(self) -> None:
        self.revoked = False


class Passes:
    """The codes and tokens of one server. It is used from the server's own thread alone."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.codes: dict[bytes, tuple[float, Path]] = {}
        self.passes: dict[bytes, Pass] = {}
        redirect.remove_all(folder, port)

    def invite(self) -> str:
        """Return a new code."""
        self.expire()
        signs = "".join(secrets.choice(ALPHABET) for _ in range(_GROUPS * _GROUP_SIGNS))
        code = "-".join(signs[at : at + _GROUP_SIGNS] for at in range(0, len(signs), _GROUP_SIGNS))
        page = redirect.locate(self.folder, self.port, code)
        self.codes[_hash(_normalise(code))] = (time.monotonic() + CODE_SECONDS, page)
        return code

    def redeem(self, code: str) -> str | None:
        """Return a token for a code, which is spent then; None for one that is not good."""
        self.expire()
        known = self.codes.pop(_hash(_normalise(code)), None)
        if known is None:
            return None
        known[1].unlink(missing_ok=True)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self.passes[_hash(token)] = Pass()
        return token

    def find(self, token: str) -> Pass | None:
        """Return what a token is good for."""
        return self.passes.get(_hash(token))

    def revoke(self, token: str) -> None:
        """Let nobody in by this token any more."""
        if known := self.passes.pop(_hash(token), None):
            known.revoked = True

    def expire(self) -> None:
        """Drop the codes whose time is over, with the pages made for them."""
        now = time.monotonic()
        for code, (until, page) in list(self.codes.items()):
            if until <= now:
                del self.codes[code]
                page.unlink(missing_ok=True)

    def close(self) -> None:
        """Drop everything."""
        for known in self.passes.values():
            known.revoked = True
        self.passes.clear()
        self.codes.clear()
        redirect.remove_all(self.folder, self.port)


def _normalise(code: str) -> str:
    """Return a code as it was made, from what a person typed."""
    return code.upper().translate(_TYPED)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
