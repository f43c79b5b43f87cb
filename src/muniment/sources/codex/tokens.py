"""Which assistant message an item belongs to, and whose tokens a report counts.

One message per model response. The file does not mark responses: new clients write the items, the token report,
then the tool outputs; clients until about 0.63 write the report, then items and outputs in pairs. Reports are also
repeated when only rate limits changed; the running total then stays the same.
"""

from __future__ import annotations

from typing import Any

from muniment.model import Usage
from muniment.sources.builder import Draft
from muniment.sources.codex.records import Line, mapping, text


class Report:
    """What one record says about the tokens of a response."""

    __slots__ = ("response", "said", "total", "usage")

    def __init__(self, said: dict[str, Any], total: dict[str, Any], response: str | None = None) -> None:
        self.said = said
        self.usage = usage_of(said)
        self.total = _count(total, "total_tokens") or usage_of(total).total
        self.response = response


def report_of(line: Line) -> Report | None:
    """The report in a record, if it holds one."""
    if line.kind == "token_usage_record":
        total = mapping(line.payload, "thread_token_usage")
        return Report(mapping(line.payload, "usage"), total, text(line.payload, "response_id"))
    info = mapping(line.payload, "info")
    last = mapping(info, "last_token_usage")
    response = text(line.payload, "response_id")
    return Report(last, mapping(info, "total_token_usage") or last, response) if last else None


def usage_of(said: dict[str, Any]) -> Usage:
    """OpenAI counts cached tokens as part of the input; we count them apart."""
    cached, written = _count(said, "cached_input_tokens"), _count(said, "cache_write_input_tokens")
    return Usage(
        input=max(0, _count(said, "input_tokens") - cached - written),
        output=_count(said, "output_tokens"),
        cache_read=cached,
        cache_write=written,
    )


def _count(said: dict[str, Any], name: str) -> int:
    value = said.get(name)
    return value if isinstance(value, int) and value > 0 else 0


class Response:
    """The response being read."""

    def __init__(self, total: int) -> None:
        self.total = total
        """Tokens of the whole session in the latest report; a repeat does not change it."""
        self.draft: Draft | None = None
        self.pending: Report | None = None
        self.ended = False
        self.early = False
        """Its report came before it, so outputs do not end it."""
        self.answered = False

    @property
    def goes_on(self) -> Draft | None:
        """The message that the next item belongs to, if it has begun."""
        over = self.ended or (self.answered and not self.early)
        return None if over else self.draft

    def begin(self, draft: Draft) -> None:
        """A new message; a report that waited for it is taken as its own until a later one shows otherwise."""
        self.draft, self.ended, self.answered = draft, False, False
        self.early = self.pending is not None
        if self.pending:
            _tell(draft, self.pending)
        self.pending = None

    def interrupt(self) -> None:
        """Somebody else speaks: what comes next is another response."""
        self.draft = None

    def output(self) -> None:
        """A tool has answered."""
        self.answered = True

    def report(self, report: Report) -> None:
        """Count a report for the response it belongs to."""
        if report.total == self.total or not report.usage.total:
            return
        self.total = report.total
        unreported = self.draft is not None and "usage" not in self.draft.fields
        mistaken = self.early and not self.answered and not self.ended
        if self.draft and (unreported or mistaken):
            _tell(self.draft, report)
            self.early = False
        else:
            self.pending = report
        self.ended = True


def _tell(draft: Draft, report: Report) -> None:
    draft.fields["usage"] = report.usage
    if report.response:
        draft.fields["id"] = report.response
    draft.raw = (draft.raw or {}) | {"usage": report.said}
