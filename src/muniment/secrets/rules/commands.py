"""Passwords where a program takes them: on command lines and in the files that stand for a command line."""

from muniment.secrets import judge
from muniment.secrets.rule import Rule, anywhere, block, command

_CLIENTS = (
    r"my(?:sql\w*|cli)|maria\w+(?:-dump)?|mongo\w*|redis-cli|(?:docker|podman|registry|helm registry|az) login|ldap\w+|"
    r"htpasswd|twine|7z|7za|unrar"
)
_START = r"(?:\A|[^\w.-])"
"""A program and not the end of a file's name, as in `.htpasswd`."""
_WORD = r"[\"']?([^\s\"'\\]{4,})"
_BETWEEN = r"(?:[^\n]*? )??"
_PAIRS = r"[\w.-]+=[^\s;\"'\\]+(?:;[ ]?[\w.-]+=[^\s;\"'\\]+)*"


def _is_no_port(secret: str, name: str) -> bool:
    """`-p 6380` is a port for some programs and a password for others."""
    return judge.is_given_password(secret, name) and not (secret.isdigit() and len(secret) < 6)


COMMANDS: tuple[Rule, ...] = (
    command(
        "curl-password",
        "password of a command",
        rf"{_START}(?:curl|http|https|wget) ",
        rf"{_BETWEEN}(?:-u|--user|-a)[ =]{{0,2}}[\"']?[^\s:\"'/$]{{1,80}}:([^\s\"'\\]{{4,}})",
    ),
    command(
        "curl-cookie",
        "Cookie header",
        rf"{_START}curl ",
        rf"{_BETWEEN}(?:-b|--cookie)[ =]{{0,2}}[\"']?({_PAIRS})",
        judge.is_cookie,
    ),
    command("sshpass", "password of a command", rf"{_START}sshpass -p", rf" {{0,2}}{_WORD}"),
    command(
        "client-password",
        "password of a command",
        rf"{_START}(?:{_CLIENTS}) ",
        rf"(?:[^\n|;&]*? )??(?:-p{_WORD}|(?:-p|-a|-w) {{1,2}}{_WORD}|-\w?b\w* [^\s]+ [^\s]+ {_WORD}"
        rf"|-n\w*b [^\s]+ {_WORD})",
        _is_no_port,
    ),
    command(
        "upper-option", "password of a command", rf"{_START}(?:sqlcmd|bcp|zip|unzip) ", rf"{_BETWEEN}-P {{0,2}}{_WORD}"
    ),
    command(
        "passing-option",
        "password of a command",
        rf"{_START}(?:openssl|keytool|jarsigner|redis-server|redis-cli) ",
        r"(?:[^\n|;&]*? )??(?:-pass(?:in|out)?[ =]pass:|-(?:store|key|dest|src)(?:store)?pass |--requirepass "
        rf"|--masterauth |-k ){_WORD}",
    ),
    anywhere("redis-password", "Redis", r"\b(?:requirepass|masterauth)[ \t]", _WORD, judge.is_given_password),
    block(
        "netrc",
        "netrc",
        r"\bmachine [\w.-]",
        r"[\w.-]*\s+login\s+[^\s\\]+\s+(?:account\s+[^\s\\]+\s+)?password\s+([^\s\\\"']{4,})",
    ),
    block(
        "pgpass",
        "PostgreSQL",
        r"(?:\A|[\s\"'`:+>-])[\w.*-]+:(?:[0-9]?54[0-9]{2}|6432|6543|2[56][0-9]{3}|\*):",
        r"[\w*.-]+:[\w*.@-]+:([^\s:\"'`\\]{4,})",
    ),
    command(
        "wifi-password",
        "Wi-Fi",
        rf"{_START}(?:WIFI:|nmcli )",
        r"(?:(?:[^\n]*?;)??P:([^;\s]{8,63});|[^\n]*?[ .](?:password|psk) [\"']?([^\s\"'\\]{8,63}))",
    ),
    command("wpa-passphrase", "Wi-Fi", rf"{_START}wpa_passphrase ", r"[^\s]+ [\"']?([^\s\"'\\]{8,63})"),
    anywhere(
        "dsn-password",
        "MySQL",
        r"[\w.%-]+:",
        r"([^\s\"'`/:]{3,64})@(?:tcp|udp|unix|cloudsql\w*)\(",
        judge.is_given_password,
    ),
)
