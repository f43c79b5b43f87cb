"""Telling secrets from what only looks like one: placeholders, examples, names, words, ids.

Judged is the shape alone. What was made by a random generator has many different signs and few of the pairs of
letters that words are made of; a sequence, a repetition or a word such as `example` was typed by a person.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re
from collections import Counter
from itertools import pairwise

_FOLLOWERS = (
    "abcdgilmnprst bael caehiklortu daeio eacdeflmnprstvx feio ger haeio iacdefglmnoprstvz ke laeiloy maeiop "
    "nacdegiost ocdlmnoprstuvw paeiloprt radeimorstu sacehiopstu taehiorstuy ulmnprst vaei"
)
_PAIRS = frozenset(group[0] + second for group in _FOLLOWERS.split() for second in group[1:])
"""The 150 pairs of letters that are frequent in words: 85 % of the pairs of words, 22 % of random ones."""

_BY_CHANCE = len(_PAIRS) / 26**2
LIKELY, SURE = 3.5, 5.0
"""How many standard deviations above chance make words."""

LONG_SIGNS, SHORT_WORD = 32, 6

_HEX = re.compile(r"[0-9a-f]{16,}|[0-9A-F]{16,}")
"""Hexadecimal digits have pairs of their own."""
_MIDST = re.compile(r"[A-Za-z0-9+/]{8}[+/]$")
_PLACEHOLDER = re.compile(
    r"example|placeholder|your|changeme|change_me|change-me|replace|insert|redacted|dummy|fake|sample|invalid|"
    r"not[-_]?real|my[-_]?(?:secret|token|password|key)|(?:test|some|secret|api)[-_](?:key|token|secret)|"
    r"todo|\bfoo|\bbar\b|canary|deadbeef|1234567890|abcdefgh|abc123"
)
_FILLER = re.compile(r"x{4}|X{4}|\*{3}|\.{3}|…|_{4}|-{4}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_EXPRESSION = re.compile(
    r"[<{]|[$%@&#*](?:[{(]|[\w.:-]*%?$)|(?:process|os|env|self|this|config|settings|secrets|vars|data|args|options|params|request|response)\.|"
    r"(?:sha\d+|md5)[-:=]|[~.]{1,2}/|[a-z]+://|[A-Z]:\\|https?:|file:|op://|0x[0-9a-f]{40}$",
    re.IGNORECASE,
)
_BASE64_PATH = re.compile(r"/[A-Za-z0-9+/]{19,}={0,2}")
"""Base64 that begins with a slash, as one key in sixty-four does; a path has dots, dashes or words."""
_TEMPLATE = re.compile(r"\$\{|\{\{|#\{")
_HARMLESS_NAME = re.compile(
    r"(?:^|[^a-z])(?:next|page|cursor|continuation|sync|resume|csrf|xsrf|cancel\w*|public|pub|cache|idempotency|sort|partition|"
    r"primary|foreign|stop|pad|eos|bos|unk|mask|sep|input|output|max|min|num|total|prompt|completion|design)[-_ ]?"
    r"(?:page[-_]?)?(?:token|key|secret)|"
    r"(?:(?:token|key|secret|password)s\b|"
    r"(?:token|key|secret|password|credential)s?[-_.]?(?:id|ids|type|count|limit|name|path|file|hash|sha\d*|digest|"
    r"fingerprint|length|size|url|uri|usage|arn|ref|version|budget|regex|pattern|index|manager|store|class|field|label|"
    r"izer|ize|endpoint|expir\w*))[\"'\\`]*\s*[=:,]",
    re.IGNORECASE,
)
_GRAMMAR_WORDS = (
    "a an the and or for with from are was were but not has had its his her our your their been them these those which "
    "would should could than who how why did does to of in on at is as by be it if we he she my no do can will that "
    "this must may use using set get new when then you all any more least one two only into have also"
)
_GRAMMAR = frozenset(_GRAMMAR_WORDS.split())
"""Words that sentences need and that no generator of passphrases has, or seldom."""
_PROGRAM_WORDS = "int float str bool abs neg pos char null true false void self def var func args index"
_NO_SEED = frozenset(_PROGRAM_WORDS.split())
"""Words of programs, which no list of words for wallets has."""
_SPEAKS_OF_SECRETS = re.compile(
    r"passw|passphrase|secret|token|credential|\b(?:login|users?|auth\w*|keys?|reset|hash\w*|fields?|input|files?)\b"
)
_NEXT_IN_LIST = re.compile(r",\s*\n[^:=]*$")
_PHRASE_WORD = re.compile("[0-9]{0,4}[a-z]{3,14}[0-9]{0,4}")
_PHRASE_PART = re.compile("[a-z]{3,14}|[a-z]*[0-9]{1,4}[a-z]*")
_CAPITALS = re.compile("[A-Z]{2}[a-z]|[a-z][A-Z]{2}")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_KEY_NAME = re.compile(
    r"(?:(?:api|access|auth|secret|private|signing|encryption|master|license|service|deploy|admin|app|client|bot|bearer|"
    r"refresh|webhook|account|subscription)[-_. ]{0,2}(?:key|secret|token)|secret|passw\w{2,3}|pwd|bearer|"
    r"identified by)\W*"
    r"(?:(?:value|val|string|str|static|is|was|bearer|token|String::from|final|optional|option|some|ok|secret|secretstr|"
    r"field|default|defaultvalue|bytes|current|new|body|key|td|code|dd|tobe|toequal|convertto|securestring|b|r|u|f)\W*)*$",
    re.IGNORECASE,
)
"""Names under which a UUID is a key and not the number of something."""
_DEFAULTS = (
    "password passwd pass pwd passw0rd password1 password123 secret s3cret hunter2 admin admin123 root toor user "
    "username guest test test123 testing tester postgres mysql mongo redis rabbitmq minio minioadmin changeit letmein "
    "qwerty abc xyz default none null nil undefined true false empty token key pw p x xxx pat api apikey credentials "
    "value"
)
_TRIVIAL = frozenset(_DEFAULTS.split())


_KNOWN = frozenset(
    [
        "2YotnFZFEjr1zCsicMWpAA",
        "tGzv3JOkF0XG5Qx2TlKWIA",
        "SlAV32hkKG",
        "mF_9.B5f-4.1JqM",
        "czZCaGRSa3F0MzpnWDFmQmF0M2JW",
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "QWxhZGRpbjpPcGVuU2VzYW1l",
        "ad180jjd733klru7",
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
    ]
)
"""The examples of the standards for HTTP, OAuth and signatures, which every manual repeats."""


def is_token(secret: str, name: str) -> bool:
    """A token of a known shape, unless somebody made it up by hand."""
    return not is_placeholder(secret) and entropy(secret) >= 2.5 and not is_wordy(secret, SURE)


def is_free_token(secret: str, name: str) -> bool:
    """A token whose beginning is frequent in base64 of programs and pictures: not in the midst of such."""
    return is_token(secret, name) and not _MIDST.search(name)


def is_value(secret: str, name: str) -> bool:
    """A long random value that a name calls secret."""
    if _TEMPLATE.search(secret):
        return False
    if _UUID.fullmatch(secret):
        return bool(_KEY_NAME.search(name)) and not _HARMLESS_NAME.search(name) and not is_placeholder(secret)
    return (  # what costs least comes first
        len(secret) >= 16
        and _mixes_signs(secret)
        and not _is_expression(secret)
        and not is_wordy(secret)
        and entropy(secret) >= 3
        and not is_placeholder(secret)
        and not _HARMLESS_NAME.search(name)
    )


def _mixes_signs(secret: str) -> bool:
    """Letters among digits; or, where chance gave no digit, capitals among small letters more often than in names."""
    if any(c.isdigit() for c in secret):
        return any(c.isalpha() for c in secret)
    changes = sum(a.islower() and b.isupper() for a, b in pairwise(secret))
    return len(secret) >= 20 and secret.isalpha() and changes * 6 >= len(secret)


def is_named(secret: str, name: str) -> bool:
    """A value of the right kind and length beside the name of its issuer; a UUID is as good as any."""
    return is_token(secret, name) and not _HARMLESS_NAME.search(name) and not (secret.isalpha() and secret.islower())


def _is_expression(secret: str) -> bool:
    """A variable, an attribute, an address or a path instead of a value."""
    if secret.startswith("/"):
        few = secret.count("/") <= 2 + len(secret) // 16 or secret.endswith("=")
        is_random = _BASE64_PATH.fullmatch(secret) and few
        has_mixed = _CAPITALS.search(secret) or (re.search("[0-9]", secret) and re.search("[A-Z]", secret))
        return not is_random or is_wordy(secret) or not has_mixed
    if secret[:1] in "#@&*%" and len(secret) >= 10 and _is_mixed(secret[1:]) and not is_wordy(secret):
        return False  # an anchor, a mention or a reference is made of words
    return bool(_EXPRESSION.match(secret))


def is_password(secret: str, name: str) -> bool:
    """A password that is not a word: people choose them, so less is asked of it than of a token."""
    return is_value(secret, name) or (
        len(secret) >= 10
        and (_is_mixed(secret) or _is_letters(secret))
        and not _is_expression(secret)
        and not is_wordy(secret)
        and entropy(secret) >= 2.8
        and not _TEMPLATE.search(secret)
        and not is_trivial(secret)
        and not _HARMLESS_NAME.search(name)
    )


def _is_mixed(secret: str) -> bool:
    """Signs of three sorts or more."""
    return sum(map(bool, (re.search(p, secret) for p in ("[a-z]", "[A-Z]", "[0-9]", r"[^\sA-Za-z0-9_.:/-]")))) >= 3


def _is_letters(secret: str) -> bool:
    """Letters alone, of both cases in an order that no name has: chance gives one password in ten no digit."""
    changes = sum(a.islower() != b.islower() for a, b in pairwise(secret))
    is_unlike_names = changes * 2 >= len(secret) or (changes >= 2 and bool(_CAPITALS.search(secret)))
    return len(secret) >= 12 and secret.isalpha() and is_unlike_names


def is_given_password(secret: str, name: str) -> bool:
    """A password in a place where nothing else can stand: anything but a placeholder or a default."""
    user = re.split(r"//|[\s\"']", name.removesuffix(":"))[-1]
    if secret == user or is_trivial(secret) or re.search(r"[{}<>\[\]]|\$\(|%[sd]\b", secret):
        return False
    # Variables and patterns have these signs too; a generator has mixed them with others.
    return not re.search(r"[$*()]", secret) or (
        len(secret) >= 10 and _is_mixed(secret) and bool(re.search("[0-9]", secret)) and not is_wordy(secret)
    )


def is_address_password(secret: str, name: str) -> bool:
    """A password between `user:` and `@`. With a slash it may be a port and a path, so it has to be random."""
    if "/" not in secret:
        return is_given_password(secret, name)
    return not secret.split("/")[0].isdigit() and is_given_password(secret, name) and is_password(secret, "")


def is_basic(secret: str, name: str) -> bool:
    """User and password as a header has them: base64 of `user:password`."""
    try:
        user, _, password = base64.b64decode(secret + "=" * (-len(secret) % 4)).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(password) and user.isprintable() and not is_trivial(password) and not is_placeholder(secret)


def is_cookie(secret: str, name: str) -> bool:
    """The pairs of a cookie header, one of which is the session of somebody."""
    return any(is_session(value, name) for _, _, value in (pair.strip().partition("=") for pair in secret.split(";")))


def is_session(secret: str, name: str) -> bool:
    """The value of a session cookie: long and random."""
    return len(secret) >= 16 and is_token(secret, name) and not _EXPRESSION.match(secret) and not is_wordy(secret)


def is_hash(secret: str, name: str) -> bool:
    """What a password was turned into, with its salt: good enough to try passwords against."""
    return entropy(secret) >= 3.5 and not _FILLER.search(secret) and not is_wordy(secret)


def is_base58_key(secret: str, name: str) -> bool:
    """A key of a wallet: its last four bytes are the checksum of the others."""
    number = 0
    for sign in secret:
        number = number * 58 + _BASE58.index(sign)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]


def is_mnemonic(secret: str, name: str) -> bool:
    """Twelve to twenty-four words of a wallet: a multiple of three, hardly one twice, none that only grammar needs."""
    words = re.findall("[a-z]+", secret)
    return (
        len(words) in (12, 15, 18, 21, 24)
        and len(set(words)) >= len(words) - 2
        and not (_GRAMMAR | _NO_SEED).intersection(words)
        and all(3 <= len(word) <= 8 for word in words)
    )


def is_grammar(word: str) -> bool:
    """Whether a word is one that sentences need."""
    return word.lower() in _GRAMMAR


def is_passphrase(secret: str, name: str) -> bool:
    """Four words or more that no grammar holds together, under a name that can mean nothing but a password."""
    words = re.split("[ _.-]", secret.lower())
    return (
        len(words) >= 4
        and not _NEXT_IN_LIST.search(name)
        and sum(map(bool, map(_PHRASE_WORD.fullmatch, words))) >= 4
        and all(map(_PHRASE_PART.fullmatch, words))
        and len(set(words)) == len(words)
        and not _GRAMMAR.intersection(words)
        and not _PLACEHOLDER.search(secret.lower())
        and not _SPEAKS_OF_SECRETS.search(" ".join(words))
        and not _HARMLESS_NAME.search(name)
        and not _is_expression(secret)
    )


def is_trivial(secret: str) -> bool:
    """What stands for a password in examples and on developers' own machines."""
    words = [word for word in re.split(r"%[0-9a-f]{2}|[^a-z0-9]", secret.lower()) if len(word) > 1]
    return all(word in _TRIVIAL for word in words) or is_placeholder(secret)


def is_placeholder(secret: str) -> bool:
    """Whether it was typed by hand to stand for a secret."""
    return (
        secret in _KNOWN
        or _says_placeholder(secret)
        or bool(_FILLER.search(secret))
        or _is_sequence(secret)
        or _is_repetition(secret[:36])
        or _is_repetition(secret[-36:])
    )


def _says_placeholder(secret: str) -> bool:
    """Whether a word in it says so. In many random signs a short word occurs by chance, among other letters."""
    found = _PLACEHOLDER.search(secret.lower())
    if not found or len(secret) < LONG_SIGNS or len(found[0]) > SHORT_WORD:
        return bool(found)
    around = secret[found.start() - 1 : found.start()] + secret[found.end() : found.end() + 1]
    return not around.isalnum() or is_wordy(secret)


def _is_sequence(secret: str) -> bool:
    """`abcdef`, `123456`, `aaaaaa`: half of the signs follow from the one before."""
    steps = [ord(b) - ord(a) for a, b in pairwise(secret)]
    return len(steps) > 3 and 2 * sum(step in (0, 1) for step in steps) >= len(steps)


def _is_repetition(part: str) -> bool:
    """The same few signs again and again."""
    return len(part) >= 12 and any(part[period:] == part[:-period] for period in range(1, len(part) // 2 + 1))


def entropy(text: str) -> float:
    """Bits per sign, by how often each occurs (Shannon)."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


def is_wordy(text: str, sure: float = LIKELY) -> bool:
    """Whether it has more pairs of letters that words are made of than a generator is likely to give."""
    pairs = [a + b for a, b in pairwise(_HEX.sub("-", text)) if a.isalpha() and b.isalpha()]
    inside = [pair.lower() for pair in pairs if not (pair[0].islower() and pair[1].isupper())]
    count = len(inside)
    if count < 5:
        return False
    expected, deviation = count * _BY_CHANCE, math.sqrt(count * _BY_CHANCE * (1 - _BY_CHANCE))
    return sum(pair in _PAIRS for pair in inside) > expected + sure * deviation
