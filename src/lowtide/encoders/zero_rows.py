"""Codes before there are rows: what goes for all rows of an encoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.encoders.base import Encoder

__all__ = ["no_codes"]


def no_codes(owner: str, encoder: Any) -> Codes:
    """Return zero rows of an encoder's codes: bits, codebook, fingerprint.

    Parameters
    ----------
    owner : str
        Who asks, for messages.
    encoder : Encoder
        Fitted, with a coded side of levels; anything else is refused.
    """
    if not isinstance(encoder, Encoder) or not encoder.__sklearn_is_fitted__():
        got = f"an unfitted {type(encoder).__name__}" if isinstance(encoder, Encoder) else type(encoder).__name__
        raise fail(owner, "encoder must be a fitted encoder", got, "Fit it on some of the rows.")
    if not encoder._has_codes:
        raise fail(owner, "encoder must have a coded side", "bits=None", "Fit one with bits=1, say.")
    codes = encoder._encode(np.empty((0, encoder.n_features_in_), dtype=np.float32))
    if not isinstance(codes, Codes):
        raise fail(owner, "the coded side must be levels", "continuous values", "Use a quantizer of few levels.")
    return codes
