"""Secrets known only by what is said of them: in an address, a header, an option, an assignment.

These alone find what no issuer made recognisable, and these alone could take harmless text for a secret, so the value
has to look as if a generator had made it; see `judge`.
"""

from muniment.secrets import judge
from muniment.secrets.rule import END_OF_VALUE, SEPARATOR, Rule, anywhere, block, named

_USER = r"[^\s:/@\"'`<>?#\\]*"
_PASSWORD = r"[^\s/@\"'`<>\\]{3,}"
_KEYS = (
    r"api|access|auth|secret|private|signing|encryption|master|license|account|storage|subscription|service|deploy|admin|"
    r"app|webhook|client|shared|hmac|jwt|session|aes"
)
_SECRETS = rf"secret|token|credential|(?:{_KEYS})[_-]?key"
_PASSWORDS = r"passw(?:or)?d|passphrase|pwd|[_-]pass\b|dbpass\b|psk\b|pre-shared-key|secret"
_SCHEME = r"(?i:bearer|token|bot|apikey|api-key|key)"

GENERAL: tuple[Rule, ...] = (
    anywhere("url-password", "password in a URL", "://", rf"{_USER}:({_PASSWORD})@[\w\[]", judge.is_given_password),
    anywhere("basic-auth", "Authorization header", r"(?i:basic) ", r"([A-Za-z0-9+/]{12,}={0,2})", judge.is_basic),
    anywhere(
        "authorization",
        "Authorization header",
        r"(?i:authorization)",
        rf"{SEPARATOR}{_SCHEME}[ ]{{1,4}}([\w+/=.~-]{{16,}}){END_OF_VALUE}",
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
        r"passw(?:or)?d|passphrase|[_-]pass\b|\bpsk\b",
        r"[A-Za-z][A-Za-z0-9 _.-]{11,}",
        judge.is_passphrase,
    ),
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
        r"(?m:^|[\"'`>:=|,]) {0,4}",
        r"([a-z]{3,8}(?: [a-z]{3,8}){11,23}) {0,4}(?m:$|[\"'`<|,\\])",
        judge.is_mnemonic,
    ),
)
