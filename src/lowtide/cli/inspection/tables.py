"""The errors of kernel values as a small table."""

from __future__ import annotations

from collections.abc import Sequence

from lowtide.cli.models import ErrorCurve

__all__ = ["error_table"]


def error_table(curves: Sequence[ErrorCurve]) -> str:
    """Return a line a pair of sides, a column a kernel value."""
    values = list(curves[0].at)
    head = f"{'kernel value':16}" + "".join(f"{value:>9.2f}" for value in values) + f"{'worst':>9}"
    lines = [
        f"{curve.sides:16}" + "".join(f"{error:9.4f}" for error in (*curve.at.values(), curve.worst))
        for curve in curves
    ]
    title = "Standard error of a kernel value, one row on each side:"
    about = "Codes x codes: over its value at equal rows; its mean is a known function of the kernel, not the kernel."
    return "\n".join([title, head, *lines, *([about] if len(curves) > 1 else [])])
