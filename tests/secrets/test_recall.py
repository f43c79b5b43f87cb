"""Planted secrets are found, in every form; harmless text is left alone."""

from __future__ import annotations

import random

import pytest

from muniment.secrets import RULES, find, redact
from tests.secrets import planted
from tests.secrets.forms import FORMS, NOT_IN_ADDRESSES
from tests.secrets.vectors import LINES, plant

VALUES = 20
KEY = b"k" * 32


def test_every_rule_has_vectors_and_there_are_enough_families() -> None:
    assert {rule.id for rule in RULES} == set(LINES)
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert len({rule.family for rule in RULES}) >= 60


@pytest.mark.parametrize("form", FORMS)
def test_planted_secrets_are_found(form: str) -> None:
    rules = [rule for rule in LINES if form != "in_address" or rule not in NOT_IN_ADDRESSES]
    random_ = random.Random(20261104)
    left: list[str] = []
    for rule in rules:
        for _ in range(VALUES):
            text, traces = FORMS[form](plant(rule, random_))
            shown, found = redact(text, KEY)
            if not found or any(trace in shown for trace in traces):
                left.append(rule)
    assert len(left) <= 0.01 * VALUES * len(rules), sorted(set(left))
    assert all(left.count(rule) <= VALUES // 4 for rule in left), "no rule is blind for a form"


SEEDS = range(3)
NAMED_KINDS = [kind for kind in planted.KINDS if kind not in LINES]
MOST_MISSED = 0.01


def missed(samples: list[planted.Sample]) -> list[str]:
    return [
        f"{sample.secret.kind}: {sample.form}"
        for sample in samples
        if planted.is_left(sample, redact(sample.text, KEY)[0])
    ]


@pytest.mark.parametrize("kind", NAMED_KINDS)
def test_secrets_known_by_name_go_in_every_form(kind: str) -> None:
    samples = [s for seed in SEEDS for s in planted.samples(kind, random.Random(f"known by name {seed} {kind}"))]
    left = missed(samples)
    assert len(left) <= max(1, MOST_MISSED * len(samples)), left
    assert all(left.count(which) < len(SEEDS) for which in left), "no form is blind for a kind"


@pytest.mark.parametrize("group", range(10))
def test_secrets_with_a_shape_go_in_every_form(group: int) -> None:
    """Each kind in a tenth of the forms, so that together they meet all."""
    samples: list[planted.Sample] = []
    for number, kind in enumerate(kind for kind in planted.KINDS if kind in LINES):
        every = list(planted.samples(kind, random.Random(f"shape {kind}")))
        samples += every[(number + group) % 10 :: 10] if number % 10 == group else []
    left = missed(samples)
    assert samples
    assert len(left) <= max(1, MOST_MISSED * len(samples)), left


def test_a_secret_goes_by_the_name_of_its_rule() -> None:
    random_ = random.Random(7)
    for rule in LINES:
        planted = plant(rule, random_)
        text = f"see {planted.line} there"
        assert [(f.rule.id, text[f.start : f.end]) for f in find(text)] == [(rule, planted.secret)]


HARMLESS = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 by ada",
    "session 3f2b8c1e-7d4a-4f6b-9a1e-2c5d8e7f0a3b token count 1200",
    '"integrity": "sha512-rWuuP1Xl2wmPC4Lx1h3YdmNBjhGgVK1pQyZ3M7bJ0Y1xUr4pVc0E1nT8hWqk5L9sDfG2aZ6oXbIiQe7jRtCvFg=="',
    "requests==2.32.3 --hash=sha256:70761cfe03c773ceb22aa2f671b4757976145175cdfca038c02654d061d6dcc6",
    'password = os.environ["DATABASE_PASSWORD_2"]',
    "token = await client.fetch_access_token_v2(user_id)",
    "const secretKey = config.security.secretKeyBase64V2",
    "secret_key: ${{ secrets.DEPLOY_KEY_2024 }}",
    "api_key: <your-api-key-goes-here-123>",
    "OPENAI_API_KEY=sk-" + "x" * 48,
    "ANTHROPIC_API_KEY=sk-ant-api03-" + "your-key-goes-here-for-real",
    "GITHUB_TOKEN=ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "aws_access_key_id = AKIA" + "IOSFODNN7EXAMPLE",
    "postgres://postgres:postgres@localhost:5432/app",
    "postgres://user:password@localhost/db and redis://:${REDIS_PASSWORD}@cache:6379",
    "https://user:***@host.example and mysql://root:<password>@db",
    "git@github.com:ada/engine.git and https://github.com/ada/engine/pull/12:files@main",
    "the next_page_token: CAUQAA4x9LmQ2Zr7TtY0pWcVbN3s8K",
    "cache_key = 'users:v2:9f8e7d6c5b4a39281706f5e4d3c2b1a0:list'",
    "max_tokens: 8192, input_tokens=120394, tokenizer: microsoft/Phi-3-mini-4k-instruct",
    "the password is wrong; passwords have at least 12 characters",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    "look for a line such as -----BEGIN RSA PRIVATE KEY----- in the file",
    "task-list sk-learn-style disk-usage-of-the-whole-machine-by-folder",
    "basic configuration of bearer authenticationhandlers2",
    "secretName: my-tls-certificate-secret-v2",
    'privateKeyPath="/home/ada/.ssh/id_ed25519_work_2024"',
    "Set the header Authorization: Bearer YOUR_ACCESS_TOKEN_12345678",
    "docker run -u 1000:1000 -p 8080:80 ghcr.io/ada/engine@sha256:9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a3928",
    "AAChAAAHUSAACtEgAAghMAAE8UAAB/EAAAoBUAACMUAACJEgAAixQAAE0VAADUEQAAzxQAABAYAADJFgAA3BYAAMERAADgFwAAuxQAAHQUAAB8",
    "const wrapped = await wrapKey(ipnsKeypair.privateKey, keypair1.publicKey);",
    'HKDF(privateKey, "ciphertext-vault-ipns-v1") and expect(CREDENTIALS.otp, "WEB3AUTH_TEST_OTP")',
    "publish.yml:18:      NPM_TOKEN:\n.github/workflows/publish.yml:29:          - publish-next",
    "const password = `Guest${id}Ab1!`;",
    "| Top-N | 5/10/15 | PASS | Heurística42 |",
    "redis-cli -h 192.168.1.4 -p 6380 ping",
    "mysql -u root -p --password main",
    "sessionId: 0a93878f-dc30-4a5d-882f-3cd81cd3d499, access_token_id=0a93878f-dc30-4a5d-882f-3cd81cd3d499",
    'password: "must be at least eight letters and one digit"',
    "a sentence of twelve words about the anchor basket candle dragon and harbor",
    "src/main.py:5432:class:name:value and 10:15:20:main:start",
    "Authorization: Bearer ${TOKEN} and Cookie: theme=dark; lang=en",
    "[redacted:github-token:1f3a9c27] and password: [redacted:password:00ff00ff]",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert [(f.rule.id, text[f.start : f.end]) for f in find(text)] == []
