"""Scores and answers from a code, as C and, to compare with, as numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import fail
from lowtide.codes import Codes, spell_bits
from lowtide.device.text import Part, Table, c_number, c_string, filled, get_source
from lowtide.device.weights import RoundedWeights, round_weights, weight_code
from lowtide.learners import ArgMax, Decision, Rule, Sign, Values, Votes

# What a device answers by each rule: in words, with one score, and with several.
_ANSWERS: dict[type[Rule], tuple[str, str, str]] = {
    ArgMax: ("the class of a code, an index of {p}_classes", "scores[0] > 0", "argmax.c"),
    Votes: ("the class of a code, an index of {p}_classes, by votes of pairs", "scores[0] >= 0", "votes.c"),
    Sign: ("1 for a code of an inlier, -1 for that of an outlier", "scores[0] > 0 ? 1 : -1", ""),
}


@dataclass(frozen=True)
class ScoreTables:
    """Weights of a few bits from which a device scores a code, and what it answers by the scores.

    With more than two classes one of them, the reference, has no weights: the scores of the others are relative to it,
    which changes no decision and saves a column.

    Parameters
    ----------
    kind : {"int8", "int6", "int4", "float16"}
    rounded : RoundedWeights
        Of all columns but the reference's.
    reference : int or None
        The class without weights.
    rule : ArgMax, Votes, Sign or Values
        How scores become answers.
    classes : ndarray or None
        Labels; None where nothing is classified.
    bits, n_levels : int
        Bits that a level takes, and levels, of the codes that are scored.
    """

    kind: str
    rounded: RoundedWeights
    reference: int | None
    rule: Rule
    classes: NDArray[Any] | None
    bits: int
    n_levels: int

    @classmethod
    def of(cls, decision: Decision, kind: str) -> Self:
        """Return the tables of a decision on codes, with weights of one kind."""
        template, rule, classes = decision.template, decision.rule, decision.classes
        if template is not None:
            template = decision.read(template)
        if decision.side != "codes" or template is None:
            remedy = "Fit with predict_on='codes', or export the encoder alone with weights=None."
            raise fail("export_c", "a device decides on codes: predict_on must be 'codes'", decision.side, remedy)
        if template.is_times_norms or template.scale is not None:
            raise fail("export_c", "codes must decode by a codebook alone", "factors of rows or columns")
        if not isinstance(rule, (ArgMax, Votes, Sign, Values)) or (isinstance(rule, Votes) and rule.break_ties):
            need = "a device takes the largest score, counts votes without breaking ties, or gives scores and signs"
            raise fail("export_c", need, rule, "Export the encoder alone with weights=None.")
        W, intercept = decision.weights.astype(np.float64), decision.intercept.astype(np.float64)
        reference = None
        if isinstance(rule, ArgMax) and W.shape[1] > 1:
            reference = _best_reference(W)
            order = _column_order(W.shape[1], reference)
            W = (W - W[:, [reference]])[:, order]
            intercept = (intercept - intercept[reference])[order]
        rounded = round_weights(W, intercept, template.codebook, kind)
        n_levels, stored, _ = template.packing
        if not stored:
            need = "codes that a device scores must have levels of equally many bits, or be read by random features"
            raise fail(
                "export_c", need, f"bits of {spell_bits(template.bits)}", "Export the encoder with weights=None."
            )
        return cls(kind, rounded, reference, rule, classes, stored, n_levels)

    @property
    def n_scores(self) -> int:
        """Scores per code: one per class (one for two classes), per pair of classes that votes, or per target."""
        return len(self.rounded.bias) + (self.reference is not None)

    def scores(self, codes: Codes) -> NDArray[Any]:
        """Return what the C function writes for Codes, (n, n_scores): int32, for float16 to rounding.

        They are those that `Decision.read` gives, expanded where the encoder does so.
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
        """Return the class of each code, or 1 for inliers and -1 for outliers."""
        if isinstance(self.rule, Values):
            raise fail("ScoreTables", "classes must be there to decide among", "a regression", "Use scores.")
        return self.rule.predictions(self.scores(codes), self.classes)

    def part(self, names: dict[str, Any], favor: str) -> Part:
        """Return the tables and functions in C, for `names` that every template knows."""
        tables, next_weight, may_skip = weight_code(self.rounded, self.kind, favor)
        tables += (Table("bias", self.rounded.bias, "What scores start from."),)
        if self.rounded.values.shape == (2,):
            # A score is a sum over set bits, without a multiplication.
            get, visit = "", "visit_set_bit.c" if may_skip else "visit_bit.c"
        else:
            tables += (Table("values", self.rounded.values, "Values of the levels."),)
            get, visit = get_source(self.bits), f"visit_{self.rounded.values.ndim}.c"
        columns, last = len(self.rounded.bias), ""
        if self.reference is not None:
            last = filled("last.c" if self.reference == columns else "reference.c", reference=self.reference)
        words = {"columns": columns, "score_type": self._score_type, "next_weight": next_weight}
        source = get + filled("scores.c", **names, **self._given(names), **words, visit=filled(visit), last=last)
        # Each label is a pointer and its text.
        labels = [] if self.classes is None else [len(str(label).encode()) + 5 for label in self.classes.tolist()]
        voting = isinstance(self.rule, Votes)
        code_bytes = 260 + 100 * voting + sum(labels)
        work_bytes = 4 * self.n_scores + 96 + 4 * len(labels) * voting
        return Part(tables, source + self._decide_source(names), code_bytes, work_bytes)

    def _given(self, names: dict[str, Any]) -> dict[str, str]:
        """Return how a score comes by the levels that it sums over: those of the code, or of what it is read by."""
        if not names["expands"]:
            return {"given": "code", "expand": "", "read": names["P"]}
        P = f"{names['P']}_READ"
        return {
            "given": "packed",
            "expand": f"\n    uint8_t code[{P}_CODE_BYTES];\n    read_fields(packed, code);",
            "read": P,
        }

    def header(self, names: dict[str, Any]) -> str:
        """Return the declarations in C, for `names` that every template knows."""
        p, reference = names["p"], self.reference
        relative = "" if reference is None else f", relative to that of {p}_classes[{reference}]"
        unit = c_number(np.float32(self.rounded.unit))
        values = {"n_scores": self.n_scores, "unit": unit, "relative": relative, "score_type": self._score_type}
        text = filled("decision.h", **names, **values)
        if self.classes is not None:
            text += filled("classes.h", **names, n_classes=len(self.classes))
        if type(self.rule) in _ANSWERS:
            text += filled("decide.h", **names, answer=_ANSWERS[type(self.rule)][0].format(**names))
        return text

    @property
    def _score_type(self) -> str:
        return "float" if self.kind == "float16" else "int32_t"

    def _decide_source(self, names: dict[str, Any]) -> str:
        if isinstance(self.rule, Values):
            return ""
        listed = ""
        if self.classes is not None:
            labels = ",\n    ".join(c_string(str(label)) for label in self.classes.tolist())
            listed = f"\nconst char *const {names['p']}_classes[{len(self.classes)}] = {{\n    {labels},\n}};\n"
        _, of_one, of_several = _ANSWERS[type(self.rule)]
        choose = f"    return {of_one};" if self.n_scores == 1 else filled(of_several, **names)
        return listed + filled("decide.c", **names, score_type=self._score_type, choose=choose)


def _column_order(n_classes: int, reference: int) -> list[int]:
    """Return the classes that have weights: the last one in the place of the reference."""
    return [n_classes - 1 if c == reference else c for c in range(n_classes - 1)]


def _best_reference(W: NDArray[np.float64]) -> int:
    """Return the class next to which the others' weights are smallest."""
    return int(np.argmin([np.sum((W - W[:, [c]]) ** 2) for c in range(W.shape[1])]))
