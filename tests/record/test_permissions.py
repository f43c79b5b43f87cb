"""Grants live in memory and die with the session; restrictions are carried."""

import copy
import pickle

import pytest

from muniment.model.events import RESTRICTION, Event
from muniment.record.permissions import Ledger, Rule, restrictions_in


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
