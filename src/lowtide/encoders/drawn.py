"""The frozen value that fitting an encoder makes: frequencies and sides, with nothing left to draw."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes
from lowtide.errors import FileFormatError, FingerprintMismatchError
from lowtide.maps import FeatureMap
from lowtide.quantizers import DrawnQuantizer, Quantizer
from lowtide.spec import Part, State, take_parts

if TYPE_CHECKING:
    from lowtide.encoders.estimation import Pair, Side

__all__ = [
    "NO_SIDE",
    "PART_VERSION",
    "Arrays",
    "DrawnEncoder",
    "arrays_of",
    "count_levels",
    "drawn_from_state",
    "fingerprint",
    "kept_offset",
    "prefixed",
    "quantizer_identity",
]

Arrays = dict[str, NDArray[Any]]

# Of the part "encoder" that a file keeps.
PART_VERSION = 1
# The identity of a coded side that is not there.
NO_SIDE = bytes(16)


class DrawnEncoder(ABC):
    """What every fitted encoder is: it makes features and codes of validated rows, and describes itself for a file.

    Subclasses are frozen dataclasses; estimators make one in `fit` and keep it as `drawn_`. All that learners, files,
    messages, servers and devices know of an encoder they read here.

    Attributes
    ----------
    kind : str
        The estimator's name, also in files.
    n_features : int
        Columns of a row.
    n_outputs : int
        Columns of the full side and of the decoded coded side.
    """

    kind: ClassVar[str]
    # Whether the ops find NaN and infinity by themselves, so that no pass over the rows has to.
    checks_finite: ClassVar[bool] = True
    _kinds: ClassVar[dict[str, type[DrawnEncoder]]] = {}
    n_features: int

    def __init_subclass__(cls) -> None:
        DrawnEncoder._kinds[cls.kind] = cls

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Columns of the full side and of the decoded coded side."""

    @property
    @abstractmethod
    def fingerprint(self) -> bytes:
        """Identity of the frequencies, 16 bytes: codes meet only where it is equal."""

    @property
    @abstractmethod
    def side(self) -> bytes:
        """Identity of the rule that makes levels of phases, 16 bytes; zeros where there is no coded side."""

    @property
    @abstractmethod
    def template(self) -> Codes | None:
        """Codes of zero rows: bits, codebook and identity for the rows to come; None where codes are no levels."""

    @property
    @abstractmethod
    def row_cost(self) -> int:
        """Additions and multiplications, about, that one row takes to be encoded."""

    @abstractmethod
    def transform(self, rows: Any) -> NDArray[np.float32]:
        """Return the full side of validated rows, float32 (n, n_outputs)."""

    @abstractmethod
    def encode(self, rows: Any) -> Codes | NDArray[np.float32]:
        """Return the coded side of validated rows: Codes, or float32 features where that side is continuous."""

    @abstractmethod
    def pair(self, sides: tuple[Side, Side]) -> Pair:
        """Return what the moments of two sides say of their product."""

    @abstractmethod
    def describe(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file keeps: a specification ready for JSON, and arrays. What no file can hold is refused."""

    @classmethod
    @abstractmethod
    def restore(cls, spec: dict[str, Any], arrays: Arrays) -> Self:
        """Return the encoder that was described.

        It may be given anything that JSON and arrays can hold: it compares shapes with what the specification says
        before it makes anything of that size, and builds only what a registry names.
        """

    @property
    def has_codes(self) -> bool:
        """Whether there is a coded side."""
        return True

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return what a linear model on the full side learns on, float32 (n, n_embedded)."""
        return self.transform(rows)

    @property
    def n_embedded(self) -> int:
        """Columns of `embed`."""
        return self.n_outputs

    def left(self, rows: Any, side: Side) -> Any:
        """Return one side of rows that stand left in a product."""
        return self.transform(rows) if side == "full" else self.encode(rows)

    def right(self, rows: Any, side: Side) -> Any:
        """Return one side of rows that stand right in a product."""
        return self.left(rows, side)

    def check_codes(self, codes: Codes, side: bytes | None = None) -> None:
        """Refuse codes of other frequencies, or of another rule than this encoder's own (or the one that is given)."""
        own, came = (self.fingerprint, side or self.side), (codes.fingerprint, codes.side)
        for name, mine, other, remedy in (
            ("fingerprint", own[0], came[0], "Encode the rows with this encoder."),
            ("side", own[1], came[1], "Other quantizers, and the left and the right side, have codes of their own."),
        ):
            if mine != other:
                raise FingerprintMismatchError(
                    f"Codes must come from this encoder, {name} {mine.hex()}, got codes of {other.hex()}. {remedy}"
                )

    @property
    def nbytes(self) -> int:
        """Bytes of the drawn arrays, as a file keeps them."""
        return sum(int(array.nbytes) for array in self.describe()[1].values())

    def to_state(self) -> State:
        """Return the part "encoder": what a file keeps of it, with its kind and its identity."""
        spec, arrays = self.describe()
        identity = {"fingerprint": self.fingerprint.hex(), "side": self.side.hex()}
        return {"encoder": Part(PART_VERSION, {"kind": self.kind, **spec, **identity}, arrays)}

    @cached_property
    def required_template(self) -> Codes:
        """The template, or an error that says what the coded side lacks."""
        if not self.has_codes:
            raise fail(self.kind, "an encoder must have a coded side", "bits=None", "Fit one with bits=1, say.")
        if self.template is None:
            remedy = "Use a quantizer of few levels."
            raise fail(self.kind, "the coded side must be levels", "continuous values", remedy)
        return self.template


def drawn_from_state(state: State) -> DrawnEncoder:
    """Return the drawn encoder of what `DrawnEncoder.to_state` gave.

    The identity of the whole must be the one that was kept: an encoder that would make other codes is refused.
    """
    take_parts("load", state, {"encoder": PART_VERSION})
    spec, arrays = state["encoder"].spec, state["encoder"].arrays
    kind = spec["kind"]
    known = DrawnEncoder._kinds
    if kind not in known:
        raise fail("load", f"the encoder must be one of {', '.join(known)}", kind, "Import what defines it first.")
    drawn = known[kind].restore(spec, arrays)
    for name, rebuilt in (("fingerprint", drawn.fingerprint), ("side", drawn.side)):
        if rebuilt.hex() != spec[name]:
            raise FileFormatError(
                f"{kind}: the {name} must be {spec[name]}, as when it was saved, got {rebuilt.hex()}. Load it with the "
                "version of lowtide that wrote it."
            )
    return drawn


def fingerprint(spec: dict[str, Any], arrays: Arrays) -> bytes:
    """Return the first 16 bytes of a sha256 over a resolved configuration and the arrays that were drawn.

    Arrays enter by name, type, shape and little-endian bytes, so equal encoders agree on any machine.

    Examples
    --------
    >>> len(fingerprint({"bits": 1}, {"offset": np.zeros(3, dtype=np.float32)}))
    16
    """
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"|{name}|{little.dtype.str}|{array.shape}|".encode())
        digest.update(little.tobytes())
    return digest.digest()[:16]


def quantizer_identity(spec: Quantizer | None, drawn: DrawnQuantizer | None, **more: Any) -> bytes:
    """Return the identity of a coded side: the quantizer and all that decides a level, not the codebook."""
    if drawn is None:
        return NO_SIDE
    arrays = {f"{i}": np.asarray(array) for i, array in enumerate((drawn.shifts, *drawn.op_arguments))}
    return fingerprint({"quantizer": type(spec).__name__, "bits": drawn.bits, **more}, arrays)


def count_levels(
    owner: str, spec: Quantizer | None, quantizer: DrawnQuantizer | None, feature_map: FeatureMap, n_components: int
) -> int:
    """Return the levels of a row: a level holds one component, or both of a frequency."""
    if quantizer is None:
        return 0
    per_level = feature_map.width // len(quantizer.shifts)
    if n_components % per_level:
        need = f"n_components must be a multiple of {per_level} with {spec!r}"
        raise fail(owner, need, n_components)
    return n_components // per_level


def kept_offset(owner: str, kept: NDArray[Any], n_frequencies: int) -> NDArray[np.float32]:
    """Return kept dither as an array of its own, or refuse it."""
    if kept.dtype != np.float32 or kept.shape != (n_frequencies,) or not np.all((kept >= 0) & (kept < 1)):
        raise fail(owner, f"offset must be {n_frequencies} float32 in [0, 1)", f"{kept.dtype} {kept.shape}")
    return np.array(kept)


def prefixed(part: str, arrays: Arrays) -> Arrays:
    """Return the arrays of a part under names of its own."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def arrays_of(part: str, arrays: Arrays) -> Arrays:
    """Return the arrays of one part under the names that it gave them."""
    start = f"{part}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
