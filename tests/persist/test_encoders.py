"""A loaded encoder is the one that was saved, bit by bit."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from persist.samples import ASYMMETRIC, ENCODERS, asymmetric, encoder, rows
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowtide as lt
from lowtide.errors import LowtideError, ParameterError
from lowtide.kernels import Gaussian
from lowtide.projections import Projection


def _round_trip(thing, folder):
    lt.save(thing, folder / "x.lowtide")
    return lt.load(folder / "x.lowtide")


def _same(first, second):
    return first == second if isinstance(first, lt.Codes) else np.array_equal(first, second)


@pytest.mark.parametrize("name", ENCODERS)
def test_loaded_encoder_has_the_fingerprint_and_the_bits_of_the_saved_one(name, tmp_path):
    saved = encoder(name)
    loaded = _round_trip(saved, tmp_path)
    assert loaded.fingerprint_ == saved.fingerprint_
    assert np.array_equal(loaded.transform(rows()), saved.transform(rows()))
    assert np.array_equal(loaded.random_weights_, saved.random_weights_)
    assert np.array_equal(loaded.random_offset_, saved.random_offset_)
    if saved.bits is not None:
        assert _same(loaded.encode(rows()), saved.encode(rows()))


@pytest.mark.parametrize("name", ENCODERS)
def test_loaded_encoder_has_the_parameters_and_attributes_of_the_saved_one(name, tmp_path):
    saved = encoder(name)
    loaded = _round_trip(saved, tmp_path)
    assert vars(loaded).keys() == vars(saved).keys()
    params, again = saved.get_params(deep=False), loaded.get_params(deep=False)
    for name in ("metric", "kept"):  # arrays, as they were drawn with
        given, found = params.pop(name), again.pop(name)
        assert (given is None) is (found is None)
        assert given is None or np.array_equal(np.asarray(given, dtype=found.dtype), found)
    assert again == params
    assert (loaded.kernel_, loaded.gamma_) == (saved.kernel_, saved.gamma_)
    assert loaded.projection_.blocks == saved.projection_.blocks
    again = clone(loaded).fit(rows())
    assert again.fingerprint_ == saved.fingerprint_


@pytest.mark.parametrize("name", ASYMMETRIC)
def test_loaded_asymmetric_encoder_is_the_saved_one_on_both_sides(name, tmp_path):
    saved = asymmetric(name)
    loaded = _round_trip(saved, tmp_path)
    assert vars(loaded).keys() == vars(saved).keys()
    assert loaded.get_params(deep=False) == saved.get_params(deep=False)
    for identity in ("fingerprint_", "side_", "side_right_"):
        assert getattr(loaded, identity) == getattr(saved, identity)
    for side in ("transform", "transform_right", "embed"):
        np.testing.assert_array_equal(getattr(loaded, side)(rows()), getattr(saved, side)(rows()))
    if saved.bits is not None:
        assert loaded.encode(rows()) == saved.encode(rows())
        assert loaded.encode_right(rows()) == saved.encode_right(rows())
    estimates = [e.kernel_estimate(rows(4), rows(3), return_std=True) for e in (saved, loaded)]
    np.testing.assert_array_equal(*estimates)
    assert clone(loaded).fit(rows()).fingerprint_ == saved.fingerprint_


def test_asymmetric_encoder_of_callables_is_not_saved(tmp_path):
    kernel = lt.kernels.ComplexMeasureKernel(Gaussian().density, lambda D: np.exp(-0.5 * np.sum(D * D, axis=1)))
    fitted = lt.AsymmetricFeatures(kernel, n_components=64, random_state=0).fit(rows())
    with pytest.raises(ParameterError, match="callables"):
        lt.save(fitted, tmp_path / "x.lowtide")


@dataclass
class Tilted(lt.kernels.Density):
    """A Gaussian kernel moved along the first column."""

    step: float = 0.7

    def density(self, W):
        return Gaussian(1.5).density(W) * np.exp(1j * self.step * W[:, 0])

    def function(self, D):
        return np.exp(-0.5 * ((D[:, 0] + self.step) ** 2 + np.sum(D[:, 1:] ** 2, axis=1)) / 1.5**2)


def tilted_encoder():
    kernel = lt.kernels.ComplexMeasureKernel(Tilted(0.9), proposal=Gaussian(1.5), bound=1.001, n_frequencies=500)
    return lt.AsymmetricFeatures(kernel, n_components=64, bits=2, masses="fitted", random_state=0).fit(rows())


def test_kernel_of_a_registered_density_is_saved_with_its_masses(tmp_path):
    lt.register(Tilted)
    try:
        saved = tilted_encoder()
        loaded = _round_trip(saved, tmp_path)
        assert loaded.kernel_ == saved.kernel_
        assert loaded.kernel_.density == Tilted(0.9)
        assert loaded.fingerprint_ == saved.fingerprint_
        np.testing.assert_array_equal(loaded.masses_, saved.masses_)
        for K, same in zip(*(e.kernel_estimate(rows(4), rows(3), return_std=True) for e in (saved, loaded))):
            np.testing.assert_array_equal(K, same)
        assert loaded.encode_right(rows()) == saved.encode_right(rows())
    finally:
        lt.kernels.DENSITIES.remove(Tilted)
    with pytest.raises(LowtideError, match="a registered class, got 'Tilted'.*register it first"):
        lt.load(tmp_path / "x.lowtide")


def test_density_of_a_class_that_is_not_registered_is_not_saved(tmp_path):
    with pytest.raises(ParameterError, match=r"density must be of a registered class.*lowtide.register\(Tilted\)"):
        lt.save(tilted_encoder(), tmp_path / "x.lowtide")


@pytest.mark.parametrize("name", ["hadamard_1_bit", "dense_phase", "stochastic", "haar"])
def test_loaded_encoder_estimates_kernels_and_errors_as_the_saved_one(name, tmp_path):
    saved = encoder(name)
    loaded = _round_trip(saved, tmp_path)
    arguments = {"sides": ("codes", "full"), "return_std": True}
    for left, right in zip(
        saved.kernel_estimate(rows(6), rows(4), **arguments), loaded.kernel_estimate(rows(6), rows(4), **arguments)
    ):
        assert np.array_equal(left, right)


@pytest.mark.parametrize("name", ["hadamard_1_bit", "dense_phase"])
def test_load_draws_no_frequencies(name, tmp_path, monkeypatch):
    lt.save(saved := encoder(name), tmp_path / "e.lowtide")

    def refuse(*arguments):
        raise AssertionError("frequencies are kept, not drawn")

    monkeypatch.setattr(Projection, "draw", refuse)
    assert lt.load(tmp_path / "e.lowtide").fingerprint_ == saved.fingerprint_


def test_columns_keep_their_names(tmp_path):
    frame = pd.DataFrame(rows(), columns=["a", "b", "ä c", "", "0"])
    saved = lt.RandomFeatures(n_components=64, random_state=0).fit(frame)
    loaded = _round_trip(saved, tmp_path)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert np.array_equal(loaded.transform(frame), saved.transform(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame[["b", "a", "ä c", "", "0"]])


def test_parameters_set_after_fit_do_not_reach_what_was_fitted(tmp_path):
    saved = encoder()
    saved.set_params(projection="iid", n_components=8, bits=4)
    loaded = _round_trip(saved, tmp_path)
    assert loaded.fingerprint_ == encoder().fingerprint_
    assert loaded.get_params()["projection"] == "iid"


@pytest.mark.parametrize("given", [np.random.RandomState(0), np.int64(5), None])
def test_random_state_comes_back_as_a_number_or_none(given, tmp_path):
    saved = lt.RandomFeatures(n_components=np.int32(64), gamma=np.float32(0.5), random_state=given).fit(rows())
    loaded = _round_trip(saved, tmp_path)
    assert loaded.random_state == (5 if isinstance(given, np.int64) else None)
    assert _same(loaded.encode(rows()), saved.encode(rows()))


def test_hadamard_encoder_of_4096_components_takes_under_20_kilobytes(tmp_path):
    X = np.random.default_rng(0).standard_normal((3, 784))
    lt.save(lt.RandomFeatures(n_components=4096, random_state=0).fit(X), tmp_path / "e.lowtide")
    # 2048 lengths and dithers of 4 bytes, 2 bits of sign for each, half a byte of angle, and the header.
    drawn = 2048 * (4 + 4) + 2 * 2048 // 8 + 2048 // 2
    assert drawn < os.path.getsize(tmp_path / "e.lowtide") < drawn + 1500 < 20_000


def test_equal_encoders_give_equal_files(tmp_path):
    for name in ("a", "b"):
        lt.save(encoder(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_loaded_encoder_can_be_saved_to_the_same_bytes(tmp_path):
    lt.save(encoder("stochastic"), tmp_path / "a")
    lt.save(lt.load(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("name", ENCODERS)
def test_pickle_works_for_saved_and_loaded_encoders(name, tmp_path):
    saved = encoder(name)
    for thing in (saved, _round_trip(saved, tmp_path)):
        again = pickle.loads(pickle.dumps(thing))
        assert again.fingerprint_ == saved.fingerprint_
        assert np.array_equal(again.transform(rows()), saved.transform(rows()))


def test_save_of_an_unfitted_encoder_says_to_fit_it(tmp_path):
    with pytest.raises(ParameterError, match="must be fitted, got 'an unfitted RandomFeatures'. Call fit first"):
        lt.save(lt.RandomFeatures(), tmp_path / "e.lowtide")


def test_map_of_a_callable_is_refused_and_its_coefficients_are_the_way_out(tmp_path):
    given = lt.PeriodicMap(lambda t: np.sign(np.cos(t)))
    common = {"n_components": 64, "feature_map": "cosine", "random_state": 0}
    with pytest.raises(ParameterError, match=r"got a callable. Use PeriodicMap\(map.coefficients\(\)\)"):
        lt.save(lt.RandomFeatures(quantizer=given, **common).fit(rows()), tmp_path / "e.lowtide")
    assert not os.listdir(tmp_path)
    instead = lt.RandomFeatures(quantizer=lt.PeriodicMap(given.coefficients()), **common).fit(rows())
    assert np.array_equal(_round_trip(instead, tmp_path).encode(rows()), instead.encode(rows()))


@dataclass(eq=False, repr=False)
class OwnKernel(Gaussian):
    pass


class OwnFeatures(lt.RandomFeatures):
    pass


def _named_gaussian():
    return type("Gaussian", (OwnKernel,), {})()


@pytest.mark.parametrize("kernel", [OwnKernel(), _named_gaussian()])
def test_part_that_is_not_registered_is_refused_when_saved(kernel, tmp_path):
    with pytest.raises(ParameterError, match="kernel"):
        lt.save(lt.RandomFeatures(kernel, n_components=64).fit(rows()), tmp_path / "e.lowtide")


@pytest.mark.parametrize("thing", [OwnFeatures(), 3, None, lt.RandomFeatures])
def test_object_that_is_not_registered_is_refused(thing, tmp_path):
    with pytest.raises(ParameterError, match="object must be one of RandomFeatures, .*Codes"):
        lt.save(thing, tmp_path / "e.lowtide")


@pytest.mark.parametrize("last", [lt.RandomFeatures(), LogisticRegression()])
def test_pipeline_that_does_not_end_in_a_learner_is_refused_by_name(last, tmp_path):
    with pytest.raises(ParameterError, match=f"a Pipeline that ends in one, got '{type(last).__name__}'"):
        lt.save(make_pipeline(StandardScaler(), last).fit(rows(), np.arange(40) % 2), tmp_path / "e.lowtide")
    assert not os.listdir(tmp_path)


def test_weights_of_an_encoder_are_refused(tmp_path):
    with pytest.raises(LowtideError, match="left out for RandomFeatures, which has none"):
        lt.save(encoder(), tmp_path / "e.lowtide", weights="int8")
