"""Fig. 4: mean squared error of the kernel matrix on real data, orthogonal against independent frequencies.

As in the paper: unit rows for the Bessel kernel of the data as they are, RFF for a Gaussian as wide as the root mean
square distance. Like for like: orthogonal rows of length sqrt(d)/sigma and of chi lengths, at that same width sigma.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

import lowtide as lt
from benchmarks.datasets import load
from benchmarks.papers.orf.estimates import Floats, encoder
from benchmarks.papers.plotting import BLACK, BLUE, ORANGE, RED, panels
from benchmarks.papers.sampling import bootstrap_error, mean_and_error
from benchmarks.papers.study import Run, Study, main
from benchmarks.papers.tables import with_error

# Squared errors of a float32 product of features near 1; some kernels are 1 to seven digits on all of a dataset.
ROUNDING = 1e-11

LAYOUTS = {
    "rff": ("RFF", BLACK),
    "unit": ("orthogonal, unit rows", BLUE),
    "sqrt": ("orthogonal, rows sqrt(d)", RED),
    "chi": ("orthogonal, chi rows", ORANGE),
}


def datasets(run: Run) -> dict[str, Floats]:
    """Return rows by name: the paper's four, of which ovarian in its first 100 columns, or three of scikit-learn."""
    if run.quick:
        from sklearn.datasets import load_breast_cancer, load_digits, load_wine

        raw = {"breast cancer": load_breast_cancer().data, "wine": load_wine().data}
        raw = {name: (X - X.min(axis=0)) / np.ptp(X, axis=0) for name, X in raw.items()}
        raw["digits"] = load_digits().data / 16
    else:
        raw = {name: load(name).X for name in ("ionosphere", "ovarian", "campaign", "backdoor")}
        raw["ovarian"] = raw["ovarian"][:, :100]
    rng, n = run.generator(), run.settings["rows"]
    return {name: X[rng.permutation(len(X))[:n]].astype(np.float64) for name, X in raw.items()}


class Comparison:
    """Squared errors of the layouts on one dataset, per draw, with what the closed forms predict."""

    def __init__(self, run: Run, X: Floats, stream: int) -> None:
        self.d, distance = X.shape[1], cdist(X, X)
        self.width = float(np.sqrt(np.mean(distance**2)))
        self.counts = sorted({max(2, round(self.d * share)) for share in (0.125, 0.25, 0.5, 1, 2)})
        gaussian, bessel = lt.kernels.Gaussian(self.width), lt.kernels.Bessel
        kernels = {"rff": gaussian, "unit": bessel(), "sqrt": bessel(self.width / np.sqrt(self.d)), "chi": gaussian}
        projections = {"rff": "iid", "unit": "haar", "sqrt": "haar", "chi": "orthogonal"}
        shape = run.settings["draws"], len(self.counts)
        self.errors, self.predicted, self.mean_kernel = {}, {}, {}
        for i, (name, kernel) in enumerate(kernels.items()):
            K = kernel.radial(distance, self.d)
            self.mean_kernel[name] = float(K.mean())
            # Every error from a draw of its own: single ones are far from normal, and their average must not be.
            seeds = np.reshape(run.seeds(shape[0] * shape[1], 10 * stream + i), shape)
            draw = partial(_mse, X, K, kernel, projections[name])
            self.errors[name] = np.array([[draw(p, int(s)) for p, s in zip(self.counts, row)] for row in seeds])
            self.predicted[name] = np.array([self._variance(name, p, distance) for p in self.counts])
        # Rows of length sqrt(d) stand for the Gaussian kernel in use, so their bias counts as error there.
        self.bias = float(np.mean((kernels["sqrt"].radial(distance, self.d) - gaussian.radial(distance, self.d)) ** 2))

    def _variance(self, name: str, p: int, distance: Floats) -> float:
        """Return the closed-form variance averaged over the pairs, from a table over distance."""
        z = np.linspace(0, distance.max(), 600)
        forms = {
            "rff": lambda: lt.theory.rff_variance(p, z / self.width),
            "unit": lambda: lt.theory.orf_variance(self.d, p, z),
            "sqrt": lambda: lt.theory.orf_variance(self.d, p, z * np.sqrt(self.d) / self.width),
            "chi": lambda: lt.theory.orf_chi_variance(self.d, p, z / self.width),
        }
        return float(np.interp(distance.ravel(), z, forms[name]()).mean())

    def agreement(self, name: str) -> Floats:
        """Return errors over predictions, (draws, p), where the prediction is more than the rounding of float32."""
        seen = self.predicted[name] > ROUNDING
        return np.asarray(self.errors[name][:, seen] / self.predicted[name][seen])

    def ratio(self, name: str, run: Run) -> tuple[float, float]:
        """Return the error of a layout over that of RFF at p = d, with its standard error over the draws."""
        ours, rff = (self.errors[layout][:, self.counts.index(self.d)] for layout in (name, "rff"))
        error = bootstrap_error(lambda i: float(ours[i].mean() / rff[i].mean()), len(rff), run.generator(99))
        return float(ours.mean() / rff.mean()), error


def _mse(X: Floats, K: Floats, kernel: lt.kernels.Kernel, projection: str, p: int, seed: int) -> float:
    F = encoder(kernel, projection, p, seed).fit_transform(X)
    return float(np.mean((F @ F.T - K) ** 2))


def judge(run: Run, name: str, result: Comparison) -> None:
    values = f"mean kernel {result.mean_kernel['unit']:.2f} against {result.mean_kernel['rff']:.2f}"
    words = f"{name}: error of unit rows over that of RFF at p = d, kernels as in the paper ({values})"
    run.claim(f"{name}_paper", words, "below 1", *result.ratio("unit", run), below=1)
    words = f"{name}: the same at equal width, rows of length sqrt(d), from their own Bessel kernel"
    run.claim(f"{name}_sqrt", words, "below 1", *result.ratio("sqrt", run), below=1, source="corrected")
    words = f"{name}: the same at equal width, chi lengths, from the Gaussian kernel"
    run.claim(f"{name}_chi", words, "below 1", *result.ratio("chi", run), below=1, source="corrected")


def measure(run: Run) -> Figure:
    run.settings |= {"rows": run.size(1000, 120), "draws": run.size(20, 12), "bandwidth": "root mean square distance"}
    data = datasets(run)
    figure, axes = panels(2, len(data), "Mean squared error of the kernel matrix (dashed: closed-form variance)")
    agreement, rows = [], []
    for i, (name, X) in enumerate(data.items()):
        run.progress(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns")
        result = Comparison(run, X, i)
        judge(run, name, result)
        rows.append(
            [name, str(result.d), *(with_error(*result.ratio(layout, run)) for layout in ("unit", "sqrt", "chi"))]
        )
        agreement += [result.agreement(layout) for layout in LAYOUTS]
        for axis, layouts in zip(axes[:, i], (("rff", "unit"), ("rff", "sqrt", "chi"))):
            for layout in layouts:
                label, color = LAYOUTS[layout]
                axis.plot(result.counts, result.errors[layout].mean(axis=0), "o-", ms=3, color=color, label=label)
                axis.plot(result.counts, result.predicted[layout], "--", color=color, lw=1)
            axis.set(xscale="log", yscale="log", xlabel="frequencies p")
            axis.set_xticks(result.counts, result.counts)
            axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes[0, i].set_title(f"{name}, d = {result.d}: as in the paper")
        axes[1, i].set_title(f"equal width {result.width:.3g}")
        run.settings[name] = {"d": result.d, "width": round(result.width, 4), "p": result.counts, "bias": result.bias}
    run.table(
        "ratios", ["dataset", "d", "as in the paper", "equal width, rows sqrt(d)", "equal width, chi lengths"], rows
    )
    words = "the error is the variance: measured over closed form, averaged over datasets, layouts and p"
    run.claim("variance", words, "1", *mean_and_error(np.mean(np.hstack(agreement), axis=1)), equals=1)
    for axis in axes[:, 0]:
        axis.legend()
    return figure


STUDY = Study("orf.fig4", "ORF", "Fig. 4", "error of the kernel matrix on real data", measure)

if __name__ == "__main__":
    main(STUDY)
