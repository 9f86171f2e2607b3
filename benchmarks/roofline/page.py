"""The run as Markdown, and its place in a page between two markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.roofline.figures import FRACTIONS, GROWTH
from benchmarks.roofline.growth import Curve
from benchmarks.roofline.limits import Limit
from benchmarks.roofline.op import MEMORY, Outcome

__all__ = ["BEGIN", "END", "Measured", "markdown", "put_into_page"]

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


class Measured:
    """Limits, ops and curves of one run."""

    def __init__(
        self,
        machine: Mapping[str, str],
        limits: Sequence[Limit],
        rates: Mapping[str, float],
        outcomes: Sequence[Outcome],
        curves: Sequence[Curve],
    ) -> None:
        self.machine, self.limits, self.rates, self.outcomes, self.curves = machine, limits, rates, outcomes, curves


def markdown(run: Measured, command: str) -> str:
    """Return the measured part of the page."""
    told = ", ".join(f"{name} {value}" for name, value in run.machine.items())
    parts = [
        f"Written by `{command}` on: {told}.",
        "### Limits\n\n" + _limits(run),
        f"### Ops\n\n{_ops(run)}\n\n![Share of the limit that each op reaches]({FRACTIONS})",
        f"### Work of an element\n\n{_work(run)}\n\nHow it was counted:\n\n{_counted(run)}",
        f"### Growth\n\n{_growth(run)}\n\n{_logarithm(run)}\n\n![Time against n, d and m]({GROWTH})",
    ]
    return "\n\n".join(parts) + "\n"


def put_into_page(page: Path, text: str, name: str = "measured") -> None:
    """Replace what stands between the markers of the page; name tells them from others where a page has several."""
    begin, end = (marker.replace("measured", name) for marker in (BEGIN, END))
    old = page.read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        raise ValueError(f"{page.name}: must hold the lines {begin} and {end} once each, in this order. Add them.")
    before, after = old[: old.index(begin)], old[old.index(end) :]
    page.write_text(f"{before}{begin}\n\n{text}\n{after}", encoding="utf-8")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _limits(run: Measured) -> str:
    rows = [
        [f"`{limit.name}`", f"{_figure(run.rates[limit.name] / 1e9)} G {limit.unit}s/s", limit.words]
        for limit in run.limits
    ]
    return _table(["limit", "measured", "how"], rows)


def _ops(run: Measured) -> str:
    units = {limit.name: limit.unit for limit in run.limits} | {MEMORY: "byte"}
    rows = [
        [
            outcome.op.name,
            outcome.op.size,
            _time(outcome.seconds),
            f"{_figure(outcome.amount / outcome.seconds / 1e9)} G {units[outcome.binds]}s/s",
            f"{100 * outcome.fraction:.0f}%",
            f"`{outcome.binds}`",
        ]
        for outcome in run.outcomes
    ]
    return _table(["op", "size", "time", "rate", "of the limit", "binds"], rows)


def _work(run: Measured) -> str:
    rows = []
    for op in (outcome.op for outcome in run.outcomes):
        amounts = [f"{_figure(amount / op.elements)} `{name}`" for name, amount in op.work.items()]
        moved = [_figure(amount / op.elements) for amount in (op.read, op.written)]
        rows.append([op.name, op.element, *moved, ", ".join(amounts) or "none counted"])
    return _table(["op", "element", "bytes read", "bytes written", "operations"], rows)


def _counted(run: Measured) -> str:
    """List each way of counting once."""
    ways = {outcome.op.counted: outcome.op for outcome in reversed(run.outcomes)}
    return "\n".join(f"- *{op.name}*: {op.counted}." for op in reversed(ways.values()))


def _growth(run: Measured) -> str:
    rows = [
        [
            curve.call,
            f"{curve.variable} = {curve.values[0]:,} to {curve.values[-1]:,}",
            curve.fixed,
            _time(curve.seconds[0]),
            _time(curve.seconds[-1]),
            f"{curve.variable}^{curve.exponent:.2f}",
            f"{curve.variable}^{curve.last_exponent:.2f}",
        ]
        for curve in run.curves
    ]
    return _table(["call", "along", "fixed", "first", "last", "fitted", "last doubling"], rows)


def _logarithm(run: Measured) -> str:
    curve = next(curve for curve in run.curves if curve.call == "projection, Hadamard")
    start, slope = curve.per_doubling
    worst = max(
        abs(seconds / (start + slope * (size.bit_length() - 1)) - 1)
        for size, seconds in zip(curve.values, curve.seconds)
    )
    return (
        f"On the Hadamard path a projection takes {1e9 * start:.2f} + {1e9 * slope:.3f} log2 d nanoseconds on all "
        f"threads together, fitted from d = {curve.values[0]:,} to {curve.values[-1]:,}; no size is further than "
        f"{100 * worst:.0f}% from that line."
    )


def _figure(value: float) -> str:
    """Three digits, and no powers of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else f"{_figure(seconds * 1e3)} ms"
