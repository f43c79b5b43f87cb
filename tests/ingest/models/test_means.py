"""What a run is given: the name of a model, a server, a key, a price; and what it would cost."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from muniment.errors import MunimentError
from muniment.ingest import skeleton as skeletons
from muniment.ingest.models import Settings, estimate, keys, parse_name, prices
from muniment.ingest.models.cache import Cache, key_of
from muniment.ingest.models.client import Reply
from muniment.ingest.models.prices import Price, price_of
from muniment.ingest.models.settings import base_url
from tests.ingest.models.conftest import KEY, session

SONNET = Settings("anthropic", "claude-sonnet-5-5")


class TestNames:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("anthropic", ("anthropic", "claude-sonnet-5-5")),
            ("anthropic:claude-opus-5-5", ("anthropic", "claude-opus-5-5")),
            ("openai:gpt-x", ("openai", "gpt-x")),
            ("ollama:llama3:8b", ("ollama", "llama3:8b")),
        ],
    )
    def test_good_ones(self, text: str, expected: tuple[str, str]) -> None:
        assert parse_name(text) == expected

    @pytest.mark.parametrize("text", ["", "claude", "openai", "ollama:", "ollama:\x1b[2J"])
    def test_bad_ones(self, text: str) -> None:
        with pytest.raises(MunimentError) as caught:
            parse_name(text)
        assert caught.value.hint

    def test_addresses(self) -> None:
        local = Settings("ollama", "x")
        assert base_url(local, {}) == "http://127.0.0.1:11434"
        assert base_url(local, {"OLLAMA_HOST": "10.0.0.5:11434"}) == "http://10.0.0.5:11434"
        assert base_url(structs.replace(local, url="http://h:1/"), {"OLLAMA_HOST": "x"}) == "http://h:1"
        assert base_url(SONNET, {}) == "https://api.anthropic.com"

    @pytest.mark.parametrize(
        "url", [f"https://me:{KEY}@host/v1", f"https://host/v1?key={KEY}", "ftp://host", "http://", "http://h:99999"]
    )
    def test_addresses_that_are_refused_are_not_quoted(self, url: str) -> None:
        with pytest.raises(MunimentError) as caught:
            base_url(structs.replace(SONNET, url=url), {})
        assert KEY not in str(caught.value) + caught.value.hint


class TestKeys:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / ".secrets"
        path.write_text(f"# mine\nOTHER=1\nexport ANTHROPIC_API_KEY='{KEY}'\n")
        path.chmod(0o600)
        return path

    def test_the_environment_comes_first(self, file: Path) -> None:
        env = {"HOME": str(file.parent), "ANTHROPIC_API_KEY": "sk-other"}
        assert keys.require("anthropic", env).reveal() == "sk-other"

    def test_the_file_comes_second(self, file: Path) -> None:
        assert keys.require("anthropic", {"HOME": str(file.parent)}).reveal() == KEY
        assert keys.find("openai", {"HOME": str(file.parent)}) is None

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
    def test_a_file_that_others_can_read_is_refused(self, file: Path, mode: int) -> None:
        file.chmod(mode)
        with pytest.raises(MunimentError, match="others can read it") as caught:
            keys.require("anthropic", {"HOME": str(file.parent)})
        assert "chmod 600" in caught.value.hint
        assert KEY not in str(caught.value)

    def test_no_key_says_where_to_put_one(self, tmp_path: Path) -> None:
        with pytest.raises(MunimentError, match="no key for anthropic") as caught:
            keys.require("anthropic", {"HOME": str(tmp_path)})
        assert "ANTHROPIC_API_KEY" in caught.value.hint

    @pytest.mark.parametrize("value", [f"{KEY}\nX: y", f"{KEY} two", f"{KEY}é", f"{KEY}\x00"])
    def test_a_key_that_is_none_is_not_quoted(self, value: str, tmp_path: Path) -> None:
        with pytest.raises(MunimentError) as caught:
            keys.require("anthropic", {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": value})
        assert KEY not in str(caught.value) + caught.value.hint

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        (tmp_path / ".secrets").mkdir(mode=0o700)
        with pytest.raises(MunimentError):
            keys.require("anthropic", {"HOME": str(tmp_path)})

    def test_a_key_does_not_show_itself(self) -> None:
        key = keys.Key(KEY)
        assert KEY not in f"{key} {key!r} {[key]}"
        with pytest.raises(TypeError):
            msgspec.json.encode(key)
        with pytest.raises(TypeError):
            pickle.dumps(key)


class TestPrices:
    def test_the_table(self) -> None:
        assert price_of(SONNET, {}) == Price(2, 10)
        assert price_of(structs.replace(SONNET, model="claude-haiku-4-5-20251001"), {}) == Price(1, 5)
        assert price_of(structs.replace(SONNET, model="claude-of-next-year"), {}) is None
        assert price_of(Settings("openai", "claude-sonnet-5-5"), {}) is None
        assert price_of(Settings("ollama", "x"), {}) == Price(0, 0)

    def test_a_long_prompt_may_cost_more(self) -> None:
        haiku = prices.PRICES["claude-haiku-5-5"]
        assert haiku.of(100_001, 0) == pytest.approx(5 * haiku.of(100_000, 0), rel=1e-4)

    def test_a_file_of_ones_own(self, tmp_path: Path) -> None:
        path = tmp_path / "prices.json"
        path.write_text(
            json.dumps({"claude-sonnet-5-5": {"input": 1, "output": 2}, "gpt-x": {"input": 3, "output": 4}})
        )
        env = {"MUNIMENT_PRICES": str(path)}
        assert price_of(SONNET, env) == Price(1, 2)
        assert price_of(Settings("openai", "gpt-x"), env) == Price(3, 4)
        assert price_of(structs.replace(SONNET, model="claude-opus-5-5"), env) == Price(4, 20)

    @pytest.mark.parametrize(
        "text", ["", "[]", '{"m": {"input": "x", "output": 1}}', '{"m": {"input": -1, "output": 1}}']
    )
    def test_a_file_that_is_wrong(self, text: str, tmp_path: Path) -> None:
        path = tmp_path / "prices.json"
        path.write_text(text)
        with pytest.raises(MunimentError, match=r"prices\.json"):
            price_of(SONNET, {"MUNIMENT_PRICES": str(path)})

    def test_a_file_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(MunimentError, match="nowhere"):
            price_of(SONNET, {"MUNIMENT_PRICES": str(tmp_path / "nowhere")})


class TestEstimate:
    def test_it_counts_what_would_be_asked(self, tmp_path: Path) -> None:
        settings = structs.replace(SONNET, cache=tmp_path / "kept")
        sessions = [session(n, said="word " * 1000) for n in range(4)]
        Cache(settings.cache).put(key_of(sessions[0], settings), Reply("{}"))
        told = estimate(sessions, settings, {})
        assert (told.sessions, told.cached, told.output_tokens, told.batch) == (4, 1, 3 * 1500, False)
        size = len(skeletons.text(sessions[1]))
        assert 3 * size / 3.1 < told.input_tokens < 3 * (size + 4000) / 3.1
        assert told.dollars == pytest.approx((told.input_tokens * 2 + told.output_tokens * 10) / 1e6)

    def test_a_batch_costs_half(self) -> None:
        sessions = [session(n) for n in range(40)]
        auto, single = estimate(sessions, SONNET, {}), estimate(sessions, structs.replace(SONNET, batch=False), {})
        assert auto.batch
        assert auto.dollars == pytest.approx((single.dollars or 0) / 2)

    def test_an_unknown_price_is_not_guessed(self) -> None:
        told = estimate([session()], Settings("openai", "gpt-x"), {})
        assert (told.dollars, told.sessions) == (None, 1)

    def test_nothing_is_nothing(self) -> None:
        assert estimate([], SONNET, {}).dollars == 0
        silent = estimate([session(turns=0)], SONNET, {})
        assert (silent.sessions, silent.dollars) == (1, 0)
