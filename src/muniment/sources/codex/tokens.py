"""Which assistant message an item belongs to, and whose tokens a report counts.

One message per model response. The file does not mark responses: new clients write the items, the token report,
then the tool outputs; clients until about 0.63 write the report, then items and outputs in pairs. Reports are also
repeated when only rate limits changed; the running total then stays the same.

Not every report has a response to count for. Behind a compaction the client tells the size of the new context, in a
report that counts nothing; and a response may leave no item. The first is kept in its event, the second is a message
of its own: what a report says is left out only where the report before it has said the same.
"""

from __future__ import annotations

from typing import Any, Literal

from muniment.model import Usage
from muniment.sources.builder import Draft, count
from muniment.sources.codex.records import Line, mapping, text

REPORTS = frozenset({"token_count", "token_usage_record"})
"""Kinds of records that tell of tokens."""

Weight = Literal["spent", "noted", "repeated"]
"""What a report is: tokens of a response, a word on something else, or what the one before it said."""


class Report:
    """What one record says about the tokens of a response."""

    __slots__ = ("about", "response", "said", "total", "usage")

    def __init__(self, said: dict[str, Any], total: dict[str, Any], line: Line, model: str | None) -> None:
        self.said = said
        self.usage = usage_of(said)
        self.total = count(total, "total_tokens") or usage_of(total).total
        self.response = text(line.payload, "response_id")
        self.about = {"at": line.timestamp or None, "model": model}
        """Time and model, for a response of which nothing else is known."""

    def repeats(self, other: Report | None) -> bool:
        """Whether the other has said all of it."""
        if other is None or self.response not in (None, other.response):
            return False
        return self.total == other.total and self.said == other.said

    def tell(self, draft: Draft) -> None:
        """Count it for this message, in place of what was counted before."""
        draft.fields |= {"usage": self.usage, "id": self.response}
        draft.raw = (draft.raw or {}) | {"usage": self.said}

    def kept(self) -> dict[str, Any]:
        """The report itself, for an event that keeps it where it counts for no message."""
        return {"usage": self.said} | ({"response": self.response} if self.response else {})


def report_of(line: Line, model: str | None) -> Report | None:
    """The report in a record, if it holds one."""
    if line.kind == "token_usage_record":
        total = mapping(line.payload, "thread_token_usage")
        last = mapping(line.payload, "usage")
    else:
        total = mapping(mapping(line.payload, "info"), "total_token_usage")
        last = mapping(mapping(line.payload, "info"), "last_token_usage")
    return Report(last, total or last, line, model) if last else None


def usage_of(said: dict[str, Any]) -> Usage:
    """OpenAI counts cached tokens as part of the input; we count them apart."""
    cached, written = count(said, "cached_input_tokens"), count(said, "cache_write_input_tokens")
    return Usage(
        input=max(0, count(said, "input_tokens") - cached - written),
        output=count(said, "output_tokens"),
        cache_read=cached,
        cache_write=written,
    )


class Response:
    """The response being read."""

    def __init__(self, total: int) -> None:
        self.total = total
        """Tokens of the whole session in the latest report; one that does not change it counts nothing new."""
        self.latest: Report | None = None
        self.draft: Draft | None = None
        self.pending: Report | None = None
        self.early: Report | None = None
        """Its report, where that came before it: outputs do not end it then."""
        self.ended = False
        self.answered = False

    @property
    def goes_on(self) -> Draft | None:
        """The message that the next item belongs to, if it has begun."""
        over = self.ended or (self.answered and not self.early)
        return None if over else self.draft

    def begin(self, draft: Draft) -> None:
        """A new message; a report that waited for it is taken as its own until a later one shows otherwise."""
        self.draft, self.ended, self.answered = draft, False, False
        self.early, self.pending = self.pending, None
        if self.early:
            self.early.tell(draft)

    def interrupt(self) -> None:
        """Somebody else speaks: what comes next is another response."""
        self.draft = None

    def output(self) -> None:
        """A tool has answered."""
        self.answered = True

    def weigh(self, report: Report) -> Weight:
        """What a report is, after those before it in the round; of earlier rounds only the total is known."""
        former, self.latest = self.latest, report
        if report.total != self.total and report.usage.total:
            return "spent"
        return "repeated" if report.repeats(former) else "noted"

    def report(self, report: Report) -> Report | None:
        """Count a report for the response it belongs to; gives back a former one that proves to belong to none."""
        self.total = report.total
        unreported = self.draft is not None and "usage" not in self.draft.fields
        mistaken = self.early is not None and not self.answered and not self.ended
        self.ended = True
        if self.draft and (unreported or mistaken):
            report.tell(self.draft)
            former, self.early = self.early, None
        else:
            former, self.pending = self.pending, report
        return former
