"""Passwords where a program takes them: on command lines and in the files that stand for a command line."""

from muniment.secrets import judge
from muniment.secrets.rule import Rule, anywhere, block

_CLIENTS = r"my(?:sql\w*|cli)|maria\w+(?:-dump)?|mongo\w*|redis-cli|(?:docker|podman|registry) login|ldap\w+|htpasswd"
_WORD = r"[\"']?([^\s\"'\\]{4,})"


def _is_no_port(secret: str, name: str) -> bool:
    """`-p 6380` is a port for some programs and a password for others."""
    return judge.is_given_password(secret, name) and not (secret.isdigit() and len(secret) < 6)


COMMANDS: tuple[Rule, ...] = (
    block(
        "curl-password",
        "password of a command",
        r"\b(?:curl|http|https|wget) ",
        r"(?:[^\n]*? )??(?:-u|--user|-a)[ =]{0,2}[\"']?[^\s:\"'/$]{1,80}:([^\s\"'\\]{4,})",
    ),
    block("sshpass", "password of a command", r"\bsshpass -p", rf" {{0,2}}{_WORD}"),
    block(
        "client-password",
        "password of a command",
        rf"\b(?:{_CLIENTS}) ",
        rf"(?:[^\n|;&]*? )??(?:-p{_WORD}|(?:-p|-a|-w) {{1,2}}{_WORD}|-\w?b\w* [^\s]+ [^\s]+ {_WORD})",
        _is_no_port,
    ),
    block(
        "netrc",
        "netrc",
        r"\bmachine [\w.-]",
        r"[\w.-]*\s+login\s+[^\s\\]+\s+password\s+([^\s\\\"']{4,})",
    ),
    block(
        "pgpass",
        "PostgreSQL",
        r"(?:\A|[\s\"'`:+>-])[\w.*-]+:(?:54[0-9]{2}|6432|6543|2[56][0-9]{3}|\*):",
        r"[\w*.-]+:[\w*.@-]+:([^\s:\"'`\\]{4,})",
    ),
    block(
        "wifi-password",
        "Wi-Fi",
        r"\bWIFI:|\bnmcli |\bwpa_passphrase ",
        r"(?:[^\n]*?;?P:([^;\s]{8,63});|[^\n]*? password [\"']?([^\s\"'\\]{8,63})|[^\s]+ [\"']?([^\s\"'\\]{8,63}))",
    ),
    anywhere(
        "dsn-password",
        "MySQL",
        r"[\w.%-]+:",
        r"([^\s\"'`/:]{3,64})@(?:tcp|udp|unix|cloudsql\w*)\(",
        judge.is_given_password,
    ),
)
