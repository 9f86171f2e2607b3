"""The compiled ops. Only this package knows the extension's name.

Arrays are numpy arrays of exactly the dtype that the stub states, C-ordered; outputs are written in place.
A wrong dtype or number of dimensions is a TypeError, a wrong shape or value a ValueError.
"""

from lowtide._core._lowtide_core import (
    code_dot,
    code_gram,
    code_matvec,
    code_rmatvec,
    code_top_k,
    decode,
    detected_isa,
    encode,
    encode_stochastic,
    features,
    isa,
    isa_complaint,
    norms,
    pack,
    panel_gram,
    project,
    set_thread_count,
    ternary_encode,
    thread_count,
    threshold,
    trit_dot,
    trit_gram,
    turns,
    unpack,
)
from lowtide._core.threads import register_if_imported

__all__ = [
    "code_dot",
    "code_gram",
    "code_matvec",
    "code_rmatvec",
    "code_top_k",
    "decode",
    "detected_isa",
    "encode",
    "encode_stochastic",
    "features",
    "isa",
    "isa_complaint",
    "norms",
    "pack",
    "panel_gram",
    "project",
    "set_thread_count",
    "ternary_encode",
    "thread_count",
    "threshold",
    "trit_dot",
    "trit_gram",
    "turns",
    "unpack",
]

register_if_imported()
