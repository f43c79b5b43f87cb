"""How full the window was: the context of a model, round by round, and what it cost.

    budget.of(session_id, rounds, {"a1": side_rounds}, Known(…))      from plain values
    budget.read(layout, session, env)                                 of a session in the archive

`calls` finds the API messages and the cuts, `windows` knows how much fits, `shared` which messages another session has
paid for, `work` puts it together. Costs are at list prices: what anybody was billed is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from muniment import sources
from muniment.budget import shared, windows
from muniment.budget.values import FULL as FULL
from muniment.budget.values import Budget as Budget
from muniment.budget.values import RoundBudget as RoundBudget
from muniment.budget.values import Spent as Spent
from muniment.budget.work import Known as Known
from muniment.budget.work import of as of
from muniment.prices import Price, price_of_model
from muniment.store import carried
from muniment.store import rounds as stored
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.session_table import Listed


def read(layout: Layout, session: Listed, env: Mapping[str, str]) -> Budget:
    """The budget of a session in the archive."""
    shelf = layout.shelf(session.agent_id, session.session_id)
    source = sources.named(session.source)
    with Index(layout) as index:
        elsewhere = shared.owned_by_others(layout, index, session.session_id)
        taken_over = carried.parts(index, session.session_id)
        sql = "SELECT c.id FROM sidechains c JOIN sessions s ON s.id = c.session WHERE s.session_id = ?"
        sides = [id_ for (id_,) in index.rows(sql, session.session_id)]

    @cache
    def price(model: str) -> Price | None:
        return price_of_model(model, env)

    @cache
    def fits(model: str) -> tuple[int, ...]:
        return windows.windows_of(model, env)

    known = Known(price, fits, elsewhere, taken_over, lambda event: source.hints(event).window)
    side_rounds = {id_: stored.load_all(shelf.sidechain(id_)) for id_ in sides}
    return of(session.session_id, stored.load_all(shelf), side_rounds, known)
