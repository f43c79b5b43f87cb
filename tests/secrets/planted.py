"""The planted set: secrets without a shape of their own, and keys, in every form in which a session shows them.

A *kind* makes a new random secret and the name people give it. A *form* writes both as some program, file or terminal
does. What no scanner can decide is left out by `is_decidable`, with the reason; docs/secrets.md says the same.
"""

from __future__ import annotations

import base64
import json
import random
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from tests.secrets import vectors

PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9-]+:[0-9a-f]{8}\]")
WINDOW = 8
"""So many signs of a secret in a row, left over anywhere, are a leak."""


class Secret(NamedTuple):
    """One secret, the name it goes by, and what sort of value it is."""

    kind: str
    name: str
    value: str
    sort: str
    """`token`: shape of its own; `key`: random signs; `password`: signs of any sort; `phrase`: words; `spaced`: words
    with spaces between them."""


class Sample(NamedTuple):
    """A text in which a secret was planted, and the pieces of which none may be left."""

    secret: Secret
    form: str
    text: str
    traces: tuple[str, ...]


# -- kinds

Make = Callable[[random.Random], tuple[str, str, str]]


def _signs(signs: str, count: int, random_: random.Random) -> str:
    return "".join(random_.choices(signs, k=count))


def _password(random_: random.Random) -> tuple[str, str, str]:
    """As a password manager makes one: letters of both cases, digits and other signs."""
    some = [_signs(kind, 1, random_) for kind in (vectors.UPPER, vectors.LOWER, vectors.DIGITS, "!#^_+.")]
    more = list(_signs(vectors.KINDS["pw"], random_.randint(8, 20), random_))
    random_.shuffle(some_more := some + more)
    name = random_.choice(["DB_PASSWORD", "SMTP_PASS", "admin_password", "MYSQL_PWD", "dbPassword", "passwd"])
    return name, "k" + "".join(some_more) + "x", "password"


def _key(signs: str, counts: tuple[int, ...]) -> Make:
    names = ["API_KEY", "SERVICE_TOKEN", "client_secret", "accessToken", "X_API_KEY", "SIGNING_KEY"]
    return lambda random_: (random_.choice(names), _signs(signs, random_.choice(counts), random_), "key")


def _uuid(random_: random.Random) -> tuple[str, str, str]:
    return (
        random_.choice(["API_KEY", "SERVICE_TOKEN", "client_secret", "auth_token"]),
        vectors.fill("uuid", 0, random_),
        "key",
    )


def _phrase(between: str, sort: str) -> Make:
    def make(random_: random.Random) -> tuple[str, str, str]:
        name = random_.choice(["DB_PASSWORD", "passphrase", "WIFI_PASSWORD", "BACKUP_PASSPHRASE"])
        return name, between.join(random_.sample(vectors.WORDS, random_.randint(4, 7))), sort

    return make


def _capital_phrase(random_: random.Random) -> tuple[str, str, str]:
    """As generators make it that ask for a capital and a digit: `Velvet-Thunder-Maple-Quartz42`."""
    name = random_.choice(["DB_PASSWORD", "passphrase", "adminPwd", "dbPwd"])
    return (
        name,
        "-".join(word.title() for word in random_.sample(vectors.WORDS, 4)) + _signs("0123456789", 2, random_),
        "phrase",
    )


def _letters(random_: random.Random) -> tuple[str, str, str]:
    """A password in which chance gave no digit."""
    while True:
        value = _signs(vectors.UPPER + vectors.LOWER, random_.randint(14, 18), random_)
        if re.search("[A-Z]{2}[a-z]", value) and sum(sign.isupper() for sign in value) in range(5, 11):
            return random_.choice(["DB_PASSWORD", "MYSQL_PWD", "userPassword"]), value, "password"


def _base64_key(first: str) -> Make:
    def make(random_: random.Random) -> tuple[str, str, str]:
        value = base64.b64encode(random_.randbytes(random_.choice([24, 32, 48]))).decode()
        return random_.choice(["API_KEY", "JWT_SECRET", "ENCRYPTION_KEY"]), first + value[len(first) :], "key"

    return make


def _inside(around: str) -> Make:
    """A password that has its own name in the middle of a connection string."""

    def make(random_: random.Random) -> tuple[str, str, str]:
        password = "k7Q" + _signs(vectors.KINDS["b62"], random_.randint(11, 20), random_)
        return "DSN", around.replace("§", password), f"in {password}"

    return make


def _django(random_: random.Random) -> tuple[str, str, str]:
    return "SECRET_KEY", _signs("abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)", 50, random_), "password"


def _psk(random_: random.Random) -> tuple[str, str, str]:
    return random_.choice(["psk", "wpa_psk", "WIFI_PSK"]), _signs(vectors.KINDS["hex"], 64, random_), "key"


def _dsn(scheme: str, rest: str) -> Make:
    def make(random_: random.Random) -> tuple[str, str, str]:
        password = _signs(vectors.KINDS["b62"], random_.randint(12, 24), random_)
        return "DATABASE_URL", f"{scheme}ada:{password}@{rest}", "dsn"

    return make


KINDS: dict[str, Make] = {
    "password": _password,
    "hex key": _key(vectors.KINDS["hex"], (32, 40, 64)),
    "random key": _key(vectors.KINDS["b62"], (24, 32, 40, 64)),
    "base64url key": _key(vectors.KINDS["url"], (32, 43)),
    "UUID key": _uuid,
    "word passphrase": _phrase("-", "phrase"),
    "word passphrase, joined otherwise": _phrase("_", "phrase"),
    "word passphrase with spaces": _phrase(" ", "spaced"),
    "passphrase with capitals and a number": _capital_phrase,
    "password of letters": _letters,
    "base64 key": _base64_key(""),
    "base64 key with a slash first": _base64_key("/"),
    "libpq string": _inside("host=db user=ada password=§ dbname=main"),
    "ADO string": _inside("Server=db;User Id=ada;Password=§;Encrypt=True"),
    "Django key": _django,
    "Wi-Fi key": _psk,
    "PostgreSQL DSN": _dsn("postgresql://", "db.internal:5432/main"),
    "MySQL DSN": _dsn("", "tcp(db.internal:3306)/main"),
    "MySQL address": _dsn("mysql+pymysql://", "db.internal/main"),
    "MongoDB DSN": _dsn("mongodb+srv://", "cluster0.internal/main"),
    "Redis DSN": _dsn("rediss://", "cache.internal:6380/0"),
    "AMQP DSN": _dsn("amqp://", "mq.internal:5672/%2f"),
    **{
        rule: (lambda random_, rule=rule: ("VALUE", vectors.plant(rule, random_).secret, "token"))
        for rule, line in vectors.LINES.items()
        if "«" not in line and "\n" not in line and rule not in ("mnemonic",)
    },
}


# -- forms of a name and a value

Form = Callable[[str, str], str]

ASSIGNMENTS: dict[str, Form] = {
    "env": lambda n, v: f"PORT=80\n{n}={v}\nDEBUG=1",
    "env, quoted": lambda n, v: f'{n}="{v}"',
    "export": lambda n, v: f"export {n}={v}",
    "YAML": lambda n, v: f"db:\n  {n}: {v}\n  port: 5432",
    "YAML, quoted": lambda n, v: f"  {n}: '{v}'",
    "JSON": lambda n, v: json.dumps({"port": 1, n: v, "on": True}),
    "JSON, indented": lambda n, v: json.dumps({"port": 1, n: v}, indent=2),
    "TOML": lambda n, v: f'[db]\n{n} = "{v}"',
    "INI": lambda n, v: f"[db]\n{n} = {v}\n",
    "properties": lambda n, v: f"spring.datasource.{n}={v}",
    "os.environ": lambda n, v: f'os.environ["{n}"] = "{v}"',
    "os.environ, close": lambda n, v: f"os.environ['{n}']='{v}'",
    "setdefault": lambda n, v: f'os.environ.setdefault("{n}", "{v}")',
    "Python keyword": lambda n, v: f'connect(host="db", {n}="{v}", port=1)',
    "Python dict": lambda n, v: f"conf = {{'host': 'db', '{n}': '{v}'}}",
    "Python annotation": lambda n, v: f'{n}: str = "{v}"',
    "JavaScript object": lambda n, v: f"const c = {{ host: 'db', {n}: '{v}' }};",
    "TypeScript const": lambda n, v: f'const {n}: string = "{v}";',
    "Rust let": lambda n, v: f'    let {n} = "{v}";',
    "Rust let, typed": lambda n, v: f'    let {n}: &str = "{v}";',
    "Rust const": lambda n, v: f'pub const {n}: &\'static str = "{v}";',
    "Rust String": lambda n, v: f'let {n} = String::from("{v}");',
    "Go": lambda n, v: f'{n} := "{v}"',
    "Go var": lambda n, v: f'var {n} string = "{v}"',
    "C#": lambda n, v: f'private string {n} = "{v}";',
    "Java": lambda n, v: f'static final String {n} = "{v}";',
    "PHP define": lambda n, v: f"define('{n}', '{v}');",
    "PHP array": lambda n, v: f"  '{n}' => '{v}',",
    "Ruby": lambda n, v: f"ENV['{n}'] = '{v}'",
    "PowerShell": lambda n, v: f'$env:{n} = "{v}"',
    "Dockerfile": lambda n, v: f"ENV {n} {v}",
    "Kubernetes": lambda n, v: json.dumps([{"name": n, "value": v}]),
    "Kubernetes YAML": lambda n, v: f'  - name: {n}\n    value: "{v}"',
    "flag": lambda n, v: f"deploy --{_dashed(n)} {v} --yes",
    "flag, equals": lambda n, v: f"deploy --{_dashed(n)}={v} --yes",
    "header": lambda n, v: f"GET / HTTP/1.1\nHost: a\nX-{_dashed(n).title()}: {v}\nAccept: */*",
    "curl header": lambda n, v: f"curl -s -H 'X-{_dashed(n).title()}: {v}' https://api.internal/",
    "query": lambda n, v: f"https://api.internal/v1?page=2&{n}={quote(v, safe='')}&sort=asc",
    "XML element": lambda n, v: f"<config><{n}>{v}</{n}></config>",
    "XML attribute": lambda n, v: f'<server host="db" {n}="{v}" port="1"/>',
    "XML add": lambda n, v: f'<add key="{n}" value="{v}" />',
    "Markdown table": lambda n, v: f"| Name | Value |\n| --- | --- |\n| {n} | {v} |\n",
    "Markdown table, code": lambda n, v: f"| `{n}` | `{v}` |",
    "Markdown bullet": lambda n, v: f"- **{n}:** `{v}`",
    "Markdown bullet, bold name": lambda n, v: f"- **{n}**: {v}",
    "ANSI": lambda n, v: f"\x1b[36m{n}\x1b[0m: \x1b[1;32m{v}\x1b[0m\r\n",
    "ANSI, matched name": lambda n, v: f"\x1b[01;31m\x1b[K{n}\x1b[m\x1b[K={v}",
    "connection string": lambda n, v: f"Server=db;Database=main;User Id=ada;{n}={v};Timeout=30",
    "shell, many": lambda n, v: f"HOST=db {n}='{v}' ./run.sh",
    "env behind an empty one": lambda n, v: f"{n}=\nMY_{n}={v}\n",
    "diff of an empty one": lambda n, v: f"@@ -1 +1 @@\n-{n}=\n+{n}={v}\n",
    "shell default": lambda n, v: f'{n}: "${{{n}:-{v}}}"',
    "sed": lambda n, v: f"sed -i 's|^{n}=.*|{n}={v}|' .env",
    "Kubernetes YAML, deep": lambda n, v: f"        env:\n            - name: {n}\n              value: {v}\n",
    "YAML block": lambda n, v: f"  {n}: |\n    {v}\n  port: 1",
    "YAML folded": lambda n, v: f"  {n}: >-\n    {v}\n  port: 1",
    "plist": lambda n, v: f"<key>{n}</key>\n<string>{v}</string>",
    "XML, own line": lambda n, v: f"<{n}>\n    {v}\n</{n}>",
    "HTML entities": lambda n, v: f"&quot;{n}&quot;: &quot;{v}&quot;",
    "HTML table": lambda n, v: f"<tr><td>{n}</td><td>{v}</td></tr>",
    "C define": lambda n, v: f'#define {n} "{v}"',
    "C array": lambda n, v: f'static const char {n}[] = "{v}";',
    "JavaScript ||": lambda n, v: f"const s = process.env.{n} || '{v}';",
    "JavaScript ??": lambda n, v: f'const s = process.env.{n} ?? "{v}";',
    "Python Final": lambda n, v: f'{n}: Final[str] = "{v}"',
    "Python Optional": lambda n, v: f'{n}: Optional[str] = "{v}"',
    "Python bytes": lambda n, v: f'{n} = b"{v}"',
    "Python parentheses": lambda n, v: f'{n} = (\n    "{v}"\n)',
    "pydantic": lambda n, v: f'{n}: SecretStr = SecretStr("{v}")',
    "Rust Some": lambda n, v: f'{n}: Some("{v}"),',
    "Rust raw": lambda n, v: f'let {n} = r#"{v}"#;',
    "setter": lambda n, v: f'source.set{n}("{v}");',
    "JSON list": lambda n, v: json.dumps({n: [v]}),
    "Terraform": lambda n, v: f'variable "{n}" {{\n  default = "{v}"\n}}',
    "gh secret": lambda n, v: f'gh secret set {n} --body "{v}"',
    "columns": lambda n, v: f"{n:<30}{v}",
    "cat -A": lambda n, v: f"PORT=1$\n{n}={v}$\nDEBUG=1$",
    "box": lambda n, v: f"│ {n} │ {v} │",
    "prose, is": lambda n, v: f"The {n} is `{v}`, please use it.",
}

ALONE: dict[str, Form] = {
    "Bearer": lambda n, v: f"Authorization: Bearer {v}",
    "curl Bearer": lambda n, v: f'curl -H "Authorization: Bearer {v}" https://api.internal',
    "Cookie": lambda n, v: f"Cookie: theme=dark; sessionid={v}; lang=en",
    "Set-Cookie": lambda n, v: f"Set-Cookie: session={v}; Path=/; HttpOnly",
    "curl -b": lambda n, v: f"curl -b 'sid={v}' https://api.internal",
    "curl --cookie": lambda n, v: f'curl --cookie "lang=en; sid={v}" https://api.internal',
    "curl cookie": lambda n, v: f"curl -b 'a=1' -H 'Cookie: sid={v}' https://api.internal",
}

PASSWORDS: dict[str, Form] = {
    "mysql -p": lambda n, v: f"mysql -u root -p{v} -h db main",
    "mysqldump -p": lambda n, v: f"mysqldump -uroot -p'{v}' main > dump.sql",
    "redis-cli -a": lambda n, v: f"redis-cli -h cache -a {v} PING",
    "mongosh -p": lambda n, v: f"mongosh -u ada -p {v} mongodb://db.internal",
    "docker login -p": lambda n, v: f"docker login -u ada -p {v} registry.internal",
    "curl -u": lambda n, v: f"curl -u ada:{v} https://api.internal/",
    "curl --user": lambda n, v: f"curl -sS --user 'ada:{v}' https://api.internal/",
    "sshpass": lambda n, v: f"sshpass -p '{v}' ssh ada@host",
    "pgpass": lambda n, v: f"db.internal:5432:main:ada:{v}\n",
    "pgpass, any": lambda n, v: f"*:*:*:ada:{v}",
    "netrc": lambda n, v: f"machine api.internal\n  login ada\n  password {v}\n",
    "nmcli": lambda n, v: f"nmcli dev wifi connect Home password '{v}'",
    "WIFI code": lambda n, v: f"WIFI:S:Home;T:WPA;P:{v};;",
    "wpa_supplicant": lambda n, v: f'network={{\n  ssid="Home"\n  psk="{v}"\n}}',
    "wpa_passphrase": lambda n, v: f"wpa_passphrase Home '{v}'",
    "docker auth": lambda n, v: json.dumps({"auths": {"r.internal": {"auth": _base64(f"ada:{v}")}}}),
    "npmrc auth": lambda n, v: f"//r.internal/:_auth={_base64(f'ada:{v}')}",
    "Basic": lambda n, v: f"Authorization: Basic {_base64(f'ada:{v}')}",
    "ansible inventory": lambda n, v: f"web1 ansible_host=10.0.0.1 ansible_user=ada ansible_password={v}",
    "ansible become": lambda n, v: f"ansible_become_pass: {v}",
    "ansible ssh": lambda n, v: f'ansible_ssh_pass="{v}"',
    "libpq": lambda n, v: f"host=db user=ada password={v} dbname=main",
    "PGPASSWORD": lambda n, v: f"PGPASSWORD={v} psql -h db",
    "JDBC": lambda n, v: f"jdbc:mysql://db:3306/main?user=ada&password={v}&useSSL=false",
    "address": lambda n, v: f"https://ada:{v}@git.internal/repo.git",
    "address, with signs": lambda n, v: (
        f"postgres://ada:ab@{v}@db.internal/main postgres://ada:7xQ${v}9*@db.internal/main"
    ),
    "SQL password": lambda n, v: f"CREATE USER ada WITH PASSWORD '{v}';",
    "SQL identified": lambda n, v: f"CREATE USER 'ada'@'%' IDENTIFIED BY '{v}';",
    "requirepass": lambda n, v: f"port 6379\nrequirepass {v}\n",
    "SSHPASS": lambda n, v: f"SSHPASS={v} sshpass -e ssh host",
    "storepass": lambda n, v: f"keytool -list -storepass {v} -keystore a.jks",
    "passin": lambda n, v: f"openssl rsa -in k.pem -passin pass:{v}",
    "sqlcmd -P": lambda n, v: f"sqlcmd -S db -U sa -P '{v}' -Q 'select 1'",
    "pass": lambda n, v: f'auth: {{ user: "ada", pass: "{v}" }}',
    "HTTPBasicAuth": lambda n, v: f"HTTPBasicAuth('ada', '{v}')",
}


def _dashed(name: str) -> str:
    return name.replace("_", "-").lower()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


# -- ways in which a whole text is shown

Way = Callable[[str], str]

WAYS: dict[str, Way] = {
    "as it is": lambda text: text,
    "JSON in JSON": lambda text: json.dumps({"out": text}),
    "JSON in JSON, twice": lambda text: json.dumps({"a": json.dumps({"out": text})}),
    "JSON in JSON, three times": lambda text: json.dumps([json.dumps({"a": json.dumps({"out": text})})]),
    "grep -n": lambda text: "\n".join(f"{n}:{line}" for n, line in enumerate(text.splitlines(), 12)),
    "grep of files": lambda text: "\n".join(f"src/a-b.txt:{n}:{line}" for n, line in enumerate(text.splitlines(), 12)),
    "cat -n": lambda text: "\n".join(f"{n:6}\t{line}" for n, line in enumerate(text.splitlines(), 1)),
    "Read of an agent": lambda text: "\n".join(f"{n:6}→{line}" for n, line in enumerate(text.splitlines(), 1)),
    "diff, added": lambda text: "\n".join(f"+{line}" for line in text.splitlines()),
    "diff, removed": lambda text: "\n".join(f"-{line}" for line in text.splitlines()),
    "quoted": lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
}

LISTINGS: dict[str, Way] = {
    "cat -A": lambda text: _each(text, lambda n, line: f"{line}$"),
    "bat": lambda text: _each(text, lambda n, line: f"{n:4} │ {line}"),
    "box": lambda text: _each(text, lambda n, line: f"│ {line:<72} │"),
    "log": lambda text: _each(text, lambda n, line: f"2026-01-02T03:04:05Z app[1]: {line}"),
    "git blame": lambda text: _each(text, lambda n, line: f"^3f2a1b9 (Ada L 2026-01-02 10:11:12 +0100 {n:3}) {line}"),
    "grep on Windows": lambda text: _each(text, lambda n, line: rf"C:\keys\a.txt:{n}:{line}"),
    "Read of an agent, in ASCII JSON": lambda text: json.dumps(_each(text, lambda n, line: f"{n:6}→{line}")),
    "entities": lambda text: text.replace("\n", "&#10;"),
    "numbers for line ends": lambda text: text.replace("\n", "\\u000a"),
}
"""Ways in which a key is shown that has its first line or its last."""


def _each(text: str, show: Callable[[int, str], str]) -> str:
    return "\n".join(show(number, line) for number, line in enumerate(text.splitlines(), 1))


_BROKEN = {
    "backslash": lambda a, b: f"{a}\\\n{b}",
    "quotes and plus": lambda a, b: f'{a}" +\n        "{b}',
    "quotes": lambda a, b: f'{a}"\n    "{b}',
}


def broken_forms(secret: Secret, random_: random.Random) -> Iterator[Sample]:
    """Split over two lines, each half being long enough to be a leak."""
    value = secret.value
    cut = random_.randint(min(6, len(value) // 2), len(value) - min(6, len(value) // 2))
    first, second = value[:cut], value[cut:]
    for how, join in _BROKEN.items():
        yield _sample(secret, f"split by {how}", f'{secret.name} = "{join(first, second)}"', first, second)
    lead = f"2026-11-18T06:27:55Z app[1]: loaded the settings of the service, {secret.name}="
    width = random_.randint(max(76, len(lead) + 1), 80) if len(lead) < 80 else len(lead) + 4
    wrapped = lead + value
    lines = [wrapped[at : at + width] for at in range(0, len(wrapped), width)]
    yield _sample(secret, "wrapped at 76 to 80 columns", "\n".join(lines), *_parts(value, len(lead), width))


def _parts(value: str, lead: int, width: int) -> list[str]:
    cuts = [at - lead for at in range(width, lead + len(value), width) if at > lead]
    return [value[a:b] for a, b in zip([0, *cuts], [*cuts, len(value)], strict=True)]


def encoded_forms(secret: Secret) -> Iterator[Sample]:
    """In base64 and in an address."""
    line = f"{secret.name}={secret.value}"
    start = len(line) - len(secret.value)
    code = _base64(line + "\n")
    yield _sample(secret, "base64", f"data: {code}", code[-(-start // 3) * 4 : len(line) // 3 * 4])
    wrapped = "\n".join(textwrap.wrap(_base64(f"PORT=80\nHOST=db.internal\n{line}\nDEBUG=1\n"), 40))
    yield _sample(secret, "base64 in lines", wrapped)
    yield _sample(secret, "URL-encoded", f"GET /cb?state={quote(line, safe='')}&x=1", quote(secret.value, safe=""))


# -- samples


def _sample(secret: Secret, form: str, text: str, *traces: str) -> Sample:
    return Sample(secret, form, text, traces)


def is_decidable(secret: Secret, form: str) -> bool:
    """Whether a reader who knows neither would tell the secret from something else."""
    if secret.sort == "spaced":
        # Without quotes, nothing tells where words that are a value end and words about it begin.
        return any(mark in ASSIGNMENTS[form]("N", "§") for mark in ('"§"', "'§'", "`§`", ">§<")) and form != "prose, is"
    if secret.sort == "phrase":
        return form not in ("prose, is",)
    if secret.kind == "Django key":
        # Other signs end a bare value in these languages, so it stands there in quotes.
        return form not in ("shell default", "sed", "flag", "shell, many", "cat -A", "connection string")
    if secret.sort == "dsn" and form == "query":
        return "://" in secret.value
    if secret.sort.startswith("in "):
        # In an address its own signs are escaped, and a value with spaces stands in quotes.
        return form not in ("query", "Dockerfile", "flag", "sed", "shell default")
    return True


def make(kind: str, random_: random.Random) -> Secret:
    return Secret(kind, *KINDS[kind](random_))


def samples(kind: str, random_: random.Random) -> Iterator[Sample]:
    """A new secret of a kind for every form that can hold it."""
    for form, write in ASSIGNMENTS.items():
        secret = make(kind, random_)
        if is_decidable(secret, form):
            traces = () if secret.sort.startswith("in ") else (quote(secret.value, safe=""),)
            yield _sample(secret, form, write(secret.name, secret.value), *traces)
    for way, show in list(WAYS.items())[1:]:
        secret = make(kind, random_)
        yield _sample(secret, way, show(f'first\n{secret.name}="{secret.value}"\nlast'))
    yield from _by_sort(kind, random_)


def _by_sort(kind: str, random_: random.Random) -> Iterator[Sample]:
    secret = make(kind, random_)
    if secret.sort in ("key", "token"):
        for form, write in ALONE.items():
            secret = make(kind, random_)
            yield _sample(secret, form, write(secret.name, secret.value))
    if kind == "password":
        for form, write in PASSWORDS.items():
            secret = make(kind, random_)
            yield _sample(secret, form, write(secret.name, secret.value), _base64(f"ada:{secret.value}"))
    if secret.sort in ("key", "token", "password") and kind != "Django key":
        yield from broken_forms(make(kind, random_), random_)
        yield from encoded_forms(make(kind, random_))


def is_left(sample: Sample, shown: str) -> bool:
    """Whether so much of the secret can still be read that it is a leak."""
    value = sample.secret.value
    if sample.secret.sort.startswith("in "):
        value = sample.secret.sort.removeprefix("in ")
    if sample.secret.sort == "dsn":
        value = value.split("@")[0].split(":")[-1]
    shown = PLACEHOLDER.sub("", shown)
    pieces = [piece for piece in sample.traces if len(piece) >= WINDOW]
    windows = {value[at : at + WINDOW] for at in range(len(value) - WINDOW + 1)}
    return any(window in shown for window in windows) or any(piece in shown for piece in pieces)
