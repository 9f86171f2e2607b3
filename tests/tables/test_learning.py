import numpy as np
import pytest

from lowtide.tables import DatePart, Missing, TableError, choose_columns, learn_recipe, open_table, survey

N = 40
AREA = [float(i * i % 31) + 0.5 for i in range(N)]
CITY = ["Bern", "Oslo", "Rome", "Oslo"] * 10


def learned(tmp_path, standardize=True, **columns):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values()))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    source = open_table(tmp_path / "t.csv")
    choice = choose_columns(source)
    sample = survey(source, choice).sample
    recipe, taken = learn_recipe(sample, choice, standardize=standardize)
    return recipe, taken, sample


def test_numbers_are_filled_with_the_median_and_standardized(tmp_path):
    area = [*AREA[:-2], "", "NA"]
    recipe, taken, sample = learned(tmp_path, area=area, city=CITY)
    filled = np.array([*AREA[:-2], *[np.median(AREA[:-2])] * 2])
    np.testing.assert_allclose(sample.matrix(recipe)[:, 0], (filled - filled.mean()) / filled.std(), rtol=1e-12)
    assert recipe.feature_names == ("area", "city_Bern", "city_Oslo", "city_Rome")
    assert "missing is the median" in taken[0].done
    assert taken[0].missing == 2


def test_what_is_missing_often_has_a_column_of_its_own(tmp_path):
    recipe, taken, sample = learned(tmp_path, area=[*AREA[:-5], *[""] * 5], city=["", *CITY[1:]], flag=["y", "n"] * 20)
    assert recipe.feature_names == ("area", "flag", "area_missing", "city_", "city_Bern", "city_Oslo", "city_Rome")
    assert sample.matrix(recipe)[:, 2].tolist() == [0.0] * (N - 5) + [1.0] * 5
    assert sum(isinstance(source, Missing) for source in recipe.sources) == 1
    assert taken[0].done.endswith("and whether it is missing")


def test_of_a_text_that_is_left_out_whether_there_is_one_may_stay(tmp_path):
    cabin = [f"C{i}" if i % 4 == 0 else "" for i in range(N)]
    recipe, _, sample = learned(tmp_path, area=AREA, cabin=cabin)
    assert recipe.kinds == ("number", "category")
    assert sample.matrix(recipe)[:, 1].tolist() == [0.0 if text else 1.0 for text in cabin]
    assert recipe.apply([{"area": 1.0, "cabin": "D7"}, {"area": 1.0, "cabin": None}])[:, 1].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("start", "step", "parts"),
    [
        ("2024-01-01", "D", ["days", "week_sine", "week_cosine"]),
        ("2024-01-01", "W", ["days", "week_sine", "week_cosine"]),
        ("2020-01-01", "M", ["days", "year_sine", "year_cosine", "week_sine", "week_cosine"]),
        ("2024-01-01T08", "h", ["days", "day_sine", "day_cosine"]),
    ],
)
def test_dates_become_the_parts_that_vary(tmp_path, start, step, parts):
    days = (np.datetime64(start).astype(f"datetime64[{step}]") + np.arange(N)).astype("datetime64[s]").astype(str)
    if step != "h":
        days = [day[:10] for day in days]
    recipe, _, _ = learned(tmp_path, day=days)
    assert [source.part for source in recipe.sources if isinstance(source, DatePart)] == parts


def test_without_scale_numbers_are_as_they_are(tmp_path):
    recipe, _, sample = learned(tmp_path, standardize=False, area=AREA, city=CITY)
    assert sample.matrix(recipe)[:, 0].tolist() == AREA


def test_numbers_without_a_finite_variance_are_refused(tmp_path):
    with pytest.raises(TableError, match="too large numbers in 'z'"):
        learned(tmp_path, z=["1e300", "-1e300"] * 20)


def test_a_column_that_varies_in_none_of_the_rows_learned_from_keeps_its_scale(tmp_path):
    _, _, sample = learned(tmp_path, area=[1.5] * 20 + AREA[:20], city=CITY)
    source = open_table(tmp_path / "t.csv")
    recipe, _ = learn_recipe(sample.take(np.arange(20)), choose_columns(source))
    assert recipe.apply([{"area": 2.5, "city": "Oslo"}])[0, 0] == 1.0
