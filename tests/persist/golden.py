"""Golden files and a golden store, which pin the formats. Run as a script to record them anew when a format changes.

From version 0.1.0 on they stay as they are, and are read for good.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import lowtide as lt
from lowtide.codes import RowCells
from lowtide.encoders import Encoder, Partition

DATA = Path(__file__).resolve().parents[1] / "data"
EXPECTED = DATA / "files.json"

# Rows with few digits, so that JSON and any reader hold them exactly.
ROWS = np.round(np.random.default_rng(11).standard_normal((30, 5)) * 64) / 64
# The same as a table with columns of every kind, and cells that are missing.
TABLE: dict[str, list[Any]] = {
    "tide": [("ebb", "flood", "slack")[i % 3] for i in range(30)],
    "depth": [None if i % 7 == 6 else x for i, x in enumerate(ROWS[:, 0].tolist())],
    "calm": [(True, "no", None, 1, False)[i % 5] for i in range(30)],
    "seen": [None if i % 9 == 8 else f"{i + 1}.06.2024 {i % 24}:15" for i in range(30)],
}


def golden_objects() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return what the files hold, and how it is saved."""
    one_bit = lt.RandomFeatures(gamma=0.25, n_components=128, random_state=1).fit(ROWS)
    phase = {"projection": "iid", "quantizer": "phase", "bits": 3, "n_components": 64, "random_state": 2}
    asymmetric = {
        "kernel": lt.kernels.ShiftGaussian([0.5, 0.0, -0.25, 0.0, 1.0]),
        "n_components": 96,
        "random_state": 4,
    }
    names = np.array(["ebb", "flood", "slack"])[np.arange(30) % 3]
    classifier = lt.KernelClassifier(one_bit, loss="squared", C=10.0).fit(ROWS, names)
    regressor = lt.KernelRegressor(lt.RandomFeatures(**phase), alpha=0.5).fit(ROWS, ROWS[:, :2] ** 2)
    sketch = lt.Sketch(40, bits=3, store_norms=True, random_state=6).fit(ROWS)
    stored = sketch.encode(ROWS)
    tuned = lt.KernelClassifier(sketch, loss="squared", C=10.0).fit(sketch.fourier(stored, 0.5), names)
    return {
        "encoder_hadamard": (one_bit, {}),
        "encoder_scaled_kept": (
            lt.RandomFeatures(
                gamma=0.25, n_components=64, metric=[0.5, 2, 0, 1, 0.25], kept=np.arange(2, 226, 7), random_state=1
            ).fit(ROWS),
            {},
        ),
        "encoder_matrix": (
            lt.RandomFeatures(gamma=0.25, n_components=64, metric=ROWS[:5, :3], random_state=1).fit(ROWS),
            {},
        ),
        "encoder_sketch": (sketch, {}),
        "partition": (_partition(), {}),
        "codes_sketch": (sketch.linear(stored), {}),
        "classifier_sketch": (tuned, {}),
        "encoder_dense_phase": (lt.RandomFeatures("laplacian", gamma=0.5, **phase).fit(ROWS), {}),
        "classifier": (classifier, {}),
        "regressor_int8": (regressor, {"weights": "int8"}),
        "code_pca": (lt.CodePCA(3, features=one_bit, whiten=True, random_state=0).fit(ROWS), {}),
        "encoder_ternary": (
            lt.TernaryFeatures(gamma=0.05, n_components=70, sparsity=0.0, random_state=4).fit(ROWS),
            {},
        ),
        "encoder_learned": (lt.LearnedFeatures(n_bytes=8, n_components=70, random_state=7).fit(ROWS, names), {}),
        "classifier_learned": (
            lt.KernelClassifier(lt.LearnedFeatures(n_bytes=8, n_components=70, random_state=7)).fit(ROWS, names),
            {},
        ),
        "encoder_asymmetric": (lt.AsymmetricFeatures("sinh", n_components=130, random_state=3).fit(ROWS), {}),
        "encoder_asymmetric_phase": (lt.AsymmetricFeatures(form="phase", bits=2, **asymmetric).fit(ROWS), {}),
        "encoder_asymmetric_fitted": (
            lt.AsymmetricFeatures("cosh", n_components=66, masses="fitted", random_state=5).fit(ROWS),
            {},
        ),
        "codes_scaled": (lt.AsymmetricFeatures(**asymmetric).fit(ROWS).encode(ROWS), {}),
        "asymmetric_lssvc": (
            lt.AsymmetricLSSVC(lt.AsymmetricFeatures(**asymmetric), system="ask_ls").fit(ROWS, names),
            {},
        ),
        "classifier_recipe": (_of_table(), {}),
        "codes": (lt.RandomFeatures(**{**phase, "projection": "hadamard"}).fit(ROWS).encode(ROWS), {}),
    }


def _of_table() -> Any:
    """Return a classifier of a table whose recipe has every kind of source, and whose settings are chosen."""
    kinds = lt.tables
    recipe = kinds.Recipe.of_features(
        tuple(TABLE),
        [
            (kinds.Number(1), (("fill", 0.25), ("subtract", 0.125), ("divide", 1.5))),
            (kinds.Missing(1), ()),
            (kinds.Truth(2), (("fill", 0.5),)),
            (kinds.DatePart(0, "days"), (("fill", 19890.0), ("subtract", 19890.0), ("divide", 8.75))),
            *((kinds.DatePart(0, part), (("fill", 0.0),)) for part in ("year_sine", "week_cosine", "day_sine")),
            *((kinds.Indicator(0, i), ()) for i in range(2)),
            (kinds.Ordinal(1, -1.0, 0.5), ()),
        ],
        [kinds.Categories(0, ("ebb", "flood", "slack"), as_text=True), kinds.Categories(0, ("slack", "ebb"))],
        dates=[kinds.Dates(3, "dmy")],
    )
    model = lt.KernelClassifier(n_components=64, budget={"item": 8}, random_state=5)
    return model.fit(recipe.apply(TABLE), np.arange(30) % 2).with_recipe(recipe)


def _partition() -> Partition:
    """Return codes of two bits in three cells, one of them empty, of numbers that are the same on every machine."""
    vectors = lt.VectorCodes(2, metric="l2", center=False, random_state=0).fit(ROWS)
    codes, quarters = vectors.encode(ROWS), np.arange(30, dtype=np.float32) / 4
    codes = codes.with_rows(codes.packed, 1 + quarters, 2 + quarters)
    cells = RowCells(np.arange(30)[::-1].copy(), np.array([0, 12, 12, 30]))
    centers = (np.round(ROWS[:3] * 64) / 64).astype(np.float32)
    curve = np.array([[0.5, 0.75, 1], [0.25, 0.5, 1], [0.125, 0.5, 1]])
    return Partition(codes, cells, centers, curve, 8)


def table_or_rows(thing: Any) -> Any:
    """Return what a model predicts of: rows of the table where it has a recipe."""
    return TABLE if thing.decision_.recipe is not None else ROWS


def seen(thing: Any) -> dict[str, Any]:
    """Return what a user sees of an object, as JSON has it."""
    found: dict[str, Any] = {"kind": type(thing).__name__}
    if isinstance(thing, Partition):
        found |= {"names": thing.cells.names.tolist(), "starts": thing.cells.starts.tolist()}
        found |= {"centers": thing.centers.tolist(), "curve": thing.curve.tolist(), "n_measured": thing.n_measured}
        return found | {"codes": seen(thing.codes), "corrections": np.asarray(thing.codes.corrections).tolist()}
    if isinstance(thing, lt.Codes):
        found |= {} if thing.scale is None else {"scale": thing.scale.tolist()}
        found |= {"bits": thing.bits, "shape": list(thing.shape), "codebook": thing.codebook.tolist()}
        if thing.norms is not None:
            found |= {"norms": thing.norms.tolist(), "times_norms": thing.is_times_norms}
        found |= {"fingerprint": thing.fingerprint.hex(), "side": thing.side.hex()}
        return found | {"packed": thing.packed.tobytes().hex()}
    if isinstance(thing, lt.AsymmetricFeatures):
        found |= {"side_right": thing.side_right_.hex(), "form": thing.form_}
        found["packed_right"] = thing.encode_right(ROWS).packed.tobytes().hex()
    if isinstance(thing, Encoder):
        found |= {"fingerprint": thing.fingerprint_.hex(), "side": thing.side_.hex()}
        found["packed"] = thing.encode(ROWS).packed.tobytes().hex()
        return found | {"features": thing.transform(ROWS[:3]).tolist()}
    if isinstance(thing, (lt.KernelClassifier, lt.KernelRegressor)):
        found["choice"] = thing.choice_.to_config()
    if isinstance(thing, (lt.KernelClassifier, lt.AsymmetricLSSVC)):
        X = table_or_rows(thing)
        found |= {"classes": thing.classes_.tolist(), "scores": thing.decision_function(X).tolist()}
        return found | {"predicted": thing.predict(X).tolist()}
    if isinstance(thing, lt.CodePCA):
        return found | {"embedding": thing.transform(ROWS).tolist(), "variance": thing.explained_variance_.tolist()}
    return found | {"predicted": thing.predict(ROWS).tolist()}


def write_store(path: Path) -> None:
    """Write the golden store: three commits of 21 rows in all, with norms and texts, in shards of eight rows."""
    rows = np.round(np.random.default_rng(12).standard_normal((21, 6)) * 64) / 64
    encoder = lt.Sketch(30, bits=2, store_norms=True, random_state=0).fit(rows)
    texts, weight = np.array(["red", "blue"])[np.arange(21) % 2], np.arange(21) / 4
    layout = {"chunk_rows": 4, "shard_chunks": 2, "metadata": {"made": "for the tests"}}
    with lt.CodeStore.create(path, encoder, **layout) as store:
        for begin, end in ((0, 7), (7, 8), (8, 21)):
            store.append(rows[begin:end], y=texts[begin:end], weight=weight[begin:end])
    (path / "lowtide" / "lock").unlink()
    lt.save(encoder.encode(rows), DATA / "store_codes.lowtide")


def main() -> None:
    """Write all files, and what they must show when they are read."""
    expected: dict[str, Any] = {"rows": ROWS.tolist(), "files": {}}
    for name, (thing, options) in golden_objects().items():
        path = DATA / f"{name}.lowtide"
        lt.save(thing, path, **options)
        expected["files"][name] = seen(lt.load(path))
    EXPECTED.write_text(json.dumps(expected, indent=1) + "\n")
    shutil.rmtree(DATA / "store.zarr", ignore_errors=True)
    write_store(DATA / "store.zarr")


if __name__ == "__main__":
    main()
