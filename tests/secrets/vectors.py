"""Secrets to plant: for every rule a line as people would meet it, filled with new random signs at each call.

No secret stands in this file. `{hex:40}` is forty random signs of that kind; what is secret in a line stands between
`«` and `»`, and without them all of it is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import string
import uuid
from typing import NamedTuple

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
KINDS = {
    "hex": "0123456789abcdef",
    "b62": UPPER + LOWER + DIGITS,
    "b36": LOWER + DIGITS,
    "up": UPPER + DIGITS,
    "b32": UPPER + "234567",
    "url": UPPER + LOWER + DIGITS + "-_",
    "b64": UPPER + LOWER + DIGITS + "+/",
    "dig": DIGITS,
    "django": LOWER + DIGITS + "!@#$%^&*(-_=+)",
    "pw": UPPER + LOWER + DIGITS + "!#^_+.",
}


_WORDS = (
    "anchor basket candle dragon ember falcon garden harbor island jacket kettle ladder magnet napkin orchid "
    "pepper quartz ribbon saddle timber umbrella velvet walnut yellow zipper copper meadow pirate rocket "
    "silver thunder violin window bamboo cactus desert eagle forest glacier hammer igloo jungle kitten lemon "
    "mirror noodle ocean planet rabbit salmon tunnel valley wizard acorn bridge cotton dinner engine flower "
    "guitar hockey insect jelly kidney lizard"
)
WORDS = _WORDS.split()


class Planted(NamedTuple):
    """One secret in its line."""

    rule: str
    line: str
    secret: str


LINES = {
    # models
    "anthropic-key": "sk-ant-api03-{url:93}AA",
    "openrouter-key": "sk-or-v1-{hex:64}",
    "langfuse-key": "sk-lf-{uuid}",
    "openai-key": "sk-proj-{url:74}T3Blbk" + "FJ{url:74}",
    "sk-key": "sk-{b62:48}",
    "groq-key": "gsk_{b62:52}",
    "xai-key": "xai-{b62:80}",
    "perplexity-key": "pplx-{b62:48}",
    "cerebras-key": "csk-{b36:48}",
    "nvidia-key": "nvapi-{url:64}",
    "together-key": "tgp_v1_{url:43}",
    "fireworks-key": "fw_{b62:24}",
    "hugging-face-token": "hf_{b62:34}",
    "replicate-token": "r8_{b62:37}",
    "elevenlabs-key": "sk_{hex:48}",
    "jina-key": "jina_{hex:32}{url:28}",
    "pinecone-key": "pcsk_{b62:6}_{b62:62}",
    "langsmith-key": "lsv2_pt_{hex:32}_{hex:10}",
    "tavily-key": "tvly-dev-{b62:32}",
    "firecrawl-key": "fc-{hex:32}",
    "e2b-key": "e2b_{hex:40}",
    "browserbase-key": "bb_live_{url:27}",
    "wandb-key": "WANDB_API_KEY=«{hex:40}»",
    "cohere-key": "COHERE_API_KEY: «{b62:40}»",
    "mistral-key": 'export MISTRAL_API_KEY="«{b62:32}»"',
    "deepgram-key": "DEEPGRAM_API_KEY=«{hex:40}»",
    # code
    "github-token": "ghp_{b62:36}",
    "github-pat": "github_pat_{b62:22}_{b62:59}",
    "gitlab-token": "glpat-{url:20}",
    "bitbucket-token": "ATBB{b62:32}",
    "sourcegraph-token": "sgp_{hex:16}_{hex:40}",
    "npm-token": "npm_{b62:36}",
    "npmrc-token": "//registry.npmjs.org/:_authToken=«{b62:40}»",
    "pypi-token": "pypi-AgEIcHlwaS5vcmc{url:140}",
    "rubygems-key": "rubygems_{hex:48}",
    "crates-token": "cio{b62:32}",
    "nuget-key": "oy2{b36:43}",
    "clojars-token": "CLOJARS_{hex:60}",
    "docker-token": "dckr_pat_{url:27}",
    "artifactory-token": "AKCp{b62:69}",
    "circleci-token": "CCIPAT_{b62:22}_{hex:40}",
    "buildkite-token": "bkua_{hex:40}",
    "sonar-token": "squ_{hex:40}",
    "postman-key": "PMAK-{hex:24}-{hex:34}",
    "prefect-key": "pnu_{b62:36}",
    "deno-token": "ddp_{b62:36}",
    "snyk-token": "snyk_uat.{hex:8}.{url:60}",
    "codecov-token": "CODECOV_TOKEN=«{hex:32}»",
    # clouds
    "aws-access-key": "AKIA{b32:16}",
    "aws-bedrock-key": "ABSK{b64:128}==",
    "aws-secret-key": "aws_secret_access_key = «{b64:40}»",
    "aws-session-token": "AWS_SESSION_TOKEN=«IQoJb3JpZ2luX2Vj{b64:400}==»",
    "google-api-key": "AIza{url:35}",
    "google-auth-key": "AQ.Ab8{url:48}",
    "google-access-token": "ya29.{url:160}",
    "google-client-secret": "GOCSPX-{url:28}",
    "google-refresh-token": "1//0{url:60}",
    "gcp-key-id": '"private_key_id": "«{hex:40}»",',
    "azure-account-key": "AccountName=ada;AccountKey=«{b64:86}==»;EndpointSuffix=core.windows.net",
    "azure-shared-key": "SharedAccessKeyName=root;SharedAccessKey=«{b64:43}=»",
    "azure-sas": "https://ada.blob.core.windows.net/c?sv=2024-11-04&sr=c&sig=«{b64:43}%3D»",
    "azure-client-secret": "{b62:3}8Q~{url:34}",
    "azure-devops-token": "{b62:76}AZDO{b62:4}",
    "digitalocean-token": "dop_v1_{hex:64}",
    "cloudflare-token": "cfut_{b62:48}",
    "cloudflare-origin-key": "v1.0-{hex:24}-{hex:146}",
    "cloudflare-key": "CLOUDFLARE_API_TOKEN=«{url:40}»",
    "heroku-token": "HRKU-{url:60}",
    "heroku-key": "HEROKU_API_KEY=«{uuid}»",
    "linode-token": "LINODE_TOKEN=«{hex:64}»",
    "hetzner-token": "HCLOUD_TOKEN=«{b62:64}»",
    "alibaba-access-key": "LTAI{b62:20}",
    "tencent-secret-id": "AKID{b62:32}",
    "fly-token": "FlyV1 «fm2_{b64:200}»",
    "render-key": "rnd_{b62:32}",
    "railway-token": "RAILWAY_TOKEN=«{uuid}»",
    "vercel-token": "vcp_{b62:56}",
    "vercel-key": "VERCEL_TOKEN=«{b62:24}»",
    "netlify-token": "nfp_{b62:36}",
    "supabase-token": "sbp_{hex:40}",
    "planetscale-token": "pscale_tkn_{url:43}",
    "neon-key": "napi_{b36:64}",
    "mongodb-atlas-secret": "mdb_sa_sk_{url:40}",
    "databricks-token": "dapi{hex:32}",
    "cockroach-key": "CCDB1_{b62:22}_{b62:40}",
    "vault-token": "hvs.{url:90}",
    "terraform-token": "{b62:14}.atlasv1.{url:67}",
    "doppler-token": "dp.st.prd.{b62:43}",
    "onepassword-token": "ops_eyJ{url:400}",
    "pulumi-token": "pul-{hex:40}",
    "tailscale-key": "tskey-auth-{b62:16}-{b62:32}",
    "openshift-token": "sha256~{url:43}",
    # messages
    "slack-token": "xoxb-{dig:12}-{dig:12}-{b62:24}",
    "slack-app-token": "xapp-1-A{up:10}-{dig:13}-{hex:64}",
    "slack-webhook": "https://hooks.slack.com/services/«T{up:10}/B{up:10}/{b62:24}»",
    "discord-webhook": "https://discord.com/api/webhooks/«{dig:19}/{url:68}»",
    "discord-token": "{snowflake}.{url:6}.{url:38}",
    "telegram-token": "{dig:10}:AA{url:33}",
    "teams-webhook": "https://ada.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/«{hex:32}/{uuid}»",
    "twilio-key": "SK{hex:32}",
    "twilio-token": "TWILIO_AUTH_TOKEN=«{hex:32}»",
    "sendgrid-key": "SG.{url:22}.{url:43}",
    "mailgun-key": "key-{hex:32}",
    "mailgun-token": "MAILGUN_KEY=«{hex:32}-{hex:8}-{hex:8}»",
    "mailchimp-key": "{hex:32}-us21",
    "brevo-key": "xkeysib-{hex:64}-{b62:16}",
    "resend-key": "re_{b62:8}_{b62:24}",
    "fcm-key": "AAAA{url:7}:{url:140}",
    # payments
    "stripe-key": "sk_live_{b62:99}",
    "webhook-secret": "whsec_{b64:32}",
    "square-token": "EAAA{url:59}a",
    "square-secret": "sq0csp-{url:43}",
    "braintree-token": "access_token$production${b36:16}${hex:32}",
    "plaid-token": "access-production-{uuid}",
    "shopify-token": "shpat_{hex:32}",
    "flutterwave-key": "FLWSECK-{b62:32}-X",
    "paddle-key": "pdl_live_apikey_{b36:26}_{b62:22}_{b62:3}",
    "easypost-key": "EZAK{b62:54}",
    "shippo-token": "shippo_live_{hex:40}",
    "duffel-token": "duffel_live_{url:43}",
    # work
    "linear-key": "lin_api_{b62:40}",
    "notion-token": "ntn_{b62:46}",
    "notion-secret": "secret_{b62:43}",
    "figma-token": "figd_{url:40}",
    "airtable-token": "pat{b62:14}.{hex:64}",
    "atlassian-token": "ATATT3xFfGF0{url:170}={hex:8}",
    "trello-token": "ATTA{hex:64}",
    "asana-token": "1/{dig:16}:{hex:32}",
    "clickup-token": "pk_{dig:8}_{up:32}",
    "hubspot-token": "pat-na1-{uuid}",
    "dropbox-token": "sl.u.{url:140}",
    "typeform-token": "tfp_{url:59}",
    "contentful-token": "CFPAT-{url:43}",
    "readme-key": "rdme_{b36:70}",
    "launchdarkly-key": "sdk-{uuid}",
    "mapbox-token": "sk.eyJ{b62:80}.{url:22}",
    "facebook-token": "EAA{b62:180}",
    "twitter-bearer": "AAAAAAAAAAAAAAAAAAAAA{b62:90}",
    "stytch-secret": "secret-live-{url:36}",
    "okta-token": "OKTA_API_TOKEN=«00{url:40}»",
    "algolia-key": "ALGOLIA_ADMIN_KEY=«{hex:32}»",
    # observation
    "grafana-token": "glsa_{b62:32}_{hex:8}",
    "grafana-cloud-token": "glc_eyJ{b62:100}=",
    "grafana-key": "eyJrIjoi{b62:84}",
    "newrelic-key": "NRAK-{up:27}",
    "newrelic-license": "{hex:36}NRAL",
    "datadog-key": "DD_API_KEY=«{hex:32}»",
    "sentry-token": "sntrys_{b62:120}_{url:43}",
    "sentry-dsn": "https://«{hex:32}»@o123.ingest.sentry.io/456",
    "honeycomb-key": "hcaik_{b36:58}",
    "logfire-token": "pylf_v1_eu_{b62:43}",
    "dynatrace-token": "dt0c01.{b32:24}.{b32:64}",
    "posthog-key": "phx_{b62:43}",
    "pagerduty-key": "PAGERDUTY_API_KEY=«{url:20}»",
    # shapes
    "private-key": "-----BEGIN {pem} PRIVATE KEY-----\n{b64:64}\n{b64:64}\n{b64:40}==\n-----END {pem} PRIVATE KEY-----",
    "putty-key": "Private-Lines: 3\n«{b64:64}\n{b64:64}\n{b64:40}==»\nPrivate-MAC: none",
    "ansible-vault": "$ANSIBLE_VAULT;1.1;AES256\n{hex:80}\n{hex:80}\n{hex:34}",
    "wallet-key": "{wallet:80}",
    "wallet-seed": "{wallet:4}",
    "mnemonic": '"«{words:12}»"',
    "password-hash": "ada:«$6${b62:16}${b62:86}»:19000:0:99999:7:::",
    "django-key": "django-insecure-{django:50}",
    "age-key": "AGE-SECRET-KEY-1{up:58}",
    "jwt": "{jwt}.{url:43}",
    # general
    "url-password": "{scheme}://ada:«{pw:18}»@db.internal:5432/main",
    "url-token": "https://«{b62:40}»@git.internal/repo.git",
    "auth-arguments": "requests.get(url, auth=('ada', '«{b62:16}»'))",
    "basic-auth": "Authorization: Basic «{basic}»",
    "authorization": "Authorization: Token «{b62:32}»",
    "bearer": "it sent Bearer «{b62:40}»",
    "curl-password": "curl -s -X POST -u ada:«{pw:16}» https://api.internal/",
    "sshpass": "sshpass -p «{pw:16}» ssh ada@host",
    "netrc": "machine api.internal login ada password «{pw:16}»",
    "client-password": "mysql -u root -p«{pw:16}» main",
    "pgpass": "db.internal:5432:main:ada:«{pw:16}»",
    "curl-cookie": "curl -s -b '«theme=dark; sessionid={b62:32}»' https://api.internal/",
    "upper-option": "sqlcmd -S db -U sa -P «{b62:16}» -Q x",
    "passing-option": "keytool -list -storepass «{b62:16}» -keystore a.jks",
    "redis-password": "requirepass «{b62:32}»",
    "pass-value": 'pass: "«aB3{pw:16}»"',
    "wpa-passphrase": "wpa_passphrase Home «{b62:16}»",
    "wifi-password": "WIFI:S:Home;T:WPA;P:«{b62:16}»;;",
    "dsn-password": "ada:«{b62:18}»@tcp(db.internal:3306)/main",
    "cookie": "Cookie: «theme=dark; sessionid={b62:32}»",
    "session-cookie": "PHPSESSID=«{b36:26}»",
    "registry-auth": '"auth": "«{basic}»"',
    "passphrase": 'passphrase = "«{words:5}»"',
    "seed-phrase": "mnemonic: '«{words:12}»'",
    "secret-value": 'app_secret = "«{b62:40}»"',
    "password": "password: «aB3{pw:16}»",
}


def plant(rule: str, random_: random.Random) -> Planted:
    """A new secret of this kind, in its line."""
    line = re.sub(r"\{(\w+)(?::(\d+))?\}", lambda m: fill(m[1], int(m[2] or 0), random_), LINES[rule])
    marked = re.search("«(.*)»", line, re.DOTALL)
    return Planted(rule, re.sub("[«»]", "", line), marked[1] if marked else line)


def fill(kind: str, count: int, random_: random.Random) -> str:
    match kind:
        case "uuid":
            return str(uuid.UUID(int=random_.getrandbits(128), version=4))
        case "jwt":
            head = {"alg": "RS256", "typ": "JWT"}
            claims = {"iss": "https://id.internal", "sub": fill("b36", 12, random_), "exp": random_.randrange(10**9)}
            return ".".join(_url64(json.dumps(part).encode()) for part in (head, claims))
        case "basic":
            return base64.b64encode(f"ada:{fill('pw', 16, random_)}".encode()).decode()
        case "snowflake":
            return _url64(str(random_.randrange(10**17, 10**18)).encode())
        case "words":
            return " ".join(random_.sample(WORDS, count))
        case "wallet":
            return _wallet(
                bytes([0x80]) + random_.randbytes(32)
                if count == 80
                else bytes.fromhex("0488ade4") + random_.randbytes(74)
            )
        case "pem":
            return random_.choice(["RSA", "EC", "DSA", "OPENSSH", "ENCRYPTED"])
        case "scheme":
            return random_.choice(["postgres", "postgresql+asyncpg", "mysql", "mongodb+srv", "redis", "amqp", "https"])
        case _:
            return "".join(random_.choices(KINDS[kind], k=count))


def _wallet(data: bytes) -> str:
    """Base58 with a checksum, as wallets write their keys."""
    data += hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4]
    number, signs = int.from_bytes(data, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        signs = BASE58[rest] + signs
    return signs


def _url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
