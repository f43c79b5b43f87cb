"""The forms in which a planted secret is met: as it is, in JSON, in an address, in base64, deep in a long line."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from tests.secrets.vectors import Planted

LONG = 1 << 16


class Form(NamedTuple):
    """A text, and pieces of the secret of which none may be left in it."""

    text: str
    traces: tuple[str, ...]


def raw(planted: Planted) -> Form:
    return Form(f"first this: {planted.line} and then that", (planted.secret,))


def in_json(planted: Planted) -> Form:
    """The text of a tool that printed JSON: quotes and newlines are escaped in it."""
    text = json.dumps({"out": f"done\n{planted.line}\nbye"})
    return Form(text, (json.dumps(planted.secret)[1:-1],))


def in_address(planted: Planted) -> Form:
    text = f"GET https://api.internal/cb?state={quote(planted.line, safe='')}&x=1"
    return Form(text, (quote(planted.secret, safe=""),))


def in_base64(planted: Planted) -> Form:
    """The line encoded; a trace is every whole group of four signs inside the secret, taken together."""
    before = planted.line[: planted.line.index(planted.secret)].encode()
    code = base64.b64encode(planted.line.encode()).decode()
    first, last = -(-len(before) // 3) * 4, (len(before) + len(planted.secret.encode())) // 3 * 4
    return Form(f"data: {code}\n", (code[first:last],))


def in_a_long_line(planted: Planted) -> Form:
    """Across the places where a reader of pieces would cut."""
    pad = "lorem ipsum " * (LONG // 12 + 1)
    return Form(f"{pad[: LONG - len(planted.line) // 2]} {planted.line} {pad}", (planted.secret,))


FORMS: dict[str, Callable[[Planted], Form]] = {
    form.__name__: form for form in (raw, in_json, in_address, in_base64, in_a_long_line)
}

NOT_IN_ADDRESSES = frozenset(
    [
        "authorization",
        "basic-auth",
        "bearer",
        "curl-password",
        "netrc",
        "ansible-vault",
        "client-password",
        "cookie",
        "mnemonic",
        "passphrase",
        "pgpass",
        "seed-phrase",
        "wifi-password",
        "putty-key",
        "sshpass",
    ]
)
"""What only a command line, a header or a file holds."""
