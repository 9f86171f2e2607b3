"""The base of all encoders: a transformer with parameters, and a `fit` that draws one frozen value."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lowtide._checks import check_integer, fail, host_array
from lowtide.codes import Codes
from lowtide.encoders.drawn.base import ENCODER_VERSION, DrawnEncoder, drawn_from_state
from lowtide.encoders.estimation import distance_estimate, expected_kernel, kernel_estimate
from lowtide.encoders.rows import check_within_float32, is_plain, warn_when_float32_loses_the_signal
from lowtide.spec import Part, Registry, State, params_from_config, params_to_config, take_parts

_VERSION = 1  # of the part "features" of a file


class Encoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the transformers with two sides: parameters, and a `fit` that draws.

    What was fitted is one frozen value, `drawn_`; every other fitted attribute is read from it under the name without
    its underscore: `kernel_` is `drawn_.kernel`. `transform` gives the full side, float32 features; `encode` the coded
    side, `Codes` that carry `fingerprint_`.

    Attributes
    ----------
    drawn_ : DrawnEncoder
    """

    # Parameters that may be objects of a stage, by the registry that reads them back from a file.
    parts: ClassVar[dict[str, Registry[Any]]] = {}
    n_components: int
    random_state: Any
    drawn_: DrawnEncoder
    fingerprint_: bytes
    side_: bytes
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the encoder to rows as wide as X's: draw all that is random in it."""

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the full side: float32 features of the rows.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        ndarray of float32, shape (n, n_features_out)
        """
        return self.drawn_.transform(self.check_rows(X))

    def encode(self, X: Any) -> Codes | NDArray[np.float32]:
        """Return the coded side: packed bits of the rows.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)

        Returns
        -------
        Codes of shape (n, n_features_out); float32 features of that shape where the coded side is continuous
        """
        return self.drawn_.encode(self.check_rows(X))

    def kernel_estimate(
        self,
        X: Any,
        Y: Any = None,
        *,
        sides: tuple[Any, Any] = ("full", "full"),
        return_std: bool = False,
        normalize: bool = False,
    ) -> Any:
        """Return the product of the two sides, an estimate of the kernel.

        Unbiased unless both sides are coded; then its mean is `expected_kernel`.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : pair of {"full", "codes"}, Quantizer or encoder, default=("full", "full")
            Features, codes, or a further side of this encoder, which codes of it need to be told of.
        return_std : bool, default=False
            Also return the standard error of each entry around `expected_kernel`: in closed form when both inputs are
            raw rows, from what the codes show otherwise; with that of float32, so never 0 for rows that differ.
        normalize : bool, default=False
            Divide by the expectation at x = y, pi^2/8 for one-bit codes against codes.

        Returns
        -------
        K : ndarray of float32, shape (n, n_y)
        std : ndarray of float32, shape (n, n_y), with return_std
        """
        X, Y, sides = self._operands(X, Y, sides)
        return kernel_estimate(self.drawn_, X, Y, sides, return_std=return_std, normalize=normalize)

    def expected_kernel(
        self, X: Any, Y: Any = None, *, sides: tuple[Any, Any] = ("full", "full"), normalize: bool = False
    ) -> NDArray[np.float64]:
        """Return what `kernel_estimate` of raw rows converges to as components grow, float64 (n, n_y)."""
        X, Y, sides = self._operands(X, Y, sides)
        return expected_kernel(self.drawn_, X, Y, sides, normalize=normalize)

    def distance_estimate(
        self,
        X: Any,
        Y: Any = None,
        *,
        sides: tuple[Any, Any] = ("full", "full"),
        return_std: bool = False,
        normalize: bool = False,
    ) -> Any:
        """Return distances in X's units from the kernel estimate.

        The expected kernel is inverted on its first decreasing branch, in the norm of the kernel: an estimate at or
        above the value at 0 gives 0, one at or below the branch's infimum NaN, too far apart to tell.

        Parameters
        ----------
        X, Y : array, CSR matrix, data frame or Codes; Y defaults to X
        sides : as in `kernel_estimate`
        return_std : bool, default=False
            Also return the standard error of each distance: how far it moves when the estimate moves by one or two of
            its own, the larger of the two per standard error. Infinite where two of them reach past what can be told.
        normalize : bool, default=False
            Take rows as of norm 1 where an encoder keeps their norms; it changes nothing elsewhere.

        Returns
        -------
        distance : ndarray of float64, shape (n, n_y)
        std : ndarray of float64, shape (n, n_y), with return_std
        """
        X, Y, sides = self._operands(X, Y, sides)
        drawn = (self.drawn_.normalized if normalize else self.drawn_).for_distances
        return distance_estimate(drawn, X, Y, sides, return_std)

    def codes_from(self, packed: Any, norms: Any = None) -> Codes:
        """Return packed rows of this encoder that were kept elsewhere as Codes again: `Codes.with_packed`."""
        return self.drawn_.required_template.with_packed(packed, norms)

    def check_rows(self, X: Any, *, reset: bool = False) -> Any:
        """Return X as a validated array or CSR matrix of its own dtype; float32 comes block by block later.

        Parameters
        ----------
        X : array, CSR matrix, data frame, or tensor in the processor's memory (n, n_features)
        reset : bool, default=False
            Whether X says how many columns there are, and forgets what was fitted before.
        """
        if not reset:
            own = self.__dict__
            if "drawn_" in own and "feature_names_in_" not in own and is_plain(X, own["n_features_in_"]):
                return X
            check_is_fitted(self)
            if isinstance(X, Codes) and X.fingerprint == self.drawn_.fingerprint:
                raise fail(type(self).__name__, "X must be rows, not what this encoder made of them", "its Codes")
        X = host_array(type(self).__name__, X)
        rows = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_min_samples=int(reset))
        if reset:
            self.__dict__.pop("drawn_", None)
        return rows

    def start_fit(self, X: Any, all_columns: bool = False) -> tuple[Any, int, int]:
        """Return validated rows to fit on, the number of components or columns, and the seed of all that is drawn."""
        rows = self.check_rows(X, reset=True)
        check_within_float32(rows)
        warn_when_float32_loses_the_signal(rows)
        wanted = rows.shape[1] if all_columns else self.n_components
        n_components = check_integer(type(self).__name__, "n_components", wanted, 1)
        return rows, n_components, int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def with_drawn(self, drawn: DrawnEncoder, **params: Any) -> Self:
        """Return a copy of this fitted estimator that holds another drawn value, with parameters that say so."""
        other = copy(self)
        other.__dict__.update(params, drawn_=drawn)
        return other

    def to_state(self) -> State:
        """Return what a file keeps: the drawn value, and the parameters and names of columns around it."""
        if "drawn_" not in self.__dict__:
            raise fail("save", "an estimator must be fitted", f"an unfitted {type(self).__name__}", "Call fit first.")
        names = getattr(self, "feature_names_in_", None)
        around = {"params": self.params_config(), "feature_names": None if names is None else list(map(str, names))}
        return {"features": Part(_VERSION, around), **self.drawn_.to_state()}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the fitted estimator of what `to_state` gave; built only of what a registry names."""
        owner = cls.__name__
        take_parts(owner, state, {"features": _VERSION, "encoder": ENCODER_VERSION})
        drawn = drawn_from_state({"encoder": state["encoder"]})
        if drawn.kind != owner:
            raise fail(owner, f"the drawn value must be of {owner}", drawn.kind)
        spec = state["features"].spec
        self = cls(**cls.params_of(spec["params"]))
        self.drawn_, self.n_features_in_ = drawn, drawn.n_features
        if (names := spec["feature_names"]) is not None:
            if not isinstance(names, list) or {type(name) for name in names} != {str} or len(names) != drawn.n_features:
                raise fail(owner, f"feature names must be {drawn.n_features} texts", names)
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def params_config(self) -> dict[str, Any]:
        """Return the parameters ready for JSON."""
        return params_to_config(type(self).__name__, self.get_params(deep=False), self.parts)

    @classmethod
    def params_of(cls, config: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of `params_config`."""
        return params_from_config(cls.__name__, config, cls._get_param_names(), cls.parts)

    @property
    def _n_features_out(self) -> int:
        return self.drawn_.n_outputs

    def _operands(self, X: Any, Y: Any, sides: tuple[Any, Any]) -> tuple[Any, Any, tuple[Any, Any]]:
        """Return validated rows or own Codes, and their sides: names, or drawn encoders on the same frequencies."""
        if not isinstance(sides, (tuple, list)) or len(sides) != 2:
            raise fail(type(self).__name__, "sides must be (left, right)", sides)
        operands = X, X if Y is None else Y
        left, right = (self._side(side, isinstance(rows, Codes)) for side, rows in zip(sides, operands))
        own = [self.drawn_ if isinstance(side, str) else side for side in (left, right)]
        return self._operand(operands[0], own[0].side), self._operand(operands[1], own[1].side_right), (left, right)

    def _side(self, side: Any, is_codes: bool) -> Any:
        if side not in ("full", "codes"):
            return self.drawn_.with_side(side.drawn_ if isinstance(side, Encoder) else side)
        if (is_codes or side == "codes") and not self.drawn_.has_codes:
            raise fail(type(self).__name__, "a coded side needs bits from 1 to 8", None, "Fit with bits=1, say.")
        return "codes" if is_codes else side

    def _operand(self, X: Any, side: bytes) -> Any:
        if isinstance(X, Codes):
            self.drawn_.check_codes(X, side)
        return X if isinstance(X, Codes) else self.check_rows(X)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what `drawn_` has under the name without its underscore: `kernel_` is `drawn_.kernel`."""
            if name.endswith("_") and not name.startswith("_"):
                if "drawn_" not in self.__dict__:
                    check_is_fitted(self)
                elif hasattr(self.drawn_, name[:-1]):
                    return getattr(self.drawn_, name[:-1])
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit was finished: the drawn value comes last."""
        return "drawn_" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def check_weight(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
    """Return weights of the rows in float64, None where there are none; refuse negative ones."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weight)
