"""Secrets known by their shape, whoever issued them: signed tokens, keys of wallets, hashes of passwords."""

from muniment.secrets import judge
from muniment.secrets.rule import Pass, Rule, token

_BASE58 = "[1-9A-HJ-NP-Za-km-z]"


def _signed(secret: str, name: str) -> bool:
    """Not one of the two examples that every manual repeats, of John Doe and of some payload."""
    _, payload, signature = secret.split(".")
    return not payload.startswith(("eyJzdWIiOiIxMjM0NTY3ODkw", "eyJzb21lIjoi")) and not judge.is_placeholder(signature)


SHAPES: tuple[Rule, ...] = (
    token("age-key", "age", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}\b"),
    token("jwt", "JSON Web Token", "eyJ", r"[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}", _signed),
    Rule("wallet-key", "Bitcoin", "[5KL9c]", rf"{_BASE58}{{50,51}}\b", check=judge.is_base58_key),
    Rule("wallet-seed", "Bitcoin", "[xyzt]prv", rf"{_BASE58}{{107}}\b", check=judge.is_base58_key),
    Rule(
        "password-hash",
        "shadow, htpasswd, Django, Werkzeug, PostgreSQL",
        r"\$(?:[1567yPH]|gy|apr1|2[abxy]|argon2(?:id|i|d)|scrypt)\$|\{S?SHA[0-9]{0,3}\}|pbkdf2_sha(?:1|256|512)\$[0-9]"
        r"|pbkdf2:sha(?:1|256|512):[0-9]+\$|scrypt:[0-9]+:[0-9]+:[0-9]+\$"  # Werkzeug
        r"|SCRAM-SHA-(?:1|256)\$[0-9]",
        r"(?:[0-9]*:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:)?[A-Za-z0-9./+=$,-]{24,}",
        search=Pass.ANYWHERE,
        check=judge.is_hash,
    ),
    token("django-key", "Django", "django-insecure-", r"[^\s\"'`<>\\]{30,}"),
)
