"""A checksum inside a JSON object, so that every later change of its bytes is noticed.

    {"source":"claude-code",…,"sha256":"…"}

The last field is the sha256 of the object as it was without it. An object without such a field is an old one, or one
that another program wrote: of those nothing can be told, so whoever reads them must refuse fields that nobody knows,
which is what becomes of this one when a bit of its name flips.
"""

from __future__ import annotations

import hashlib
import re

NAME = "sha256"
_SEAL = re.compile(rb',"sha256":"([^"]*)"\}\Z')
_SEAL_BYTES = len(b',"sha256":""}') + 64


def seal(data: bytes) -> bytes:
    """The object with its checksum as the last field."""
    return b'%b,"sha256":"%b"}' % (data[:-1], _digest(data))


def is_sealed(data: bytes) -> bool:
    """Whether the object has a checksum, right or wrong."""
    return _SEAL.search(data[-_SEAL_BYTES:]) is not None


def is_broken(data: bytes) -> bool:
    """Whether the object has a checksum, and is not what it was."""
    found = _SEAL.search(data[-_SEAL_BYTES:])
    return found is not None and _digest(data[: found.start() - min(len(data), _SEAL_BYTES)] + b"}") != found[1]


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
