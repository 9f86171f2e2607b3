"""Messages of codes and rows for schemathesis, which knows how to make JSON alone."""

from __future__ import annotations

import os

import numpy as np

import lowtide as lt

if "LOWTIDE_FUZZED_MODEL" in os.environ:
    import schemathesis
    from hypothesis import strategies as st

    _ENCODER = lt.load(os.environ["LOWTIDE_FUZZED_MODEL"]).features_

    def _rows(n: int) -> np.ndarray:
        return np.random.default_rng(n).standard_normal((n, _ENCODER.n_features_in_))

    _CODED = st.integers(0, 8).map(lambda n: lt.wire.pack(_ENCODER.encode(_rows(n))))
    _PLAIN = st.integers(0, 8).map(lambda n: lt.wire.pack_rows(_rows(n)))
    for _kind, _strategy in ((lt.wire.CODES_TYPE, _CODED), (lt.wire.ROWS_TYPE, _PLAIN)):
        for _name in (_kind, _kind.partition(";")[0]):
            schemathesis.openapi.media_type(_name, _strategy)
