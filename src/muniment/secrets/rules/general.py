"""Secrets known only by what is said of them: in an address, a header, an option, an assignment.

These alone find what no issuer made recognisable, and these alone could take harmless text for a secret, so the value
has to look as if a generator had made it; see `judge`.
"""

import re

from muniment.secrets import judge
from muniment.secrets.rule import END_OF_VALUE, SEPARATOR, Rule, anywhere, block, named

_USER = r"[^\s:/@\"'`<>?#\\]*"
_SIGN = r"[^\s/@\"'`<>\\]"
_PASSWORD = rf"({_SIGN}{{3,}}|{_SIGN}+(?:@[^\s/@\"'`<>\\,;]{{3,}}){{1,2}}|{_SIGN}{{3,}}/{_SIGN}{{0,40}})"
_KEYS = (
    r"api|access|auth|secret|private|signing|encryption|master|license|account|storage|subscription|service|deploy|admin|"
    r"app|webhook|client|shared|hmac|jwt|session|aes"
)
_SECRETS = rf"secret|token|credential|creds\b|(?:{_KEYS})[_. -]{{0,2}}key"
_FOREIGN = (
    r"passwort|kennwort|mot de passe|contrase\xc3\xb1a|senha|\xe5\xaf\x86\xe7\xa0\x81|\xe5\xaf\x86\xe7\xa2\xbc"
    r"|\xd0\xbf\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c"  # 密码 密碼 пароль
)
_WORD_PASSWORDS = rf"passw(?:or)?d|passphrase|passcode|pwd|[_.-]pass\b|dbpass\b|psk\b|identified by|{_FOREIGN}"
_PASSWORDS = rf"{_WORD_PASSWORDS}|sshpass\b|pre-?shared-?key|key content|keymaterial|secret"
_SEED = r"[a-z]{3,8}"
_SCHEME = r"(?i:bearer|token|bot|apikey|api-key|key)"


def _is_pass(secret: str, name: str) -> bool:
    """`pass` is also what a test does: its value has to be random, and not stand in the next column of a table."""
    return bool(re.search(r"(?i:pass)\W{0,3}[:=]\s*[\"'`]?$", name)) and judge.is_password(secret, name)


GENERAL: tuple[Rule, ...] = (
    anywhere("url-password", "password in a URL", "://", rf"{_USER}:{_PASSWORD}@[\w\[]", judge.is_address_password),
    anywhere("url-token", "token in a URL", "://", r"([\w-]{20,})@[\w\[]", judge.is_value),
    anywhere(
        "auth-arguments",
        "password of a call",
        r"HTTPBasicAuth\(|\bauth ?= ?\(",
        r"[\"'][^\s\"']{1,60}[\"'], ?[\"']([^\s\"'\\]{4,})[\"']",
        judge.is_given_password,
    ),
    anywhere("basic-auth", "Authorization header", r"(?i:basic) ", r"([A-Za-z0-9+/]{12,}={0,2})", judge.is_basic),
    anywhere(
        "authorization",
        "Authorization header",
        r"(?i:authorization)",
        rf"{SEPARATOR}(?:{_SCHEME}[ ]{{1,4}})?([\w+/=.~-]{{16,}}){END_OF_VALUE}",
        judge.is_value,
    ),
    anywhere(
        "bearer", "Authorization header", r"\b(?i:bearer) ", rf"([\w+/=.~-]{{20,}}){END_OF_VALUE}", judge.is_value
    ),
    block(
        "cookie",
        "Cookie header",
        r"(?i:cookie)",
        r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?([\w.-]+=[^\s;\"'\\]+(?:;[ ]?[\w.-]+=[^\s;\"'\\]+)*)",
        judge.is_cookie,
    ),
    named(
        "session-cookie",
        "session of a browser",
        r"phpsessid|jsessionid|connect\.sid|asp\.net_sessionid|laravel_session",
        r"[\w%.+/=~:-]{16,}",
        judge.is_session,
    ),
    named("registry-auth", "Docker, npm", r"(?:\b|_)auth\b", r"[A-Za-z0-9+/]{12,}={0,2}", judge.is_basic),
    named("secret-value", "named value", _SECRETS, r"[\w+/=.~%:-]{16,}", judge.is_value),
    named("password", "named value", _PASSWORDS, r"[^\s]{8,}", judge.is_password),
    named(
        "passphrase",
        "named value",
        _WORD_PASSWORDS,
        r"[A-Za-z0-9][A-Za-z0-9 _.-]{11,}",
        judge.is_passphrase,
    ),
    named("pass-value", "named value", r"\bpass\b", r"[^\s]{10,}", _is_pass),
    named(
        "seed-phrase",
        "word list of a wallet",
        r"mnemonic|seed(?:[_ -]?(?:phrase|words))?|(?:recovery|secret|backup)[_ -]?phrase",
        r"[a-z]{3,8}(?:[ ,]+[a-z]{3,8}){11,23}",
        judge.is_mnemonic,
    ),
    block(
        "mnemonic",
        "word list of a wallet",
        r"(?m:^[ \t]{0,8}(?:[0-9]{1,7}(?:\t|:|\xe2\x86\x92))?[+> -]{0,2}|[\"'`>:=|,]) {0,4}",
        rf"(?:({_SEED}(?: {_SEED}){{11,23}}) {{0,4}}(?m:$|[\"'`<|,\\])"
        rf"|(1[.):]? {_SEED}(?:\s+[0-9]{{1,2}}[.):]? {_SEED}){{11,23}})(?m:$))",
        judge.is_mnemonic,
    ),
)
