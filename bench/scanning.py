"""How fast secrets are looked for, in texts that a scanner could stumble over."""

import base64
import random
import string
import time

from msgspec import Struct

from muniment.secrets import find

from .tables import figure, table

SIZE = 1_000_000
TRIES = 3


class Scanned(Struct, frozen=True):
    """One kind of text, and the seconds that a megabyte of it takes one core."""

    kind: str
    seconds: float


def scan_every_kind(size: int = SIZE) -> list[Scanned]:
    """Every kind of text by itself, the slowest first."""
    scanned = [Scanned(kind, _seconds(text)) for kind, text in _texts(size).items()]
    return sorted(scanned, key=lambda one: -one.seconds)


def _seconds(text: str) -> float:
    """The best of a few tries, in time of this process alone; the automata are built in the first."""
    times: list[float] = []
    for _ in range(TRIES):
        began = time.process_time()
        find(text)
        times.append(time.process_time() - began)
    return min(times) * 1e6 / len(text.encode())


def _texts(size: int) -> dict[str, str]:
    pieces = {
        **{f"`{sign}`": sign for sign in ("a", "A", "0", "=", '"', "-", "\\", "%")},
        "line ends": "\n",
        "`password=`": "password=",
        "names, short values": "password=xY7 ",
        "heads of keys": "-----BEGIN PRIVATE KEY-----\n",
        "lines like those of keys": "MII" + "A" * 61 + "\n",
        "an address of escapes": "%41%3d",
        "a program in one line": 'function(e,t){return t.token=e.key,this.password=n["secret"]}var r=null;',
        "JSON": '{"id":"3f2b8c1e-7d4a-4f6b-9a1e-2c5d8e7f0a3b","token":"abc","text":"lorem \\n dolor"},',
        "prose": "the token count of every key is 1234 and the url is https://api.internal/v1?page=2 ",
        "Chinese": "漢字仮名交じり文密码是什么",
        "base64 of text": base64.b64encode(b"password=abc " * 90).decode(),
    }
    repeated = {kind: (piece * (size // len(piece) + 1))[:size] for kind, piece in pieces.items()}
    return repeated | _drawn(size, random.Random(5))


def _drawn(size: int, random_: random.Random) -> dict[str, str]:
    signs = string.ascii_letters + string.digits + "+/"
    dump = (f"{at:08x}  {random_.randbytes(16).hex(' ')}  |................|" for at in range(size // 78))
    return {
        "base64 of a picture": "".join(random_.choices(signs, k=size)),
        "base64 in lines": "\n".join("".join(random_.choices(signs, k=76)) for _ in range(size // 77)),
        "digits": "".join(random_.choices(string.digits, k=size)),
        "a hex dump": "\n".join(dump),
        "any signs": "".join(random_.choices(string.printable, k=size)),
    }


def scanning_section(scanned: list[Scanned]) -> str:
    rows = [[one.kind, figure(one.seconds, "s")] for one in scanned]
    return "## Looking for secrets\n\nOne core, a megabyte of each.\n\n" + table(["text", "per MB"], rows)
