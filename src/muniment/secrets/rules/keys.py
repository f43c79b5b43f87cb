"""Private keys, whole, in whatever way they were printed: with the numbers of `cat -n`, the names of `grep`, the marks
of a diff, and also where a listing begins or ends in their midst.

A key is known by its first line, by its last, or by how its content begins: the numbers with which a key of RSA, of a
curve or of OpenSSH starts are in no certificate and no public key. Lines from the middle of a key alone are base64 like
any other; nobody can tell them.
"""

import re

from muniment.secrets import judge
from muniment.secrets.rule import Rule, block

_SPACE = r"[ _]"
_KEY = rf"(?:[A-Z0-9.]{{1,16}}{_SPACE}){{0,4}}PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?{_SPACE}?-{{4,5}}"
_MARKS = r"[\"'`+|>,;:#*-]{0,6}"
"""What may stand at the end or the beginning of a line: quotes, the marks of a diff, of a comment, of a table."""
_PLACE = r"(?:[\w./@~-]+[:-])?(?:[0-9]{1,7}(?:[:|-]|\xe2\x86\x92)?)?"
"""What `grep` or `cat -n` writes before a line."""
_BREAK = r"(?:\s|\\[nrt])"
_GAP = rf"{_MARKS}(?:{_BREAK}+{_PLACE}{_BREAK}*{_MARKS})+{_BREAK}*"
_LINE = r"[A-Za-z0-9+/]{16,}={0,2}"
_LAST = r"(?:[A-Za-z0-9+/]{1,15}={0,2}|=[A-Za-z0-9+/]{4})"
_HEAD = r"[A-Z][A-Za-z-]+: [^\n\\]*"
_LINES = rf"{_LINE}(?:{_GAP}{_LINE})*"
_BEGIN = rf"-{{4,5}} ?BEGIN{_SPACE}{_KEY}"
_END = rf"(?:{_GAP}{_LAST}){{0,2}}(?:{_GAP})?-{{4,6}} ?END{_SPACE}{_KEY}"
MARK = rf"-{{4,6}} ?(BEGIN|END){_SPACE}{_KEY}"
"""The first line of a key and its last."""
_OUTSIDE = re.compile(r"-{4,6} ?(?:BEGIN|END)[A-Z0-9. _]*-{4,6}|[^A-Za-z0-9+/]")
_CUT = rf"(?:{_GAP}[A-Za-z0-9+/]{{2,15}}={{1,2}}|{_GAP}[A-Za-z0-9+/=]{{1,15}}[\s\"'`]*(?:\z|\.\.\.|\xe2\x80\xa6))?"
"""Where the listing ends in the middle of a line."""
_START = r"(?:\A|[^A-Za-z0-9+/])\+?"
_FIRST = (
    r"(?:b3BlbnNzaC1rZXktdjE"  # OpenSSH
    r"|MII[A-P][A-Za-z0-9+/][AQgw]IBA(?:AK[BC]|AJ[BChi]|D[AB][A-Z])"  # RSA, DSA; any in PKCS 8
    r"|MH[cQ]CAQEEI|MIGkAgEBBD|MIHcAgEBBE|MI(?:GH|GE|G2|Hu)AgEAM|MC4CAQAwBQYDK2V|MEcCAQAwBQYDK2V"  # curves
    r"|MI[A-Za-z0-9+/]{6,8}(?:BgkqhkiG9w0BBQ0|YJKoZIhvcNAQUN|GCSqGSIb3DQEFD))"  # encrypted
)

_WHOLE = rf"{_BEGIN}(?:{_GAP}{_HEAD})*{_GAP}{_LINES}(?:{_END}|{_CUT})"
_HEADLESS = rf"{_FIRST}[A-Za-z0-9+/]*={{0,2}}(?:{_GAP}{_LINE})*(?:{_END}|{_CUT})"


def is_key(secret: str, name: str) -> bool:
    """Not the dots or the word `example` that manuals print between the first line and the last."""
    return not judge.is_placeholder(_OUTSIDE.sub("", secret)[:64])


KEYS: tuple[Rule, ...] = (
    block(
        "private-key",
        "PEM, OpenSSH, PGP",
        rf"(?:({_WHOLE})|{_START}({_LINES}{_END})|{_START}({_HEADLESS}))",
        "",
        is_key,
    ),
    block(
        "putty-key",
        "PuTTY",
        r"Private-Lines: [0-9]",
        rf"[0-9]{{0,3}}(?:{_GAP})({_LINES}(?:\s+[A-Za-z0-9+/]{{2,15}}={{1,2}})?)",
        is_key,
    ),
    block(
        "ansible-vault",
        "Ansible",
        r"\$ANSIBLE_VAULT;",
        rf"[0-9.]+;AES256(?:;[\w.-]+)?(?:{_GAP}[0-9a-f]{{16,}})+(?:{_GAP}[0-9a-f]{{2,15}}\b)?",
        lambda secret, name: True,
    ),
)
