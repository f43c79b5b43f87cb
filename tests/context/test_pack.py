"""What is in a pack, by policy and selection, and what is said to be left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.context import Explicit, Pack, Request, Selection, build, spelling, telling
from muniment.errors import MunimentError, NotFound
from tests.context import laws
from tests.context.past import ID, SECRET, WEAK

ALL = Selection(sessions=(ID[:8],))


def made(site: Archive, form: str = "markdown", selection: Selection = ALL, **asked: Any) -> Pack:
    pack = build(site.layout, Request(selection, **asked), form)
    laws.costs_no_more(pack.text, pack.account.budget)
    laws.quotes_are_found(site, pack, asked.get("redact", True))
    laws.pairs_are_whole(site, pack)
    laws.left_out_is_said(pack)
    return pack


def inside(pack: Pack, section: str) -> str:
    return "\n".join(
        f"{part.label}: {' '.join(quote.text for quote in part.quotes)} {part.note} {part.mark}"
        for part in pack.parts
        if part.section == section
    )


def test_a_successor_learns_where_the_work_stands(site: Archive) -> None:
    pack = made(site)
    done = inside(pack, "done")
    assert "files changed: src/login.ts" in done, "below the folder of the session"
    assert "commands that worked: npm run test:unit" in done, "without what stands around it"
    assert "commits: [main 1a2b3c4] Keep the session in a cookie" in done
    assert "links: https://forge.example/ada/site/pull/7" in done
    assert "names: checkToken" in done
    standing = inside(pack, "open")
    assert "to do: Write the docs" in standing
    assert "Fix the login page" not in standing, "it is done"
    assert "no result of Bash" in standing
    assert "never local storage" in pack.text


def test_what_is_open_comes_before_what_was_done(site: Archive) -> None:
    assert "Write the docs" in made(site, budget=1100).text


def test_the_last_rounds_are_there_in_full(site: Archive) -> None:
    pack = made(site)
    assert pack.account.full >= 2
    assert "x" * 9000 in pack.text


def test_a_rewound_round_is_left_out_and_that_is_said(site: Archive) -> None:
    pack = made(site)
    assert 2 not in {quote.place.round for part in pack.parts for quote in part.quotes}
    assert "Done with websockets." not in pack.text
    assert pack.account.abandoned == 1
    assert "1 of the omitted were rewound" in pack.text
    assert "Done with websockets." in made(site, policy="archaeology").text


def test_in_little_room_outputs_are_cut_and_then_calls_go_whole(site: Archive) -> None:
    cut = made(site, budget=2500, policy="archaeology")
    assert "bytes left out of" in cut.text
    assert "x" * 4000 not in cut.text
    least = made(site, budget=700, policy="archaeology")
    assert "tool calls" in inside(least, "rounds") or least.account.gist


def test_what_has_no_room_is_counted(site: Archive) -> None:
    pack = made(site, budget=500)
    assert pack.account.omitted + pack.account.gist + pack.account.references >= 3
    assert f"{pack.account.rounds} rounds" in pack.text


def test_a_budget_below_an_empty_pack_is_refused(site: Archive) -> None:
    with pytest.raises(MunimentError, match="too small"):
        made(site, budget=100)


def test_chosen_rounds(site: Archive) -> None:
    pack = made(site, explicit=Explicit(((3, 3),), None))
    assert next(part.round for part in pack.parts if part.section == "rounds") == 3
    assert {part.round for part in pack.parts if part.section == "references"} == {1, 2, 4}
    assert (pack.account.full, pack.account.references) == (1, 3)
    only = made(site, explicit=Explicit(((3, 3),)))
    assert (only.account.full, only.account.omitted) == (1, 3)


# -- selecting


def test_words_pick_rounds(site: Archive) -> None:
    pack = made(site, selection=Selection(query="cookies storage"))
    assert {part.round for part in pack.parts if part.section == "rounds"} == {1}
    assert pack.account.policy == "specialist"


def test_a_file_picks_the_rounds_that_touched_it(site: Archive) -> None:
    pack = made(site, selection=Selection(file="login.ts"))
    assert {part.round for part in pack.parts if part.section == "rounds"} == {1}


def test_an_engagement_picks_its_rounds(site: Archive) -> None:
    site.tag(ID, [3, 4], "console-work")
    pack = made(site, selection=Selection(engagement="console-work"))
    assert {part.round for part in pack.parts if part.section == "rounds"} == {3, 4}


def test_conditions_hold_together(site: Archive) -> None:
    assert made(site, selection=Selection(project="site", agent="claude", rounds=((1, 3),))).account.rounds == 3
    with pytest.raises(NotFound, match="no round fits"):
        made(site, selection=Selection(project="site", until="2020-01-01"))
    with pytest.raises(MunimentError, match="nothing was selected"):
        made(site, selection=Selection())


# -- secrets


@pytest.mark.parametrize("form", ["markdown", "prompt", "json"])
@pytest.mark.parametrize("policy", ["successor", "archaeology", "specialist"])
def test_secrets_are_taken_out_everywhere(site: Archive, form: str, policy: Any) -> None:
    pack = made(site, form, policy=policy)
    assert SECRET not in pack.text
    assert WEAK not in pack.text
    assert "[redacted:" in pack.text
    assert pack.account.redacted
    open_ = made(site, form, policy=policy, redact=False)
    assert SECRET in open_.text
    assert open_.account.redacted is None


def test_a_tag_is_a_number_and_tells_nothing(site: Archive) -> None:
    """A hash of a weak password could be tried; the hash of a file that holds one as well."""
    pack = made(site, policy="archaeology")
    assert ":00000001]" in pack.text
    hashes = pack.text.rpartition("## Rounds quoted from")[2]
    told = dict(line.split() for line in hashes.splitlines() if line[:1].isdigit())
    assert told["3"].endswith("r")
    assert told["4"].endswith("r")
    assert len(told["1"]) == 12


# -- always the same, and only read


@pytest.mark.parametrize("form", ["markdown", "prompt", "json"])
def test_the_same_selection_gives_the_same_bytes(site: Archive, form: str) -> None:
    assert made(site, form).text == made(Archive(site.layout.root), form).text


def test_the_store_is_only_read(site: Archive) -> None:
    before = laws.content(site.layout.root)
    for policy in ("successor", "archaeology", "specialist"):
        made(site, policy=policy)
    made(site, selection=Selection(query="cookies", file="login.ts", project="site"))
    assert laws.content(site.layout.root) == before


def test_json_is_json_and_says_every_place(site: Archive) -> None:
    pack = made(site, "json")
    told = json.loads(pack.text)
    assert told["rounds"] == 4
    assert told["tokens"] <= told["budget"]
    quotes = [quote for part in told["data"] if part for quote in part.get("quotes", ())]
    assert all({"text", "block", "field", "end", "of"} <= set(quote) for quote in quotes)
    hashes = [part for part in told["data"] if part and part["section"] == "hashes"]
    assert {len(one["sha256"]) for one in hashes} == {64}


def test_the_hash_of_a_round_of_a_subagent_says_whose_it_is() -> None:
    speller = spelling.SPELLERS["markdown"]()
    assert speller.stated(spelling.Stated("s", 1, "ab" * 32, sidechain="c8d9b115")).startswith("c8d9b115/1 abab")
    assert speller.stated(spelling.Stated("s", 1, "ab" * 32)).startswith("1 abab")


@pytest.mark.parametrize(("topic", "told"), [("All well?", "All well? Done"), ("Lamps", "Lamps. Done")])
def test_a_topic_ends_once(topic: str, told: str) -> None:
    assert telling.sentences(topic, "Done") == told
