"""The suite can fail: each planted fault is caught by one of its laws, and the source as it is keeps that law."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment import sources
from muniment.contract import finding, keeping, reading, writing
from muniment.contract.samples import Subject, transcripts
from muniment.errors import MunimentError
from muniment.sources import all_sources

from . import example, planted
from .planted import Broken

Law = Callable[..., None]

CAUGHT_BY: dict[type[Broken], Law] = {
    planted.TakesEverything: finding.test_what_is_no_session_is_not_claimed,
    planted.TakesAnyLines: finding.test_what_is_no_session_is_not_claimed,
    planted.FollowsLinks: finding.test_links_are_not_followed,
    planted.NamesByPlace: finding.test_a_transcript_given_by_itself_is_the_same_session,
    planted.NamesByTheFolderAbove: finding.test_a_home_holds_the_same_sessions_wherever_one_points,
    planted.LooksInItsOwnHome: finding.test_what_lies_in_the_agents_home_is_found_there,
    planted.LooksInTheWrongFolder: finding.test_what_lies_in_the_agents_home_is_found_there,
    planted.FailsWhereNobodyIs: finding.test_a_home_that_is_not_there_holds_nothing,
    planted.IdIsAFolder: keeping.test_an_id_is_never_a_path,
    planted.CutsTheLastNewline: finding.test_every_file_is_found_below_its_root,
    planted.IgnoresWhereToBegin: finding.test_any_part_of_a_file_can_be_had,
    planted.KeepsACache: keeping.test_nothing_in_the_agents_folders_is_touched,
    planted.LeavesOutWhatItDoesNotKnow: reading.test_a_record_that_nobody_heard_of_is_kept_and_costs_no_other,
    planted.LeavesOutWhatIsBroken: reading.test_a_line_that_cannot_be_read_is_reported_and_costs_no_other,
    planted.ThrowsAwayTheWholeLine: reading.test_what_stands_before_or_behind_a_record_on_its_line_costs_no_other,
    planted.RaisesOnWhatIsBroken: reading.test_a_line_that_cannot_be_read_is_reported_and_costs_no_other,
    planted.TrustsEveryField: reading.test_no_bytes_make_a_reader_fail,
    planted.ReadsHalfALine: reading.test_a_file_cut_anywhere_reads_as_far_as_it_goes,
    planted.ReadsAllAtOnce: reading.test_a_closed_round_is_handed_on_before_the_file_is_read,
    planted.NumbersFromOne: reading.test_reading_may_begin_at_any_round,
    planted.RemembersTheFirstRound: reading.test_reading_may_begin_at_any_round,
    planted.AsksTheClock: reading.test_reading_twice_gives_the_same,
    planted.RefusesHalves: reading.test_half_of_a_character_costs_no_words,
    planted.KnowsItself: reading.test_reading_leaves_nothing_to_the_garbage_collector,
    planted.SaysNotWhere: reading.test_every_record_has_its_place_in_a_round,
    planted.ThinksNothing: keeping.test_check_finds_no_loss,
    planted.TidiesUpTexts: keeping.test_check_finds_no_loss,
    planted.OpensByThePiece: reading.test_the_pieces_in_which_a_file_comes_do_not_matter,
    planted.ClaimsNothing: reading.test_every_prompt_is_claimed,
    planted.ClaimsOnlyWhatWasAnswered: reading.test_every_prompt_is_claimed,
    planted.FailsOnAClaim: reading.test_claims_are_made_of_any_line,
    planted.LosesCalls: writing.test_all_words_and_tool_calls_survive_any_format,
    planted.SaysNothingOfALoss: writing.test_a_compaction_survives_any_format_or_is_listed_as_lost,
    planted.LosesThinkingSilently: writing.test_thinking_that_a_format_cannot_hold_is_listed_as_lost,
    planted.GivesNoReason: writing.test_every_loss_says_what_and_why,
    planted.KeepsItsOldName: writing.test_a_fork_carries_its_new_identity_and_not_the_old,
    planted.WritesWhereNobodyLooks: writing.test_a_written_file_is_recognised_where_it_is_put,
    planted.WritesAnotherFileEachTime: writing.test_writing_twice_gives_the_same_bytes,
    planted.MergesWhatWasSaid: writing.test_what_was_written_reads_as_the_same_messages,
}
"""The laws of these samples that are enough: other faults may be caught by several."""


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    return example.put_samples(tmp_path / "samples")


@pytest.fixture(scope="session")
def foreign() -> list[Any]:
    """Sessions of others, with compactions, thinking and pictures."""
    return [sample for name in ("claude-code", "pi") for sample in transcripts(Subject.shipped(name))]


def known(monkeypatch: pytest.MonkeyPatch, source: Broken) -> None:
    """As if it were installed."""
    every = (*all_sources(), source)
    monkeypatch.setattr(sources, "all_sources", lambda: every)


def tried(law: Law, samples: Path, foreign: list[Any], folder: Path) -> None:
    """The law with everything that it is to be tried on."""
    for number, given in enumerate(arguments(law, samples, foreign)):
        own = folder / f"try{number}"
        own.mkdir()
        law(**given | ({"tmp_path": own} if "tmp_path" in inspect.signature(law).parameters else {}))


def arguments(law: Law, samples: Path, foreign: list[Any]) -> Iterator[dict[str, Any]]:
    names = inspect.signature(law).parameters
    subject = Subject("wren", samples)
    if "head" in names:
        yield from ({"subject": subject, "head": head} for head in (b"", b"{", b"# notes\n"))
    elif "subject" in names:
        yield {"subject": subject}
    elif "way" in names:
        own = sources.named("wren")
        yield from ({"way": (sample, own)} for sample in [*transcripts(subject), *foreign])
    else:
        name = "own" if "own" in names else "sample"
        yield from ({name: sample} for sample in transcripts(subject))


@pytest.mark.parametrize(("fault", "law"), CAUGHT_BY.items(), ids=lambda each: each.__name__)
def test_a_planted_fault_is_caught(
    fault: type[Broken], law: Law, samples: Path, foreign: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, fault())
    with pytest.raises((AssertionError, ValueError, OSError, MunimentError)):  # what a source raises breaks a law, too
        tried(law, samples, foreign, tmp_path)


@pytest.mark.parametrize("law", dict.fromkeys(CAUGHT_BY.values()), ids=lambda law: law.__name__)
def test_the_source_as_it_is_keeps_the_law(
    law: Law, samples: Path, foreign: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, Broken())
    tried(law, samples, foreign, tmp_path)


def test_every_planted_fault_is_tried() -> None:
    """A fault that nobody looks for proves nothing."""
    made = {kind for kind in vars(planted).values() if isinstance(kind, type) and issubclass(kind, Broken)}
    assert made - {Broken} == set(CAUGHT_BY)
