"""Tokens of services: messages, mail, payments, work, observation."""

from muniment.secrets import judge
from muniment.secrets.rule import Rule, anywhere, named, token

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

MESSAGES: tuple[Rule, ...] = (
    token(
        "slack-token",
        "Slack",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxc- xoxd- xoxe.xoxp- xoxe.xoxb-",
        r"[\w%+/=-]{20,}",
    ),
    token("slack-app-token", "Slack", "xapp-", r"[0-9]-[A-Z0-9]{8,16}-[0-9]{8,16}-[0-9a-f]{40,80}\b"),
    anywhere("slack-webhook", "Slack", r"hooks\.slack\.com/", r"(?:services|workflows|triggers)/([\w/]{20,})"),
    Rule(
        "discord-webhook", "Discord", r"discord(?:app)?\.com/api/", r"(?:v[0-9]+/)?webhooks/([0-9]{17,20}/[\w-]{60,72})"
    ),
    # A token begins with a number in base64: ten first digits, ten second, ten third.
    Rule(
        "discord-token",
        "Discord",
        r"(?:M[DTjz]|N[DTjz]|O[DT])[AEIMQUYcgk][w-z0-5]",
        r"[\w-]{19,24}\.[\w-]{6}\.[\w-]{27,40}",
    ),
    Rule("telegram-token", "Telegram", r"[0-9]{8,10}:AA", r"[\w-]{33}"),
    anywhere(
        "teams-webhook",
        "Microsoft Teams",
        r"webhook\.office\.com/webhookb2/",
        r"[0-9a-f@-]{36,80}/IncomingWebhook/([0-9a-f]{32}/[0-9a-f-]{36})",
    ),
    Rule("twilio-key", "Twilio", "SK[0-9a-f]{4}", r"[0-9a-f]{28}\b"),
    named("twilio-token", "Twilio", "twilio", r"[0-9a-f]{32}"),
    token("sendgrid-key", "SendGrid", "SG.", r"[\w-]{16,32}\.[\w-]{32,64}"),
    token("mailgun-key", "Mailgun", "key-", r"[0-9a-f]{32}\b"),
    named("mailgun-token", "Mailgun", "mailgun", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"),
    Rule("mailchimp-key", "Mailchimp", r"-us[0-9]{1,2}\b", before="[0-9a-f]{32}"),
    token("brevo-key", "Brevo", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}\b"),
    token("resend-key", "Resend", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b"),
    Rule("fcm-key", "Firebase", r"AAAA[\w-]{7}:", r"[\w-]{130,}"),
)

PAYMENTS: tuple[Rule, ...] = (
    token("stripe-key", "Stripe", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", r"[A-Za-z0-9]{16,}"),
    token("webhook-secret", "Stripe, Svix and others", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    token("square-token", "Square", "EAAA", r"[\w-]{60}\b", judge.is_free_token),
    token("square-secret", "Square", "sq0atp- sq0csp-", r"[\w-]{22,43}"),
    token(
        "braintree-token",
        "Braintree",
        "access_token$production$ access_token$sandbox$",
        r"[a-z0-9]{16}\$[0-9a-f]{32}\b",
    ),
    token("plaid-token", "Plaid", "access-sandbox- access-development- access-production-", _UUID),
    token("shopify-token", "Shopify", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}\b"),
    token("flutterwave-key", "Flutterwave", "FLWSECK- FLWSECK_TEST-", r"[0-9a-zA-Z]{32}(?:-X)?"),
    token(
        "paddle-key", "Paddle", "pdl_live_apikey_ pdl_sdbx_apikey_", r"[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}\b"
    ),
    token("easypost-key", "EasyPost", "EZAK EZTK", r"[A-Za-z0-9]{54}\b"),
    token("shippo-token", "Shippo", "shippo_live_ shippo_test_", r"[0-9a-f]{40}\b"),
    token("duffel-token", "Duffel", "duffel_live_ duffel_test_", r"[\w-]{43}"),
)

WORK: tuple[Rule, ...] = (
    token("linear-key", "Linear", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,64}\b"),
    token("notion-token", "Notion", "ntn_", r"[A-Za-z0-9]{40,50}\b"),
    token("notion-secret", "Notion", "secret_", r"[A-Za-z0-9]{43}\b"),
    token("figma-token", "Figma", "figd_ figu_ figo_ figuh_ figor_ figoh_", r"[\w-]{36,60}"),
    Rule("airtable-token", "Airtable", r"pat[A-Za-z0-9]{14}\.[0-9a-f]", r"[0-9a-f]{63}\b"),
    token("atlassian-token", "Atlassian", "ATATT3 ATCTT3 ATSTT3", r"[\w=-]{60,}"),
    token("trello-token", "Trello", "ATTA", r"[0-9a-f]{60,72}\b"),
    Rule("asana-token", "Asana", r"[012]/[0-9]{16}", r"(?:/[0-9]{16})?:[0-9a-f]{32}\b"),
    token("clickup-token", "ClickUp", "pk_", r"[0-9]{1,10}_[A-Z0-9]{32}\b"),
    token("hubspot-token", "HubSpot", "pat-na1- pat-na2- pat-eu1-", _UUID),
    token("dropbox-token", "Dropbox", "sl.u. sl.B sl.A", r"[\w-]{100,}"),
    token("typeform-token", "Typeform", "tfp_", r"[\w-]{40,70}"),
    token("contentful-token", "Contentful", "CFPAT-", r"[\w-]{43}"),
    token("readme-key", "ReadMe", "rdme_", r"[a-z0-9]{70,80}\b"),
    token("launchdarkly-key", "LaunchDarkly", "sdk- api-", _UUID),
    token("mapbox-token", "Mapbox", "sk.eyJ", r"[\w-]{40,}\.[\w-]{20,40}"),
    token("facebook-token", "Facebook", "EAA", r"[A-Za-z0-9]{80,}\b", judge.is_free_token),
    token("twitter-bearer", "X", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{60,}", judge.is_free_token),
    token("stytch-secret", "Stytch", "secret-live- secret-test-", r"[\w-]{36,40}=?"),
    named("okta-token", "Okta", "okta", r"00[\w-]{40}"),
    named("algolia-key", "Algolia", "algolia", r"[0-9a-f]{32}"),
)

OBSERVATION: tuple[Rule, ...] = (
    token("grafana-token", "Grafana", "glsa_", r"[A-Za-z0-9]{32}_[0-9a-f]{8}\b"),
    token("grafana-cloud-token", "Grafana", "glc_eyJ", r"[A-Za-z0-9+/=]{60,}"),
    token("grafana-key", "Grafana", "eyJrIjoi", r"[A-Za-z0-9+/]{60,}={0,2}"),
    token("newrelic-key", "New Relic", "NRAK- NRII- NRIQ- NRRA-", r"[\w-]{27,42}"),
    Rule("newrelic-license", "New Relic", "NRAL", r"\b", before="[0-9a-f]{36}|[0-9a-f]{32}FFFF"),
    named("datadog-key", "Datadog", "datadog|dd[_-](?:api|app)", r"[0-9a-f]{32}|[0-9a-f]{40}"),
    token("sentry-token", "Sentry", "sntrys_ sntryu_", r"[\w+/=-]{40,}"),
    anywhere("sentry-dsn", "Sentry", "://", r"([0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]+/[0-9]"),
    token("honeycomb-key", "Honeycomb", "hcaik_ hcbik_ hcxik_", r"[a-z0-9]{50,64}\b"),
    token("logfire-token", "Logfire", "pylf_v1_ pylf_v2_", r"[a-z]{2}_[A-Za-z0-9]{40,60}\b"),
    token("dynatrace-token", "Dynatrace", "dt0c01. dt0s01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    token("posthog-key", "PostHog", "phx_", r"[A-Za-z0-9]{40,60}\b"),
    named("pagerduty-key", "PagerDuty", "pagerduty|pd[_-]api", r"[\w+-]{20}"),
)

SERVICES: tuple[Rule, ...] = (*MESSAGES, *PAYMENTS, *WORK, *OBSERVATION)
