"""How figures and tables are spelt."""

from collections.abc import Iterable, Sequence


def figure(value: float | None, unit: str) -> str:
    """A figure with as many digits as mean something."""
    if value is None:
        return "-"
    digits = 0 if unit == "MiB" else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
