"""An encoder as JSON: what a client needs to make its codes."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.codes import Codes, stored_bits
from lowtide.encoders import ENCODERS, Encoder
from lowtide.errors import FingerprintMismatchError, WireFormatError
from lowtide.wire.codes import wire_row_bytes

__all__ = ["describe_encoder", "rebuild_encoder", "summarize_encoder"]

_FORMAT = 1
_TYPES = ("float64", "float32", "float16", "int64", "int8", "uint8")
_MOST_AXES = 4


def summarize_encoder(encoder: Encoder) -> dict[str, Any]:
    """Return kind, fingerprint and sizes of a fitted encoder; `bits` and what follows from them only with codes.

    Parameters
    ----------
    encoder : Encoder
    """
    projection = getattr(encoder, "_layout", None)
    summary = {
        "kind": type(encoder).__name__,
        "fingerprint": encoder.fingerprint_.hex(),
        "n_features": encoder.n_features_in_,
        "n_components": encoder._n_features_out,
        "projection": None if projection is None else type(projection).__name__,
        # Sums in one fixed order: a row has the same bits on every machine.
        "bit_equal": encoder._ops_refuse_not_finite,
    }
    none = _no_codes(encoder)
    if none is not None:
        width = wire_row_bytes(none.n_levels, none.bits)
        sizes = {"bits": none.bits, "stored_bits": stored_bits(none.bits), "n_levels": none.n_levels}
        summary |= {**sizes, "row_bytes": width, "codebook": none.codebook.tolist()}
    return summary


def describe_encoder(encoder: Encoder) -> dict[str, Any]:
    """Return all that makes a fitted encoder, ready for JSON: a few bytes a component with a Hadamard layout.

    Parameters
    ----------
    encoder : Encoder

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
    spec, arrays = encoder._state()
    kept = {name: _array_to_json(array) for name, array in arrays.items()}
    steps = _steps_to_json(getattr(encoder, "quantizer_", None))
    return {"format": _FORMAT, **summarize_encoder(encoder), "spec": spec, "arrays": kept, "quantizer": steps}


def rebuild_encoder(content: Any) -> Encoder:
    """Return the fitted encoder of a description, which may be a stranger's: no code of it is run.

    Parameters
    ----------
    content : dict
        As `describe_encoder` gives it and JSON brings it back.

    Raises
    ------
    WireFormatError
        Also a ValueError: it describes no encoder, or one of a newer version.
    FingerprintMismatchError
        Also a ValueError: what was built is not the encoder that was described.
    """
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        version = content.get("format") if isinstance(content, dict) else None
        raise WireFormatError(f"an encoder's description must have format {_FORMAT}, got {version!r}. Update lowtide.")
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in ENCODERS:
        raise WireFormatError(
            f"an encoder must be one of {', '.join(ENCODERS)}, got {str(kind)[:80]!r}. Update lowtide."
        )
    try:
        arrays = {str(name): _array_from_json(entry) for name, entry in content["arrays"].items()}
        encoder = ENCODERS[kind]._from_state(content["spec"], arrays)
    except Exception as error:  # the content is a stranger's: whatever does not fit is its fault
        reason = f"{type(error).__name__}: {str(error)[:500]}"
        raise WireFormatError(f"an encoder must be built from its description, got {reason}") from error
    if encoder.fingerprint_.hex() != content.get("fingerprint"):
        raise FingerprintMismatchError(
            f"an encoder must have the fingerprint of its description, {str(content.get('fingerprint'))[:80]}, got "
            f"{encoder.fingerprint_.hex()}."
        )
    return encoder


def _no_codes(encoder: Encoder) -> Codes | None:
    """Return zero rows of an encoder's codes, None where its coded side is not packed or not there."""
    if not encoder._has_codes:
        return None
    none = encoder._encode(np.zeros((0, encoder.n_features_in_), dtype=np.float32))
    return none if isinstance(none, Codes) else None


def _steps_to_json(quantizer: Any) -> dict[str, Any] | None:
    """Return what decides a level where levels are steps of the phase: for clients that are not Python."""
    if getattr(quantizer, "op", None) != "encode":
        return None
    arrays = {name: _array_to_json(getattr(quantizer, name)) for name in ("shifts", "borders", "table")}
    return {"op": quantizer.op, **arrays, "even": bool(quantizer.even)}


def _array_to_json(array: NDArray[Any]) -> dict[str, Any]:
    stored = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(stored.tobytes()).decode("ascii")
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def _array_from_json(entry: Any) -> NDArray[Any]:
    """Return the array of an entry; its size is that of its data, whatever it says."""
    shape = entry["shape"]
    small = isinstance(shape, list) and len(shape) <= _MOST_AXES and all(type(size) is int for size in shape)
    if entry["dtype"] not in _TYPES or not small:
        raise WireFormatError(f"an array must be of {', '.join(_TYPES)}, with a shape, got {entry['dtype']!r}.")
    kind = np.dtype(entry["dtype"])
    try:
        data = base64.b64decode(entry["data"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise WireFormatError(f"an array's data must be base64, got {error}.") from error
    return np.frombuffer(data, dtype=kind.newbyteorder("<")).reshape(shape).astype(kind, copy=False)
