"""From projected values to phases, levels and features, in float32, one rounding an operation."""

import numpy as np
from reference.projected import projected

F = np.float32
COSINE = [F(c) for c in (39.133640289, -76.496025085, 81.598648071, -41.341617584, 6.283185005)]


def phases(X, layout, scale, offset, shifts):
    """u of every component, (n, p * width)."""
    t = projected(X, layout, len(scale)) * scale + offset
    u = t[:, :, None] + np.asarray(shifts, F)
    assert u.dtype == F
    return u.reshape(len(u), u.shape[1] * u.shape[2])


def fraction(u):
    """The part of a phase above the integer below, in [0, 1); 0 where that rounds to 1 or is not finite."""
    with np.errstate(invalid="ignore"):
        f = u - np.floor(u)
        return np.where(f < 1, f, F(0))


def levels(u, borders, table, even):
    """The level of each phase: the table at the number of borders passed."""
    with np.errstate(invalid="ignore"):
        f = np.where(np.isfinite(u), np.abs(u - np.rint(u)), F(0)) if even else fraction(u)
    passed = f[..., None] <= borders if even else f[..., None] >= borders
    return np.asarray(table)[passed.sum(axis=-1)]


def cosine(r):
    """cos(2 pi r) for r in [-1/2, 1/2]."""
    y = F(0.25) - np.abs(r)
    z = y * y
    p = COSINE[0]
    for c in COSINE[1:]:
        p = p * z + c
    return p * y


def features(u, amplitude):
    """Float features of phases."""
    return F(amplitude) * cosine(u - np.rint(u))


def mix(h):
    """A bijection of 32-bit words that spreads every bit."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ (h >> np.uint32(shift))) * np.uint32(factor)
    return h ^ (h >> np.uint32(16))


def random_fractions(seed, f):
    """r in [0, 1) of every component (the last axis of f), by a hash of seed, component and phase."""
    low, high = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
    key = mix(mix(np.arange(f.shape[-1], dtype=np.uint32) ^ low) + high)
    return (mix(key ^ f.view(np.uint32)) >> np.uint32(8)).astype(F) * F(2**-24)


def stochastic_levels(u, seed, bits):
    """The cosine of each phase rounded to a level, up or down at random."""
    f = fraction(u)
    top = 2**bits - 1
    place = (cosine(f - np.rint(f)) + F(1)) * F(top / 2) + random_fractions(seed, f)
    return np.clip(np.floor(place), 0, top).astype(np.uint8)


def pack(levels_of_rows, bits):
    """Levels to one little-endian bit string a row, padded to whole 64-bit words."""
    n, n_levels = levels_of_rows.shape
    string = (levels_of_rows[:, :, None] >> np.arange(bits)) & 1
    padded = np.zeros((n, -(-n_levels * bits // 64) * 64), np.uint8)
    padded[:, : n_levels * bits] = string.reshape(n, n_levels * bits)
    return np.packbits(padded, axis=1, bitorder="little")
