"""A fitted encoder or model as one C99 header and one source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowtide._checks import check_option, fail
from lowtide.codes import row_bytes, stored_bits
from lowtide.device.comment import describe
from lowtide.device.decision import WEIGHTS, Decision
from lowtide.device.encoding import line_part, phase_part, ternary_part
from lowtide.device.text import Part, check_name, filled
from lowtide.encoders import Encoder, RandomFeatures, Sketch, TernaryFeatures
from lowtide.learners import KernelClassifier, KernelRegressor
from lowtide.persist import write_whole

__all__ = ["DeviceCode", "export_c"]

_INPUTS = {"float32": "float", "int16": "int16_t", "uint8": "uint8_t"}
_MOST_FEATURES = 65535


@dataclass(frozen=True)
class DeviceCode:
    """The generated C, and what it takes.

    Attributes
    ----------
    name : str
        Of the two files, and the prefix of every function.
    header, source : str
    tables : dict
        Bytes of each constant table, all in flash.
    code_bytes : int
        Machine code on a Cortex-M4 with -Os, rounded up.
    ram_bytes : int
        A code, the scores and the stack; there is no other memory.
    error : float or None
        Standard deviation of what rounding the weights does to a decision value, over codes of independent levels.
    agreement : float or None
        Share of the given rows with the class that the model itself gives.
    """

    name: str
    header: str
    source: str
    tables: dict[str, int]
    code_bytes: int
    ram_bytes: int
    error: float | None
    agreement: float | None

    @property
    def flash_bytes(self) -> int:
        """Tables and machine code."""
        return sum(self.tables.values()) + self.code_bytes

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write `<name>.h` and `<name>.c`, each whole or not at all.

        Parameters
        ----------
        folder : str or Path
            Must be there.

        Returns
        -------
        tuple of Path
        """
        paths = Path(folder, f"{self.name}.h"), Path(folder, f"{self.name}.c")
        for path, text in zip(paths, (self.header, self.source)):
            write_whole(path, [text.encode()])
        return paths


def export_c(
    model: Any,
    *,
    name: str = "model",
    weights: Literal["int8", "int6", "int4", "float16"] | None = "int8",
    input: Literal["float32", "int16", "uint8"] | None = None,
    favor: Literal["flash", "time"] = "flash",
    rows: Any = None,
) -> DeviceCode:
    """Return a fitted encoder, and the decision of a model, as C99 without heap, libm or a library.

    Codes are equal bit by bit to those of `encode`: `RandomFeatures` and `Sketch` on the Hadamard layout in float32, by
    the same additions in the same order; `TernaryFeatures` in integers.

    Parameters
    ----------
    model : RandomFeatures, Sketch, TernaryFeatures, KernelClassifier or KernelRegressor
        Fitted. Of a learner both its encoder and its decision are exported.
    name : str, default="model"
        Prefix of every function, and the name of the files.
    weights : {"int8", "int6", "int4", "float16"} or None, default="int8"
        How a learner's weights are kept; None for the encoder alone.
    input : {"float32", "int16", "uint8"}, optional
        Type of a row's numbers. None is "float32", for `TernaryFeatures` "int16".
    favor : {"flash", "time"}, default="flash"
        "flash" makes again for every row what was drawn from a seed (the dither, the entries of a ternary W), and keeps
        weights under a prefix code where that is shorter; "time" keeps all of it ready in tables.
    rows : array (n, n_features), optional
        Rows on which the rounded decision is compared with the model's.

    Returns
    -------
    DeviceCode

    Notes
    -----
    A Hadamard frequency takes 2 bytes of flash for its length and 3 bits for signs, with favor="time" 3 bytes more for
    its dither; a component of C classes C - 1 weights. RAM is a code and one block of the transform.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((200, 64))
    >>> model = lt.KernelClassifier(n_components=512, random_state=0).fit(X, X[:, 0] > 0)
    >>> made = lt.device.export_c(model, name="sign")
    >>> made.tables
    {'signs': 96, 'scales': 512, 'weights': 512, 'bias': 4}
    >>> print(made.header[made.header.index("int sign_decide") :].splitlines()[0])
    int sign_decide(const uint8_t code[SIGN_CODE_BYTES]);
    """
    encoder = _encoder_of(model, weights)
    names = _names(encoder, check_name(name), input)
    check_option("export_c", "favor", favor, ("flash", "time"))
    parts = [_encoding(encoder, names, favor)]
    decision = None
    if weights is not None and model is not encoder:
        decision = Decision.of(model, weights)
        parts.append(decision.part(names, favor))
    agreement = None if rows is None or decision is None else _agreement(model, decision, rows)
    made = DeviceCode(
        name=name,
        header="",
        source=_source(parts, names, encoder),
        tables={table.name: table.nbytes for part in parts for table in part.tables},
        code_bytes=sum(part.code_bytes for part in parts),
        ram_bytes=names["code_bytes"] + 4 * (decision.n_scores if decision else 0) + max(p.work_bytes for p in parts),
        error=None if decision is None else decision.rounded.error,
        agreement=agreement,
    )
    return replace(made, header=_header(made, names, encoder, decision))


def _encoder_of(model: Any, weights: str | None) -> Any:
    """Return an encoder itself or that of a learner, or refuse what cannot be exported."""
    check_is_fitted(model)
    if weights is not None:
        check_option("export_c", "weights", weights, tuple(WEIGHTS))
    if isinstance(model, (KernelClassifier, KernelRegressor)):
        encoder = model.features_
        if encoder is None:
            remedy = "Give their encoder as features when fitting."
            raise fail("export_c", "a model fitted on Codes must know their encoder", model, remedy)
    elif isinstance(model, Encoder):
        encoder = model
    else:
        known = "RandomFeatures, Sketch, TernaryFeatures, KernelClassifier or KernelRegressor"
        raise fail("export_c", f"model must be one of {known}, fitted", type(model).__name__)
    if encoder.n_features_in_ > _MOST_FEATURES:
        raise fail("export_c", f"rows must have at most {_MOST_FEATURES} columns", encoder.n_features_in_)
    return encoder


def _names(encoder: Any, name: str, input: str | None) -> dict[str, Any]:
    """Return what every template knows."""
    if input is None:
        input = "int16" if isinstance(encoder, TernaryFeatures) else "float32"
    check_option("export_c", "input", input, tuple(_INPUTS))
    if not encoder._has_codes:
        raise fail(
            "export_c", "a device codes rows: the encoder must have a coded side", "bits=None", "Fit with bits=1."
        )
    bits, n_levels = _layout(encoder)
    return {
        "p": name,
        "P": name.upper(),
        "input_type": _INPUTS[input],
        "n_features": encoder.n_features_in_,
        "bits": bits,
        "stored_bits": stored_bits(bits),
        "n_levels": n_levels,
        "code_bytes": row_bytes(n_levels, bits),
    }


def _layout(encoder: Any) -> tuple[int, int]:
    """Return bits and levels of a code."""
    if isinstance(encoder, RandomFeatures):
        quantizer = encoder._coded_side()
        if quantizer.bits is not None:
            return quantizer.bits, encoder._n_levels
    if isinstance(encoder, TernaryFeatures):
        return 2, encoder._n_components
    if isinstance(encoder, Sketch):
        return encoder.steps_.bits, encoder._n_components
    remedy = "Use RandomFeatures, Sketch or TernaryFeatures."
    reason = "the encoder must need no more than sums and comparisons on a device"
    raise fail("export_c", reason, encoder, remedy)


def _encoding(encoder: Any, names: dict[str, Any], favor: str) -> Part:
    if isinstance(encoder, TernaryFeatures):
        return ternary_part(encoder, names, favor)
    return line_part(encoder, names) if isinstance(encoder, Sketch) else phase_part(encoder, names, favor)


def _agreement(model: Any, decision: Decision, rows: Any) -> float | None:
    """Return the share of rows on which the rounded decision is the model's; None for a regression."""
    if decision.classes is None:
        return None
    codes = model.features_.encode(rows)
    if len(codes) == 0:
        raise fail("export_c", "rows to compare decisions on must be at least one", 0)
    return float(np.mean(decision.decide(codes) == model.predict(codes)))


def _source(parts: list[Part], names: dict[str, Any], encoder: Any) -> str:
    """Return the .c file."""
    headers = sorted(frozenset().union(*(part.headers for part in parts)))
    preamble = "".join(f"#include <{header}>\n" for header in headers)
    if "float.h" in headers:
        preamble += filled("strict.c")
    fingerprint = ", ".join(str(byte) for byte in encoder.fingerprint_)
    body = "".join(part.text() for part in parts)
    return filled("source.c", **names, preamble=preamble, fingerprint=fingerprint, body=body).rstrip("\n") + "\n"


def _header(made: DeviceCode, names: dict[str, Any], encoder: Any, decision: Decision | None) -> str:
    """Return the .h file."""
    declared = "" if decision is None else decision.header(names)
    return filled("header.h", **names, comment=describe(made, encoder, decision), decision=declared)
