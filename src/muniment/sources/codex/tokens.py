"""Which assistant message an item belongs to, and whose tokens a report counts.

One message per model response. The file does not mark responses: new clients write the items, the token report,
then the tool outputs; clients until about 0.63 write the report, then items and outputs in pairs. Reports are also
repeated when only rate limits changed; the running total then stays the same.

Not every report has a response to count for. Behind a compaction the client tells the size of the new context, in a
report that counts nothing; and a response may leave no item. The first is kept in its event, the second is a message
of its own: what a report says is left out only where the report before it has said the same.

A response that was broken off may have spent tokens that no report tells. The next running total counts them, so what
it exceeds the former one by, beyond its own response, is theirs. Only the first total of a file tells nothing of that
kind: that of a fork begins with the tokens of another session.
"""

from __future__ import annotations

import copy
from typing import Any, Literal

from msgspec import structs

from muniment.model import Facts, Usage
from muniment.sources.builder import Draft, count
from muniment.sources.codex.records import Line, mapping, text

REPORTS = frozenset({"token_count", "token_usage_record"})
"""Kinds of records that tell of tokens."""

Weight = Literal["spent", "noted", "repeated"]
"""What a report is: tokens of a response, a word on something else, or what the one before it said."""


class Report:
    """What one record says about the tokens of a response."""

    __slots__ = ("about", "response", "running", "said", "total", "usage")

    def __init__(self, said: dict[str, Any], total: dict[str, Any], line: Line, model: str | None) -> None:
        self.said = said
        self.usage = usage_of(said)
        by_kind = usage_of(total)
        self.total = count(total, "total_tokens") or by_kind.total
        self.running = by_kind if by_kind.total == self.total else None
        """The running total by kind, if the report tells it."""
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
        if self.said:
            draft.raw = (draft.raw or {}) | {"usage": self.said}

    def tell_missing(self, usage: Usage) -> Report:
        """Return a report on a response that told nothing itself, of the time when this one tells of it."""
        missing = copy.copy(self)
        missing.said, missing.usage, missing.response = {}, usage, None
        return missing

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
    report = Report(last, total or last, line, model) if last else None
    if report and not total:
        report.running = None
    return report


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

    def __init__(self, facts: Facts) -> None:
        self.running = facts.counted if facts.counted.total else None
        """Tokens of the whole session by kind in the latest report, if it is known."""
        self.total = self.running.total if self.running else facts.tokens
        """Their sum; a report that does not change it counts nothing new."""
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

    @property
    def is_over(self) -> bool:
        """Whether the next item begins another response, and what this one cost is told."""
        told = self.draft is not None and "usage" in self.draft.fields
        return told and self.goes_on is None and self.pending is None

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

    def find_missing(self, report: Report) -> Report | None:
        """Return what responses spent since the latest report that told nothing of it themselves."""
        if self.running is None or report.running is None:
            return None
        told = structs.astuple(self.running + report.usage)
        missing = [now - before for now, before in zip(structs.astuple(report.running), told, strict=True)]
        return report.tell_missing(Usage(*missing)) if min(missing) >= 0 and any(missing) else None

    def report(self, report: Report) -> Report | None:
        """Count a report for the response it belongs to; gives back a former one that proves to belong to none."""
        self.total, self.running = report.total, report.running
        unreported = self.draft is not None and "usage" not in self.draft.fields
        mistaken = self.early is not None and not self.answered and not self.ended
        self.ended = True
        if self.draft and (unreported or mistaken):
            report.tell(self.draft)
            former, self.early = self.early, None
        else:
            former, self.pending = self.pending, report
        return former
