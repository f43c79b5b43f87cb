"""The redactor: what every exit passes its blocks, records, values and texts through before anything is shown.

    Redactor(key)         a tag is a keyed hash: equal secrets have equal tags as long as the key is the same
    Redactor()            a tag is the number of the secret: equal content gives equal bytes, in packs and bundles
    Redactor.off()        nothing is taken out, because a person asked for that

A key that could be derived from the archive could be tried against a weak password, so numbers are no hash at all: they
count secrets in the order in which they are met.

What goes in comes out with the same type. No field of a block or record is left out and none is listed here, so that a
new one cannot be forgotten; members of JSON are judged with the names they have. A text is always judged whole, before
anything is cut out of it: half a key is not recognised as one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec import Struct, structs

from muniment.model import Round
from muniment.model.words import CUT, SUMMARY_CHARS
from muniment.secrets.fragments import iter_fragments
from muniment.secrets.redact import TAG_DIGITS, Replacement, replaced, tag, written
from muniment.secrets.rules import RULES
from muniment.secrets.scan import PLACEHOLDER, SHORTEST
from muniment.secrets.values import find_named, with_strings

S = TypeVar("S", bound=Struct)
Show = Callable[[str, str], str]
FRAGMENT = next(rule for rule in RULES if rule.id == "passphrase")
"""The rule under which a part of a secret is taken out of a line."""
_PLACEHOLDER = re.compile(rf"({PLACEHOLDER})")
SHORTEST_CUT = 40
"""Characters of the shortest line that we cut: a title such as `Loading…` is whole."""


class Redactor:
    """Takes secrets out, and counts them."""

    def __init__(self, key: bytes | None = None, active: bool = True) -> None:
        self.key, self.active = key, active
        self.tags: dict[bytes, str] = {}
        """The tag of every secret that was met, by its hash: a server that runs for weeks must not collect secrets."""
        self.taken = 0
        """How many were taken out so far, equal ones counted again."""

    @classmethod
    def off(cls) -> Redactor:
        """A redactor that takes nothing out."""
        return cls(active=False)

    @property
    def count(self) -> int | None:
        """How many different secrets were taken out; None if nobody looked for any."""
        return len(self.tags) if self.active else None

    # -- texts and values

    def text(self, text: str, name: str = "") -> str:
        """Return the text with a placeholder for each secret; `name` is what a member of JSON is called."""
        return replaced(text, self.replacements(text, name))

    def replacements(self, text: str, name: str = "") -> list[Replacement]:
        """Return where in the text secrets stand, and what is to stand there instead; they count as taken out."""
        found = find_named(name, text) if self.active else []
        self.taken += len(found)
        return [Replacement(f.start, f.end, written(f.rule, self._tag(text[f.start : f.end]))) for f in found]

    def line(self, text: str, name: str = "") -> str:
        """Return a title, preview or summary without secrets. It was made by joining lines, and perhaps cut, so it may
        show a part of a secret: words that look like one go, and of a cut line the last word."""
        if not self.active or len(text) < SHORTEST:
            return text
        is_cut = len(text) >= SHORTEST_CUT and (text.endswith(CUT) or len(text) == SUMMARY_CHARS)
        if is_cut:
            text = text.removesuffix(CUT).rstrip().rpartition(" ")[0]
        shown = self.text(text, name)
        return self._hide_fragments(shown, is_cut) + (CUT if is_cut else "")

    def _hide_fragments(self, line: str, is_cut: bool) -> str:
        """Return a line without parts of secrets; placeholders of whole ones stay."""
        pieces = _PLACEHOLDER.split(line)
        for number in range(0, len(pieces), 2):
            piece = pieces[number]
            spans = iter_fragments(piece, is_cut and number == len(pieces) - 1)
            places = [Replacement(a, b, written(FRAGMENT, self._tag(piece[a:b]))) for a, b in spans]
            self.taken += len(places)
            pieces[number] = replaced(piece, places)
        return "".join(pieces)

    def value(self, value: Any) -> Any:
        """Return the same for anything made of JSON; what was given is not changed."""
        return with_strings(value, self.text) if self.active else value

    # -- what the archive is made of

    def round(self, round_: Round) -> Round:
        """Return a round without secrets, and without what the API said beside the content, which nobody is shown."""
        if not self.active:
            return round_
        messages = tuple(structs.replace(message, raw=None) for message in round_.messages)
        return self.struct(structs.replace(round_, messages=messages))

    def struct(self, given: S) -> S:
        """Return a block, message or anything else made of whole texts without secrets."""
        return self._struct(given, self.text)

    def record(self, record: S) -> S:
        """Return what is known or was found out about a session, as `Facts`, `Listed`, `Ingested` or a hit, without
        secrets. Its texts are lines, some of which were cut where they were made."""
        return self._struct(record, self.line)

    def _struct(self, given: S, show: Show) -> S:
        changed: dict[str, Any] = {}
        for name in given.__struct_fields__ if self.active else ():
            old = getattr(given, name)
            if (new := self._member(old, show)) is not old:
                changed[name] = new
        return structs.replace(given, **changed) if changed else given

    def _member(self, member: Any, show: Show) -> Any:
        """Return what a field holds without secrets; the same object if there was nothing to take out."""
        if isinstance(member, str):
            return show(member, "")
        if isinstance(member, Struct):
            return self._struct(member, show)
        if isinstance(member, tuple):
            parts = cast("tuple[Any, ...]", member)
            new = tuple(self._member(part, show) for part in parts)
            return new if any(a is not b for a, b in zip(new, parts, strict=True)) else parts
        return with_strings(member, show) if isinstance(member, (dict, list)) else member

    def _tag(self, secret: str) -> str:
        met = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
        if met not in self.tags:
            number = f"{len(self.tags) + 1:0{TAG_DIGITS}x}"
            self.tags[met] = number if self.key is None else tag(secret, self.key)
        return self.tags[met]
