"""What the generated header says of itself."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import lowtide
from lowtide.device.decision import Decision
from lowtide.encoders import Sketch, TernaryFeatures

if TYPE_CHECKING:
    from lowtide.device.export import DeviceCode

__all__ = ["describe"]

_WIDTH = 110


def describe(made: DeviceCode, encoder: Any, decision: Decision | None) -> str:
    """Return the comment at the top: what it is, flash and RAM, how to build it, what it is equal to.

    Parameters
    ----------
    made : DeviceCode
    encoder : RandomFeatures, Sketch or TernaryFeatures
    decision : Decision or None
    """
    paragraphs = [_what(made, encoder, decision), _flash(made), _ram(made), _build(encoder)]
    if decision is not None:
        paragraphs.append(_rounding(made, decision))
    lines = [line for text in paragraphs for line in [*textwrap.wrap(text, _WIDTH), ""]]
    return "/* " + "\n".join(f"   {line}".rstrip() for line in lines[:-1]).lstrip() + " */"


def _what(made: DeviceCode, encoder: Any, decision: Decision | None) -> str:
    kind = type(encoder).__name__
    then = "" if decision is None else ", and a decision from the code"
    return (
        f"{made.name}: codes of rows of {encoder.n_features_in_} numbers{then}. Made by lowtide {lowtide.__version__}; "
        f"equal bit by bit to {kind}.encode of fingerprint {encoder.fingerprint_.hex()}."
    )


def _flash(made: DeviceCode) -> str:
    tables = ", ".join(f"{name} {size:,}" for name, size in made.tables.items())
    return (
        f"Flash: {made.flash_bytes:,} bytes, tables {sum(made.tables.values()):,} ({tables}) and code at most "
        f"{made.code_bytes:,} on a Cortex-M4 with its float unit and -Os."
    )


def _ram(made: DeviceCode) -> str:
    return f"RAM: {made.ram_bytes:,} bytes besides the row: code, scores and stack. No heap, nothing static."


def _build(encoder: Any) -> str:
    if isinstance(encoder, TernaryFeatures):
        return "Build: any C99 compiler. Integers only: sums, differences and comparisons."
    length = (
        " The length of a row is summed in double: without hardware for it the compiler's library adds some 2 kB."
        if isinstance(encoder, Sketch)
        else ""
    )
    return (
        "Build: any C99 compiler, without libm. float must be IEEE binary32, computed as such and rounded to nearest, "
        "with subnormal numbers: no -ffast-math, no flush to zero. Contraction to fused operations is harmless."
        f"{length}"
    )


def _rounding(made: DeviceCode, decision: Decision) -> str:
    text = f"Decision: weights in {decision.kind}; rounding them moves a decision value by about {made.error:.2g}."
    if made.agreement is not None:
        text += f" On the rows it was tried on, {made.agreement:.2%} of the classes were those of the model itself."
    return text
