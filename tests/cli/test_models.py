import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score, root_mean_squared_error

from lowtide.cli.models import score


def test_score_of_classes_is_accuracy_beside_the_most_common_class():
    truth, said = np.array(["u", "u", "v", "w"]), np.array(["u", "v", "v", "v"])
    found = score(truth, said, classes=True)
    assert (found["value"], found["baseline"], found["rows"]) == (accuracy_score(truth, said), 0.5, 4)


def test_score_of_numbers_is_r2_and_root_mean_square():
    rng = np.random.default_rng(0)
    truth, said = rng.standard_normal((2, 50))
    found = score(truth, said, classes=False)
    assert found["value"] == pytest.approx(r2_score(truth, said), rel=1e-12)
    assert found["rmse"] == pytest.approx(root_mean_squared_error(truth, said), rel=1e-12)


def test_score_of_no_rows_is_none_and_of_equal_values_finite():
    assert score(np.empty(0), np.empty(0), classes=False) is None
    assert score(np.ones(3), np.ones(3), classes=False)["value"] == 1.0
    assert score(np.ones(3), np.zeros(3), classes=False)["value"] == 0.0
