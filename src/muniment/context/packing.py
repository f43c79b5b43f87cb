"""Filling a budget: parts go in as long as there is room, and the pack never costs more than it may.

The cost of a pack is the sum of the costs of its pieces: what it begins and ends with, each part, each heading that
is needed for the first time, each round in the list of hashes. What it begins with tells numbers that are known only
at the end, so room is kept for the longest they could be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from muniment.context.parts import SECTIONS, Part, Quote
from muniment.context.places import Place
from muniment.context.spelling import CODE_LETTERS, Account, Speller, Stated
from muniment.context.tokens import Count
from muniment.errors import MunimentError

State = Callable[[Place], Stated]
"""What is said of the round that a quote comes from."""
_LONGEST = 9_999_999
_Key = tuple[str, str | None, int]


class Packer:
    """What is in a pack so far, and how much room is left; `reserved` is paid for something around the pack."""

    def __init__(self, speller: Speller, count: Count, budget: int, state: State, reserved: int = 0) -> None:
        self.speller, self.count, self.state = speller, count, state
        self.parts: list[Part] = []
        self.stated: dict[_Key, Stated] = {}
        self.headed: set[tuple[str, ...]] = set()
        self.budget = budget
        around = self._frame(budget) + reserved
        self.left = count.allowed(budget) - around
        if self.left < 0:
            least = count.tokens(around)
            raise MunimentError(f"a budget of {budget} tokens is too small", f"even an empty pack takes {least}")

    def _frame(self, budget: int) -> int:
        """What stands around the parts, at its longest."""
        names = [name for name in Account.__struct_fields__ if name not in ("policy", "budget")]
        account = Account(policy="archaeology", budget=budget, **dict.fromkeys(names, _LONGEST))
        code = "a" * CODE_LETTERS
        return self.count.cost(self.speller.begin(account, code)) + self.count.cost(self.speller.end(code))

    def cost(self, parts: Sequence[Part]) -> int:
        """What these parts would cost now, with the headings and hashes that they need."""
        headed, stated = set(self.headed), set(self.stated)
        cost = 0
        for part in parts:
            cost += self.count.cost(self.speller.part(part))
            for key, heading in self._headings(part):
                if key not in headed:
                    headed.add(key)
                    cost += self.count.cost(heading)
            for one in self._states(part):
                if (key := _key(one)) not in stated:
                    stated.add(key)
                    cost += self.count.cost(self.speller.stated(one))
        return cost

    def put(self, parts: Sequence[Part], limit: int | None = None) -> bool:
        """Add these parts, all or none of them; tells whether there was room, and at most `limit` of it."""
        cost = self.cost(parts)
        if cost > (self.left if limit is None else min(limit, self.left)):
            return False
        self.left -= cost
        for part in parts:
            self.parts.append(part)
            self.headed.update(key for key, _ in self._headings(part))
            self.stated.update((_key(one), one) for one in self._states(part))
        return True

    def drop(self, parts: Iterable[Part]) -> None:
        """Take parts out again. Headings and hashes stay paid for: the next parts will need them."""
        for part in parts:
            self.parts.remove(part)
            self.left += self.count.cost(self.speller.part(part))

    def _headings(self, part: Part) -> Iterable[tuple[tuple[str, ...], str]]:
        yield (part.session_id, part.section), self.speller.section(part.section)
        yield (part.session_id, part.section, part.label), self.speller.group(part)
        if part.quotes:
            yield (part.session_id, "hashes"), self.speller.hashes()

    def _states(self, part: Part) -> Iterable[Stated]:
        return [self.state(quote.place) for quote in {_of(quote): quote for quote in part.quotes}.values()]

    # -- the whole

    def spell(self, account: Account) -> str:
        """The pack as text. The code is made from what stands inside, and does not occur there."""
        inside = "".join(self._inside())
        code = _code(inside)
        spent = self.count.cost(inside) + self.count.cost(self.speller.end(code))
        account = _counted(account, lambda a: self.count.tokens(spent + self.count.cost(self.speller.begin(a, code))))
        return self.speller.begin(account, code) + inside + self.speller.end(code)

    def _inside(self) -> Iterable[str]:
        for session_id in dict.fromkeys(part.session_id for part in self.parts):
            own = [part for part in self.parts if part.session_id == session_id]
            for section in SECTIONS:
                yield from self._section([part for part in own if part.section == section])
            if (session_id, "hashes") in self.headed:
                yield self.speller.hashes()
                yield from self._hashes(own)

    def _section(self, parts: list[Part]) -> Iterable[str]:
        if not parts:
            return
        yield self.speller.section(parts[0].section)
        grouped = self.speller.group(parts[0]) != ""
        for label in dict.fromkeys(part.label for part in parts) if grouped else [None]:
            own = [part for part in parts if label is None or part.label == label]
            yield self.speller.group(own[0])
            yield from map(self.speller.part, own if grouped else _by_round(own))

    def _hashes(self, parts: list[Part]) -> Iterable[str]:
        quoted: dict[_Key, list[str]] = {}
        for quote in (quote for part in parts for quote in part.quotes):
            quoted.setdefault(_of(quote), []).append(self.speller.shown(quote.text))
        for key in sorted(quoted, key=lambda k: (k[1] or "", k[2])):
            one = self.stated[key]
            if one.redacted:
                said = "\n".join(quoted[key]).encode("utf-8", "surrogatepass")
                one = structs.replace(one, sha256=hashlib.sha256(said).hexdigest())
            yield self.speller.stated(one)


def _of(quote: Quote) -> _Key:
    return quote.place.session_id, quote.place.sidechain, quote.place.round


def _key(one: Stated) -> _Key:
    return one.session_id, one.sidechain, one.round


def _by_round(parts: list[Part]) -> list[Part]:
    """In the order of the rounds; what belongs to none, first."""
    return sorted(parts, key=lambda part: part.round or 0)


def _code(inside: str) -> str:
    """Letters that do not occur inside: always the same for the same content, and known to nobody who wrote it."""
    number = 0
    while True:
        digest = hashlib.sha256(f"{number}\n{inside}".encode("utf-8", "surrogatepass")).digest()
        code = "".join(chr(ord("a") + byte % 26) for byte in digest[:CODE_LETTERS])
        if code not in inside:
            return code
        number += 1


def _counted(account: Account, tokens: Callable[[Account], int]) -> Account:
    """With the number of its own tokens, which may change with the digits of that number."""
    for _ in range(4):
        told = structs.replace(account, tokens=tokens(account))
        if told == account:
            break
        account = told
    return account
