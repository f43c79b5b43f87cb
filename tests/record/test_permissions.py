"""Grants live in memory and die with the session; restrictions are carried."""

import copy
import pickle

import pytest

from muniment.model.events import RESTRICTION, Event
from muniment.model.grants import is_grant
from muniment.record.permissions import Ledger, Rule, refuse_grants, restrictions_in


def test_what_nobody_decided_must_be_asked_for() -> None:
    assert Ledger().decide("bash", {"command": "ls"}) == "ask"


def test_a_restriction_outweighs_a_grant() -> None:
    ledger = Ledger()
    ledger.allow("bash")
    ledger.deny("bash", "rm *")
    assert ledger.decide("bash", {"command": "ls"}) == "allow"
    assert ledger.decide("bash", {"command": "rm -rf /"}) == "deny"
    assert ledger.decide("edit", {"path": "rm x"}) == "ask"


def test_a_pattern_covers_any_string_of_the_input_and_the_whole() -> None:
    rule = Rule("fetch", "*evil.example*")
    assert rule.covers("fetch", {"url": "https://evil.example/x", "n": 1})
    assert rule.covers("fetch", {"deep": [{"url": "evil.example"}]})
    assert not rule.covers("fetch", {"url": "https://good.example"})


def test_a_restriction_counts_only_once_it_is_recorded() -> None:
    def fails(rule: Rule) -> None:
        raise OSError("disk")

    ledger = Ledger(record=fails)
    with pytest.raises(OSError, match="disk"):
        ledger.deny("bash")
    assert ledger.restrictions == ()


def test_a_ledger_can_be_neither_stored_nor_copied() -> None:
    ledger = Ledger()
    ledger.allow("bash")
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not stored"):
            attempt(ledger)


def test_restrictions_come_back_from_events() -> None:
    events = [Event(RESTRICTION, payload={"tool": "bash", "pattern": "rm *"}), Event("user", payload={"text": "x"})]
    assert restrictions_in(events) == [Rule("bash", "rm *")]


@pytest.mark.parametrize(
    "name",
    [
        *("allow", "grant", "permission", "permission_grant", "permission_granted", "allow_rule", "always_allow"),
        *("approved", "permission_mode", "permissionMode", "tool-approval", "autoApprove", "TRUSTED_FOLDER"),
    ],
)
def test_what_sounds_like_a_grant_is_one(name: str) -> None:
    assert is_grant(name)


@pytest.mark.parametrize(
    "name",
    [
        *("permission_denied", "permission_requested", "approval_rejected", "trust_revoked", "not_allowed"),
        *("restriction", "disallowed_tools", "untrusted", "allowance", "immigrant", "user", "tool_call", ""),
    ],
)
def test_restrictions_questions_and_everything_else_are_none(name: str) -> None:
    assert not is_grant(name)


@pytest.mark.parametrize(
    "said",
    [
        {"permissions": {"allow": ["bash"]}},
        {"permissions": {"deny": ["rm"], "allow": ["ls"]}},
        {"permissions": ["bash"]},
        {"settings": {"permission_mode": "bypass"}},
        {"allowed_tools": ["bash"]},
    ],
)
def test_a_header_that_grants_is_refused(said: dict) -> None:
    with pytest.raises(ValueError, match="grants belong to one session"):
        refuse_grants("header", {"cwd": "/"} | said)
    refuse_grants("settings", said)  # a harness's own event says what it likes: nobody takes it for a grant


@pytest.mark.parametrize(
    "said", [{"permissions": {"deny": ["rm *"]}}, {"allowed_tools": []}, {"always_allow": False}, {"tools": ["bash"]}]
)
def test_a_header_may_tell_what_is_forbidden(said: dict) -> None:
    refuse_grants("header", said)
