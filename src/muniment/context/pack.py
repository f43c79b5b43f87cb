"""Building a pack: select, load, fill, spell."""

from __future__ import annotations

from msgspec import Struct, structs

from muniment.context.filling import Filled
from muniment.context.loading import Loaded
from muniment.context.packing import Packer
from muniment.context.parts import Part
from muniment.context.policies import Explicit, Policy, fill
from muniment.context.selection import Scope, Selection, select
from muniment.context.spelling import SPELLERS, Account
from muniment.context.tokens import counting
from muniment.model.engagements import Ingested
from muniment.secrets import Redactor
from muniment.store import engagements
from muniment.store.layout import Layout

BUDGET = 20_000
LEAST_TOKENS = 600
"""Of a session: with less room it is left out, so that the others say something."""


class Request(Struct, frozen=True):
    """What a pack is to hold, and how much."""

    selection: Selection
    policy: Policy | None = None
    """None: `successor` for whole sessions, `specialist` where rounds are picked out."""
    explicit: Explicit | None = None
    budget: int = BUDGET
    bytes_per_token: float | None = None
    redact: bool = True

    @property
    def chosen(self) -> Policy:
        if self.explicit:
            return "explicit"
        return self.policy or ("specialist" if self.selection.narrow else "successor")


class Pack(Struct, frozen=True):
    """A pack: its text, its parts, and an account of what is there and what is not."""

    text: str
    account: Account
    parts: tuple[Part, ...]


def build(layout: Layout, request: Request, form: str = "markdown") -> Pack:
    """A pack in one of the forms of `SPELLERS`. The store is only read; the same request gives the same bytes."""
    sessions = open_sessions(layout, request)
    by_id = {loaded.id: loaded for loaded in sessions}
    count = counting(request.bytes_per_token)
    packer = Packer(SPELLERS[form](), count, request.budget, lambda place: by_id[place.session_id].state(place))
    filled = _fill(packer, sessions, request)
    account = account_of(request, [loaded.scope for loaded in sessions], filled, sessions[0].redactor)
    text = packer.spell(account)
    assert count.cost(text) <= count.allowed(request.budget), "a pack must not cost more than it may"
    return Pack(text, structs.replace(account, tokens=count.tokens(count.cost(text))), tuple(packer.parts))


def open_sessions(layout: Layout, request: Request) -> list[Loaded]:
    """The sessions of the selection, opened for reading only, the latest first."""
    looking = structs.replace(layout, read_only=True)
    scopes = select(looking, request.selection)
    redactor = Redactor(active=request.redact)
    ids = {scope.session.session_id for scope in scopes}
    known: dict[str, Ingested] = {one.session_id: one for one in engagements.load(looking) if one.session_id in ids}
    return [Loaded(looking, scope, redactor, known.get(scope.session.session_id)) for scope in scopes]


def _fill(packer: Packer, sessions: list[Loaded], request: Request) -> list[Filled]:
    """Each session gets an equal share of the room, and what those before it left."""
    most = max(1, request.budget // LEAST_TOKENS)
    filled: list[Filled] = []
    for number, loaded in enumerate(sessions[:most]):
        room = packer.left // (min(most, len(sessions)) - number)
        filled.append(fill(loaded, packer, room, request.chosen, request.explicit))
    return filled


def account_of(
    request: Request, scopes: list[Scope], filled: list[Filled], redactor: Redactor, given: int = 0
) -> Account:
    """What is there and what is not; `given` rounds are there beside the pack, as they were."""
    fates = [fate for one in filled for fate in one.fidelity.values()]
    rounds = sum(len(scope.rounds) for scope in scopes)
    shown = len(fates) - fates.count("omitted") + given
    rewound = sum(
        one.fidelity[number] == "omitted"
        for one, scope in zip(filled, scopes, strict=False)
        for number in scope.abandoned
    )
    return Account(
        policy=request.chosen,
        budget=request.budget,
        tokens=0,
        sessions=len(scopes),
        rounds=rounds,
        full=fates.count("full") + given,
        clipped=fates.count("clipped"),
        gist=fates.count("gist"),
        references=fates.count("reference"),
        omitted=rounds - shown,
        abandoned=rewound,
        sessions_omitted=len(scopes) - len(filled),
        items_omitted=sum(one.items_omitted for one in filled),
        redacted=redactor.count,
    )
