"""Asking a model: the options that say which and for how much, and what is told before and after."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.ingest import models, offline, pipeline
from muniment.ingest.models import Estimate, Ledger, Settings
from muniment.ingest.planning import Choice, Plan, is_asked_about
from muniment.ingest.skeleton import Skeleton
from muniment.model.engagements import Extraction
from muniment.surfaces.cli.output import line, many, talk

OFFLINE = "offline"


def options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that may ask a model."""
    for option in (
        click.option("--no-redact", is_flag=True, help="Send secrets too; by default they are taken out."),
        click.option("--batch/--no-batch", default=None, help="One batch for all, at half the price, hours later."),
        click.option("--max-cost", type=click.FloatRange(0), metavar="DOLLARS", help="Never spend more than this."),
        click.option("--url", help="Address of the model's server, where it is not the usual one."),
        click.option(
            "--with",
            "extractor",
            metavar="EXTRACTOR",
            default=OFFLINE,
            envvar="MUNIMENT_EXTRACTOR",
            show_default=True,
            callback=_known,
            help="offline, anthropic[:MODEL], openai:MODEL, or ollama:MODEL.",
        ),
    ):
        command = option(command)
    return command


def _known(_: click.Context, __: click.Parameter, value: str) -> str:
    """One that can be asked; which, the library tells."""
    try:
        if value != OFFLINE:
            models.parse_name(value)
    except MunimentError as error:
        raise click.BadParameter(f"{line(error.message)}; {error.hint}") from None
    return value


def settings(archive: Archive, extractor: str, **said: Any) -> Settings | None:
    """Which model to ask; None to ask none."""
    if extractor == OFFLINE:
        return None
    kind, model = models.parse_name(extractor)
    return Settings(
        kind,
        model,
        url=said["url"],
        redact=not said["no_redact"],
        batch=said["batch"],
        max_cost=said["max_cost"],
        cache=archive.layout.extractions,
    )


def estimate(archive: Archive, plan: Plan, choice: Choice, asked: Settings) -> Estimate:
    """What asking would cost; ghosts are not asked about."""
    jobs = tuple(job for job in plan.jobs if is_asked_about(job, choice))
    return models.estimate(archive.skeletons(Plan(jobs, 0)), asked, os.environ)


def told(expected: Estimate, asked: Settings) -> str:
    """The estimate in one line."""
    price = "price unknown" if expected.dollars is None else f"about ${expected.dollars:.2f}"
    how = ", as a batch" if expected.batch else ""
    known = f", {expected.cached} answered before" if expected.cached else ""
    tokens = f"{expected.input_tokens:,} tokens in, {expected.output_tokens:,} out"
    return f"{asked.name}: {many(expected.sessions, 'session')}{known}; {tokens}; {price}{how}"


def confirmed(expected: Estimate, asked: Settings) -> None:
    """Say what it will cost; at a terminal, ask, unless a cap was given or nothing is to be paid."""
    talk(told(expected, asked))
    free = asked.kind == "ollama" or expected.cached == expected.sessions
    asks = not free and asked.max_cost is None and sys.stdin.isatty() and sys.stderr.isatty()
    if asks and not click.confirm("Ask the model?", default=True, err=True):
        raise MunimentError("the model was not asked, and nothing was ingested")


def extractor(archive: Archive, plan: Plan, asked: Settings, ledger: Ledger) -> pipeline.Extract:
    """The model as an extractor of many sessions."""
    jobs = {job.session_id: job for job in plan.jobs}

    def extract(skeletons: Iterable[Skeleton]) -> Iterator[tuple[Skeleton, Extraction]]:
        def again(session_id: str) -> Skeleton:
            return pipeline.read(archive.layout, jobs[session_id])

        return models.extract_all(skeletons, asked, os.environ, offline.extract, again=again, ledger=ledger, tell=talk)

    return extract


def spent(ledger: Ledger) -> str:
    """What it came to."""
    price = "price unknown" if ledger.dollars is None else f"${ledger.dollars:.2f}"
    tokens = f"{ledger.input_tokens:,} tokens in, {ledger.output_tokens:,} out"
    return f"{many(ledger.calls, 'question')}, {ledger.cached} answered before; {tokens}; {price}"
