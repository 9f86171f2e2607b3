"""`python -m benchmarks.firmware`: bytes of flash and RAM that exported C takes, as the compiler for ARM makes it.

Every model is exported, compiled for a Cortex-M4 with `-Os` and looked at with `arm-none-eabi-size`. What the code
calls from the compiler's own library is what linking it with that library adds. Nothing here is timed.

python -m benchmarks.firmware --page docs/guide/device.md       # some seconds; writes the tables into the page
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import lowtide as lt
from benchmarks.clients.c_program import ARM_C, CORTEX_M4, STRICT
from benchmarks.roofline.page import put_into_page
from lowtide.device import DeviceCode
from lowtide.tables import Categories, DatePart, Dates, Indicator, Number, Recipe

__all__ = ["main"]

Flags = list[str]

_SIZE = shutil.which("arm-none-eabi-size")
_LEARNED = 1200  # of the digits; the others judge
_SOFT_M4, _M0 = (["-mcpu=cortex-m4", "-mthumb", "-Os"], ["-mcpu=cortex-m0", "-mthumb", "-Os"])


def _bytes_of(file: Path) -> int:
    """Return the bytes of flash of an object or a program: its code and its constants."""
    assert _SIZE is not None
    text = subprocess.run([_SIZE, file], capture_output=True, text=True, check=True).stdout
    code, data, _ = map(int, text.splitlines()[1].split()[:3])
    return code + data


def sizes(made: DeviceCode, flags: Flags = CORTEX_M4) -> tuple[int, int]:
    """Return the bytes of the compiled source, and of what it needs of the compiler's library."""
    assert ARM_C is not None
    with tempfile.TemporaryDirectory() as folder:
        source, target, program = made.write(folder)[1], Path(folder, "made.o"), Path(folder, "made.elf")
        subprocess.run([ARM_C, *STRICT, *flags, "-c", source, "-o", target], check=True)
        link = ["-nostdlib", "-Wl,-e,0", "-Wl,--build-id=none"]
        subprocess.run([ARM_C, *flags, *link, target, "-lgcc", "-o", program], check=True)
        return _bytes_of(target), _bytes_of(program) - _bytes_of(target)


def _table(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows))


def _digits() -> tuple[NDArray[Any], NDArray[Any]]:
    X, y = load_digits(return_X_y=True)
    return X, y


def whole_models() -> str:
    """Return the table of whole models of the digits, and what the first of them is made of."""
    X, y = _digits()
    rows, pixels = X[_LEARNED:], X.astype(np.uint8)
    one_bit = lt.KernelClassifier(n_components=4096, metric=None, random_state=0).fit(X[:_LEARNED], y[:_LEARNED])
    features = lt.RandomFeatures(gamma=one_bit.choice_.settings["gamma"], n_components=2048, bits=2, random_state=0)
    two_bits = lt.KernelClassifier(features).fit(X[:_LEARNED], y[:_LEARNED])
    ternary = lt.TernaryFeatures(n_components=2048, sparsity="auto", random_state=0)
    trits = lt.KernelClassifier(ternary).fit(pixels[:_LEARNED], y[:_LEARNED])
    cases: list[tuple[str, str, Any, Any, dict[str, Any]]] = [
        ("4096 components of 1 bit", "int8", one_bit, rows, {}),
        ("4096 components of 1 bit", "int6", one_bit, rows, {}),
        ("4096 components of 1 bit", "int4", one_bit, rows, {}),
        ("2048 components of 2 bits", "int8", two_bits, rows, {}),
        ("2048 trits from uint8", "int8", trits, pixels[_LEARNED:], {"input": "uint8"}),
    ]
    lines, parts = [], ""
    for code, weights, model, judges, options in cases:
        export = partial(lt.export_c, model, name="digits", rows=judges, weights=weights, **options)
        made, fast = export(), export(favor="time")
        flash, _ = sizes(made)
        assert made.agreement is not None
        kept = f"{100 * made.agreement:.1f}%"
        lines.append([code, weights, f"{flash:,}", f"{sizes(fast)[0]:,}", f"{made.ram_bytes:,}", kept])
        if not parts:
            weights_bytes = made.tables["weights"] + made.tables["words"] + made.tables["bias"]
            encoder_bytes = sum(made.tables.values()) - weights_bytes
            parts = (
                f"Of the first row's {flash:,} bytes, {weights_bytes:,} are nine columns of 4096 weights and their "
                f"code words, {encoder_bytes:,} are lengths, signs and angles of 2048 frequencies, and "
                f"{flash - weights_bytes - encoder_bytes:,} are machine code. Its header says {made.flash_bytes:,}."
            )
    header = ["code", "weights", "flash", 'with `favor="time"`', "RAM", "classes kept"]
    return f"{_table(header, lines)}\n\n{parts}"


def per_component() -> str:
    """Return the table of flash that one more component of an encoder takes, without weights."""
    X = np.random.default_rng(0).standard_normal((200, 64)).astype(np.float32)
    pixels = np.random.default_rng(0).integers(0, 17, (200, 64)).astype(np.uint8)

    def features(m: int, **options: Any) -> Any:
        return lt.RandomFeatures(gamma=0.01, n_components=m, random_state=0, **options).fit(X)

    def slope(draw: Callable[[int], Any], **options: Any) -> str:
        few, many = (sizes(lt.export_c(draw(m), name="slope", **options))[0] for m in (2048, 4096))
        return f"{(many - few) / 2048:.1f}"

    kinds: list[tuple[str, Callable[[int], Any], dict[str, Any]]] = [
        ("`RandomFeatures`, 1 bit", features, {}),
        ('`RandomFeatures`, 3 bits, "phase"', partial(features, bits=3, quantizer="phase"), {}),
        ("`Sketch`", lambda m: lt.Sketch(n_components=m, random_state=0).fit(X), {}),
        (
            "`TernaryFeatures`",
            lambda m: lt.TernaryFeatures(n_components=m, sparsity="auto", random_state=0).fit(pixels),
            {"input": "uint8"},
        ),
    ]
    lines = [[name, slope(draw, **options), slope(draw, **options, favor="time")] for name, draw, options in kinds]
    return _table(["encoder of 64 columns", "bytes per component", 'with `favor="time"`'], lines)


def _with_recipe(recipe: Recipe) -> tuple[DeviceCode, DeviceCode]:
    """Return the same model as C without the recipe and with it."""
    X = np.random.default_rng(0).standard_normal((60, recipe.n_features))
    settings: dict[str, Any] = {"C": 1.0, "gamma": 0.1, "metric": None, "loss": "squared", "random_state": 0}
    model = lt.KernelClassifier(n_components=1024, **settings).fit(X, X[:, 0] > 0)
    plain = lt.export_c(model, name="plain")
    model.decision_ = model.decision_.with_recipe(recipe)
    return plain, lt.export_c(model, name="table")


def recipes() -> str:
    """Return the table of what it takes to read rows of a table."""

    def scaled(i: int) -> Any:
        return Number(i), (("subtract", 1.1 + i), ("divide", 1.7 + i / 10))

    city = [Categories(2, ("Bern", "Oslo"))]
    sold, days = [Dates(3, "dmy")], (DatePart(0, "days"), (("subtract", 19900.3), ("divide", 365.1)))
    year: list[Any] = [(DatePart(0, "year_sine"), ()), (DatePart(0, "year_cosine"), ())]
    names = tuple("abcdefgh")
    cases = [
        ("4 numbers, standardized", Recipe.of_features(names[:4], [scaled(i) for i in range(4)])),
        ("8 numbers, standardized", Recipe.of_features(names, [scaled(i) for i in range(8)])),
        (
            "2 numbers, a category of two texts",
            Recipe.of_features(
                names[:3], [scaled(0), scaled(1), (Indicator(0, 0), ()), (Indicator(0, 1), ())], categories=city
            ),
        ),
        (
            "3 numbers, a date as its days",
            Recipe.of_features(names[:4], [scaled(0), scaled(1), scaled(2), days], dates=sold),
        ),
        (
            "1 number, a date as its days and its time of year",
            Recipe.of_features(names[:4], [scaled(0), *year, days], dates=sold),
        ),
    ]
    lines = []
    for name, recipe in cases:
        plain, made = _with_recipe(recipe)
        (without, _), (flash, library) = sizes(plain), sizes(made)
        tables = sum(made.tables.values()) - sum(plain.tables.values())
        lines.append([name, f"{flash - without - tables:,}", f"{tables:,}", f"{library:,}"])
    return _table(["a row of", "code", "tables", "compiler's routines for double"], lines)


def libraries() -> str:
    """Return a sentence about processors without a float unit, and about sketches."""
    X, y = _digits()
    model = lt.KernelClassifier(n_components=4096, metric=None, random_state=0).fit(X[:_LEARNED], y[:_LEARNED])
    made = lt.export_c(model, name="digits")
    (own, with_unit), without, smaller = (sizes(made, flags) for flags in (CORTEX_M4, _SOFT_M4, _M0))
    sketch = sizes(lt.export_c(lt.Sketch(n_components=4096, random_state=0).fit(X), name="sketch"))[1]
    assert with_unit == 0, "with a float unit nothing is called"
    return (
        "With a float unit the first model calls no routine of the compiler. Without one, its float routines and the "
        f"longer code add {sum(without) - own:,} bytes on a Cortex-M4 and {sum(smaller) - own:,} bytes on a "
        f"Cortex-M0. A sketch sums the length of a row in double, whose routines take {sketch:,} bytes on a Cortex-M4."
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, and write them into a page when asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.firmware", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--page", type=Path, help="page whose measured part is written anew")
    page = parser.parse_args(arguments).page
    if ARM_C is None or _SIZE is None:
        parser.error("needs arm-none-eabi-gcc and its size. On Debian: apt install gcc-arm-none-eabi")
    version = subprocess.run([ARM_C, "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()
    text = "\n\n".join(
        [
            f"Written by `python -m benchmarks.firmware --page docs/guide/device.md`: bytes, with gcc {version} for a "
            "Cortex-M4, `-Os`.",
            "**Whole models** of the digits: 64 columns, 4096 bits per row, ten classes. The last column is the share "
            f"of {len(_digits()[0]) - _LEARNED} test digits whose class is the model's own:",
            whole_models(),
            libraries(),
            "**Encoders** alone, without weights:",
            per_component(),
            "**Rows of a table** add this to the same model without a recipe:",
            recipes(),
        ]
    )
    print(text)
    if page is not None:
        put_into_page(page, text + "\n")


if __name__ == "__main__":
    main()
