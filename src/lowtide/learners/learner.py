"""The base of all learners: parameters, and a `fit` that makes one frozen decision, which everything else reads."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from lowtide._checks import fail, host_array
from lowtide.learners import fitting
from lowtide.spec import Part, Registry, State, params_from_config, params_to_config, plain_parameter, take_parts

if TYPE_CHECKING:
    from lowtide.encoders import Encoder
    from lowtide.learners.decision import Decision
    from lowtide.tables import Recipe


Array = NDArray[Any]

_VERSION = 1
# Components that are chosen at the most, where they are left to the data.
MOST_COMPONENTS = 16_384
# Characters of a fitted name.
_LONGEST_TEXT = 40
# Weights whose sums of products, with targets squared and with each other, stay far within float64.
_WEIGHTS = (1e-80, 1e80)


class Learner(BaseEstimator):
    """Base of everything that predicts: it keeps what it learned in `decision_` and answers from that alone.

    Attributes
    ----------
    decision_ : Decision
        What was learned, frozen.
    features_ : Encoder or None
        The fitted encoder around `decision_.encoder`.
    """

    # Fitted attributes that are single numbers, and no part of the decision.
    fitted_numbers: ClassVar[tuple[str, ...]] = ()
    # Parts of a file beside those of every learner, with their versions.
    own_parts: ClassVar[dict[str, int]] = {}
    features: Any = None
    warm_start: bool = False
    decision_: Decision
    features_: Encoder | None

    @property
    def coef_(self) -> Array:
        """Weights, (k, n_features_out)."""
        return self._decision().weights.T

    @property
    def intercept_(self) -> Array:
        """Intercepts, (k,)."""
        return self._decision().intercept

    @property
    def classes_(self) -> Array:
        """Labels, in the order of scores and probabilities."""
        classes = self._decision().classes
        if classes is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'classes_'")
        return classes

    def with_recipe(self, recipe: Recipe | None) -> Self:
        """Return a copy that takes rows of a table, which go through a recipe before they are encoded.

        Parameters
        ----------
        recipe : Recipe or None
        """
        other = copy(self)
        other.decision_ = self._decision().with_recipe(recipe)
        other._name_columns()
        return other

    def to_state(self) -> State:
        """Return what a file keeps: "estimator", "decision", and where there are any "features" (the parameters of the
        encoder), "encoder", "template" and "table". Sums of `partial_fit` are not kept.
        """
        if "decision_" not in self.__dict__:
            got = f"an unfitted {type(self).__name__}"
            raise fail("save", "an estimator must be fitted", got, "Call fit first.")
        fitted = {name: _plain(getattr(self, name)) for name in self.fitted_numbers}
        own = {"kind": type(self).__name__, "params": self._params_config(), "fitted": fitted}
        state = {"estimator": Part(_VERSION, own), **self.decision_.to_state()}
        return state if self.features_ is None else {**state, **self.features_.to_state()}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the learner of what `to_state` gave; built only of what a registry names."""
        owner, own = cls.__name__, ("decision", "encoder", "template", "table")
        # Each of the others is looked at by what it is a part of.
        others = {name: part.version for name, part in state.items() if name in (*own, "features")}
        take_parts(owner, state, {"estimator": _VERSION, **cls.own_parts}, others)
        encoder = None
        if "features" in state:
            kind = state["encoder"].spec["kind"]
            if kind not in fitting.ENCODERS:
                raise fail(owner, f"features must be one of {', '.join(fitting.ENCODERS)}", kind)
            encoder = fitting.ENCODERS[kind].from_state({name: state[name] for name in ("features", "encoder")})
        spec = state["estimator"].spec
        if spec["kind"] != owner:
            raise fail(owner, f"parameters must be those of {owner}", spec["kind"])
        self = cls(**cls._params_of(spec["params"], encoder))
        self.features_ = encoder
        kept = {name: part for name, part in state.items() if name in own}
        self.decision_ = fitting.Decision.from_state(kept, None if encoder is None else encoder.drawn_)
        if (encoder is None) is not (self.decision_.encoder is None):
            raise fail(owner, "the parts 'features' and 'encoder' must both be there, or neither", sorted(state))
        for name in cls.fitted_numbers:
            setattr(self, name, _plain(spec["fitted"][name]))
        self._name_columns()
        return self

    def _decision(self) -> Decision:
        if "decision_" not in self.__dict__:
            check_is_fitted(self)
        return self.decision_

    def _name_columns(self) -> None:
        """Say how many columns a row has, and their names."""
        self.n_features_in_ = self.decision_.n_features
        self.__dict__.pop("feature_names_in_", None)
        if self.decision_.columns is not None:
            self.feature_names_in_ = np.array(self.decision_.columns, dtype=object)

    def _input(self, X: Any, fewest: int = 0) -> Any:
        """Return what the decision takes: codes as they are, rows validated, a table through the recipe."""
        decision = self._decision()
        if not fewest and decision.is_plain(X) and "feature_names_in_" not in self.__dict__:
            return X
        if fitting.is_source(X):
            return X
        if decision.recipe is not None or decision.encoder is None:
            return decision.check_rows(X)
        X = host_array(type(self).__name__, X)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric", ensure_min_samples=fewest)

    def _check_weight(self, sample_weight: Any, n: int) -> Array | None:
        """Return the weights of n rows; None for ones."""
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
        if n and not weight.any():  # as scikit-learn 1.6 lets pass
            raise fail(type(self).__name__, "sample_weight must not be zero everywhere", "zeros alone")
        outside = (weight > 0) & ((weight < _WEIGHTS[0]) | (weight > _WEIGHTS[1]))
        if outside.any():
            need = f"sample_weight must be 0 or from {_WEIGHTS[0]} to {_WEIGHTS[1]}"
            remedy = "Divide all weights by the largest, and multiply C (divide alpha) by it: the solution is the same."
            raise fail(type(self).__name__, need, float(weight[outside][0]), remedy)
        return None if np.all(weight == 1.0) else weight

    def fit_features(
        self,
        X: Any,
        weight: Array | None = None,
        named: Any = None,
        labels: Array | None = None,
        most: int = MOST_COMPONENTS,
    ) -> Encoder:
        """Return a clone of the features, fitted, unless they are frozen or a warm start keeps the ones there are.

        Parameters
        ----------
        X : array, CSR matrix or data frame (n, n_features)
        weight : ndarray (n,), optional
        named : data frame, optional
            X as it came, with the names of its columns: a frozen encoder that was fitted on names wants the same.
        labels : ndarray (n,) or (n, k), optional
            What is to be learned, for encoders that look at it and settings that are left to the data.
        most : int
            Components that may be chosen at the most.
        """
        given = self.features
        check_features(type(self).__name__, given)
        if isinstance(given, FrozenEstimator):
            check_is_fitted(given.estimator)
            validate_data(given.estimator, X if named is None else named, reset=False, skip_check_array=True)
            self.features_ = given.estimator
        elif self.warm_start and getattr(self, "features_", None) is not None:
            validate_data(self.features_, X, reset=False, skip_check_array=True)
        else:
            fresh: Any = self._default_features(X, weight, labels, most) if given is None else clone(given)
            takes_weight = has_fit_parameter(fresh, "sample_weight")
            self.features_ = fresh.fit(X, labels, sample_weight=weight) if takes_weight else fresh.fit(X, labels)
        assert self.features_ is not None
        return self.features_

    def _default_features(self, X: Any, weight: Array | None, labels: Array | None, most: int) -> Encoder:
        """Return the encoder that stands for features=None, not fitted; it may be chosen by what is to be learned."""
        raise fail(type(self).__name__, "features must be given", None, "lowtide.RandomFeatures('rbf'), say.")

    @classmethod
    def _parts(cls) -> dict[str, Registry[Any]]:
        """Return the parameters that may be objects of a stage, by the registry that reads them back from a file."""
        return {}

    def _params_config(self) -> dict[str, Any]:
        """Return the parameters ready for JSON: features by what they are, class weights as pairs."""
        owner, params = type(self).__name__, self.get_params(deep=False)
        features, weights = params.pop("features", None), params.get("class_weight")
        if isinstance(weights, dict):
            del params["class_weight"]
        config = params_to_config(owner, params, self._parts())
        if isinstance(weights, dict):
            pairs = [[plain_parameter(owner, "class_weight", value) for value in pair] for pair in weights.items()]
            config["class_weight"] = pairs
        if features is not None:
            config["features"] = self._features_config(features)
        return config

    def _features_config(self, features: Any) -> dict[str, Any]:
        """Return the given encoder as "the fitted one", frozen or not, or as a kind with its parameters."""
        if isinstance(features, FrozenEstimator) and features.estimator is self.features_:
            return {"fitted": True, "frozen": True}
        if features is self.features_:
            return {"fitted": True, "frozen": False}
        kind = type(features).__name__
        if fitting.ENCODERS.get(kind) is not type(features):
            raise fail("save", f"features must be one of {', '.join(fitting.ENCODERS)}", kind)
        return {"kind": kind, "params": features.params_config()}

    @classmethod
    def _params_of(cls, config: dict[str, Any], encoder: Encoder | None) -> dict[str, Any]:
        """Return the parameters of `_params_config`; `encoder` is the fitted one."""
        params = params_from_config(cls.__name__, config, cls._get_param_names(), cls._parts())
        if isinstance(params.get("class_weight"), tuple):
            params["class_weight"] = {label: float(weight) for label, weight in params["class_weight"]}
        given = params.get("features")
        if given is not None:
            if given.get("fitted"):
                params["features"] = FrozenEstimator(encoder) if given["frozen"] else encoder
            else:
                kind = fitting.ENCODERS[given["kind"]]
                params["features"] = kind(**kind.params_of(given["params"]))
        return params

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit was finished: the decision comes last."""
        return "decision_" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def as_model(thing: Any) -> Learner:
    """Return a fitted learner as it is, and a pipeline that ends in one as a learner that takes the pipeline's rows.

    Parameters
    ----------
    thing : Learner or sklearn Pipeline, fitted
        The steps of a pipeline before the learner are those that `lowtide.tables.recipe_of` knows.

    Returns
    -------
    Learner
        Of a pipeline a copy of its last step; `decision_.recipe` is what the steps before it do.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import lowtide as lt
    >>> from lowtide.learners import as_model
    >>> X = np.random.default_rng(0).normal(50.0, 9.0, (200, 3))
    >>> y = X[:, 0] > X[:, 1]
    >>> pipeline = make_pipeline(StandardScaler(), lt.KernelClassifier(n_components=64, random_state=0)).fit(X, y)
    >>> model = as_model(pipeline)
    >>> bool((model.predict(X) == pipeline.predict(X)).all())
    True
    """
    if isinstance(thing, Learner):
        check_is_fitted(thing)
        return thing
    # Here, since they bring all of scikit-learn's preprocessing.
    from sklearn.pipeline import Pipeline

    from lowtide.tables import recipe_of

    if not isinstance(thing, Pipeline):
        remedy = "Of a search pass best_estimator_; other models of scikit-learn: lowtide.compress."
        raise fail("model", "must be a learner of lowtide or a Pipeline that ends in one", type(thing).__name__, remedy)
    learner = as_model(thing.steps[-1][1])
    before = Pipeline(thing.steps[:-1])
    if all(step in (None, "passthrough") for _, step in before.steps):
        return learner
    recipe = recipe_of(before)
    own = learner.decision_.recipe
    return learner.with_recipe(recipe if own is None else recipe.then(own))


def check_features(owner: str, features: Any) -> None:
    """Refuse features that are no encoder, frozen or not."""
    encoder = features.estimator if isinstance(features, FrozenEstimator) else features
    if encoder is not None and not isinstance(encoder, fitting.Encoder):
        raise fail(owner, "features must be None or an encoder", features, "lowtide.RandomFeatures('rbf'), say.")


def _plain(value: Any) -> Any:
    """Return a number or a short text of Python's own."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, (bool, int, float, str)) or (isinstance(plain, str) and len(plain) > _LONGEST_TEXT):
        raise fail("learner", "a fitted value must be a number or a name", value)
    return plain
