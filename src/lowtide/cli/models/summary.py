"""An encoder in a line."""

from __future__ import annotations

from typing import Any

from lowtide.cli.terminal import amount, counted

__all__ = ["bytes_per_row", "encoder_summary"]


def encoder_summary(encoder: Any) -> str:
    """Say kernel, gamma, components, bits and bytes a row.

    Parameters
    ----------
    encoder : Encoder, fitted
        Those without a kernel of one distance show their parameters.
    """
    if not hasattr(encoder, "quantizer_") or not hasattr(encoder, "kernel_") or not hasattr(encoder, "gamma_"):
        return " ".join(repr(encoder).split())
    gamma = "" if encoder.gamma_ is None else f" with gamma {amount(encoder.gamma_)}"
    kernel = encoder.kernel if isinstance(encoder.kernel, str) else repr(encoder.kernel_)
    width = "as float32"
    if encoder.quantizer_ is not None:
        width = f"of {counted(encoder.quantizer_.bits, 'bit')}"
    size = counted(bytes_per_row(encoder), "byte")
    return f"{kernel} kernel{gamma}, {counted(encoder.n_components, 'component')} {width}: {size} a row"


def bytes_per_row(encoder: Any) -> int:
    """Return what a row takes: packed where there is a coded side, else as float32."""
    import numpy as np

    if encoder.quantizer_ is None:
        return 4 * int(encoder.n_components)
    return int(encoder.encode(np.zeros((1, encoder.n_features_in_))).nbytes)
