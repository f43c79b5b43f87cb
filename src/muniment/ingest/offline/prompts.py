"""What the person said in a turn, without what the program put around it.

Prompts carry wrappers of slash commands, reminders, lists of attached files, pasted logs and code. What is left here
is what a reader would call the request: `whole` for comparing, `request` for showing. Only the beginning of a long
prompt is read, and every step is linear, because prompts may hold megabytes of anything.
"""

from __future__ import annotations

import re

from muniment.ingest.skeleton import PROMPT_CHARS

LIMIT = PROMPT_CHARS
"""Characters of a prompt that are looked at; what comes later is a paste."""

_DROPPED = ("system-reminder", "local-command-stdout", "local-command-caveat", "ide_opened_file", "ide_selection",
            "environment_context", "user_instructions", "command-contents", "task-notification")  # fmt: skip
_COMMAND = re.compile(r"<command-name>\s*/?([^<\s]{1,80})\s*</command-name>")
_ARGS = re.compile(r"<command-args>([^<]{0,2000})</command-args>")
_RENAMED = re.compile(r"\A\s*/rename(?:[ \t][^\n]*)?(?=\n|\Z)")
_WRAPPER = re.compile(r"<command-(?:message|name|args)>[^<]{0,2000}</command-(?:message|name|args)>")
_TAG = re.compile(r"</?[A-Za-z][\w:.-]{0,40}(?:\s[^<>]{0,200})?/?>")
_IMAGE = re.compile(r"\[(?:Image|Pasted text)[^\]]{0,60}\]|!\[[^\]]{0,100}\]\([^)]{0,300}\)")
_REQUEST = re.compile(r"^## My request for [^\n:]{1,30}:", re.MULTILINE)
_PLAN = re.compile(r"^\W*implement the following plan:?\s*", re.IGNORECASE)
_LOG_LINE = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d|\d\d:\d\d:\d\d|\[?(?:ERROR|INFO|WARN(?:ING)?|DEBUG|FATAL)\b|at \S+(?: ?\(|:\d)"
    r"|File \"|Traceback"
    r"|[$>%➜❯#|+] ?\S*\s|[-+]{3}|@@|[│├└┌─═]|\S+[$%#] |\w+@\S+|(?:npm|yarn|pnpm|go|cargo|make) (?:ERR|error|WARN))"
)


def command(text: str) -> str | None:
    """The slash command that a turn is, without its slash; giving the session a name is no work."""
    given = _given(text)
    return None if given == "rename" else given


def _given(text: str) -> str | None:
    found = _COMMAND.search(text[:LIMIT])
    if found:
        return found[1].lower()
    first = text[:80].split(maxsplit=1)
    if first and first[0].startswith("/") and first[0].count("/") == 1 and len(first[0]) > 2:
        return first[0][1:].lower()
    return None


_SHELL = re.compile(r"(?:^|\s)\S{1,60}@\S{1,60}(?: \S{1,80}){0,3} [%$#] .*")


def whole(text: str) -> str:
    """The words of the person and what they pasted, without wrappers."""
    text = text[:LIMIT]
    for name in _DROPPED:
        if f"<{name}" in text:
            text = _without(text, name)
    text = _RENAMED.sub("", text, count=1)
    if "<command-" in text:
        args = " ".join(_ARGS.findall(text)) if command(text) else ""
        text = f"{_WRAPPER.sub(' ', text)} {args}"
    if found := _REQUEST.search(text):
        text = text[found.end() :]
    text = _PLAN.sub("", _IMAGE.sub(" ", text), count=1)
    return (_TAG.sub(" ", text) if "<" in text else text).strip()


def _without(text: str, name: str) -> str:
    """Without an element; one that is not closed goes to the end."""
    kept: list[str] = []
    at = 0
    while (start := text.find(f"<{name}", at)) >= 0:
        kept.append(text[at:start])
        end = text.find(f"</{name}>", start)
        if end < 0:
            return "".join(kept)
        at = end + len(name) + 3
    return "".join([*kept, text[at:]])


def request(text: str) -> str:
    """The person's own words: no code, no log, no table."""
    lines: list[str] = []
    fenced = False
    for line in whole(text).splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not _is_paste(line):
            lines.append(_SHELL.sub("", line, count=1))
    return "\n".join(lines).strip()


def _is_paste(line: str) -> bool:
    if _LOG_LINE.match(line):
        return not line.startswith("# ")  # a heading is said, a comment of a shell is not
    words = line.split()
    return bool(words) and sum(word[:1].isalpha() for word in words) * 2 < len(words) and len(words) > 3
