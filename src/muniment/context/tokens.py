"""What a text costs in tokens, counted from above.

Every model cuts text its own way and most vocabularies are secret, so there is no exact count. What all of them have in
common: words are cheap, digits, signs and encoded data are not, and no byte costs more than one token. So a token is
taken to hold three small letters or blanks, one digit, sign or capital, or one and a half bytes of any other script.
Over pieces of real transcripts this was never less than the count of the one public Claude vocabulary, and as a rule
half as much again (`docs/context.md` has the figures), because newer vocabularies cut finer.

Whoever knows the model better gives a plain ratio instead. Either way the count of two texts together is the sum of
both, so a budget can be filled piece by piece.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.errors import MunimentError

PARTS = 6
"""Of a token: the unit in which costs are whole numbers."""
LETTER_PARTS, SIGN_PARTS, OTHER_PARTS = 2, 6, 4
_LETTERS = bytes(range(ord("a"), ord("z") + 1)) + b" \t\n"
_OTHERS = bytes(range(128, 256))


class Count(Struct, frozen=True):
    """A way to count. Costs are sixths of a token, or bytes where a ratio is given."""

    bytes_per_token: float | None = None

    def cost(self, text: str) -> int:
        """What a text costs; the cost of a whole is the sum of the costs of its pieces."""
        data = text.encode("utf-8", "surrogatepass")
        if self.bytes_per_token is not None:
            return len(data)
        unlettered = data.translate(None, _LETTERS)
        signs = len(unlettered.translate(None, _OTHERS))
        others = len(unlettered) - signs
        return (len(data) - len(unlettered)) * LETTER_PARTS + signs * SIGN_PARTS + others * OTHER_PARTS

    def allowed(self, tokens: int) -> int:
        """How much may be spent for so many tokens."""
        return int(tokens * self.bytes_per_token) if self.bytes_per_token is not None else tokens * PARTS

    def tokens(self, cost: int) -> int:
        """A cost in tokens, rounded up."""
        per_token = self.bytes_per_token or PARTS
        return int(-(-cost // per_token))


def counting(bytes_per_token: float | None) -> Count:
    """A way to count, from what a person gave; no vocabulary has tokens of less than a byte."""
    if bytes_per_token is not None and not 1 <= bytes_per_token <= 16:
        raise MunimentError(
            f"{bytes_per_token} bytes per token", "say a number between 1 and 16; 4 is usual for English"
        )
    return Count(bytes_per_token)
