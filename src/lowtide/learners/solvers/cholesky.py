"""LAPACK's Cholesky factorization without Python's lock, so that several run side by side.

scipy's own wrappers hold the lock. The routines that scipy offers to Cython are plain pointers, and ctypes calls those
without it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_lapack

__all__ = ["factorize"]

_NAMES = {np.dtype(np.float32): "spotrf", np.dtype(np.float64): "dpotrf"}


def factorize(matrix: NDArray[Any]) -> int:
    """Write the lower Cholesky factor over the lower triangle; the upper one is not touched.

    Parameters
    ----------
    matrix : ndarray (m, m) of float32 or float64, in Fortran's order

    Returns
    -------
    int
        0, or the order of the first leading minor that is not positive definite.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.flags.f_contiguous:
        raise ValueError(f"matrix must be square and in Fortran's order, got shape {matrix.shape}")
    order, info = ctypes.c_int(len(matrix)), ctypes.c_int(0)
    side = ctypes.c_char(b"L")
    stride = ctypes.c_int(max(1, len(matrix)))
    pointers = (ctypes.byref(side), ctypes.byref(order), matrix.ctypes.data, ctypes.byref(stride), ctypes.byref(info))
    _routine(_NAMES[matrix.dtype])(*pointers)
    return info.value


@cache
def _routine(name: str) -> Callable[..., None]:
    """Return a routine of LAPACK whose arguments are all pointers."""
    capsule = cython_lapack.__pyx_capi__[name]
    read_name = ctypes.pythonapi.PyCapsule_GetName
    read_name.restype, read_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    read_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    read_pointer.restype, read_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = read_pointer(capsule, read_name(capsule))
    return ctypes.CFUNCTYPE(None, *5 * [ctypes.c_void_p])(address)
