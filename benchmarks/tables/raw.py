"""Raw tables: which column is to be learned, and the columns as somebody would take them by hand."""

from __future__ import annotations

import contextlib
import csv
import io
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

__all__ = ["TABLES", "RawTable", "points", "run", "split"]

Rows = NDArray[np.intp]

_SHARE, _MOST_ROWS = 0.7, 4000


@dataclass(frozen=True)
class RawTable:
    """A CSV file, what is to be learned from it, and the columns as somebody would take them by hand."""

    name: str
    target: str
    is_classes: bool
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    dates: Callable[[pd.DataFrame], pd.DataFrame] | None = None  # adds columns of numbers

    def frame(self, path: Path) -> pd.DataFrame:
        """Return the table as pandas reads it, with numbers made of its dates."""
        frame = pd.read_csv(path)
        return frame if self.dates is None else pd.concat([frame, self.dates(frame)], axis=1)

    def by_hand(self, frame: pd.DataFrame) -> Any:
        """Return the kernel machine behind a ColumnTransformer."""
        added = () if self.dates is None else tuple(self.dates(frame.iloc[:2]).columns)
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [*self.numbers, *added]),
            (
                make_pipeline(
                    SimpleImputer(strategy="constant", fill_value="missing"),
                    OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5),
                ),
                list(self.categories),
            ),
        )
        if self.is_classes:
            return make_pipeline(columns, SVC())
        return TransformedTargetRegressor(make_pipeline(columns, SVR()), transformer=StandardScaler())

    def by_trees(self) -> Any:
        """Return gradient boosting that takes numbers and categories as they are."""
        made = HistGradientBoostingClassifier if self.is_classes else HistGradientBoostingRegressor
        return made(categorical_features="from_dtype", random_state=0)

    def for_trees(self, frame: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
        """Return the columns as trees take them, categories those of `known`."""
        added = [] if self.dates is None else list(self.dates(frame.iloc[:2]).columns)
        out = frame[[*self.numbers, *added]].copy()
        for name in self.categories:
            common = known[name].astype(str).value_counts().index[:250]
            out[name] = pd.Categorical(frame[name].astype(str), categories=sorted(common))
        return out


def _turns(name: str, share: pd.Series) -> dict[str, pd.Series]:
    return {f"{name}_sine": np.sin(2 * np.pi * share), f"{name}_cosine": np.cos(2 * np.pi * share)}


def _taxi_times(frame: pd.DataFrame) -> pd.DataFrame:
    time = pd.to_datetime(frame["pickup"])
    hour = time.dt.hour + time.dt.minute / 60
    return pd.DataFrame({**_turns("hour", hour / 24), **_turns("weekday", time.dt.dayofweek / 7)})


def _egg_day(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"egg_day": pd.to_datetime(frame["Date Egg"]).dt.dayofyear})


def _sale_day(frame: pd.DataFrame) -> pd.DataFrame:
    date = pd.to_datetime(frame["date"], format="%Y%m%dT%H%M%S")
    return pd.DataFrame({"sale_day": (date - pd.Timestamp("2014-01-01")).dt.days})


_AMES_NUMBERS = (
    "Lot Frontage", "Lot Area", "Overall Qual", "Overall Cond", "Year Built", "Year Remod/Add", "Mas Vnr Area",
    "BsmtFin SF 1", "BsmtFin SF 2", "Bsmt Unf SF", "Total Bsmt SF", "1st Flr SF", "2nd Flr SF", "Low Qual Fin SF",
    "Gr Liv Area", "Bsmt Full Bath", "Bsmt Half Bath", "Full Bath", "Half Bath", "Bedroom AbvGr", "Kitchen AbvGr",
    "TotRms AbvGrd", "Fireplaces", "Garage Yr Blt", "Garage Cars", "Garage Area", "Wood Deck SF", "Open Porch SF",
    "Enclosed Porch", "3Ssn Porch", "Screen Porch", "Pool Area", "Misc Val", "Mo Sold", "Yr Sold", "MS SubClass",
)  # fmt: skip
_AMES_CATEGORIES = (
    "MS Zoning", "Street", "Alley", "Lot Shape", "Land Contour", "Utilities", "Lot Config", "Land Slope",
    "Neighborhood", "Condition 1", "Condition 2", "Bldg Type", "House Style", "Roof Style", "Roof Matl", "Exterior 1st",
    "Exterior 2nd", "Mas Vnr Type", "Exter Qual", "Exter Cond", "Foundation", "Bsmt Qual", "Bsmt Cond",
    "Bsmt Exposure", "BsmtFin Type 1", "BsmtFin Type 2", "Heating", "Heating QC", "Central Air", "Electrical",
    "Kitchen Qual", "Functional", "Fireplace Qu", "Garage Type", "Garage Finish", "Garage Qual", "Garage Cond",
    "Paved Drive", "Pool QC", "Fence", "Misc Feature", "Sale Type", "Sale Condition",
)  # fmt: skip

TABLES = (
    RawTable("titanic", "Survived", True, ("Pclass", "Age", "SibSp", "Parch", "Fare"), ("Sex", "Embarked")),
    RawTable("ames_housing", "SalePrice", False, _AMES_NUMBERS, _AMES_CATEGORIES),
    RawTable(
        "nyc_taxis",
        "fare",
        False,
        ("passengers", "distance", "tip", "tolls", "total"),
        ("color", "payment", "pickup_zone", "dropoff_zone", "pickup_borough", "dropoff_borough"),
        _taxi_times,
    ),
    RawTable(
        "penguins_raw",
        "Species",
        True,
        (
            "Culmen Length (mm)", "Culmen Depth (mm)", "Flipper Length (mm)", "Body Mass (g)", "Delta 15 N (o/oo)",
            "Delta 13 C (o/oo)",
        ),
        ("Island", "Clutch Completion", "Sex"),
        _egg_day,
    ),
    RawTable(
        "king_county_houses",
        "price",
        False,
        (
            "bedrooms", "bathrooms", "sqft_living", "sqft_lot", "floors", "waterfront", "view", "condition", "grade",
            "sqft_above", "sqft_basement", "yr_built", "yr_renovated", "zipcode", "lat", "long", "sqft_living15",
            "sqft_lot15",
        ),
        (),
        _sale_day,
    ),
)  # fmt: skip


def run(*words: str) -> tuple[int, str]:
    """Run the command line in this process and return its exit code and what it said to standard error."""
    from lowtide.cli.main import main as command

    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            command(list(words))
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        return 70, traceback.format_exc()
    return code, err.getvalue()


def split(path: Path, table: RawTable, seed: int, folder: Path) -> tuple[Path, Path, Rows, Rows]:
    """Write rows to train on and rows to test on as CSV files, cells as they are; return their numbers too."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        header, *rows = csv.reader(stream)
    at = header.index(table.target)
    there = np.array([i for i, row in enumerate(rows) if row[at].strip() not in ("", "NA")])
    chosen = np.random.default_rng(seed).permutation(there)[:_MOST_ROWS]
    cut = round(_SHARE * len(chosen))
    places = []
    for name, part in (("train", chosen[:cut]), ("test", chosen[cut:])):
        places.append(folder / f"{name}.csv")
        with places[-1].open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([header, *(rows[i] for i in np.sort(part))])
    return (*places, np.sort(chosen[:cut]), np.sort(chosen[cut:]))


def points(table: RawTable, truth: Any, predicted: Any) -> float:
    """Return accuracy or R^2, times 100."""
    if table.is_classes:
        return 100 * float(accuracy_score(truth.astype(str), np.asarray(predicted).astype(str)))
    return 100 * float(r2_score(truth, predicted))
