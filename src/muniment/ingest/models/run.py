"""Extraction by a model: for each session the kept answer, a new one, or what the offline rules make of it.

What one session meets (a refusal, an answer of no use twice, a server that fails) makes that session fall back, with a
note that says why. What every session would meet (a wrong key, no such model) stops the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing

from msgspec import Struct, structs

from muniment.errors import MunimentError
from muniment.ingest.models import answer, batches, chat, claude, prompt
from muniment.ingest.models.answer import BadAnswer
from muniment.ingest.models.cache import Cache, key_of
from muniment.ingest.models.client import Client, Reply, Unanswered
from muniment.ingest.models.ledger import Ledger, will_batch
from muniment.ingest.models.prompt import Prompt
from muniment.ingest.models.settings import Settings
from muniment.ingest.skeleton import Skeleton
from muniment.model.engagements import Extraction
from muniment.secrets import Redactor, new_key

GIVE_UP_AFTER = 3
"""Failures in a row, each after its retries: the server is down, and a thousand more questions would take a day."""
MAX_HELD = 200
"""Sessions that wait for a batch in memory, if they cannot be read again."""
MAX_WAITING = 5_000
MAX_WAITING_CHARS = 32 << 20

Fallback = Callable[[Skeleton], Extraction]
Again = Callable[[str], Skeleton]


def extract_all(
    skeletons: Iterable[Skeleton],
    settings: Settings,
    env: Mapping[str, str],
    fallback: Fallback,
    *,
    again: Again | None = None,
    ledger: Ledger | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[Skeleton, Extraction]]:
    """What a model makes of each session, in any order.

    `again` reads a session by its id: with it, sessions that wait for a batch are not held in memory. `ledger` counts,
    `tell` hears what takes long.
    """
    with closing(_Run(settings, env, fallback, ledger or Ledger(), tell)) as run:
        run.collect_pending()
        yield from _each(skeletons, run, again)


def _each(skeletons: Iterable[Skeleton], run: _Run, again: Again | None) -> Iterator[tuple[Skeleton, Extraction]]:
    """Sessions whose answer is kept come at once; where a batch is possible, the others wait to be many."""
    waiting: list[_Waiting] = []
    for session in skeletons:
        key = key_of(session, run.settings)
        if not run.gathers or not session.turns or run.cache.get(key):
            yield session, run.extraction(session, key)
            continue
        waiting.append(_Waiting(key, run.question(session), session.facts.session_id, None if again else session))
        if _is_full(waiting):
            yield from run.settle(waiting, again)
            waiting = []
    yield from run.settle(waiting, again)


class _Waiting(Struct, frozen=True):
    """A session whose question may go with a batch."""

    key: str
    question: Prompt
    session_id: str
    session: Skeleton | None


def _is_full(waiting: list[_Waiting]) -> bool:
    most = MAX_HELD if waiting[-1].session else MAX_WAITING
    return len(waiting) >= most or sum(len(one.question.user) for one in waiting) >= MAX_WAITING_CHARS


class _Run:
    """One run: its client, its count, and what it has learned of the server."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        fallback: Fallback,
        ledger: Ledger,
        tell: Callable[[str], None],
    ) -> None:
        if settings.batch and settings.kind != "anthropic":
            raise MunimentError(f"{settings.kind} takes no batches", "leave the batch away")
        self.settings = settings
        self.env = env
        self.fallback = fallback
        self.tell = tell
        self.cache = Cache(settings.cache)
        self.ledger = ledger
        self.ledger.begin(settings, env)
        self.redactor = Redactor(new_key(), active=settings.redact)
        self.client: Client | None = None
        self.failures = 0
        self.fresh: set[str] = set()
        """Keys of answers that this run has paid for."""
        self.lost: dict[str, str] = {}
        """Keys of questions that could not be sent with their batch, and why."""

    @property
    def gathers(self) -> bool:
        """Whether sessions may go as a batch."""
        return self.settings.kind == "anthropic" and self.settings.batch is not False

    def _client(self) -> Client:
        """Made when the first question is asked: kept answers need no key."""
        if self.client is None:
            kinds: Mapping[str, Callable[[Settings, Mapping[str, str]], Client]] = {
                "anthropic": claude.Claude,
                "openai": chat.OpenAI,
                "ollama": chat.Ollama,
            }
            self.client = kinds[self.settings.kind](self.settings, self.env)
        return self.client

    def close(self) -> None:
        if self.client is not None:
            self.client.close()

    # -- one session

    def question(self, session: Skeleton, wrong: str = "") -> Prompt:
        return prompt.make(session, self.redactor, wrong)

    def extraction(self, session: Skeleton, key: str) -> Extraction:
        """What the model makes of a session, else what the offline rules do, with the reason."""
        try:
            if not session.turns:
                raise Unanswered("the session has no turns")
            return self._answered(session, key)
        except Unanswered as reason:
            self.ledger.fallbacks += 1
            return structs.replace(self.fallback(session), note=f"not by {self.settings.name}: {reason}")

    def _answered(self, session: Skeleton, key: str) -> Extraction:
        """The kept answer or a new one, and once more if it is of no use."""
        kept = self.cache.get(key)
        if kept and key not in self.fresh:
            self.ledger.cached += 1
        try:
            return self._used(session, key, kept or self._ask(session, key))
        except BadAnswer as bad:
            wrong = str(bad)
        self.cache.drop(key)
        try:
            return self._used(session, key, self._ask(session, key, wrong))
        except BadAnswer as bad:
            raise Unanswered(f"its answer was of no use twice: {bad}") from None

    def _used(self, session: Skeleton, key: str, reply: Reply) -> Extraction:
        """The extraction in a reply. A refusal is kept like an answer: asking again would cost and change nothing."""
        if reply.stop == "refusal":
            self.cache.put(key, reply)
            raise Unanswered("the model refused")
        if reply.stop == "length":
            raise BadAnswer("it was cut off because it was too long")
        made = answer.read(reply.text, session.turns[-1].number, self.settings.name)
        self.cache.put(key, reply)
        return made

    def _ask(self, session: Skeleton, key: str, wrong: str = "") -> Reply:
        """One paid question, if that is allowed and makes sense."""
        if reason := self.lost.pop(key, ""):
            raise Unanswered(reason)
        if self.failures >= GIVE_UP_AFTER:
            raise Unanswered(f"not asked, after {self.failures} failures in a row")
        question = self.question(session, wrong)
        worst = self.ledger.worst(question.text)
        if not self.ledger.affords(worst):
            raise Unanswered(f"not asked: it could have cost more than the cap of ${self.settings.max_cost:.2f} allows")
        try:
            reply = self._client().ask(question)
        except Unanswered as reason:
            self.failures += 1
            if reason.perhaps_paid:
                self.ledger.perhaps += worst * (1 + self.settings.retries)
            raise
        self.failures = 0
        self.fresh.add(key)
        self.ledger.count(reply)
        return reply

    # -- many sessions

    def settle(self, waiting: list[_Waiting], again: Again | None) -> Iterator[tuple[Skeleton, Extraction]]:
        """Sessions that waited: as batches if they are many enough, and whatever those leave open one by one."""
        batching = will_batch(self.settings, len(waiting))
        while waiting:
            sent = self._send(waiting) if batching else 0
            for one in waiting[: sent or len(waiting)]:
                session = one.session or again(one.session_id)  # pyright: ignore[reportOptionalCall]
                yield session, self.extraction(session, one.key)
            waiting = waiting[sent or len(waiting) :]

    def _send(self, waiting: list[_Waiting]) -> int:
        """Send as many of the first ones as the cap allows, wait, and keep the answers; tells how many were sent."""
        questions = batches.affordable([(one.key, one.question) for one in waiting], self.ledger)
        if not questions:
            return 0
        try:
            self.fresh |= batches.run(questions, self._batcher(), self.cache, self.ledger, self.tell)
        except Unanswered as reason:
            self.lost |= {key: f"the batch could not be sent: {reason}" for key, _ in questions}
        return len(questions)

    def collect_pending(self) -> None:
        """Batches that an earlier run has sent and did not live to collect."""
        for pending in list(self.cache.pending()) if self.settings.kind == "anthropic" else ():
            if batches.is_ours(pending, self.settings, self.env):
                self.fresh |= batches.collect(pending, self._batcher(), self.cache, self.ledger, self.tell)

    def _batcher(self) -> batches.Batcher:
        client = self._client()
        assert isinstance(client, claude.Claude)
        return batches.Batcher(client, self.settings, self.env)
