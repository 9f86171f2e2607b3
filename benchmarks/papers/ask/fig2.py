"""Fig. 2: relative error of the kernel matrix against the number of frequencies, with what the closed forms predict.

Algorithm 2 (masses fitted to 50 rows on the drawn frequencies) beside exact masses, the algorithm with the sign of (12)
as printed, and landmarks on both sides with as many columns. 120 rows and five trials, where the paper has 1000 and
ten, so that 1024 d frequencies stay within minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import lowtide as lt
from benchmarks.papers.ask.setting import COLORS, SUBSET, Floats, datasets, encoder, kernels
from benchmarks.papers.plotting import BLACK, GRAY, ORANGE, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main

WAYS = ("exact", "fitted", "printed")


def relative_errors(kernel: Any, X: Floats, subset: Floats, M: int, seed: int) -> list[float]:
    """Return |K - estimate|_F / |K|_F of one draw of M frequencies a block, for each way to its masses."""
    K, d = kernel.gram(X), X.shape[1]
    drawn = encoder(kernel, M, d, seed).drawn_
    own, some = (block_products(drawn, rows) for rows in (X, subset))
    masses = {"exact": 1.0, "fitted": drawn.with_fitted_masses(subset).masses / [b.mass for b in drawn.blocks]}
    masses["printed"] = printed_shares(kernel, drawn, some, subset)
    norm = np.linalg.norm(K)
    return [float(np.linalg.norm(np.tensordot(masses[way] * np.ones(len(own)), own, 1) - K) / norm) for way in WAYS]


def block_products(drawn: Any, X: Floats) -> Floats:
    """Return what each block adds to the estimate, (blocks, n, n)."""
    L, R, ends = drawn.transform(X), drawn.transform_right(X), np.cumsum(drawn.block_columns)[:-1]
    pairs = zip(np.split(L, ends, axis=1), np.split(R, ends, axis=1))
    return np.array([left @ right.T for left, right in pairs], dtype=np.float64)


def printed_shares(kernel: Any, drawn: Any, products: Floats, subset: Floats) -> Floats:
    """Return fitted over exact mass of each block with the sign that (12) has in print."""
    grams = {turn: np.zeros_like(products[0]) for turn in (0.0, 0.5, 0.25)}
    for block, product in zip(drawn.blocks, products):
        grams[block.turn] = (1.0 if block.turn == 0.0 else -1.0) * product / block.mass
    at_zero = float(kernel.at(np.zeros((1, subset.shape[1])))[0])
    found = lt.kernels.fit_masses(kernel.gram(subset), *grams.values(), value_at_zero=at_zero, printed=True)
    masses = {0.0: found.positive, 0.5: found.negative, 0.25: 2 * found.imaginary}
    return np.array([masses[block.turn] / block.mass for block in drawn.blocks])


def landmark_errors(kernel: Any, X: Floats, pool: Floats, columns: list[int], seed: int) -> list[float]:
    """Return relative errors of asymmetric Nystroem features on other rows than their own, up to a limit of columns."""
    K, found = kernel.gram(X), []
    for size in (size for size in columns if size <= len(pool)):
        made = lt.AsymmetricNystroem(kernel, n_components=size, random_state=seed).fit(pool)
        found.append(float(np.linalg.norm(made.kernel_estimate(X) - K) / np.linalg.norm(K)))
    return found


def predicted_error(kernel: Any, X: Floats, form: str) -> float:
    """Return the root of the summed variance of one frequency a block, over |K|_F."""
    chunks = np.array_split(X, max(1, len(X) // 50))
    total = sum(float(lt.theory.measure_variance(kernel, part[:, None] - X, form).sum()) for part in chunks)
    return float(np.sqrt(total) / np.linalg.norm(kernel.gram(X)))


def measure(run: Run) -> Figure:
    n, trials = run.size(120, 100), run.size(5, 10)
    exponents = list(run.size(range(1, 11), range(1, 6)))
    run.settings |= {"rows": n, "trials": trials, "log2 M/d": exponents, "rows to fit masses": SUBSET}
    run.settings |= {"rows that landmarks and masses come from": run.size(800, 150)}
    data = datasets(run)
    title = "Relative error of the kernel matrix (dashed: closed form; black: sinh with landmarks; orange: as printed)"
    figure, axes = panels(1, len(data), title)
    errors: dict[tuple[str, str], Floats] = {}
    ratios, landmarks, lost, forms = [], {}, {}, []
    for i, (axis, (name, part)) in enumerate(zip(axes[0], data.items())):
        order = run.generator(i).permutation(len(part.X))
        X, pool = np.split(part.X[order[: n + run.size(800, 150)]], [n])
        d = X.shape[1]
        counts = [d * 2**e for e in exponents]
        shares = [name]
        for j, (kind, kernel) in enumerate(kernels(d).items()):
            run.progress(f"{name}, {kind}: {len(X)} rows, {d} columns")
            seeds = run.seeds(trials, 10 * i + j)
            subsets = [pool[np.random.default_rng(seed).choice(len(pool), SUBSET, replace=False)] for seed in seeds]
            found = np.array(
                [[relative_errors(kernel, X, S, M, seed) for M in counts] for S, seed in zip(subsets, seeds)]
            )
            errors[name, kind] = found
            n_blocks = len(kernel.measures(d))
            columns = [2 * M * n_blocks for M in counts]
            landmarks[name, kind] = landmark_errors(kernel, X, pool, columns, seeds[0])
            lost[name, kind] = skew_share(kernel, X)
            blocks, phase = (predicted_error(kernel, X, form) for form in ("blocks", "phase"))
            predicted = blocks / np.sqrt(counts)
            ratios += list(np.mean(found[:, :, 0] ** 2 / predicted**2, axis=1))
            shares.append(f"{phase**2 / (n_blocks * blocks**2):.2f}")
            mean, spread = found[:, :, 1].mean(axis=0), found[:, :, 1].std(axis=0)
            axis.errorbar(exponents, mean, spread, fmt="o", ms=3, color=COLORS[kind], label=kind)
            axis.plot(exponents, predicted, "--", lw=1, color=COLORS[kind])
        forms.append(shares)
        few = landmarks[name, "sinh"]
        axis.plot(exponents[: len(few)], few, lw=1, color=BLACK)
        axis.plot(exponents, errors[name, "sinh"][:, :, 2].mean(axis=0), lw=1, color=ORANGE)
        axis.axhline(lost[name, "sinh"], lw=0.5, color=GRAY)
        axis.set(title=f"{name}, d = {d}", xlabel="log2 M/d", yscale="log")
    _claims(run, errors, ratios, landmarks, lost, exponents)
    run.table("phase", ["squared error, phase over blocks at equal columns", "shift", "sinh", "cosh"], forms)
    axes[0, 0].legend()
    return figure


def skew_share(kernel: Any, X: Floats) -> float:
    """Return |K - K'|_F / (2 |K|_F): what is lost without the skew part."""
    K = kernel.gram(X)
    return float(np.linalg.norm(K - K.T) / (2 * np.linalg.norm(K)))


def _claims(
    run: Run,
    errors: dict[tuple[str, str], Floats],
    ratios: list[float],
    landmarks: Any,
    lost: Any,
    exponents: list[int],
) -> None:
    each = np.stack(list(errors.values()))  # (datasets and kernels, trials, counts, ways)
    slopes = [np.polyfit(exponents, np.log2(row), 1)[0] for row in each.reshape(-1, *each.shape[2:])[:, :, 1]]
    words = "the error of Algorithm 2 decreases as M grows: slope of its logarithm, all datasets and kernels"
    run.claim("slope", words, "decreases", *mean_and_error(slopes), below=run.size(-0.4, -0.3))
    spread = each[..., 1].std(axis=1, ddof=1)
    words = "it becomes more stable: deviation over trials at the largest M over that at the smallest, mean"
    run.claim("stable", words, "reduces significantly", *mean_and_error(spread[:, -1] / spread[:, 0]), below=1)
    words = "with exact masses: slope of the logarithm of the error"
    exact = [np.polyfit(exponents, np.log2(row), 1)[0] for row in each.reshape(-1, *each.shape[2:])[:, :, 0]]
    why = "trials share their rows, so their slopes are not independent"
    run.claim("slope_exact", words, "-", *mean_and_error(exact), equals=-0.5, slack=0.02, why=why, source="corrected")
    words = "with exact masses: the squared error over the closed-form variance, all datasets, kernels and M"
    run.claim("variance", words, "-", *mean_and_error(ratios), equals=1, source="corrected")
    gain = each[..., 1].mean(axis=1) / each[..., 0].mean(axis=1)
    for key, place in (("least", 0), ("most", -1)):
        words = f"fitted masses lower the error: over that with exact ones at M = {2 ** exponents[place]} d, mean"
        run.claim(f"fitted_{key}", words, "-", *mean_and_error(gain[:, place]), below=1, source="corrected")
    words = "with the sign of (12) as printed: error at the largest M over that at the smallest, mean"
    printed = each[..., 2].mean(axis=1)
    why_not = "As printed the fit gives the skew part the mass 0: the error stays at the share of that part."
    ratio = mean_and_error(printed[:, -1] / printed[:, 0])
    run.claim("printed", words, "decreases", *ratio, below=0.5, if_not=why_not)
    words = "with that sign: error at the largest M over the share of the skew part in the kernel, mean"
    share = mean_and_error(printed[:, -1] / list(lost.values()))
    why = "the error of the other parts is there too"
    run.claim("printed_share", words, "-", *share, equals=1, slack=0.05, why=why, source="corrected")
    few = np.array([found[0] for found in landmarks.values()]) / each[:, :, 0, 1].mean(axis=1)
    words = "landmarks on both sides have a smaller error at as many columns: over Algorithm 2 at the smallest M, mean"
    run.claim("landmarks", words, "further research", *mean_and_error(few), below=1, source="corrected")
    places = sorted({0, len(exponents) // 3, 2 * len(exponents) // 3, len(exponents) - 1})
    header = ["error, exact / fitted masses", *(f"M = {2 ** exponents[p]} d" for p in places), "landmarks, M = 2 d"]
    rows = [
        [f"{name}, {kind}"]
        + [" / ".join(f"{found[:, p, way].mean():.2g}" for way in (0, 1)) for p in places]
        + [f"{landmarks[name, kind][0]:.1g}"]
        for (name, kind), found in errors.items()
    ]
    run.table("masses", header, rows)


STUDY = Study("ask.fig2", "AsK-RFF", "Fig. 2", "error of the kernel matrix", measure)

if __name__ == "__main__":
    main(STUDY)
