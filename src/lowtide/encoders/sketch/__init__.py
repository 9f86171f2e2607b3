"""Quantized random projections that serve every bandwidth."""

from lowtide.encoders.sketch.codebooks import fourier_codebook, fourier_codes, linear_codes
from lowtide.encoders.sketch.sketch import Sketch

__all__ = ["Sketch", "fourier_codebook", "fourier_codes", "linear_codes"]
