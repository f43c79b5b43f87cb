"""Secrets known only by what is said of them: in an address, a header, an option, an assignment.

These alone find what no issuer made recognisable, and these alone could take harmless text for a secret, so the value
has to look as if a generator had made it; see `judge`.
"""

from muniment.secrets import judge
from muniment.secrets.rule import END_OF_VALUE, NAMED_BYTES, SEPARATOR, Rule, named

_USER = r"[^\s:/@\"'`<>?#\\]*"
_PASSWORD = r"[^\s/@\"'`<>\\]{3,}"
_KEYS = (
    r"api|access|auth|secret|private|signing|encryption|master|license|account|storage|subscription|service|deploy|admin|"
    r"app|webhook|client|shared|hmac|jwt|session|aes"
)
_SECRETS = rf"secret|token|credential|(?:{_KEYS})[_-]?key"
_VALUE = r"[\w+/=.~%-]{20,}"
_SCHEME = r"(?i:bearer|token|bot|apikey|api-key|key)"

GENERAL: tuple[Rule, ...] = (
    Rule(
        "url-password",
        "password in a URL",
        "://",
        rf"{_USER}:({_PASSWORD})@[\w\[]",
        apart=False,
        reach=NAMED_BYTES,
        check=judge.is_given_password,
    ),
    Rule(
        "basic-auth",
        "Authorization header",
        r"(?i:basic) ",
        r"([A-Za-z0-9+/]{12,}={0,2})",
        apart=False,
        check=judge.is_basic,
    ),
    Rule(
        "authorization",
        "Authorization header",
        r"(?i:authorization)",
        rf"{SEPARATOR}{_SCHEME}[ ]{{1,4}}([\w+/=.~-]{{16,}}){END_OF_VALUE}",
        apart=False,
        check=judge.is_value,
    ),
    Rule(
        "bearer",
        "Authorization header",
        r"(?i:bearer) ",
        rf"([\w+/=.~-]{{20,}}){END_OF_VALUE}",
        check=judge.is_value,
    ),
    Rule(
        "curl-password",
        "password of a command",
        r"curl ",
        r"[^\n]*?(?:-u|--user)[ =]{0,2}[\"']?[^\s:\"'/$]{1,80}:([^\s\"'\\]{4,})",
        reach=2 * NAMED_BYTES,
        check=judge.is_given_password,
    ),
    Rule(
        "sshpass",
        "password of a command",
        r"sshpass -p",
        r" {0,2}[\"']?([^\s\"'\\]{4,})",
        reach=NAMED_BYTES,
        check=judge.is_given_password,
    ),
    Rule(
        "netrc",
        "netrc",
        r"machine [\w.-]",
        r"[\w.-]+\s+login\s+[^\s\\]+\s+password\s+([^\s\\\"']{4,})",
        reach=NAMED_BYTES,
        check=judge.is_given_password,
    ),
    Rule(
        "xml-secret",
        "named value",
        r"(?i:<(?:password|passwd|secret|token|api[_-]?key)>)",
        r"([^<>\s]{10,})<",
        apart=False,
        reach=NAMED_BYTES,
        check=judge.is_password,
    ),
    Rule(
        "option-secret",
        "option of a command",
        rf"(?i:--(?:password|passphrase|{_SECRETS}))",
        r"[\w-]{0,20}(?: {1,2}|=)[\"']?([^\s\"'`<>\\,;(){}\[\]|]{10,})",
        reach=NAMED_BYTES,
        check=judge.is_password,
    ),
    named("secret-value", "named value", _SECRETS, _VALUE, judge.is_value),
    named(
        "password",
        "named value",
        r"passw(?:or)?d|passphrase|pwd|db_pass|secret",
        r"[^\s\"'`<>\\,;(){}\[\]|]{10,}",
        judge.is_password,
    ),
)
