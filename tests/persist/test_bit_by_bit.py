"""What a file gives back answers as what was saved, bit by bit, and holds finite numbers only."""

import json

import numpy as np
import pytest
from persist.golden import DATA, EXPECTED, ROWS, golden_objects, table_or_rows
from persist.samples import packed

import lowtide as lt
from lowtide.encoders import Encoder, Partition
from lowtide.errors import FileFormatError
from lowtide.persist import from_bytes, to_bytes
from lowtide.persist.container import unpack

NAMES = list(json.loads(EXPECTED.read_text(encoding="utf-8"))["files"])
METHODS = ("transform", "transform_right", "encode_right", "decision_function", "predict", "predict_proba")
METHODS += ("predict_log_proba", "embed")


@pytest.fixture(scope="module")
def objects():
    return golden_objects()


def answers(thing):
    """Return all that an object says of rows."""
    if isinstance(thing, lt.Codes):
        return {"decoded": np.asarray(thing)}
    if isinstance(thing, Partition):
        return {"decoded": np.asarray(thing[:]), "read": thing.nearest(thing.centers, 2, False), "recalls": thing.curve}
    rows = table_or_rows(thing) if hasattr(thing, "decision_") else ROWS
    found = {name: getattr(thing, name)(rows) for name in METHODS if hasattr(thing, name)}
    if hasattr(thing, "decision_"):
        found["scores"] = thing.decision_.scores(rows)
    if isinstance(thing, Encoder):
        found["encode"] = thing.encode(rows)
        found["kernel"] = thing.kernel_estimate(ROWS[:9], ROWS[9:])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_loaded_object_answers_bit_by_bit_as_the_saved_one(name, objects):
    saved = lt.learners.as_model(objects[name][0]) if name == "classifier_recipe" else objects[name][0]
    expected, found = answers(saved), answers(from_bytes(to_bytes(saved)))
    assert expected
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert np.array_equal(np.asarray(found[key]), np.asarray(values)), key


@pytest.mark.parametrize("scale", [1e-50, 1.0, 1e45])
def test_weights_that_float32_does_not_hold_come_back_as_they_were(scale):
    model = lt.KernelRegressor(gamma=0.25, alpha=1.0, n_components=64, random_state=0).fit(ROWS, scale * ROWS[:, 0])
    assert np.array_equal(from_bytes(to_bytes(model)).predict(ROWS), model.predict(ROWS))
    assert np.any(model.predict(ROWS) != 0.0)


def test_scores_of_a_store_are_those_of_rows_after_a_file(tmp_path, objects):
    model = objects["classifier"][0]
    with lt.CodeStore.create(tmp_path / "s.zarr", model.features_, chunk_rows=8, shard_chunks=2) as store:
        store.append(ROWS)
    lt.save(model, tmp_path / "m.lowtide")
    loaded = lt.load(tmp_path / "m.lowtide")
    expected = model.decision_.scores(ROWS)
    assert np.array_equal(loaded.decision_.scores(lt.CodeStore.open(tmp_path / "s.zarr")), expected)
    assert np.array_equal(loaded.decision_.scores(store.encoder.encode(ROWS)), expected)


def places_of(content):
    """Yield the path of each number with a point in JSON."""
    if isinstance(content, float):
        yield ()
    elif isinstance(content, (dict, list)):
        for key, inner in content.items() if isinstance(content, dict) else enumerate(content):
            yield from ((key, *rest) for rest in places_of(inner))


@pytest.mark.parametrize("name", NAMES)
def test_number_that_is_not_finite_is_refused_by_the_name_of_its_part(name):
    """Every array, and every number of a specification, one after the other, in a file whose checksum is right."""
    whole = unpack("f", np.fromfile(DATA / f"{name}.lowtide", dtype=np.uint8))
    n_tried = 0
    for place, array in whole.arrays.items():
        if array.dtype.kind == "f" and array.size:
            # A threshold that no row reaches is infinite.
            is_border = name == "encoder_ternary" and place in ("encoder/upper", "encoder/lower", "encoder/map")
            for value in (np.nan,) if is_border else (np.nan, np.inf, -np.inf):
                changed = array.copy()
                changed.reshape(-1)[array.size // 2] = value
                with pytest.raises(FileFormatError, match=f"part '{place.split('/')[0]}' must have finite numbers"):
                    from_bytes(packed(whole.header, {**whole.arrays, place: changed}))
                n_tried += 1
    text = json.dumps(whole.header)
    for path in places_of(whole.header["parts"]):
        header = json.loads(text)
        inner = header["parts"]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = 12345.5
        for word in ("NaN", "-Infinity", "1e999"):
            with pytest.raises(FileFormatError, match=f"part '{path[0]}' must have finite numbers"):
                from_bytes(_resealed(header, whole.arrays, word))
            n_tried += 1
    assert n_tried > 0


def _resealed(header, arrays, word):
    """Return a file that says `word` where the header has 12345.5, with the right checksum."""
    from persist.samples import ZEROS, sealed

    data = packed(header, arrays)
    length = int.from_bytes(data[:8], "little")
    digest = data[8 : 8 + length].index(b'"sha256":"') + 8
    start = bytearray(data[8 : 8 + length])
    start[digest - 8 : digest - 8 + len(ZEROS)] = ZEROS
    return sealed(bytes(start).rstrip().replace(b"12345.5", word.encode(), 1), data[8 + length :])
