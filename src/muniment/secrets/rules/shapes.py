"""Secrets known by their shape, whoever issued them: private keys, signed tokens, passwords in addresses."""

from muniment.secrets import judge
from muniment.secrets.rule import Rule, token

_SPACE = r"[ _]"
_KEY = rf"(?:[A-Z0-9.]{{1,16}}{_SPACE}){{0,4}}PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?{_SPACE}?-{{4,5}}"
_NEWLINE = r"(?:\\[nr]|\s){1,4}"
_SIGN = r"[A-Za-z0-9+/=]"
_MARKS = r"(?:[\s\d\"'`+|>,#*-]|\\[nrt\"]|\xe2\x86\x92)"
"""What stands between the lines of a key: it may be numbered, indented, quoted, escaped, or marked by a diff."""
_HEADS = rf"(?:{_MARKS}|[A-Z][A-Za-z-]{{2,20}}: [^\n\\%]*)*?"
_BODY = r"(?:[^-]|-[^-])*"
_CUT_OFF = rf"{_SIGN}*(?:{_MARKS}{{1,16}}{_SIGN}{{16,}})*"
"""A key without its end: as many lines as look like one."""


def _any(secret: str, name: str) -> bool:
    return not judge.is_placeholder(secret[64:128])


def _signed(secret: str, name: str) -> bool:
    """Not one of the two examples that every manual repeats, of John Doe and of some payload."""
    _, payload, signature = secret.split(".")
    return not payload.startswith(("eyJzdWIiOiIxMjM0NTY3ODkw", "eyJzb21lIjoi")) and not judge.is_placeholder(signature)


SHAPES: tuple[Rule, ...] = (
    Rule(
        "private-key",
        "PEM, OpenSSH, PGP",
        rf"-{{4,5}} ?BEGIN{_SPACE}",
        rf"{_KEY}{_HEADS}{_SIGN}{{40}}(?:{_BODY}-{{4,6}} ?END{_SPACE}{_KEY}|{_CUT_OFF})",
        apart=False,
        reach=20_000,
        check=_any,
    ),
    Rule(
        "putty-key",
        "PuTTY",
        r"Private-Lines: [0-9]",
        rf"[0-9]{{0,3}}{_NEWLINE}([A-Za-z0-9+/=]{{40,64}}(?:{_NEWLINE}[A-Za-z0-9+/=]{{20,64}}){{0,15}})",
        apart=False,
        check=_any,
    ),
    token("age-key", "age", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}\b"),
    Rule(
        "jwt",
        "JSON Web Token",
        "eyJ",
        r"[\w-]{10,500}\.eyJ[\w-]{10,}\.[\w-]{20,}",
        ("eyJ",),
        reach=8000,
        check=_signed,
    ),
)
