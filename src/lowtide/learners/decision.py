"""The frozen value that fitting or compressing a learner makes: weights on one side of an encoder, and its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import check_option, fail, is_sparse
from lowtide.codes import Codes, is_by_rows, row_bits
from lowtide.encoders import DrawnEncoder, drawn_from_state, is_plain
from lowtide.learners.design import FullDesign, check_same, encoded_design, is_source, read_as, read_blocks
from lowtide.learners.rules import (
    RULES,
    Calibration,
    Output,
    Rule,
    Task,
    decisive_scores,
    is_worthwhile,
    labels_from_spec,
    labels_to_spec,
)
from lowtide.spec import Part, State, take_parts
from lowtide.tables import Recipe

Array = NDArray[Any]
Side = Literal["codes", "full"]
Role = Literal["source", "target"]

_VERSION = 2
# Rows of a table that are made numbers at a time, where they come as a sparse matrix.
_DENSE_VALUES = 1 << 21


@dataclass(frozen=True, eq=False)
class RightWeights:
    """Weights (m, k) and intercepts (k,) of rows as targets of an asymmetric kernel, through their encoder's right map.

    `role` says which scores decide: the mean of both maps, the left one's ("source") or the right one's ("target").
    """

    weights: Array
    intercept: Array
    role: Literal["both", "source", "target"]


@dataclass(frozen=True, eq=False)
class Decision:
    """A fitted model as a frozen value: scores D w + b of rows, with D one side of them, and the answers they give.

    Everything that predicts, saves, serves, ships or exports a learner reads this value and nothing else.

    Parameters
    ----------
    encoder : DrawnEncoder or None
        Makes D of rows; None when the learner was fitted on Codes alone.
    template : Codes or None
        Codes of zero rows, with the codebook that the weights are for; None when D is no packed side. D is what the
        encoder expands codes to, which is the codes themselves for all but `LearnedFeatures`.
    side : {"codes", "full"}
        The side that D is.
    weights : ndarray (m, k)
        In Fortran's order, in which a single row is scored fastest.
    intercept : ndarray (k,)
    rule : Rule
        How scores become answers.
    classes : ndarray (n_classes,) or None
    calibration : Calibration or None
        The curve that makes probabilities of scores; None where there are none.
    recipe : Recipe or None
        What a row of a table goes through before it is encoded; None for rows that are taken as they are.
    columns : tuple of str or None
        Names of the columns of a row, where they have names.
    right : RightWeights or None
        Weights of the right map, beside those of the left one, of a learner with an asymmetric kernel.

    Notes
    -----
    Scores are float64, and the score of a row does not depend on the rows around it. A row costs its encoding and k m
    additions on packed bits. `predict` of 2000 rows or more multiplies in float32 first, and again in float64 where
    its error could change a class, so its answers are those of float64.
    """

    encoder: DrawnEncoder | None
    template: Codes | None
    side: Side
    weights: Array
    intercept: Array
    rule: Rule
    classes: Array | None = None
    calibration: Calibration | None = None
    recipe: Recipe | None = None
    columns: tuple[str, ...] | None = None
    right: RightWeights | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.asfortranarray(self.weights))
        object.__setattr__(self, "intercept", np.asarray(self.intercept))
        if self.encoder is None and self.template is None:
            raise fail("Decision", "there must be an encoder, or a template of the codes", None)

    @property
    def task(self) -> Task:
        """What is decided: "classification", "regression", "detection", or "components" for coordinates."""
        return self.rule.task

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What can be asked for: some of "predictions", "scores" and "probabilities"."""
        return tuple(name for name in self.rule.outputs if name != "probabilities" or self.calibration is not None)

    @property
    def n_features(self) -> int:
        """Columns of a row: of the table where there is a recipe; of decoded codes where there is no encoder."""
        if self.recipe is not None:
            return len(self.recipe.columns)
        return self.encoder.n_features if self.encoder is not None else self._template.shape[1]

    @property
    def fingerprint(self) -> bytes:
        """Identity of the frequencies that the weights are for, 16 bytes."""
        return self.encoder.fingerprint if self.encoder is not None else self._template.fingerprint

    @property
    def takes_codes(self) -> bool:
        """Whether packed codes can be scored."""
        return self.template is not None and self.right is None

    @property
    def takes_features(self) -> bool:
        """Whether features of the full side can be scored in place of rows: weights are for its columns."""
        encoder = self.encoder
        if encoder is None or self.right is not None:
            return False
        return len(self.weights) == encoder.n_outputs == encoder.n_embedded

    @property
    def code_bytes(self) -> int | None:
        """Bytes of a row's code in a message; None where rows are not packed. More than `row_bytes` save nothing."""
        return None if self.template is None else -(-row_bits(self.template.n_levels, self.template.bits) // 8)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row as float32: four for each column of the table."""
        return 4 * self.n_features

    @property
    def nbytes(self) -> int:
        """Bytes of weights and intercepts, and of what the encoder drew."""
        right = () if self.right is None else (self.right.weights, self.right.intercept)
        own = sum(int(array.nbytes) for array in (self.weights, self.intercept, *right))
        return own + (0 if self.encoder is None else self.encoder.nbytes)

    def predict(self, X: Any, *, checked: bool = False) -> Array:
        """Return the predictions of rows or codes.

        Parameters
        ----------
        X : array or CSR matrix (n, n_features), or Codes, or a CodeSource; with a recipe rows of its table
            A `CodeSource` is read block by block, so its scores are never there at once.
        checked : bool, default=False
            Whether X is known to be rows that the encoder takes, or codes.

        Returns
        -------
        ndarray (n,) of classes, 1 and -1, or values; (n, n_targets) of several values
        """
        return self._answer(X, checked, self._predictions, self.rule.is_by_largest)

    def scores(self, X: Any, *, checked: bool = False) -> Array:
        """Return D w + b of rows or codes, float64 (n, k)."""
        return self._answer(X, checked, lambda scores: scores)

    def values(self, X: Any, *, checked: bool = False) -> Array:
        """Return scores in the shape of `decision_function`: (n,) for two classes or one column."""
        return self._answer(X, checked, lambda scores: self.rule.values(scores, self.classes))

    def probabilities(self, X: Any, *, checked: bool = False) -> Array:
        """Return the probabilities of the classes, (n, n_classes)."""
        return self._answer(X, checked, self._probabilities)

    def log_probabilities(self, X: Any, *, checked: bool = False) -> Array:
        """Return the logarithms of `probabilities`, finite also where one is too small for a float."""
        return self._answer(X, checked, self._log_probabilities)

    def scores_of_features(self, features: Array) -> Array:
        """Return F w + b of rows that are features F (n, m) of the full side already, float64 (n, k)."""
        if not self.takes_features:
            raise fail("Decision", "the weights must have a row a feature of the full side", self.weights.shape)
        if features.ndim != 2 or features.shape[1] != len(self.weights):
            raise fail("Decision", f"features must have {len(self.weights)} columns", features.shape)
        return FullDesign(np.asarray, features, len(self.weights)).matmul(self._weights64) + self.intercept

    def answer(self, output: Output, scores: Array) -> Array:
        """Return one of `outputs` from scores (n, k) that `scores` or `scores_of_features` gave."""
        check_option("Decision", "output", output, self.outputs)
        if output == "predictions":
            return self._predictions(scores)
        return self._probabilities(scores) if output == "probabilities" else self.rule.values(scores, self.classes)

    def encode(self, X: Any, *, checked: bool = False) -> Codes | NDArray[np.float32]:
        """Return the coded side of rows, which `predict` takes: what a client sends."""
        return self._encoder.encode(X if checked else self.check_rows(X))

    def is_plain(self, X: Any) -> bool:
        """Return whether X is exactly what the encoder's ops take: then nothing needs to be looked at."""
        return self.recipe is None and self.encoder is not None and is_plain(X, self.encoder.n_features)

    def check_rows(self, X: Any) -> Any:
        """Return rows as the encoder takes them: through the recipe where there is one; anything else is refused."""
        if self.is_plain(X):
            return X
        if self.encoder is None:
            raise fail("Decision", "a model fitted on Codes alone predicts on Codes", type(X).__name__)
        encoder = self.encoder
        if self.recipe is not None:
            rows = _apply(self.recipe, X)
        else:
            from sklearn.utils import check_array  # here: rows that are plain, or go through a recipe, need none of it

            rows = check_array(X, accept_sparse="csr", dtype="numeric", ensure_min_samples=0, input_name="X")
            names = None if self.columns is None else getattr(X, "columns", None)
            if names is not None and [str(name) for name in names] != list(self.columns or ()):
                raise fail("Decision", f"columns must be {list(self.columns or ())}", list(names))
        if rows.shape[1] != encoder.n_features:
            raise fail("Decision", f"rows must have {encoder.n_features} columns", rows.shape[1])
        return rows

    def check_codes(self, codes: Codes) -> None:
        """Refuse codes of another encoder, and all of them where the full side predicts."""
        if self.right is not None:
            raise fail("Decision", "X must be rows, which have two sides", "Codes of one", "Pass the rows.")
        wanted = self.template
        if wanted is None:
            remedy = "Pass the raw rows, or fit with predict_on='codes'."
            raise fail("Decision", f"rows must not be coded when predict_on is {self.side!r}", "Codes", remedy)
        check_same(wanted, codes)

    def read(self, codes: Codes) -> Codes:
        """Return what the weights are for: codes with the template's codebook, expanded where their encoder does so.

        A sketch's levels may come with any other codebook.
        """
        wanted = self._template
        # What the encoder made has its very codebook.
        if codes.codebook is not wanted.codebook or codes.is_times_norms != wanted.is_times_norms:
            codes = read_as(wanted, codes)
        return codes if self.encoder is None else self.encoder.expand(codes)

    def with_recipe(self, recipe: Recipe | None) -> Decision:
        """Return the same decision on rows of a table, or with None on rows that are taken as they are."""
        if recipe is None:
            return replace(self, recipe=None, columns=None)
        if recipe.n_features != self._encoder.n_features:
            need = f"a recipe must give {self._encoder.n_features} columns, as many as the encoder takes"
            raise fail("Decision", need, recipe.n_features)
        return replace(self, recipe=recipe, columns=recipe.columns if recipe.named else None)

    def to_state(self) -> State:
        """Return what a file keeps: "decision", and "encoder", "template" and "table" where there are any."""
        spec: dict[str, Any] = {
            "side": self.side,
            "rule": RULES.to_config(self.rule),
            "classes": None if self.classes is None else labels_to_spec(self.classes),
            "calibration": None if self.calibration is None else self.calibration.to_config(),
            "columns": None if self.columns is None else list(self.columns),
            "fingerprint": self.fingerprint.hex(),
            "role": None if self.right is None else self.right.role,
        }
        arrays = {"weights": self.weights, "intercept": self.intercept}
        if self.right is not None:
            arrays |= {"right_weights": self.right.weights, "right_intercept": self.right.intercept}
        state: State = {"decision": Part(_VERSION, spec, arrays)}
        if self.encoder is not None:
            state |= self.encoder.to_state()
        own = None if self.encoder is None else self.encoder.template
        if self.template is not None and own is not self.template and own != self.template:
            state |= self.template.template_state()
        if self.recipe is not None:
            state |= self.recipe.to_state()
        return state

    @classmethod
    def from_state(cls, state: State, encoder: DrawnEncoder | None = None) -> Self:
        """Return the decision of what `to_state` gave; parts that do not belong together are refused.

        `encoder` is that of the state, where it has been made already.
        """
        # Each of the others is looked at by what it is a part of.
        others = {name: part.version for name, part in state.items() if name in ("encoder", "template", "table")}
        take_parts("Decision", state, {"decision": _VERSION}, others)
        spec, arrays = state["decision"].spec, state["decision"].arrays
        side = check_option("Decision", "side", spec["side"], ("codes", "full"))
        if encoder is None and "encoder" in state:
            encoder = drawn_from_state({"encoder": state["encoder"]})
        template = None
        if "template" in state:
            template = Codes.template_from_state(state)
        elif side == "codes" and encoder is not None and spec["role"] is None:
            template = encoder.template
        curve, columns, role, right = spec["calibration"], spec["columns"], spec["role"], None
        if (role is None) is ("right_weights" in arrays):
            raise fail("Decision", "weights of the right map must come with a role", role)
        if role is not None:
            check_option("Decision", "role", role, ("both", "source", "target"))
            right = RightWeights(np.array(arrays["right_weights"]), np.array(arrays["right_intercept"]), role)
        if columns is not None and not (isinstance(columns, list) and all(isinstance(name, str) for name in columns)):
            raise fail("Decision", "columns must be texts", columns)
        self = cls(
            encoder=encoder,
            template=template,
            side="codes" if side == "codes" else "full",
            weights=np.array(arrays["weights"]),
            intercept=np.array(arrays["intercept"]),
            rule=RULES.from_config(spec["rule"]),
            classes=None if spec["classes"] is None else labels_from_spec(spec["classes"]),
            calibration=None if curve is None else Calibration.from_config(curve),
            recipe=Recipe.from_state({"table": state["table"]}) if "table" in state else None,
            columns=None if columns is None else tuple(columns),
            right=right,
        )
        self._check_consistent(spec["fingerprint"])
        return self

    @property
    def _encoder(self) -> DrawnEncoder:
        if self.encoder is None:
            raise fail("Decision", "there must be an encoder, and a model fitted on Codes alone has none", None)
        return self.encoder

    @property
    def _template(self) -> Codes:
        if self.template is None:
            raise fail("Decision", "there must be a coded side", self.side)
        return self.template

    @property
    def _weights64(self) -> Array:
        return self.weights.astype(np.float64, copy=False)

    def _answer(self, X: Any, checked: bool, method: Callable[[Array], Array], only_ahead: bool = False) -> Array:
        """Return method(scores) of all rows, block by block where X is a source of codes."""
        # An array is what comes most often, and a protocol takes long to be ruled out.
        if isinstance(X, (np.ndarray, Codes)) or not is_source(X):
            return method(self._scores(X, checked, only_ahead))
        k = len(self.intercept)
        done = [method(self._scores(block, True, only_ahead)) for block in read_blocks(X, k)]
        return np.concatenate(done) if done else method(np.empty((0, k)))

    def _scores(self, X: Any, checked: bool, only_ahead: bool) -> Array:
        """Return D w + b, float64 (n, k); maybe only close enough to tell which is ahead."""
        if isinstance(X, Codes):
            self.check_codes(X)
            codes = self.read(X)
        else:
            rows = X if checked else self.check_rows(X)
            if self.template is None:
                return self._full_scores(rows)
            if self._is_direct and is_by_rows(self.weights, rows.shape[0]):
                return self._encoder.scores(rows, self._weights64, self.intercept.astype(np.float64, copy=False))
            codes = self.read(self._encoder.encode(rows))  # type: ignore[arg-type]
        if only_ahead and is_worthwhile(codes):
            return decisive_scores(codes, self.weights, self.intercept)
        # Always in float64: the score of a row does not depend on the rows around it.
        return codes @ self._weights64 + self.intercept

    @cached_property
    def _is_direct(self) -> bool:
        """Whether the encoder may score rows itself: its codes are read with its own codebook."""
        own, wanted = None if self.encoder is None else self.encoder.template, self.template
        if own is None or wanted is None:
            return False
        return own.codebook is wanted.codebook and own.is_times_norms == wanted.is_times_norms

    def _full_scores(self, rows: Any) -> Array:
        """Return the scores of validated rows from float features, a few megabytes of them at a time."""
        encoder = self._encoder
        if self.right is None:
            make = encoder.embed if self.side == "full" else encoder.encode
            return FullDesign(make, rows, len(self.weights)).matmul(self._weights64) + self.intercept
        roles: tuple[Role, ...] = ("source", "target") if self.right.role == "both" else (self.right.role,)
        return np.asarray(np.mean([self.map_scores(rows, role) for role in roles], axis=0))

    def map_scores(self, rows: Any, role: Role) -> Array:
        """Return the scores of validated rows as sources or as targets of an asymmetric kernel, float64 (n, k)."""
        encoder, right = self._encoder, self.right
        if right is None:
            raise fail("Decision", "a score of each role must come from weights of two maps", "weights of one")
        side = partial(encoder.left if role == "source" else encoder.right, side=self.side)
        weights, intercept = (self.weights, self.intercept) if role == "source" else (right.weights, right.intercept)
        return encoded_design(side, rows, encoder.n_outputs).matmul(np.ascontiguousarray(weights)) + intercept

    def _predictions(self, scores: Array) -> Array:
        return self.rule.predictions(scores, self.classes)

    def _probabilities(self, scores: Array) -> Array:
        return self._calibration.probabilities(self.rule.class_scores(scores, self.classes))

    def _log_probabilities(self, scores: Array) -> Array:
        return self._calibration.log_probabilities(self.rule.class_scores(scores, self.classes))

    @property
    def _calibration(self) -> Calibration:
        if self.calibration is None:
            raise fail("Decision", "probabilities must have been calibrated", None, "Ask for scores.")
        return self.calibration

    def _check_consistent(self, fingerprint: str) -> None:
        """Raise when the parts of a file do not belong together."""
        encoder, template, (m, k) = self.encoder, self.template, self.weights.shape
        n_classes = 0 if self.classes is None else len(self.classes)
        if (self.rule.task == "classification") is not bool(n_classes):
            raise fail("Decision", "there must be classes exactly where there is something to classify", self.rule)
        columns = self.rule.n_columns(n_classes)
        width = m
        if template is not None:
            width = self.read(template).shape[1]
        elif encoder is not None:
            width = encoder.n_embedded if self.side == "full" and self.right is None else encoder.n_outputs
        need = (width, k if columns is None else columns)
        parts = [(self.weights, self.intercept)]
        if self.right is not None:
            parts.append((self.right.weights, self.right.intercept))
        for weights, intercept in parts:
            if weights.shape != need or intercept.shape != need[1:]:
                got = f"weights {weights.shape}, intercept {intercept.shape}"
                raise fail("Decision", f"weights must be {need} with an intercept a column", got)
            if not np.isfinite(weights).all() or not np.isfinite(intercept).all():
                raise fail("Decision", "weights must be finite", "NaN or infinity")
        if self.side == "codes" and encoder is not None and not encoder.has_codes:
            raise fail("Decision", "the side must be 'full' for features without a coded side", "codes")
        if template is not None and template.fingerprint != self.fingerprint:
            raise fail("Decision", "the template must be of the encoder's codes", template)
        if self.fingerprint.hex() != fingerprint:
            raise fail("Decision", "the encoder must be the one that the weights are for", self.fingerprint.hex())
        if self.recipe is not None and self.recipe.n_features != self._encoder.n_features:
            raise fail("Decision", f"a recipe must give {self._encoder.n_features} columns", self.recipe.n_features)
        if self.columns is not None and len(self.columns) != self.n_features:
            raise fail("Decision", f"columns must have {self.n_features} names", len(self.columns))


def _apply(recipe: Recipe, X: Any) -> Array:
    """Return a table as numbers; a sparse one is made dense a block of rows at a time."""
    if not is_sparse(X):
        return recipe.apply(X)
    table, step = X.tocsr(), max(1, _DENSE_VALUES // max(1, X.shape[1]))
    starts = range(0, max(1, X.shape[0]), step)
    return np.concatenate([recipe.apply(table[start : start + step].toarray()) for start in starts])
