"""No line of a private key is left, however the key was printed and wherever the listing began or ended."""

from __future__ import annotations

import base64
import json
import random
import textwrap

import pytest

from muniment.secrets import find, redact
from tests.secrets.planted import LISTINGS, PLACEHOLDER, WAYS

KEY = b"k" * 32
SEEDS = range(2)

HEADS = {
    "RSA PRIVATE KEY": ("308204a40201000282010100", 1190),
    "PRIVATE KEY": ("308204bd020100300d06092a864886f70d0101010500048204a7", 1200),
    "EC PRIVATE KEY": ("307702010104204", 121),
    "DSA PRIVATE KEY": ("308203560201000282010100", 850),
    "ENCRYPTED PRIVATE KEY": ("3082053930570609", 1300),
    "OPENSSH PRIVATE KEY": (b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none".hex(), 1600),
    "PGP PRIVATE KEY BLOCK": ("95055804", 1800),
}
KNOWN_BY_HEAD = [kind for kind in HEADS if kind not in ("PGP PRIVATE KEY BLOCK", "ENCRYPTED PRIVATE KEY")]
"""Whose content begins in a way that nothing else does."""


def body(kind: str, random_: random.Random) -> list[str]:
    head, size = HEADS[kind]
    data = bytes.fromhex(head + "0" * (len(head) % 2))
    if kind == "ENCRYPTED PRIVATE KEY":
        data += bytes.fromhex("2a864886f70d01050d")
    code = base64.b64encode(data + random_.randbytes(size)).decode()
    lines = textwrap.wrap(code, 70 if kind == "OPENSSH PRIVATE KEY" else 64)
    return [*lines, f"={random_.choice('abcdef')}Xy7"] if kind.startswith("PGP") else lines


def pem(kind: str, lines: list[str]) -> str:
    heads = "Version: GnuPG v2\n\n" if kind.startswith("PGP") else ""
    return f"-----BEGIN {kind}-----\n{heads}" + "\n".join(lines) + f"\n-----END {kind}-----\n"


def left(text: str, lines: list[str]) -> list[str]:
    """The lines of the key of which eight signs in a row can still be read."""
    shown = PLACEHOLDER.sub("", redact(text, KEY)[0])
    return [line for line in lines if any(line[at : at + 8] in shown for at in range(max(1, len(line) - 7)))]


LINE_BREAKS = ("entities", "numbers for line ends")
"""Ways that leave no lines, so that only both ends tell where a key lies."""
EVERY_WAY = WAYS | LISTINGS
cases = pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind in HEADS for seed in SEEDS])


@cases
@pytest.mark.parametrize("way", EVERY_WAY)
def test_a_whole_key_goes(kind: str, seed: int, way: str) -> None:
    lines = body(kind, random.Random(f"{kind} {seed}"))
    assert left(EVERY_WAY[way](f"$ cat key.pem\n{pem(kind, lines)}$ ls"), lines) == []


@cases
@pytest.mark.parametrize("way", WAYS)
def test_a_key_whose_listing_ends_early_goes(kind: str, seed: int, way: str) -> None:
    random_ = random.Random(f"{kind} {seed} end")
    lines = body(kind, random_)[:-1]
    kept = lines[: random_.randint(1, len(lines))]
    assert (
        left(WAYS[way](pem(kind, lines).split("\n-----END")[0].split(kept[-1])[0] + kept[-1] + "\n\nnext"), kept) == []
    )


@cases
@pytest.mark.parametrize("way", [way for way in EVERY_WAY if way not in LINE_BREAKS])
def test_a_key_whose_listing_begins_late_goes(kind: str, seed: int, way: str) -> None:
    random_ = random.Random(f"{kind} {seed} begin")
    lines = body(kind, random_)
    kept = lines[random_.randrange(len(lines)) :] if not kind.startswith("PGP") else lines[random_.randrange(20) :]
    text = "\n".join(kept) + f"\n-----END {kind}-----"
    assert left(EVERY_WAY[way](f"$ tail key.pem\n{text}\n$ ls"), [line for line in kept if len(line) > 8]) == []


@pytest.mark.parametrize("kind", KNOWN_BY_HEAD)
@pytest.mark.parametrize("way", WAYS)
def test_a_key_without_begin_and_end_goes_by_its_content(kind: str, way: str) -> None:
    lines = body(kind, random.Random(kind))
    assert left(WAYS[way]("the key:\n" + "\n".join(lines) + "\n\nthat was it"), lines) == []


@pytest.mark.parametrize("curve", ["307402010104200", "3082013a0201000241"])
def test_a_short_key_without_begin_and_end_goes(curve: str) -> None:
    """Of secp256k1, and of RSA with 512 bits."""
    data = bytes.fromhex(curve + "0" * (len(curve) % 2)) + random.Random(curve).randbytes(110)
    lines = textwrap.wrap(base64.b64encode(data).decode(), 64)
    assert left("the key:\n" + "\n".join(lines) + "\n", lines) == []


@pytest.mark.parametrize("kind", HEADS)
def test_a_key_in_hexadecimal_digits_goes(kind: str) -> None:
    text = pem(kind, body(kind, random.Random(kind)))
    code = text.encode().hex()
    shown = PLACEHOLDER.sub("", redact(f"dump: {code}", KEY)[0])
    assert code[200:260] not in shown
    assert code[-260:-200] not in shown
    pieces = [text.encode()[at : at + 16] for at in range(0, len(text), 16)]
    dump = "\n".join(
        f"{16 * n:08x}: {piece.hex(' ', 2):<40} {piece.decode().replace(chr(10), '.')}"
        for n, piece in enumerate(pieces)
    )
    shown = PLACEHOLDER.sub("", redact(dump, KEY)[0])
    assert not any(piece.decode() in shown for piece in pieces[4:-4] if b"\n" not in piece)


@cases
@pytest.mark.parametrize("width", [0, 64, 76])
def test_a_key_in_base64_goes(kind: str, seed: int, width: int) -> None:
    whole = base64.b64encode(pem(kind, body(kind, random.Random(f"{kind} {seed}"))).encode()).decode()
    code = textwrap.wrap(whole, width) if width else [whole]
    for way in ("as it is", "JSON in JSON", "cat -n", "diff, added", "grep of files"):
        assert left(WAYS[way]("  tls.key: " + "\n".join(code)), code[1:-1] if width else [whole[60:-60]]) == [], way


def test_a_key_as_a_member_of_json_goes() -> None:
    lines = body("PRIVATE KEY", random.Random(1))
    value = json.dumps({"type": "service_account", "private_key": pem("PRIVATE KEY", lines)})
    assert left(value, lines) == left(json.dumps(value), lines) == left(json.dumps(json.dumps(value)), lines) == []


@pytest.mark.parametrize("kind", ["CERTIFICATE", "PUBLIC KEY", "CERTIFICATE REQUEST"])
def test_what_is_public_stays(kind: str) -> None:
    heads = {"PUBLIC KEY": "30820122300d06092a864886f70d01010105000382010f00"}
    code = base64.b64encode(
        bytes.fromhex(heads.get(kind, "3082039f30820287a0030201")) + random.Random(2).randbytes(800)
    )
    text = f"-----BEGIN {kind}-----\n" + "\n".join(textwrap.wrap(code.decode(), 64)) + f"\n-----END {kind}-----\n"
    assert find(text) == []
