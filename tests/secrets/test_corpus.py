"""Real sessions, in which a reader found no secret: whatever is found there is a false alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.model import codec
from muniment.secrets import find_value

MOST_PER_THOUSAND = 0.5


@pytest.mark.corpus
def test_real_sessions_give_hardly_any_false_alarm(corpus: Path) -> None:
    messages, found = 0, list[str]()
    for path in sorted(corpus.rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                record = codec.mapping(codec.loads(line))
            except ValueError:
                continue
            messages += record.get("type") in ("user", "assistant", "response_item")
            found += [f"{path.name}: {finding.rule.id}" for _, finding in find_value(record)]
    assert messages > 5000
    assert len(found) <= MOST_PER_THOUSAND * messages / 1000, found
