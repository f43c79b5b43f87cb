"""Does the inscription of a session preserve everything that matters?

inscribe → restore and inscribe → export are run in memory and compared with the source, claim by claim, in
both directions; the document is parsed and compared on its own; the export is inscribed again and must give the
same document. A source that is only read has no export: there the rounds are compared. Nothing is written.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import Struct, structs

from muniment import sources
from muniment.model import Facts, Loss, Media, Message, Problem, Round, Text, Thinking, Tool, Unknown, codec
from muniment.sources import salvage
from muniment.sources.base import CONVERSATION, DOCUMENT, Claim, Former, Found, Move, Source, SourceFile
from muniment.sources.lines import records
from muniment.store import document, escape, evidence, parse, rounds

DAMAGED = "damaged"
"""Note of a report: the archive is not what its own evidence says (`integrity`)."""

ABOUT = ("time", "id", "parent", "message id", "model", "usage")
"""Claims of a record about itself: one that is there again may be hung elsewhere, or its cost taken off."""


class Tally(Struct):
    """How the claims of one field fared."""

    equal: int = 0
    changed: int = 0
    lost: int = 0
    added: int = 0

    @property
    def kept(self) -> bool:
        return not (self.changed or self.lost)


class Checked(Struct):
    """What a check found out about one transcript."""

    path: str
    session_id: str
    restored: bool = False
    """From the evidence the very bytes come back."""
    export: dict[str, Tally] = {}
    """By field: from document and rounds, through the export if there is one, against the source."""
    document: dict[str, Tally] = {}
    """By field: from the document alone, against the source."""
    not_carried: dict[str, int] = {}
    """What the export leaves out, by kind."""
    stable: bool = False
    """inscribe(export(inscribe(x))) gives the same document."""
    rehung: int = 0
    """Parents that changed because the record they named is left out."""
    problems: list[Problem] = []
    losses: list[Loss] = []
    note: str = ""
    """`DAMAGED`, or nothing."""
    version: str = ""
    """Of the session, if it is not the current one."""

    @property
    def lossless(self) -> bool:
        """Nothing of the conversation is lost on any road; damage in the source is not a loss of ours."""
        fields = [t for name, t in self.export.items() if name in CONVERSATION and name != "parent"]
        fields += [t for name, t in self.document.items() if name in DOCUMENT]
        return self.restored and all(tally.kept for tally in fields) and (self.stable or bool(self.problems))


def check_found(found: Found) -> Iterator[Checked]:
    """Check every transcript of a session as it lies on disk."""
    source = sources.named(found.source)
    for file in found.files:
        if file.role in ("main", "sidechain"):
            yield check_transcript(source, facts_of(found, file), file, partial(source.content, file))


def facts_of(found: Found, file: SourceFile) -> Facts:
    """What is known of a transcript before it is read."""
    side = file.id if file.role == "sidechain" else None
    half = file.role == "history"
    return Facts(found.session_id, found.source, native_id=found.native_id, sidechain=side, prompts_only=half)


def check_transcript(source: Source, facts: Facts, file: SourceFile, pieces: Callable[[], Iterable[bytes]]) -> Checked:
    """Run all roads for one transcript."""
    checked = Checked(file.path, facts.session_id, export={}, document={}, not_carried={}, problems=[], losses=[])
    checked.restored = _restores(pieces)
    stored = inscribed(source, facts, source.open(file.name, pieces()))
    checked.problems = [problem for r in stored.rounds for problem in r.problems(file.path)]
    ours = _claims(source, source.open(file.name, pieces()))
    _compare_document(ours.latest, stored.body, checked, stored.media)
    if not source.writable:
        _compare_rounds(ours.latest, stored, checked)
        return checked
    exported = list(source.write(stored.rounds, stored.facts, Move(), stored.media.__getitem__, checked.losses))
    theirs = _claims(source, exported)
    _compare(ours, theirs, checked)
    again = inscribed(source, facts, exported)
    checked.stable = again.body == stored.body
    return checked


class Inscribed(Struct):
    """A session as the store would hold it."""

    rounds: list[Round]
    facts: Facts
    body: bytes
    media: dict[str, bytes]


def inscribed(source: Source, facts: Facts, pieces: Iterable[bytes], folder: str = "") -> Inscribed:
    """What the store would hold of these bytes; `folder` is what the document's links to media begin with."""
    made: list[Round] = []
    media: dict[str, bytes] = {}
    former = Former(lambda number: made[number - 1], lambda: facts)
    for round_ in source.read_on(records(pieces), facts, former):
        media |= round_.media
        made.append(rounds.decode(rounds.encode(round_)))
        facts = facts.after(round_)
    messages = [message for round_ in made for message in round_.messages]
    body = document.SEPARATOR.encode().join(document.render(messages, folder or facts.session_id))
    return Inscribed(made, facts, body, media)


def _restores(pieces: Callable[[], Iterable[bytes]]) -> bool:
    """Through the compressor and back, frame by frame."""
    return all(evidence.survives(piece) for piece in pieces())


class _Claims(Struct):
    """Every claim with the hash of its value; the values themselves may be large."""

    latest: dict[tuple[str, str], bytes]
    """A record that is there again is one; what it says last counts."""
    former: dict[tuple[str, str], set[bytes]]
    """What it said of itself before, where that is something else."""

    def add(self, claim: Claim) -> None:
        place, value = (claim.key, claim.field), _hash(claim)
        known = self.latest.get(place, value)
        if known != value and claim.field in ABOUT:
            self.former.setdefault(place, set()).add(known)
        self.latest[place] = value

    def agrees(self, other: _Claims, place: tuple[str, str]) -> bool:
        """Whether both make a claim, and one time at least the same."""
        ours, theirs = self.latest[place], other.latest.get(place)
        if ours == theirs or theirs is None or not (self.former or other.former):
            return ours == theirs
        return not ({ours} | self.former.get(place, set())).isdisjoint({theirs} | other.former.get(place, set()))


def _claims(source: Source, pieces: Iterable[bytes]) -> _Claims:
    found = _Claims({}, {})
    known: dict[bytes, str] = {}
    for record in source.objects(records(pieces)):
        claims = list(salvage.claims(source, record))
        if not _is_copy(claims, known):
            for claim in claims:
                found.add(claim)
    return found


def _is_copy(claims: list[Claim], known: dict[bytes, str]) -> bool:
    """Whether a record says at the same time what another said: an agent may write it again under a new id."""
    own = next((claim.key for claim in claims if claim.field == "id"), None)
    if own is None or not any(claim.field == "time" and claim.value for claim in claims):
        return False
    said = [c for c in claims if c.field not in ("id", "parent", "usage") and not c.field.startswith("field:")]
    content = hashlib.blake2b(digest_size=12)
    for claim in said:
        content.update(f"{claim.key.removeprefix(own)} {claim.field} ".encode() + _hash(claim))
    return len(said) > 1 and known.setdefault(content.digest(), own) != own


def _hash(claim: Claim) -> bytes:
    return _digest(claim.value)


def _digest(value: Any) -> bytes:
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else codec.encode(value)
    return hashlib.blake2b(data, digest_size=12).digest()


def _compare(ours: _Claims, theirs: _Claims, into: Checked) -> None:
    lost: Counter[str] = Counter()
    for place in ours.latest:
        field = place[1]
        if not _is_conversation(field):
            lost[field] += place not in theirs.latest
            continue
        tally = into.export.setdefault(field, Tally())
        if ours.agrees(theirs, place):
            tally.equal += 1
        elif place not in theirs.latest:
            tally.lost += 1
        else:
            tally.changed += 1
    for _, field in theirs.latest.keys() - ours.latest.keys():
        if _is_conversation(field):
            into.export.setdefault(field, Tally()).added += 1
    into.not_carried = {kind: count for kind, count in sorted(lost.items()) if count}
    into.rehung = into.export.get("parent", Tally()).changed


def _compare_rounds(ours: dict[tuple[str, str], bytes], stored: Inscribed, into: Checked) -> None:
    """What the rounds of a source that is only read hold, wherever they hold it."""
    held = {pair for r in stored.rounds for message in r.messages for pair in _held(message, stored.media)}
    for (_, field), value in ours.items():
        if _is_conversation(field):
            tally = into.export.setdefault(field, Tally())
            kept = (field, value) in held
            tally.equal += kept
            tally.lost += not kept
    into.stable = True


def _held(message: Message, media: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """What a message holds beside its words; claims of such a source count tokens as we do."""
    yield from _said(message, media)
    about: list[tuple[str, Any]] = [("model", message.model), ("message id", message.id)]
    if usage := message.usage:
        about += [("usage", list(structs.astuple(usage))), ("usage", usage.output)]
    for block in message.blocks:
        for ref in (block.ref, getattr(block, "result", None) or block.ref):
            about += [("id", ref.id), ("parent", ref.parent), ("time", ref.at)]
        if isinstance(block, Thinking):
            about.append(("signature", block.signature))
        elif isinstance(block, Tool):
            about += [("tool call", [block.id, block.name]), ("error flag", [block.id, block.is_error])]
        parts = (block.output or ()) if isinstance(block, Tool) else (block,)
        about += [(f"part: {part.kind}", part.value) for part in parts if isinstance(part, Unknown)]
    yield from ((field, _digest(value)) for field, value in about if value is not None)


def _is_conversation(field: str) -> bool:
    return field in CONVERSATION or field.startswith("part:")


def _compare_document(ours: dict[tuple[str, str], bytes], body: bytes, into: Checked, media: dict[str, bytes]) -> None:
    """What the document says, whoever reads it, against what the source says."""
    source = Counter((field, value) for (_, field), value in ours.items() if field in DOCUMENT)
    messages = list(parse.parse(escape.from_bytes(body)))
    page = Counter((field, value) for message in messages for field, value in _said(message, media))
    shown = Counter(_digest(text) for message in messages for text in _strings_shown(message))
    for (field, value), count in source.items():
        tally = into.document.setdefault(field, Tally())
        kept = min(count, page[field, value] + shown[value])
        tally.equal += kept
        tally.lost += count - kept
    for (field, value), count in page.items():
        extra = count - source[field, value]
        if extra > 0:
            into.document.setdefault(field, Tally()).added += extra


def _said(message: Message, media: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for block in message.blocks:
        match block:
            case Thinking(text):
                yield "thinking", _digest(text)
            case Tool():
                if block.name is not None:
                    yield "tool input", _digest(block.input)
                for part in block.output or ():
                    if isinstance(part, Text):
                        yield "tool output", _digest(part.text)
                    elif isinstance(part, Media):
                        yield "image", _image_digest(part, media)
                    elif part.kind == "media":
                        yield "image", _digest(codec.mapping(part.value).get("data"))
            case Media():
                yield "image", _image_digest(block, media)
            case Unknown(kind="media"):
                yield "image", _digest(codec.mapping(block.value).get("data"))
            case _:
                text = getattr(block, "text", None)
                if text is not None:
                    yield "text", _digest(text)


def _strings_shown(message: Message) -> Iterator[str]:
    """Every string of the parts that are shown as they came, because nobody knows what they are."""
    for block in message.blocks:
        if isinstance(block, Unknown):
            yield from codec.iter_strings(block.value)


def _image_digest(block: Media, media: dict[str, bytes]) -> bytes:
    return _digest(base64.b64encode(media[block.name]).decode("ascii"))


def total(reports: Iterable[Checked]) -> Checked:
    """Many checks as one."""
    whole = Checked("", "", restored=True, export={}, document={}, not_carried={}, stable=True, problems=[], losses=[])
    for report in reports:
        whole.restored &= report.restored
        whole.stable &= report.stable
        whole.rehung += report.rehung
        whole.problems = whole.problems + report.problems
        for name in ("export", "document"):
            for field, tally in getattr(report, name).items():
                _add(getattr(whole, name).setdefault(field, Tally()), tally)
        for kind, count in report.not_carried.items():
            whole.not_carried[kind] = whole.not_carried.get(kind, 0) + count
    return whole


def _add(into: Tally, tally: Tally) -> None:
    for name in structs.asdict(tally):
        setattr(into, name, getattr(into, name) + getattr(tally, name))
