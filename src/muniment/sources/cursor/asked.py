"""What a message of the user holds: the human's words stand in a tag of their own, around them the program's.

<timestamp>Tuesday, Mar 3, 2026, 9:14 AM (UTC+1)</timestamp>
<user_query>
fix the login
</user_query>
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from muniment.model import Event, Ref, Text
from muniment.sources.builder import quiet

_ASKED, _END = "<user_query>", "</user_query>"
_INJECTED = re.compile(r"\s*<(?:user_info|rules|project_layout|agent_skills|git_status|open_and_recently)")
_WRAPPED = re.compile(
    r"\s*<(timestamp|system_notification|system_reminder|manually_attached_skills"
    r"|dynamic_tools|agent_transcripts|mcp_file_system)>"
)
_NOTICE, _NOTICE_END = "<system_notification>", "</system_notification>"
_ALONE = re.compile(rf"\s*(?:<timestamp>[^<]*</timestamp>)?\s*{_NOTICE}")
_TOLD = ("Briefly inform the user", "Perform any necessary follow-up actions")
"""How the program's words begin behind a notice."""
_TOLD_ALONE = (
    "Briefly inform the user about the task result",
    "Perform any necessary follow-up actions in response to the ",
    "The beginning of the above subagent result is already visible to the user",
)
"""The same where a transcript leaves the notice out: more of them, as a human may begin like that."""
_TIME = re.compile(
    r"(?m)^<timestamp>[A-Za-z]+, ([A-Z][a-z]{2})[a-z]* ([0-9]{1,2}), ([0-9]{4}), ([0-9]{1,2}):([0-9]{2})\s([AP])M "
    r"\(UTC(?:([+-])([0-9]{1,2})(?::([0-9]{2}))?)?\)</timestamp>"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def parts(said: str, ref: Ref) -> list[Text | Event]:
    """What one text of the user says."""
    if is_notice(said):
        return [Event("task notification", said, ref=ref)]
    around, asked = _queries(said)
    if not asked:
        return [quiet("context", ref, said) if _is_injected(said) else Text(said, ref)]
    return [*([quiet("context", ref, around)] if around else []), *(Text(query, ref) for query in asked)]


def is_notice(said: str) -> bool:
    """Whether the program tells of what ended in the background, by itself or with words in the human's place."""
    begin = said.find(_ASKED)
    if begin < 0:
        return _is_lone_notice(said)
    asked = said[begin + len(_ASKED) :].lstrip()
    return asked.startswith(_TOLD_ALONE) or (asked.startswith(_TOLD) and said.find(_NOTICE, 0, begin) >= 0)


def _is_lone_notice(said: str) -> bool:
    begun = _ALONE.match(said)
    end = said.find(_NOTICE_END, begun.end()) if begun else -1
    return end >= 0 and not said[end + len(_NOTICE_END) :].strip()


def _is_injected(said: str) -> bool:
    """Whether all of it is the program's. Behind a wrapper of this kind a human may have written."""
    at = 0
    while (opened := _WRAPPED.match(said, at)) and (end := said.find(f"</{opened[1]}>", opened.end())) >= 0:
        at = end + len(f"</{opened[1]}>")
    return bool(_INJECTED.match(said, at)) or (at > 0 and not said[at:].strip())


def _queries(said: str) -> tuple[str, list[str]]:
    """What stands around the tags, and what stands in them; a tag that nothing ends reaches to the end of the text."""
    around: list[str] = []
    asked: list[str] = []
    at = 0
    while (begin := said.find(_ASKED, at)) >= 0:
        before, end = said[at:begin], said.find(_END, begin)
        if end < 0 and not _is_programs(before):
            break  # a human wrote of the tag
        around.append(before)
        asked.append(said[begin + len(_ASKED) : end if end >= 0 else None].strip("\r\n"))
        at = end + len(_END) if end >= 0 else len(said)
    return "".join([*around, said[at:]]).strip(), asked


def _is_programs(before: str) -> bool:
    """Whether no human wrote what stands before a tag."""
    return not before.strip() or _is_injected(before)


def time_in(said: str) -> str | None:
    """When it was asked, to the minute, if that is told before the human's words."""
    if "<timestamp>" not in said or (asked := said.find(_ASKED)) < 0:
        return None
    found = _TIME.search(said, 0, asked)
    return _moment(*found.groups("")) if found else None


def _moment(month: str, day: str, year: str, hour: str, minute: str, half: str, sign: str, *ahead: str) -> str | None:
    """A time of the clock on the wall as one of UTC."""
    try:
        offset = timedelta(hours=int(ahead[0] or 0), minutes=int(ahead[1] or 0)) * (-1 if sign == "-" else 1)
        hours = int(hour) % 12 + (12 if half == "P" else 0)
        at = datetime(
            int(year), _MONTHS.index(month) + 1, int(day), hours, int(minute), tzinfo=timezone(offset)
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at.replace(tzinfo=None).isoformat() + "Z"
