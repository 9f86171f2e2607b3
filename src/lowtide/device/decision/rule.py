"""Scores and classes from a code, as C and, to compare with, as numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, stored_bits
from lowtide.device.decision.storage import WeightCode, weight_code
from lowtide.device.decision.weights import RoundedWeights, round_weights
from lowtide.device.packing import get_source
from lowtide.device.text import Part, Table, c_float, c_string, filled
from lowtide.encoders import no_codes
from lowtide.learners import KernelClassifier, KernelRegressor

__all__ = ["Decision"]

_VISIT_SET_BIT = """        if ((code[j >> 3] >> (j & 7)) & 1) add(&at, scores, 1);
        else at += COLUMNS;"""
_VISIT_BIT = "        add(&at, scores, (code[j >> 3] >> (j & 7)) & 1);"
_VISIT_LEVEL = "        add(&at, scores, values[get(code, j)]);"
_VISIT_PAIR = """        const uint32_t entry = 2 * get(code, j);
        add(&at, scores, values[entry]);
        add(&at, scores, values[entry + 1]);"""
_ARGMAX = """    {
        int best = 0, c;
        for (c = 1; c < $P_SCORES; ++c) {
            if (scores[c] > scores[best]) best = c;
        }
        return best;
    }"""


@dataclass(frozen=True)
class Decision:
    """Scores of a code from weights of a few bits; of classes the best.

    With more than two classes one of them, the reference, has no weights: the scores of the others are relative to it,
    which changes no decision and saves a column.

    Parameters
    ----------
    kind : {"int8", "int6", "int4", "float16"}
    rounded : RoundedWeights
        Of all columns but the reference's.
    reference : int or None
        The class without weights.
    classes : ndarray or None
        Labels; None for a regression.
    bits, n_levels : int
        Of the codes.
    """

    kind: str
    rounded: RoundedWeights
    reference: int | None
    classes: NDArray[Any] | None
    bits: int
    n_levels: int

    @classmethod
    def of(cls, model: KernelClassifier | KernelRegressor, kind: str) -> Self:
        """Return the decision of a fitted learner that predicts on codes."""
        if model._predict_on != "codes":
            remedy = "Fit with predict_on='codes', or export the encoder alone with weights=None."
            raise fail("export_c", "a device decides on codes: predict_on must be 'codes'", model._predict_on, remedy)
        empty = _codes_of(model)
        if empty.is_times_norms or empty.scale is not None:
            raise fail("export_c", "codes must decode by a codebook alone", "factors of rows or columns")
        W, intercept = model._weights.astype(np.float64), model.intercept_.astype(np.float64)
        classes = getattr(model, "classes_", None)
        reference = None
        if W.shape[1] > 1 and classes is not None:
            reference = _best_reference(W)
            order = _column_order(W.shape[1], reference)
            W = (W - W[:, [reference]])[:, order]
            intercept = (intercept - intercept[reference])[order]
        rounded = round_weights(W, intercept, empty.codebook, kind)
        return cls(kind, rounded, reference, classes, empty.bits, empty.n_levels)

    @property
    def n_scores(self) -> int:
        """Scores of a code: one a class, one for two classes, one a target."""
        return len(self.rounded.bias) + (self.reference is not None)

    def scores(self, codes: Codes) -> NDArray[Any]:
        """Return what the C function writes, (n, n_scores): int32, for float16 to rounding.

        Parameters
        ----------
        codes : Codes
        """
        rounded = self.rounded
        wide = np.float64 if self.kind == "float16" else np.int64
        values = rounded.values.astype(wide)[codes.levels()].reshape(len(codes), -1)
        sums = values @ rounded.weights.astype(wide) + rounded.bias.astype(wide)
        if self.reference is not None:
            scores = np.zeros((len(codes), self.n_scores), dtype=wide)
            scores[:, _column_order(self.n_scores, self.reference)] = sums
            sums = scores
        return sums.astype(np.float32 if self.kind == "float16" else np.int32)

    def decide(self, codes: Codes) -> NDArray[Any]:
        """Return the class of each code.

        Parameters
        ----------
        codes : Codes
        """
        if self.classes is None:
            raise fail("Decision", "classes must be there to decide among", "a regression", "Use scores.")
        scores = self.scores(codes)
        best = np.argmax(scores, axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
        return np.asarray(self.classes[best])

    def part(self, names: dict[str, Any], favor: str) -> Part:
        """Return the tables and functions in C.

        Parameters
        ----------
        names : dict
            What every template knows: `p`, `P`, `stored_bits`.
        favor : {"flash", "time"}
            Keep weights under a prefix code where that is shorter, or ready to be read.
        """
        kept = weight_code(self.rounded, self.kind, favor)
        tables = [*kept.tables, Table("bias", self.rounded.bias, "What scores start from.")]
        if not self._adds_bits:
            tables.append(Table("values", self.rounded.values, "Values of the levels."))
        source = self._scores_source(names, kept) + self._decide_source(names)
        # Each label is a pointer and its text.
        labels = [] if self.classes is None else [len(str(label).encode()) + 5 for label in self.classes.tolist()]
        return Part(tuple(tables), source, frozenset(), code_bytes=260 + sum(labels), work_bytes=4 * self.n_scores + 96)

    def header(self, names: dict[str, Any]) -> str:
        """Return the declarations in C.

        Parameters
        ----------
        names : dict
            What every template knows: `p`, `P`.
        """
        relative = ""
        if self.reference is not None and self.classes is not None:
            relative = f", relative to that of {names['p']}_classes[{self.reference}]"
        values = {"n_scores": self.n_scores, "unit": c_float(self.rounded.unit), "relative": relative}
        text = filled("decision.h", **names, **values, score_type=self._score_type)
        if self.classes is not None:
            text += filled("classes.h", **names, n_classes=len(self.classes))
        return text

    @property
    def _adds_bits(self) -> bool:
        """Whether a score is a sum over set bits, without a multiplication."""
        return self.rounded.values.shape == (2,)

    @property
    def _score_type(self) -> str:
        return "float" if self.kind == "float16" else "int32_t"

    def _scores_source(self, names: dict[str, Any], kept: WeightCode) -> str:
        get = "" if self._adds_bits else get_source(stored_bits(self.bits))
        if self._adds_bits:
            visit = _VISIT_SET_BIT if kept.may_skip else _VISIT_BIT
        else:
            visit = _VISIT_PAIR if self.rounded.values.ndim == 2 else _VISIT_LEVEL
        last = ""
        if self.reference == len(self.rounded.bias):
            last = "\n    scores[COLUMNS] = 0;"
        elif self.reference is not None:
            last = filled("reference.c", reference=self.reference).rstrip("\n")
        return get + filled(
            "scores.c",
            **names,
            columns=len(self.rounded.bias),
            next_weight=kept.source,
            score_type=self._score_type,
            visit=visit,
            last=last,
        )

    def _decide_source(self, names: dict[str, Any]) -> str:
        if self.classes is None:
            return ""
        labels = ",\n    ".join(c_string(str(label)) for label in self.classes.tolist())
        listed = f"\nconst char *const {names['p']}_classes[{len(self.classes)}] = {{\n    {labels},\n}};\n"
        choose = "    return scores[0] > 0;" if self.n_scores == 1 else _ARGMAX.replace("$P", names["P"])
        return listed + filled("decide.c", **names, score_type=self._score_type, choose=choose)


def _codes_of(model: Any) -> Codes:
    """Return zero rows with the codebook that the weights are for."""
    if model._trained_codes is not None:
        return model._trained_codes
    return no_codes("export_c", model.features_)


def _column_order(n_classes: int, reference: int) -> list[int]:
    """Return the classes that have weights: the last one in the place of the reference."""
    return [n_classes - 1 if c == reference else c for c in range(n_classes - 1)]


def _best_reference(W: NDArray[np.float64]) -> int:
    """Return the class next to which the others' weights are smallest."""
    return int(np.argmin([np.sum((W - W[:, [c]]) ** 2) for c in range(W.shape[1])]))
