"""Secrets that only the structure of a value gives away: an outer name, a pair, a neighbour in a list."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from muniment.secrets import Redactor, find_value, redact
from tests.secrets.vectors import KINDS

KEY = b"k" * 32

STRUCTURES: dict[str, Any] = {
    "outer name": {"db_password": {"value": "§"}},
    "outer name, others before": {"db_password": {"sensitive": True, "type": "string", "value": "§"}},
    "owner of secrets": {"secrets": {"stripe": "§"}},
    "owner of secrets, deep": {"secrets": {"prod": {"stripe": "§"}}},
    "neutral member": {"password": {"current": "§", "new": ""}},
    "pass of auth": {"auth": {"user": "ada", "pass": "§"}},
    "credentials": {"credentials": {"username": "ada", "value": "§"}},
    "tokens": {"tokens": {"access": "§"}},
    "key and val": {"key": "API_SECRET", "val": "§"},
    "name and value": [{"name": "DB_PASSWORD", "value": "§"}],
    "value before name": {"value": "§", "name": "API_KEY"},
    "option": {"args": ["--token", "§"]},
    "header pair": {"headers": [["X-API-Key", "§"], ["Accept", "*/*"]]},
    "mysql": {"command": ["mysql", "-uroot", "-p§"]},
    "curl": ["curl", "-s", "-u", "ada:§", "https://api.internal"],
    "docker": ["docker", "login", "-u", "ada", "-p", "§"],
    "cookie object": {"cookies": [{"name": "session", "value": "§"}]},
    "cookie by its domain": {"name": "sid", "value": "§", "domain": "internal"},
    "cookies by name": {"cookies": {"sid": "§"}},
    "list under a name": {"token": ["§"]},
}


def fill(structure: Any, value: str) -> Any:
    return json.loads(json.dumps(structure, ensure_ascii=False).replace("§", value))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_secret_in_a_structure_goes(structure: str) -> None:
    random_ = random.Random(structure)
    for _ in range(20):
        secret = "a7X" + "".join(random_.choices(KINDS["b62"], k=24))
        value = fill(STRUCTURES[structure], secret)
        assert secret not in str(Redactor().value(value))
        assert list(find_value(value)), "what is redacted is also listed"
        for indent in (None, 2):
            written = json.dumps(value, indent=indent)
            assert secret not in Redactor().text(written), "JSON that a tool printed is judged alike"
            assert secret not in redact(written, KEY)[0]


HARMLESS: list[Any] = [
    {"token": {"type": "refresh", "id": "a7Xq9RzKw2LpX4vTn8BcY1"}},
    {"secrets": [{"name": "tls-cert", "url": "https://vault.internal/a7Xq9RzKw2LpX4vTn8BcY1"}]},
    {"name": "build-cache", "value": "a7Xq9RzKw2LpX4vTn8BcY1"},
    {"ids": ["a7Xq9RzKw2LpX4vTn8BcY1", "b7Xq9RzKw2LpX4vTn8BcY2"]},
    ["git", "show", "9fceb02d0ae598e95dc970b74767f19372d61af8"],
    {"cookies": {"theme": "dark", "lang": "en"}},
    {"usage": {"input_tokens": 12, "cache": {"id": "a7Xq9RzKw2LpX4vTn8BcY1"}}},
]


@pytest.mark.parametrize("value", HARMLESS)
def test_a_harmless_structure_is_left_alone(value: Any) -> None:
    assert Redactor().value(value) == value
    assert Redactor().text(json.dumps(value)) == json.dumps(value)


def test_a_secret_is_placed_in_json_with_escapes() -> None:
    secret = "a7Xq9RzKw2LpX4vTn8BcY1"
    value = {"é": 'x"\n', "secrets": {"über": secret, "deep": 'say "é" ' + secret}}
    for ascii_ in (False, True):
        shown = Redactor().text(json.dumps(value, ensure_ascii=ascii_))
        assert f'"{secret}"' not in shown
        assert json.loads(shown)["é"] == 'x"\n'
