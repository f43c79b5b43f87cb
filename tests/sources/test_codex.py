"""What is read from a rollout: one folder per case, with what it holds and what must come out.

`MUNIMENT_GOLDEN=1 pytest tests/sources/test_codex.py` writes the expectations anew; read the diff.
"""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from codex.rollouts import any_record, event, facts_before, item, line, media_of, message
from codex.rollouts import read as read_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check, sources
from muniment.model import Event, Facts, Loss, Message, Round, Text, Thinking, Tool, Unknown
from muniment.model.rounds import text_of
from muniment.sources.base import Move, SourceFile
from muniment.sources.codex import SOURCE
from muniment.sources.codex import records as records_of_codex
from muniment.sources.codex.tokens import REPORTS, Report
from muniment.sources.lines import records

HERE = Path(__file__).parent / "codex"
CASES = sorted(path.parent.name for path in HERE.glob("*/input.*"))
FACTS = Facts("01a00000-0000-7000-8000-000000000001", "codex")


def read(case: str) -> list[Round]:
    return list(SOURCE.read(records([next((HERE / case).glob("input.*")).read_bytes()]), FACTS))


def prompts(rounds: list[Round]) -> list[str]:
    return [text_of(round_.prompt) for round_ in rounds if round_.prompt]


def facts_of(rounds: list[Round]) -> Facts:
    facts = FACTS
    for round_ in rounds:
        facts = facts.after(round_)
    return facts


def answers(round_: Round) -> list[Message]:
    return [message for message in round_.messages if message.role == "assistant"]


def readable(value: Any) -> Any:
    """The rounds as a person would compare them: places in the file and bytes of media left out."""
    if isinstance(value, dict):
        return {name: readable(inner) for name, inner in value.items() if name not in ("ref", "result", "media")}
    return [readable(inner) for inner in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("case", CASES)
def test_a_rollout_reads_as_expected(case: str) -> None:
    found = readable(msgspec.to_builtins(read(case), builtin_types=(bytes,)))
    expected = HERE / case / "expected.json"
    if os.environ.get("MUNIMENT_GOLDEN"):
        expected.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    assert found == json.loads(expected.read_text())


def test_a_response_is_one_message_whether_its_report_comes_before_or_behind() -> None:
    late, early = read("legacy")[0], read("early_reports")[0]
    assert [len([b for b in m.blocks if isinstance(b, Tool)]) for m in answers(late)] == [2, 0]
    assert [len([b for b in m.blocks if isinstance(b, Tool)]) for m in answers(early)] == [2, 0]


def test_repeated_reports_are_counted_once() -> None:
    assert facts_of(read("legacy")).tokens == 120 + 160 + 230 + 275
    assert facts_of(read("early_reports")).tokens == 55 + 78 + 94
    assert facts_of(read("paginated")).tokens == 220


def test_cached_tokens_are_counted_apart() -> None:
    usage = answers(read("paginated")[0])[0].usage
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output) == (85, 10, 5, 10)


def test_the_size_of_a_shortened_context_counts_nothing_and_is_kept_once() -> None:
    events = [b for b in read("no_response")[0].blocks() if isinstance(b, Event) and b.kind == "token count"]
    sizes = [event.detail["usage"]["total_tokens"] for event in events if event.detail]
    assert sizes == [25]
    assert len(events) == 6


def test_a_response_that_left_no_item_is_a_message_of_its_own() -> None:
    rounds = read("no_response")
    told = [(text_of(m), m.usage.total, m.at) for m in answers(rounds[0]) if m.usage]
    assert told == [
        ("Working.", 99, "2026-01-02T03:00:07.000Z"),
        ("", 24, "2026-01-02T03:00:14.000Z"),
        ("Finished.", 33, "2026-01-02T03:00:16.000Z"),
        ("", 11, "2026-01-02T03:00:18.000Z"),
    ]
    facts = facts_of(rounds)
    assert (facts.tokens, facts.messages) == (200, 5)


def test_check_would_find_a_lost_report(monkeypatch: pytest.MonkeyPatch) -> None:
    path = HERE / "no_response" / "input.jsonl"
    file = SourceFile(str(path), path.name, "main", path.stat().st_size, 0)

    def checked() -> check.Checked:
        return check.check_transcript(SOURCE, FACTS, file, lambda: [path.read_bytes()])

    assert checked().lossless
    assert checked().export["usage"] == check.Tally(equal=5)
    monkeypatch.setattr(Report, "kept", lambda self: None)
    assert checked().export["usage"] == check.Tally(equal=4, lost=1)
    assert not checked().lossless


def report(total: int, last: int, response: str | None, kind: str) -> bytes:
    """A report with figures that need not fit together."""
    usage = {"input_tokens": last, "total_tokens": last + total % 2}
    named = {"response_id": response} if response else {}
    if kind == "token_usage_record":
        return line(kind, {"usage": usage, "thread_token_usage": {"total_tokens": total}, **named})
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": usage}
    return line("event_msg", {"type": kind, "info": info, **named})


def empty(role: str) -> bytes:
    return item("message", role=role, content=[])


REFUSED = item("message", role="assistant", content=[{"type": "refusal", "refusal": "Not that."}])


@pytest.mark.parametrize(
    "found",
    [
        [message("user", "hi"), event("user_message", message="hi"), empty("assistant"), message("assistant", "Yes.")],
        [empty("user"), message("user", "hi"), event("user_message", message="hi"), message("assistant", "Yes.")],
        [empty("user"), event("user_message", message=""), empty("assistant"), report(9, 9, None, "token_count")],
        [message("user", "hi"), event("user_message", message="hi"), message("assistant", "Yes."), empty("user")],
        [message("user", "hi"), event("user_message", message="hi"), REFUSED],
    ],
)
def test_what_has_no_words_or_refuses_costs_nothing(found: list[bytes]) -> None:
    timed = [one.replace(b"03:04:05", b"03:04:%02d" % n) for n, one in enumerate(found)]
    data = b"\n".join(timed) + b"\n"
    file = SourceFile("/x.jsonl", "x.jsonl", "main", len(data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [data])
    assert checked.lossless, checked


def test_a_refusal_is_what_the_model_said() -> None:
    assert [text_of(m) for r in read_bytes(REFUSED) for m in r.messages] == ["Not that."]


def test_an_item_without_words_repeats_no_event() -> None:
    heard = [message("user", "hi"), event("agent_message", message="Lit."), empty("assistant")]
    assert "Lit." in [text_of(message) for message in answers(read_bytes(b"\n".join(heard))[0])]


def test_another_agent_is_told_of_tokens_that_it_cannot_count() -> None:
    rounds = read("no_response")
    losses: list[Loss] = []
    list(sources.named("claude-code").write(rounds, facts_of(rounds), Move(), media_of(rounds).__getitem__, losses))
    assert ("tokens of an answer without content", 2) in [(loss.what, loss.count) for loss in losses]


names = st.sampled_from((None, None, "resp_1", "resp_2"))
reports = st.builds(report, st.integers(0, 12), st.integers(0, 4), names, st.sampled_from(sorted(REPORTS)))
reported = st.lists(any_record | reports, max_size=30).map(lambda found: b"\n".join(found) + b"\n")


def reports_in(data: bytes) -> set[tuple[str, str]]:
    found = [claim for record in records([data]) for claim in SOURCE.claims(record.raw)]
    return {(claim.key, claim.field) for claim in found if claim.field in ("usage", "message id")}


@settings(max_examples=300)
@given(reported)
def test_no_token_report_is_lost_or_made_up(data: bytes) -> None:
    """What a running total tells of responses that were broken off is written as reports of their own."""
    rounds = read_bytes(data)
    facts = facts_before(rounds)[-1]
    written = b"".join(SOURCE.write(iter(rounds), facts, Move(), media_of(rounds).__getitem__, []))
    assert reports_in(written) >= reports_in(data)
    assert facts_before(read_bytes(written))[-1].tokens == facts.tokens


def test_what_a_human_says_in_a_running_turn_steers_it() -> None:
    rounds = read("legacy")
    assert prompts(rounds) == ["list the files", "patch it\n"]
    assert [text_of(m) for m in rounds[1].messages if m.queued] == ["and tell me when you are done"]


def test_without_turns_every_prompt_opens_a_round() -> None:
    assert prompts(read("early_reports")) == ["look", "one", "two"]


def test_a_round_begins_with_its_turn() -> None:
    data = (HERE / "legacy" / "input.jsonl").read_bytes()
    assert b"task_started" in data[read("legacy")[1].offset :].split(b"\n")[0]


@pytest.mark.parametrize("case", ["items_only", "events_only", "imported", "bare", "oldest", "chat"])
def test_words_are_neither_lost_nor_doubled(case: str) -> None:
    rounds = read(case)
    assert prompts(rounds) == ["hello", "bye"][: len(rounds)]
    assert [text_of(m) for m in rounds[-1].messages if text_of(m)][-1] in ("Bye.", "Hi.")
    spoken = [b.text for r in rounds for b in r.blocks() if isinstance(b, Text)]
    assert len(spoken) == len(set(spoken))


def test_an_answer_that_only_an_event_tells_is_kept() -> None:
    assert "Still sleeping." in [text_of(m) for m in read("aborted")[0].messages]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("Warning: The maximum number of unified exec processes you can keep open is 60.", True),
        ("<external_editor>\nThe cursor is in line 3.\n</external_editor>", True),
        ("<additional_context>\nThe lamp is on.\n</additional_context>", False),
        ("<skills_section>\n## Skills\n</skills_section>", False),
        ("<subagents>\n- ada\n</subagents>", False),
    ],
)
def test_what_later_clients_put_in_is_no_prompt_even_where_no_event_says_so(words: str, shown: bool) -> None:
    said = [message("user", words), message("user", "hello"), message("assistant", "Hi.")]
    (round_,) = read_bytes(b"".join(one + b"\n" for one in said))
    assert prompts([round_]) == ["hello"]
    assert [b.text for b in round_.blocks() if isinstance(b, Event) and b.text] == [words] * shown


def test_a_turn_that_failed_says_why() -> None:
    """Later clients tell it where the turn ends, and nowhere else."""
    failed = {"message": "no credit left", "codex_error_info": "usage_limit_exceeded"}
    lines = [
        event("task_started", turn_id="t1", model_context_window=None),
        message("user", "hello"),
        event("user_message", message="hello", images=[]),
        event("task_complete", turn_id="t1", last_agent_message=None, error=failed),
        event("task_started", turn_id="t2", model_context_window=None),
        message("user", "bye"),
        event("user_message", message="bye", images=[]),
        message("assistant", "Bye."),
        event("task_complete", turn_id="t2", last_agent_message="Bye.", error=None),
    ]
    rounds = read_bytes(b"".join(one + b"\n" for one in lines))
    assert [[b.text for b in r.blocks() if isinstance(b, Event) and b.text] for r in rounds] == [["no credit left"], []]
    written = b"".join(SOURCE.write(rounds, facts_of(rounds), Move(), media_of(rounds).__getitem__, []))
    ends = [json.loads(one)["payload"] for one in written.splitlines() if b'"task_complete"' in one]
    assert [end.get("error") for end in ends] == [failed, None]
    again = read_bytes(written)
    assert [[b.text for b in r.blocks() if isinstance(b, Event) and b.text] for r in again] == [["no credit left"], []]


def test_settings_of_a_turn_hold_from_its_first_message_on() -> None:
    rounds = read("legacy")
    assert rounds[0].messages[0].cwd == "/proj/app"
    assert rounds[1].messages[0].cwd == "/proj/app/sub"
    assert [m.model for r in rounds for m in answers(r)] == ["gpt-5.5", "gpt-5.5", "gpt-5.6", "gpt-5.6"]
    facts = facts_of(rounds)
    assert (facts.title, facts.branch, facts.client) == ("List files", "main", "0.128.0")


def test_items_in_the_form_of_a_chat_are_calls_outputs_and_thoughts_too() -> None:
    """Clients made for other providers wrote the messages of their API into the oldest documents."""
    first, second = read("chat")
    tools = [b for b in first.blocks() if isinstance(b, Tool)]
    assert [(tool.id, tool.input, tool.output) for tool in tools] == [
        ("c1", {"command": ["date"]}, (Text("Tuesday"),)),
        ("c2", {"command": ["pwd"]}, (Text("/proj/app"),)),
    ]
    assert [b.text for r in (first, second) for b in r.blocks() if isinstance(b, Thinking)] == [
        "They greet.",
        "They leave.",
    ]
    data = (HERE / "chat" / "input.json").read_bytes()
    file = SourceFile("x.json", "x.json", "main", len(data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [data])
    assert all(tally.kept for tally in (*checked.export.values(), *checked.document.values()))
    assert [checked.document[field].equal for field in ("thinking", "tool input", "tool output")] == [2, 2, 2]


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ("<environment_context>\n  <cwd>/proj/app</cwd>\n  <shell>zsh</shell>\n</environment_context>", "/proj/app"),
        ("<environment_context>\nCurrent working directory: /proj/app\nNetwork access: enabled\n", "/proj/app"),
        ("<environment_context>\n  <cwd> </cwd>\n</environment_context>", None),
        ("Where is <cwd>/proj/app</cwd>?", None),
    ],
)
def test_the_folder_is_known_where_only_the_model_was_told_of_it(words: str, folder: str | None) -> None:
    head = {"id": FACTS.session_id, "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None}
    said = [{"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]} for role, text in (
        ("user", words), ("user", "hello"), ("assistant", "Hi."))]  # fmt: skip
    rounds = read_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in (head, *said)))
    assert facts_of(rounds).cwd == folder


def test_the_folder_of_a_turn_is_not_that_of_an_older_environment() -> None:
    rounds = read_bytes(
        b"\n".join(
            [
                line("turn_context", {"cwd": "/proj/new", "model": "m"}),
                message("user", "<environment_context>\n  <cwd>/proj/old</cwd>\n</environment_context>"),
                message("user", "hello"),
                message("assistant", "Hi."),
            ]
        )
    )
    assert facts_of(rounds).cwd == "/proj/new"


def test_arguments_keep_their_very_string() -> None:
    first = answers(read("legacy")[0])[0]
    tools = [b for b in first.blocks if isinstance(b, Tool)]
    assert [tool.input for tool in tools] == [{"cmd": "ls", "yield_time_ms": 1000}, {"cmd": "pwd"}]
    assert first.raw["calls"] == {"call_2": {"arguments": '{"cmd": "pwd"}'}}


def test_reasoning_without_words_is_marked_as_withheld() -> None:
    thoughts = [b for r in read("legacy") for b in r.blocks() if isinstance(b, Thinking)]
    assert [(t.text, t.signature, t.redacted) for t in thoughts] == [
        ("**Looking around**", "sealed", False),
        ("", "sealed", True),
    ]


def test_only_the_first_head_speaks_for_the_file() -> None:
    facts = facts_of(read("subagent"))
    parent = "01a00000-0000-7000-8000-000000000002"
    assert [(link.kind, link.session) for link in facts.links] == [("fork", parent), ("parent", parent)]
    assert (facts.cwd, facts.client) == ("/proj/app", "0.128.0")


def test_a_call_names_the_session_that_it_started() -> None:
    tools = [b for r in read("subagent") for b in r.blocks() if isinstance(b, Tool)]
    assert tools[0].sidechain == "01a00000-0000-7000-8000-000000000003"


@pytest.mark.parametrize(("kind", "started"), [("started", True), ("interacted", False), (None, False)])
@pytest.mark.parametrize("as_item", [True, False])
def test_an_activity_names_the_session_that_a_call_started(kind: str | None, started: bool, as_item: bool) -> None:
    """What is said later to a subagent is no start of it."""
    child = "01a00000-0000-7000-8000-000000000003"
    told = {"agent_thread_id": child, "agent_path": "/root/ada", "kind": kind}
    activity = line("event_msg", {"type": "sub_agent_activity", "event_id": "c1", **told})
    if as_item:
        activity = event("item_completed", item={"type": "SubAgentActivity", "id": "c1", **told})
    before = (HERE / "subagent" / "input.jsonl").read_bytes().split(b"\n")
    data = b"\n".join(activity if b"collab_agent_spawn_end" in one else one for one in before)
    tools = [b for r in read_bytes(data) for b in r.blocks() if isinstance(b, Tool)]
    assert tools[0].sidechain == (child if started else None)


def test_damage_is_reported_at_its_place() -> None:
    data = (HERE / "damaged" / "input.jsonl").read_bytes()
    problems = [p for r in read("damaged") for p in r.problems("x")]
    assert [data[p.offset : p.offset + p.length][:4] for p in problems] == [b'{"ti', b"\0\0\0\0", b"[1,2"]


@pytest.mark.parametrize(
    "odd", [{"timestamp": 1767323045}, {"ordinal": "11"}, {"timestamp": None, "ordinal": 1.5}], ids=str
)
def test_a_field_of_another_type_than_usual_costs_itself_and_no_words(odd: dict[str, Any]) -> None:
    hello = json.loads(message("user", "hello")) | odd
    said = [message("user", "before"), message("assistant", "yes"), json.dumps(hello).encode()]
    data = b"".join(one + b"\n" for one in said)
    rounds = read_bytes(data)
    assert prompts(rounds) == ["before", "hello"]
    assert [problem for round_ in rounds for problem in round_.problems("x")] == []
    file = SourceFile("x.jsonl", "x.jsonl", "main", len(data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [data])
    assert all(tally.kept for tally in (*checked.export.values(), *checked.document.values()))
    assert checked.document["text"].equal == 3


def test_check_misses_what_the_reader_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims are made without the reader: one that took a record for damage would be found out."""
    data = message("user", "before") + b"\n" + message("user", "hello") + b"\n"

    def refuse(raw: bytes) -> records_of_codex.Line:
        raise ValueError("no")

    monkeypatch.setattr(records_of_codex, "decode", refuse)
    file = SourceFile("x.jsonl", "x.jsonl", "main", len(data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [data])
    assert checked.document["text"].lost == 2
    assert not checked.lossless


def test_an_unfinished_last_line_is_not_yet_there() -> None:
    assert not [p for r in read("torn") for p in r.problems("x")]


def test_unknown_records_are_kept_and_cannot_speak_for_the_session() -> None:
    rounds = read("unknown")
    assert [b.kind for r in rounds for b in r.blocks() if isinstance(b, Unknown)] == ["dream"]
    kinds = [b.kind for r in rounds for b in r.blocks() if isinstance(b, Event)]
    assert {"novelty", "telepathy", "event link", "injected"} <= set(kinds)
    assert facts_of(rounds).links == ()


def test_images_become_media_and_what_is_none_stays_as_it_came() -> None:
    round_ = read("image")[0]
    assert round_.prompt is not None
    kinds = [type(block).__name__ for block in round_.prompt.blocks if not isinstance(block, Event)]
    assert kinds == ["Text", "Text", "Media", "Text", "Unknown", "Unknown"]
    assert len(round_.media) == 1


IDE = "# Context from my IDE setup:\n\n## Active file: lamp.py\n\n## Open tabs:\n- lamp.py: src/lamp.py\n\n"
FILES = "\n# Files mentioned by the user:\n\n## lamp.png: /tmp/lamp.png\n\n"


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        ([f"{IDE}## My request for Codex:\nDim the\nlamp\n"], "Dim the lamp"),
        ([f"{FILES}## My request:\nDim the lamp"], "Dim the lamp"),
        (
            [f"{FILES}## My request for Codex:\nlike this", '<image name=[Image #1] path="/tmp/a.png">', "</image>"],
            "like this",
        ),
        (["<image name=[Image #1]>", "</image>", "what is in [Image #1]?"], "what is in [Image #1]?"),
        (["<image>", "</image>", f"{IDE}## My request:\n"], None),
        ([f"{IDE}And no request behind it"], None),
        (["Write a letter.\n\n## My request:\nmore light"], None),
        (["Where does </image> belong?"], None),
        ([f"{IDE}## My request:\n{'dim ' * 100}"], f"{('dim ' * 50)[:199]}…"),
    ],
)
def test_the_title_is_what_a_human_typed_behind_what_the_editor_tells(texts: list[str], title: str | None) -> None:
    asked = item("message", role="user", content=[{"type": "input_text", "text": words} for words in texts])
    for data in (asked, event("user_message", message="\n".join(texts)))[: 2 if len(texts) == 1 else 1]:
        rounds = read_bytes(data)
        assert facts_of(rounds).title == title
        assert rounds[0].prompt is not None
        assert text_of(rounds[0].prompt) == "\n\n".join(texts)


def test_only_the_first_prompt_and_no_other_names_the_session() -> None:
    later = message("user", f"{IDE}## My request:\nDim it")
    rounds = read_bytes(b"\n".join([message("user", "Light the lamp"), message("assistant", "Lit."), later]))
    assert facts_of(rounds).display_title == "Light the lamp"
    named = event("thread_name_updated", thread_name="Lamps")
    assert facts_of(read_bytes(later + b"\n" + named)).title == "Lamps"


def test_a_turn_that_was_stopped_before_any_answer_keeps_its_model() -> None:
    """Begun with one model, stopped, and begun again with another."""
    begun = [line("turn_context", {"cwd": "/p", "model": model}) for model in ("gpt-a", "gpt-b", "gpt-c")]
    head = line("session_meta", {"id": FACTS.session_id, "cwd": "/p"})
    asked = [message("user", "one"), begun[1], message("user", "two"), begun[2], message("assistant", "Done.")]
    data = b"\n".join([head, begun[0], *asked, b""])
    file = SourceFile("/x.jsonl", "x.jsonl", "main", len(data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [data])
    assert checked.lossless, checked
