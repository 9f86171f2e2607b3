import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from lowtide.tables import DatePart, Dates, Recipe, TableError

DAY = datetime(2024, 2, 29)


def days_of(moment):
    return (moment - datetime(1970, 1, 1)) / timedelta(days=1)


@pytest.mark.parametrize(
    ("order", "text", "moment"),
    [
        ("ymd", "2024-02-29", DAY),
        ("ymd", " 2024/2/29\t", DAY),
        ("ymd", "24.02.29", DAY),
        ("ymd", "20240229", DAY),
        ("ymd", "20240229T0630", DAY.replace(hour=6, minute=30)),
        ("ymd", "20240229 063015.25Z", DAY.replace(hour=6, minute=30, second=15, microsecond=250000)),
        ("ymd", "2024-02-29T6:30:15", DAY.replace(hour=6, minute=30, second=15)),
        ("ymd", "2024-02-29 23:59:59.9999999", DAY.replace(hour=23, minute=59, second=59, microsecond=999999)),
        ("ymd", "2024-02-29T00:30:00+02:00", DAY - timedelta(minutes=90)),
        ("ymd", "2024-02-29T00:30 -0230", DAY + timedelta(hours=3)),
        ("ymd", "2024-02-29T00:30+01", DAY - timedelta(minutes=30)),
        ("dmy", "29.02.2024", DAY),
        ("dmy", "29/2/24  08:00", DAY.replace(hour=8)),
        ("mdy", "02/29/2024", DAY),
        ("mdy", "2-29-24T08:00Z", DAY.replace(hour=8)),
        ("ymd", "69-01-01", datetime(1969, 1, 1)),
        ("ymd", "68-01-01", datetime(2068, 1, 1)),
        ("ymd", "0001-01-01", datetime(1, 1, 1)),
        ("ymd", "9999-12-31", datetime(9999, 12, 31)),
        ("ymd", "1969-12-31T18:00", datetime(1969, 12, 31, 18)),
    ],
)
def test_texts_are_read_as_days_in_their_order(order, text, moment):
    dates = Dates(0, order)
    assert dates.read(np.array([text], dtype=object)).tolist() == [pytest.approx(days_of(moment), rel=0, abs=1e-11)]
    assert dates.readable([text]).all()


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("ymd", "29.02.2024"),
        ("ymd", "2023-02-29"),
        ("ymd", "2024-13-01"),
        ("ymd", "0000-01-01"),
        ("ymd", "2024-02/29"),
        ("ymd", "2024-02"),
        ("ymd", "024-02-29"),
        ("ymd", "2024-02-29T"),
        ("ymd", "2024-02-29 24:00"),
        ("ymd", "2024-02-29 10:60"),
        ("ymd", "2024-02-29 10:00:60"),
        ("ymd", "2024-02-29 10:00:00."),
        ("ymd", "2024-02-29Z"),
        ("ymd", "2024-02-29T10:00+24:00"),
        ("ymd", "2024-02-29T10:00+1:00"),
        ("ymd", "2024-02-29\xa0"),
        ("ymd", "\u0662\u0660\u0662\u0664-02-29"),
        ("dmy", "20240229"),
        ("dmy", "02/29/2024"),
        ("mdy", "29/02/2024"),
        ("ymd", "today"),
        ("ymd", "19782.5"),
    ],
)
def test_other_texts_are_no_dates(order, text):
    assert not Dates(0, order).readable([text]).any()
    with pytest.raises(TableError, match="column 'since' must hold dates, .* in row 2 is none. A date is written"):
        Dates(0, order).read(np.array([None, text], dtype=object), "since")


def test_what_is_no_text_is_not_readable():
    assert Dates(0).readable([None, 3, "", " ", "2024-02-29"]).tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("order", ["ymd", "dmy"])
def test_dates_of_python_and_its_libraries_are_taken_whatever_the_order(order):
    east = timezone(timedelta(hours=2))
    moment = datetime(2024, 2, 29, 12, 0, 0, 500000)
    cells = [
        moment,
        pd.Timestamp(moment),
        np.datetime64(moment, "ns"),
        moment.replace(tzinfo=UTC),
        pd.Timestamp(moment + timedelta(hours=2), tz=east),
        "2024-02-29T12:00:00.5" if order == "ymd" else "29.02.2024 12:00:00.5",
    ]
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    assert set(Dates(0, order).read(column)) == {days_of(moment)}
    assert Dates(0, order).read(np.array([moment], dtype="datetime64[ns]")).tolist() == [days_of(moment)]
    assert Dates(0, order).read(np.array([date(1970, 1, 3)], dtype=object)).tolist() == [2.0]
    assert Dates(0, order).read(np.array(["1969-12-31"], dtype="datetime64[D]")).tolist() == [-1.0]


def test_timestamps_of_pyarrow_are_taken():
    arrow = pytest.importorskip("pyarrow")
    column = np.empty(2, dtype=object)
    column[:] = list(arrow.array([datetime(1970, 1, 2, 12), None]))
    np.testing.assert_array_equal(Dates(0).read(column), [1.5, math.nan])


@pytest.mark.parametrize(
    "column",
    [
        np.array([None, float("nan"), pd.NaT, pd.NA, "", " ", np.datetime64("NaT", "s")], dtype=object),
        np.array(["NaT"] * 2, dtype="datetime64[s]"),
        np.full(3, np.nan),
    ],
)
def test_nothing_is_nan(column):
    assert np.isnan(Dates(0).read(column)).all()


@pytest.mark.parametrize(("part", "period"), [("year", 365.2425), ("week", 7.0), ("day", 1.0)])
def test_parts_are_sine_and_cosine_of_the_turn(part, period):
    moments = [datetime(1900, 1, 1) + k * timedelta(hours=1234.567) for k in range(2000)]
    days = np.array([days_of(moment) for moment in moments])
    recipe = Recipe.of_features(
        ("t",), [(DatePart(0, f"{part}_{wave}"), ()) for wave in ("sine", "cosine")], dates=[Dates(0)]
    )
    angle = 2 * np.pi * np.mod(days / period, 1.0)
    made = recipe.apply({"t": np.array(moments, dtype="datetime64[us]")})
    np.testing.assert_allclose(made, np.column_stack([np.sin(angle), np.cos(angle)]), rtol=0, atol=1e-9)
