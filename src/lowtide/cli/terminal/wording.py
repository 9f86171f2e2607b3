"""Numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["amount", "bytes_in_words", "counted", "sheet"]


def bytes_in_words(n_bytes: int) -> str:
    """Return a number of bytes in a unit that fits.

    Examples
    --------
    >>> bytes_in_words(512), bytes_in_words(51_234), bytes_in_words(7_900_000)
    ('512 bytes', '51.2 kB', '7.9 MB')
    """
    if n_bytes < 1000:
        return counted(n_bytes, "byte")
    for power, unit in enumerate(("kB", "MB", "GB"), 1):
        if n_bytes < 999.5 * 1000**power:
            return f"{n_bytes / 1000**power:.3g} {unit}"
    return f"{n_bytes / 1000**4:.3g} TB"


def counted(n: int, what: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(12_000, "row"), counted(2, "class", "classes")
    ('1 row', '12,000 rows', '2 classes')
    """
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


def amount(value: float) -> str:
    """Return a number with four digits.

    Examples
    --------
    >>> amount(0.0312345), amount(1234567.0)
    ('0.03123', '1.235e+06')
    """
    return f"{value:.4g}"


def sheet(lines: Iterable[tuple[str, str]]) -> str:
    """Return labels and texts in two columns; lines without text are left out.

    Examples
    --------
    >>> print(sheet([("rows", "150"), ("score", ""), ("classes", "3")]))
    rows       150
    classes    3
    """
    kept = [(label, text) for label, text in lines if text]
    width = max(len(label) for label, _ in kept) + 4
    return "\n".join(f"{label:{width}}{text}" for label, text in kept)
