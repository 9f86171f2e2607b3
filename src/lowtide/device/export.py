"""A fitted encoder, or a model with its table, encoder and decision, as one C99 header and one source."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

import lowtide
from lowtide._checks import check_option, fail
from lowtide.codes import spell_bits
from lowtide.device.encoding import encoder_part, reading_part
from lowtide.device.recipe import RecipeSource
from lowtide.device.scores import ScoreTables
from lowtide.device.text import Part, check_name, filled
from lowtide.device.weights import WEIGHTS
from lowtide.encoders import DrawnEncoder, DrawnLearned, DrawnSketch, DrawnTernary, Encoder
from lowtide.learners import Decision, as_model
from lowtide.persist import write_together
from lowtide.tables import Recipe

_INPUTS = {"float32": "float", "int16": "int16_t", "uint8": "uint8_t"}
_ROWS = {"float64": "double", **_INPUTS}
_MOST_FEATURES = 65535
_IDENTITY_BYTES = 16  # of the side; that of the frequencies is in the encoder's code
_WIDTH = 113


@dataclass(frozen=True)
class DeviceCode:
    """The generated C source, with the flash and RAM that it takes.

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
        """Write `<name>.h` and `<name>.c`, each whole or not at all; both are on the disk before one gets its name.

        Parameters
        ----------
        folder : str or Path
            Must be there.

        Returns
        -------
        tuple of Path
        """
        paths = Path(folder, f"{self.name}.h"), Path(folder, f"{self.name}.c")
        write_together({path: [text.encode()] for path, text in zip(paths, (self.header, self.source))})
        return paths


@dataclass(frozen=True)
class _Exported:
    """What is exported: the encoder, and of a model its decision and what its rows go through."""

    encoder: DrawnEncoder
    decision: Decision | None = None
    columns: RecipeSource | None = None
    scores: ScoreTables | None = None

    @property
    def recipe(self) -> RecipeSource | None:
        """What makes features of columns; None where columns have at most names."""
        return None if self.columns is None or self.columns.recipe.is_identity else self.columns


def export_c(
    model: Any,
    *,
    name: str = "model",
    weights: Literal["int8", "int6", "int4", "float16"] | None = "int8",
    input: Literal["float32", "int16", "uint8", "float64"] | None = None,
    favor: Literal["flash", "time"] = "flash",
    rows: Any = None,
) -> DeviceCode:
    """Return a fitted encoder, or a whole model, as C99 source without heap, libm or a library.

    Codes are equal bit by bit to those of `encode`: `RandomFeatures` and `Sketch` on the Hadamard layout in float32, by
    the same operations in the same order, and so `LearnedFeatures`, whose codes are read by their random features when
    they are scored; `TernaryFeatures` in integers. Where the model takes rows of a table (a pipeline of scalers and
    encoders of categories, or a recipe), so does the C: it computes the features in double, by the same operations in
    the same order.

    Parameters
    ----------
    model : RandomFeatures, Sketch, TernaryFeatures, LearnedFeatures, a learner, or a Pipeline that ends in one
        Fitted. Of a learner its encoder and its decision are exported, and what its rows go through before.
    name : str, default="model"
        Prefix of every function, and the name of the files.
    weights : {"int8", "int6", "int4", "float16"} or None, default="int8"
        How a learner's weights are kept; None for the encoder alone.
    input : {"float32", "int16", "uint8", "float64"}, optional
        Type of a row's numbers. None is "float32", for `TernaryFeatures` "int16", for rows of a table "float64", which
        only they may be.
    favor : {"flash", "time"}, default="flash"
        "flash" makes again for every row what was drawn from a seed (the dither, the entries of a ternary W), and keeps
        weights under a prefix code where that is shorter; "time" keeps all of it ready in tables.
    rows : array (n, n_features), or a table as the model takes it, optional
        Rows on which the rounded decision is compared with the model's.

    Returns
    -------
    DeviceCode

    Notes
    -----
    A Hadamard frequency takes 2 bytes of flash for its length and 6 bits for signs and half an angle, with favor="time"
    3 bytes more for its dither; a component of C classes C - 1 weights. A column that is scaled takes at most 8 bytes
    an operation. RAM is a code and one block of the transform, with a table also a float a feature.

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((200, 64))
    >>> model = lt.KernelClassifier(n_components=512, metric=None, random_state=0).fit(X, X[:, 0] > 0)
    >>> made = lt.device.export_c(model, name="sign")
    >>> made.tables
    {'signs': 64, 'angles': 128, 'cosines': 256, 'scales': 512, 'weights': 512, 'bias': 4}
    >>> print(made.header[made.header.index("int sign_decide") :].splitlines()[0])
    int sign_decide(const uint8_t code[SIGN_CODE_BYTES]);

    What a pipeline does to the columns is in the C too:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> model = make_pipeline(StandardScaler(), lt.KernelClassifier(n_components=512, random_state=0))
    >>> made = lt.device.export_c(model.fit(X, X[:, 0] > 0), name="sign")
    >>> print(made.header[made.header.index("int sign_encode") :].splitlines()[0])
    int sign_encode(const double row[SIGN_COLUMNS], uint8_t code[SIGN_CODE_BYTES]);
    """
    what = _exported(model, weights)
    names = _names(what, check_name(name), input)
    check_option("export_c", "favor", favor, ("flash", "time"))
    scores, encoding = what.scores, encoder_part(what.encoder, names, favor)
    parts = [encoding] if what.recipe is None else [encoding, what.recipe.part(names)]
    stack = sum(part.work_bytes for part in parts)
    if scores is not None:
        reading = reading_part(what.encoder, names, favor)
        scoring = [part for part in (reading, scores.part(names, favor)) if part is not None]
        parts += scoring
        # Encoding is done before scoring: their stacks are never there at once.
        stack = max(stack, sum(part.work_bytes for part in scoring))
    made = DeviceCode(
        name=name,
        header="",
        source=_source(parts, names, what.encoder),
        tables={table.name: table.values.nbytes for part in parts for table in part.tables},
        code_bytes=_IDENTITY_BYTES + sum(part.code_bytes for part in parts),
        ram_bytes=names["code_bytes"] + 4 * (scores.n_scores if scores else 0) + stack,
        error=None if scores is None else scores.rounded.error,
        agreement=None if rows is None else _agreement(what, rows),
    )
    return replace(made, header=_header(made, names, what))


def _exported(model: Any, weights: str | None) -> _Exported:
    """Return the parts of a model, or refuse what cannot be exported."""
    if weights is not None:
        check_option("export_c", "weights", weights, tuple(WEIGHTS))
    if isinstance(model, DrawnEncoder):
        what = _Exported(model)
    elif isinstance(model, Encoder):
        check_is_fitted(model)
        what = _Exported(model.drawn_)
    else:
        decision = as_model(model).decision_
        if decision.encoder is None:
            remedy = "Give their encoder as features when fitting."
            raise fail("export_c", "a model fitted on Codes must know their encoder", "none", remedy)
        recipe, names = decision.recipe, decision.columns
        if recipe is None and names is not None:
            recipe = Recipe.plain(names)
        columns = None if recipe is None else RecipeSource(recipe)
        scores = None if weights is None else ScoreTables.of(decision, weights)
        what = _Exported(decision.encoder, decision, columns, scores)
    n_columns = max(what.encoder.n_features, 0 if what.decision is None else what.decision.n_features)
    if n_columns > _MOST_FEATURES:
        raise fail("export_c", f"rows must have at most {_MOST_FEATURES} columns", n_columns)
    return what


def _names(what: _Exported, name: str, input: str | None) -> dict[str, Any]:
    """Return what every template knows."""
    encoder, recipe = what.encoder, what.recipe
    is_ternary = isinstance(encoder, DrawnTernary)
    if input is None:
        input = "float64" if recipe is not None else "int16" if is_ternary else "float32"
    check_option("export_c", "input", input, tuple(_INPUTS if recipe is None else _ROWS))
    if is_ternary and recipe is not None:
        remedy = "Fit it on rows of integers, without a table."
        raise fail("export_c", "TernaryFeatures must have integers as input", "what a table is made into", remedy)
    if recipe is not None and recipe.dates and input != "float64":
        remedy = "A float32 does not hold a date with its time."
        raise fail("export_c", "input must be 'float64' where a column holds dates", input, remedy)
    if encoder.has_codes and encoder.template is None:
        need = "an encoder must need no more than sums and comparisons on a device"
        raise fail("export_c", need, "a continuous coded side", "Use a quantizer of levels.")
    template = encoder.required_template
    n_levels, stored, n_bytes = template.packing
    placed = f"level j takes bits [jB, (j + 1)B), B = {stored}"
    if not stored:
        placed = f"its levels, of {spell_bits(template.bits)} bits, follow one another without gaps"
    row, size = ("x", "FEATURES") if recipe is None else ("row", "COLUMNS")
    code = f"uint8_t code[{name.upper()}_CODE_BYTES]"
    plain = f"int {name}_encode(const {_ROWS[input]} x[{name.upper()}_FEATURES], {code})"
    return {
        "p": name,
        "P": name.upper(),
        "head": plain if recipe is None else f"static int encode_features(const float *x, {code})",
        "input_type": _ROWS[input] if recipe is None else "float",
        "row_type": _ROWS[input],
        "row": row,
        "row_size": size,
        "n_features": encoder.n_features,
        "bits": 0 if stored == 0 else template.bits,
        "stored_bits": stored,
        "n_levels": n_levels,
        "code_bytes": n_bytes,
        "placed": placed,
        "expands": encoder.expands,
    }


def _agreement(what: _Exported, rows: Any) -> float | None:
    """Return the share of rows on which the rounded decision is the model's; None where there is nothing to decide."""
    if what.decision is None or what.scores is None or what.scores.classes is None:
        return None
    codes = what.decision.encode(rows)
    if len(codes) == 0:
        raise fail("export_c", "rows to compare decisions on must be at least one", 0)
    read = what.decision.read(codes)  # type: ignore[arg-type]
    return float(np.mean(what.scores.decide(read) == what.decision.predict(codes)))


def _source(parts: list[Part], names: dict[str, Any], encoder: DrawnEncoder) -> str:
    """Return the .c file."""
    preamble = "" if isinstance(encoder, DrawnTernary) else filled("strict.c")
    identity = {"fingerprint": encoder.fingerprint, "side": encoder.side}
    values = {name: ", ".join(map(str, number)) for name, number in identity.items()}
    body = "".join(part.text() for part in parts)
    return filled("source.c", **names, **values, preamble=preamble, body=body).rstrip("\n") + "\n"


def _header(made: DeviceCode, names: dict[str, Any], what: _Exported) -> str:
    """Return the .h file."""
    refusal = columns = more = ""
    if what.recipe is not None:
        columns = f"#define {names['P']}_COLUMNS {len(what.recipe.recipe.columns)}\n"
        refusal = ", or -2 for one\n   with a category that is not known" if what.recipe.refuses_unknown else ""
        more = filled("category.h", **names) if what.recipe.texts else ""
        more += filled("date.h", **names) if what.recipe.dates else ""
    encode = filled("encode.h", **names, refusal=refusal) + more
    decision = "" if what.scores is None else what.scores.header(names)
    comment = _comment(made, names, what)
    return filled("header.h", **names, comment=comment, columns=columns, encode=encode, decision=decision)


def _comment(made: DeviceCode, names: dict[str, Any], what: _Exported) -> str:
    """Return the comment at the top: what it is, its columns, flash and RAM, how to build it, what it is equal to."""
    encoder, recipe, scores = what.encoder, what.recipe, what.scores
    columns = decision = ""
    if what.columns is not None and (recipe is not None or what.columns.recipe.named):
        columns = f"Columns: {what.columns.describe(names['row'], names['p'])}"
    if scores is not None:
        decision = filled("decision.txt", kind=scores.kind, error=f"{made.error:.2g}")
    if made.agreement is not None:
        decision += filled("agreement.txt", share=f"{made.agreement:.2%}")
    build = filled("build_integers.txt" if isinstance(encoder, DrawnTernary) else "build_floats.txt")
    in_double = ["features are computed"] * (recipe is not None)
    in_double += ["the length of a row is summed"] * isinstance(encoder, DrawnSketch)
    in_double += ["products are added"] * isinstance(encoder, DrawnLearned)
    if in_double:
        build += filled("build_double.txt", done=" and ".join(in_double).capitalize())
    text = filled(
        "comment.txt",
        **names,
        table="" if recipe is None else f"a table of {len(recipe.recipe.columns)} columns, ",
        each="" if recipe is None else " each",
        then="" if scores is None else ", and a decision from the code",
        version=lowtide.__version__,
        kind=encoder.kind,
        fingerprint=encoder.fingerprint.hex(),
        columns=columns,
        flash=f"{made.flash_bytes:,}",
        all_tables=f"{sum(made.tables.values()):,}",
        tables=", ".join(f"{name} {size:,}" for name, size in made.tables.items()),
        machine_code=f"{made.code_bytes:,}",
        ram=f"{made.ram_bytes:,}",
        build=build,
        decision=decision,
    )
    paragraphs = [part for part in map(str.strip, text.split("\n\n")) if part]
    lines = [textwrap.fill(part, _WIDTH, initial_indent="   ", subsequent_indent="   ") for part in paragraphs]
    return "/* " + "\n\n".join(lines).lstrip() + " */"
