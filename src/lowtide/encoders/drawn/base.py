"""What every fitted encoder is: a frozen value that makes features and codes of rows, and is kept in files."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_integer, check_positive, fail
from lowtide.codes import Bits, Codes, row_bytes
from lowtide.encoders.estimation import Pair, product
from lowtide.encoders.kinds import DRAWN, ENCODERS
from lowtide.errors import FileFormatError, FingerprintMismatchError
from lowtide.spec import Part, State, take_parts

Arrays = dict[str, NDArray[Any]]

ENCODER_VERSION = 4  # of the part "encoder" of a file
NO_SIDE = bytes(16)  # the identity of a coded side that is not there


class DrawnEncoder(ABC):
    """What every fitted encoder is: it makes features and codes of validated rows, and describes itself for a file.

    Subclasses are frozen dataclasses; estimators make one in `fit` and keep it as `drawn_`. All that learners, files,
    messages, servers and devices know of an encoder they read here.
    """

    kind: ClassVar[str]  # the estimator's name, also in files
    expands: ClassVar[bool] = False  # whether codes are read by features of what they decode to, which `expand` gives
    _kinds: ClassVar[dict[str, type[DrawnEncoder]]] = {}
    n_features: int

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
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
    def side_right(self) -> bytes:
        """Identity of the codes that may stand right in a product, where those have a rule of their own."""
        return self.side

    @property
    def for_distances(self) -> DrawnEncoder:
        """The encoder whose estimates distances are read from: this one, unless another tells them better."""
        return self

    @property
    def normalized(self) -> DrawnEncoder:
        """The encoder whose rows count as of one length: this one, unless it keeps their lengths."""
        return self

    def product(self, left: Any, right: Any) -> NDArray[np.float32]:
        """Return the products of two sides, float32 (n, n_y)."""
        return product(left, right)

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

    def expand(self, codes: Codes) -> Codes:
        """Return what weights on the coded side are for: the codes themselves, or features of what they decode to."""
        return codes

    def scores(self, rows: Any, weights: NDArray[np.float64], intercept: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return D w + b of a few validated rows, (n, k), with D their coded side as `template` decodes it."""
        return self.encode(rows) @ weights + intercept

    @abstractmethod
    def pair(self, sides: tuple[Any, Any]) -> Pair:
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

    def with_side(self, side: Any) -> Self:
        """Return these frequencies with another rule as the coded side: a quantizer's, or that of another encoder."""
        raise fail(self.kind, "sides must be (left, right), each 'full' or 'codes'", side)

    def left(self, rows: Any, side: Any) -> Any:
        """Return one side of rows that stand left in a product."""
        if isinstance(side, DrawnEncoder):
            return side.left(rows, "codes")
        return self.transform(rows) if side == "full" else self.encode(rows)

    def right(self, rows: Any, side: Any) -> Any:
        """Return one side of rows that stand right in a product."""
        return self.left(rows, side)

    def phase_noise(self, rows: Any) -> NDArray[np.float64]:
        """Return how far float32 has the phases of validated rows off, in radians, (n,)."""
        return np.zeros(rows.shape[0])

    def check_codes(self, codes: Codes, side: bytes | None = None) -> None:
        """Refuse codes of other frequencies, or of another rule than this encoder's own (or the one that is given)."""
        remedy = "Encode the rows with it, or name their side in `sides`: rules, left, right have codes of their own."
        check_identity("this encoder", (self.fingerprint, side or self.side), codes, remedy)

    @property
    def nbytes(self) -> int:
        """Bytes of the drawn arrays, as a file keeps them."""
        return sum(int(array.nbytes) for array in self.describe()[1].values())

    def to_state(self) -> State:
        """Return the part "encoder": what a file keeps of it, with its kind and its identity."""
        spec, arrays = self.describe()
        identity = {"fingerprint": self.fingerprint.hex(), "side": self.side.hex()}
        return {"encoder": Part(ENCODER_VERSION, {"kind": self.kind, **spec, **identity}, arrays)}

    def new_template(
        self, bits: Bits, n_levels: int, codebook: Any, *, side: bytes | None = None, **factors: Any
    ) -> Codes:
        """Return Codes of zero rows with this encoder's identity, of its own side unless another is given."""
        none = np.empty((0, row_bytes(n_levels, bits)), dtype=np.uint8)
        identity = {"fingerprint": self.fingerprint, "side": side or self.side}
        return Codes(none, bits=bits, n_levels=n_levels, codebook=codebook, **identity, **factors)

    @cached_property
    def required_template(self) -> Codes:
        """The template, or an error that says what the coded side lacks."""
        if not self.has_codes:
            raise fail(self.kind, "an encoder must have a coded side", "bits=None", "Fit one with bits=1, say.")
        if (template := self.template) is None:
            raise fail(self.kind, "the coded side must be levels", "continuous values", "Take one of few levels.")
        return template


def check_identity(maker: str, identity: tuple[bytes, bytes], codes: Codes, remedy: str) -> None:
    """Refuse codes of other frequencies (fingerprint), or of another rule that makes levels of phases (side)."""
    for name, own, came in zip(("fingerprint", "side"), identity, (codes.fingerprint, codes.side)):
        if own != came:
            raise FingerprintMismatchError(
                f"Codes must come from {maker}, {name} {own.hex()}, got codes of {came.hex()}. {remedy}"
            )


def drawn_from_state(state: State) -> DrawnEncoder:
    """Return the drawn encoder of what `DrawnEncoder.to_state` gave.

    The identity of the whole must be the one that was kept: an encoder that would make other codes is refused.
    """
    take_parts("load", state, {"encoder": ENCODER_VERSION})
    spec, arrays = state["encoder"].spec, state["encoder"].arrays
    kind, known = spec["kind"], DrawnEncoder._kinds
    if kind not in known and DRAWN.get(kind) is None:  # whose module makes it known
        raise fail("load", f"the encoder must be one of {', '.join(ENCODERS)}", kind, "Import what defines it first.")
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
    """
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"|{name}|{little.dtype.str}|{array.shape}|".encode())
        digest.update(little.tobytes())
    return digest.digest()[:16]


def kept_sizes(owner: str, spec: dict[str, Any]) -> tuple[int, int]:
    """Return the kept numbers of columns in and of components, or refuse them."""
    n_features, n_components = (check_integer(owner, name, spec[name], 1) for name in ("n_features", "n_components"))
    return n_features, n_components


def kept_gamma(owner: str, spec: dict[str, Any]) -> float | None:
    """Return the kept gamma, None where there was none, or refuse it."""
    return None if spec["gamma"] is None else check_positive(owner, "gamma", spec["gamma"])


def prefixed(part: str, arrays: Arrays) -> Arrays:
    """Return the arrays of a part under names of its own."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def arrays_of(part: str, arrays: Arrays) -> Arrays:
    """Return the arrays of one part under the names that it gave them."""
    start = f"{part}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
