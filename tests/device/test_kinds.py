"""Exported C reads dates as Python does, and rows of every kind of column have the codes of Python."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from device.harness import HOST_C, STRICT, needs_host, run_on_host
from device.samples import as_c, model_of
from mixed_table import RECIPE as MIXED
from mixed_table import ROWS as MIXED_ROWS
from mixed_table import mixed_classifier

import lowtide as lt
from lowtide.device import export_c
from lowtide.tables import DatePart, Dates, Recipe, TableError, Truth

# Dates, times and zones in every form, and what comes near one.
TEXTS = {
    "ymd": """
2024-02-29| 24/2/29 |20240229|20240229T063015.25Z|0001-1-1|9999.12.31 23:59:59.9999999|1969-12-31T23:59+23:59
2024-01-01 0000-0130|2024-01-01 6:07:08 +02|| \t|2023-02-29|1900-02-29|2024-02-29T|2024-02/29|2024-02|024-02-29
2024-02-29 24:00|2024-02-29 1:2|2024-02-29Z|29.02.2024|2024-02-29T10:00:00.|2024-02-29T10:00.5|2024-02-29T10:00+1:00
2024-02-29T10:00+24:00|x|2024-2-2x|00000101|202402291|2024-02-29 10:00:60|2024-02-29 10:60|2024-02-29T 10:00|-1-1-1
2024-02-29  10:00  Z |69-01-01|68-01-01|2000-02-29|2024-00-10|2024-13-10|2024-10-0|2024-11-31|2024-8-31""",
    "dmy": "29.02.2024|1/2/69|1-2-68 0930|31.4.2024|20240229|2024-02-29|29.02.2024T12:00-11:30|1.1.024",
    "mdy": "02/29/2024|12-31-99T23:59:59Z|13/1/2024|2.3.04 5:06",
}


def days_of(dates, text):
    """Return what a device is to make of a text, with what stands for none."""
    try:
        return dates.read(np.array([text], dtype=object))[0]
    except TableError:
        return 1e300


@needs_host
@pytest.mark.parametrize("flags", [("-O0",), ("-O3", "-march=native", "-std=gnu99")], ids=["plain", "contracted"])
def test_texts_are_read_as_the_days_of_python(tmp_path, flags):
    recipe = Recipe.of_features(
        TEXTS, [(DatePart(k), ()) for k in range(3)], dates=[Dates(k, order) for k, order in enumerate(TEXTS)]
    )
    _, source = export_c(model_of(recipe), name="t").write(tmp_path)
    asked = [(column, text) for column, texts in enumerate(TEXTS.values()) for text in re.split("[|\n]", texts)]
    calls = "".join(
        f'    printf("%a\\n", t_date({column}, {as_c(text)}));\n' for column, text in [*asked, (9, "2024-01-01")]
    )
    (tmp_path / "main.c").write_text(
        f'#include <stdio.h>\n#include "t.h"\nint main(void)\n{{\n{calls}    return 0;\n}}\n'
    )
    subprocess.run([HOST_C, *STRICT, *flags, tmp_path / "main.c", source, "-o", tmp_path / "t"], check=True)
    lines = subprocess.run([tmp_path / "t"], capture_output=True, text=True, check=True).stdout.split()
    found = [np.nan if "nan" in line else float.fromhex(line) for line in lines]
    expected = [days_of(recipe.dates[column], text) for column, text in asked]
    for one, two, (_, text) in zip(found, expected, asked):
        assert one == two or (np.isnan(one) and np.isnan(two)), text
    assert found[-1] == 1e300


def held_by(recipe, row, prefix):
    """Return a row in C, each cell by the function that its column has."""
    truths = {True: "1.0", False: "0.0", "no": "0.0", " YES ": "1.0", "f": "0.0", "true": "1.0"}
    cells = []
    for j, (kind, cell) in enumerate(zip(recipe.kinds, row.values())):
        if cell is None or kind == "unused":
            cells.append("0.0 / zero")
        elif kind in ("category", "date"):
            cells.append(f"{prefix}_{kind}({j}, {as_c(cell)})")
        else:
            cells.append(truths.get(cell, repr(cell)) if kind == "truth" else repr(float(cell)))
    return ", ".join(cells)


@needs_host
def test_rows_of_every_kind_of_column_have_the_codes_of_python(tmp_path):
    model = mixed_classifier()
    made = export_c(model, name="houses", rows=MIXED_ROWS)
    _, source = made.write(tmp_path)
    rows = ",\n".join(f"        {{{held_by(MIXED, row, 'houses')}}}" for row in MIXED_ROWS)
    (tmp_path / "main.c").write_text(
        f"""#include <stdio.h>
#include "houses.h"
int main(void)
{{
    volatile double zero = 0.0;
    const double rows[{len(MIXED_ROWS)}][HOUSES_COLUMNS] = {{
{rows}
    }};
    uint8_t code[HOUSES_CODE_BYTES];
    int i, k;
    for (i = 0; i < {len(MIXED_ROWS)}; ++i) {{
        if (houses_encode(rows[i], code) != 0) return 1;
        for (k = 0; k < HOUSES_CODE_BYTES; ++k) printf("%02x", code[k]);
        printf(" %s\\n", houses_classes[houses_decide(code)]);
    }}
    return 0;
}}
"""
    )
    subprocess.run(
        [HOST_C, *STRICT, "-O3", "-march=native", "-std=gnu99", tmp_path / "main.c", source, "-o", tmp_path / "t"],
        check=True,
    )
    lines = subprocess.run([tmp_path / "t"], capture_output=True, text=True, check=True).stdout.splitlines()
    codes, classes = zip(*(line.split() for line in lines))
    assert [bytes.fromhex(code) for code in codes] == [
        row.tobytes() for row in model.decision_.encode(MIXED_ROWS).packed
    ]
    assert np.mean(np.array(classes) == model.predict(MIXED_ROWS)) == made.agreement


@needs_host
def test_truth_values_and_dates_that_no_row_may_hold_are_refused(tmp_path):
    recipe = Recipe.of_features(
        ("a", "b"), [(Truth(0), (("fill", 0.5),)), (DatePart(0, "week_sine"), (("fill", 0.0),))], dates=[Dates(1)]
    )
    rows = np.array(
        [[1, 5.5], [0, np.nan], [np.nan, -719162], [2, 0], [0.5, 0], [np.inf, 0], [1, 1e300], [1, np.inf], [1, 3e6]]
    )
    (answer,) = run_on_host(tmp_path, [(export_c(model_of(recipe)), rows)])
    assert answer.status.tolist() == [0, 0, 0, -1, -1, -1, -1, -1, -1]


def test_the_header_says_what_columns_of_every_kind_are():
    header = " ".join(export_c(mixed_classifier(), name="houses").header.split())
    for words in (
        'row[0] "price": a number or NaN.',
        'row[1] "city": houses_category(1, text), text one of "Bern", "Oslo", "Z\\303\\274rich"; or NaN.',
        'row[2] "rooms": a number.',
        'row[3] "heated": 1 for true, 0 for false or NaN.',
        'row[4] "note": not read.',
        'row[5] "sold": houses_date(5, text), text a date as DD.MM.YYYY; or NaN.',
        'row[6] "built": houses_date(6, text), text a date as YYYY-MM-DD.',
        'row[7] "garden": 1 for true, 0 for false.',
    ):
        assert words in header
    assert "double houses_date(uint32_t column, const char *text);" in header


@pytest.mark.parametrize("input", ["float32", "int16"])
def test_rows_with_dates_are_double(input):
    with pytest.raises(lt.errors.ParameterError, match="input must be 'float64' where a column holds dates"):
        export_c(mixed_classifier(), input=input)
