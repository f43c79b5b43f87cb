"""Real sessions. A reader found five real secrets in them; whatever else is found there is a false alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.model import codec
from muniment.secrets import find_value

MOST_PER_THOUSAND = 0.05
REAL = 5
"""Two cookies, two keys of search services, one password of a database."""


@pytest.mark.corpus
def test_real_sessions_give_hardly_any_false_alarm(corpus: Path) -> None:
    messages, found = 0, dict[str, str]()
    for path in sorted(corpus.rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                record = codec.mapping(codec.loads(line))
            except ValueError:
                continue
            messages += record.get("type") in ("user", "assistant", "response_item")
            for text, finding in find_value(record):
                found[text[finding.start : finding.end]] = f"{path.name}: {finding.rule.id}"
    assert messages > 5000
    assert len(found) <= REAL + MOST_PER_THOUSAND * messages / 1000, sorted(found.values())
