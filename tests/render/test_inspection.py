"""The last look at a page: what reads as a secret as it is shown is taken out, and nothing else is touched."""

from __future__ import annotations

import random
import re
from html import escape, unescape

from hypothesis import given
from hypothesis import strategies as st

from muniment.render.inspection import redact_markup
from muniment.secrets import Redactor
from tests.secrets.vectors import plant

TOKEN = plant("github-token", random.Random(1)).secret
PASSWORD = plant("password", random.Random(1)).secret
_TAG = re.compile("<[^>]*>")


def test_a_secret_that_markup_parted_is_found() -> None:
    page = f"<p>use {TOKEN[:12]}<em>{TOKEN[12:20]}</em>{TOKEN[20:]} &amp; go</p>"
    redactor = Redactor()
    assert redact_markup(page, redactor) == "<p>use [redacted:github-token:00000001]<em></em> &amp; go</p>"
    assert redactor.count == 1


def test_a_label_and_its_value_are_read_together() -> None:
    page = f"<dl><div><dt>password</dt><dd><code>{escape(PASSWORD)}</code></dd></div></dl>"
    assert PASSWORD not in unescape(redact_markup(page, Redactor()))


@given(st.lists(st.sampled_from(["<p>", "</p>", "<em>", "</em>", "a &amp; b", TOKEN, " ", "x", '<img src="data:,">'])))
def test_tags_stay_and_secrets_go(parts: list[str]) -> None:
    shown = redact_markup("".join(parts), Redactor())
    assert _TAG.findall(shown) == _TAG.findall("".join(parts))
    assert f" {TOKEN} " not in shown.replace("<p>", " ").replace("</p>", " ")
    if TOKEN not in parts:
        assert shown == "".join(parts)
