"""Describe an encoder as JSON, with all that a client needs to make its codes, and build it again."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.encoders import (
    DrawnAsymmetric,
    DrawnEncoder,
    DrawnFeatures,
    DrawnLearned,
    DrawnSketch,
    Encoder,
    drawn_from_state,
)
from lowtide.errors import FingerprintMismatchError, WireFormatError
from lowtide.projections import DenseProjection, Hadamard, Rotation
from lowtide.spec import Part
from lowtide.wire.messages import wire_row_bytes

_FORMAT = 2
_TYPES = ("float64", "float32", "float16", "int64", "int8", "uint8")
_MOST_AXES = 4


def summarize_encoder(encoder: Encoder | DrawnEncoder) -> dict[str, Any]:
    """Return kind, identity and sizes of a fitted encoder; `bits` and what follows from them only with codes.

    Parameters
    ----------
    encoder : Encoder or DrawnEncoder
    """
    drawn = encoder.drawn_ if isinstance(encoder, Encoder) else encoder
    layout = drawn.layout if isinstance(drawn, (DrawnFeatures, DrawnSketch, DrawnAsymmetric)) else None
    # Of a metric that is a matrix any layout becomes one.
    is_matrix = isinstance(drawn, DrawnFeatures) and isinstance(drawn.projection, DenseProjection)
    summary = {
        "kind": drawn.kind,
        "fingerprint": drawn.fingerprint.hex(),
        "side": drawn.side.hex(),
        "n_features": drawn.n_features,
        "n_components": drawn.n_outputs,
        "projection": None if layout is None else type(layout).__name__,
        # Sums in one fixed order: a row has the same bits on every machine.
        "bit_equal": (isinstance(layout, (Hadamard, Rotation)) and not is_matrix)
        or (isinstance(drawn, DrawnLearned) and drawn.is_linear),
    }
    template = drawn.template
    if template is not None:
        width = wire_row_bytes(template.n_levels, template.bits)
        # Where levels have bits of their own, these are a list, and none is what every level takes.
        sizes = {"bits": template.bits, "stored_bits": template.packing[1] or None, "n_levels": template.n_levels}
        summary |= {**sizes, "row_bytes": width, "codebook": template.codebook.tolist()}
    return summary


def describe_encoder(encoder: Encoder | DrawnEncoder) -> dict[str, Any]:
    """Return all that makes a fitted encoder, ready for JSON: a few bytes a component with a Hadamard layout.

    Parameters
    ----------
    encoder : Encoder or DrawnEncoder

    See Also
    --------
    rebuild_encoder : the way back

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> import lowtide as lt
    >>> encoder = lt.RandomFeatures(n_components=256, random_state=0).fit(np.eye(5))
    >>> text = json.dumps(lt.wire.describe_encoder(encoder))
    >>> again = lt.wire.rebuild_encoder(json.loads(text))
    >>> again.encode(np.eye(5)) == encoder.encode(np.eye(5))
    True
    """
    drawn = encoder.drawn_ if isinstance(encoder, Encoder) else encoder
    parts = {
        name: {"version": part.version, "spec": part.spec, "arrays": _arrays_to_json(part.arrays)}
        for name, part in drawn.to_state().items()
    }
    return {"format": _FORMAT, **summarize_encoder(drawn), "quantizer": _steps_to_json(drawn), "parts": parts}


def rebuild_encoder(content: Any) -> DrawnEncoder:
    """Return the encoder of a description, which may be a stranger's: no code of it is run.

    Parameters
    ----------
    content : dict
        As `describe_encoder` gives it and JSON brings it back.

    Returns
    -------
    DrawnEncoder
        What `fit` drew, the estimator's `drawn_`.

    Raises
    ------
    WireFormatError
        Also a ValueError: it describes no encoder, or has parts that this version does not know.
    FingerprintMismatchError
        Also a ValueError: what was built is not the encoder that was described.
    """
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        version = content.get("format") if isinstance(content, dict) else None
        raise WireFormatError(f"an encoder's description must have format {_FORMAT}, got {version!r}. Update lowtide.")
    try:
        drawn = drawn_from_state({str(name): _part_from_json(part) for name, part in content["parts"].items()})
    except Exception as error:  # the content is a stranger's: whatever does not fit is its fault
        reason = f"{type(error).__name__}: {str(error)[:500]}"
        raise WireFormatError(f"an encoder must be built from its description, got {reason}") from error
    for name, rebuilt in (("fingerprint", drawn.fingerprint), ("side", drawn.side)):
        if rebuilt.hex() != content.get(name):
            must = f"an encoder must have the {name} of its description, {str(content.get(name))[:80]}"
            raise FingerprintMismatchError(f"{must}, got {rebuilt.hex()}.")
    return drawn


def _steps_to_json(drawn: DrawnEncoder) -> dict[str, Any] | None:
    """Return what decides a level where levels are steps of the phase: for clients that are not Python."""
    quantizer: Any = drawn.quantizer if isinstance(drawn, DrawnFeatures) else None
    if quantizer is None or quantizer.op != "encode":
        return None
    arrays = _arrays_to_json({name: getattr(quantizer, name) for name in ("shifts", "borders", "table")})
    return {"op": quantizer.op, **arrays, "even": bool(quantizer.even)}


def _arrays_to_json(arrays: dict[str, NDArray[Any]]) -> dict[str, dict[str, Any]]:
    written = {}
    for name, array in arrays.items():
        data = base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes())
        written[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "data": data.decode("ascii")}
    return written


def _part_from_json(part: Any) -> Part:
    arrays = {str(name): _array_from_json(entry) for name, entry in part["arrays"].items()}
    return Part(part["version"], part["spec"], arrays)


def _array_from_json(entry: Any) -> NDArray[Any]:
    """Return the array of an entry; its size is that of its data, whatever it says."""
    shape = entry["shape"]
    small = isinstance(shape, list) and len(shape) <= _MOST_AXES and all(type(size) is int for size in shape)
    if entry["dtype"] not in _TYPES or not small:
        raise WireFormatError(f"an array must be of {', '.join(_TYPES)}, with a shape, got {entry['dtype']!r}.")
    kind = np.dtype(entry["dtype"])
    data = base64.b64decode(entry["data"], validate=True)
    return np.frombuffer(data, dtype=kind.newbyteorder("<")).reshape(shape).astype(kind, copy=False)
