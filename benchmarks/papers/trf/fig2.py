"""Fig. 2: eigenvalues and first eigenvector of the centered kernel matrix against its equivalent, ReLU features.

The kernel of Gaussian frequencies is the arc-cosine kernel in closed form; for Student-t (7 degrees of freedom) and for
sparse ternary frequencies it is the mean over many features, computed block by block.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.papers.plotting import BLUE, RED, panels
from benchmarks.papers.sampling import mean_and_error
from benchmarks.papers.study import Run, Study, main
from benchmarks.papers.trf.data import Mixture
from lowtide.kernels import ArcCosine
from lowtide.projections import SparseTernary
from lowtide.theory import center_kernel, gaussian_moments, kernel_equivalent

Floats = NDArray[np.float64]

SPARSITY = 0.9
LAWS = {"gaussian": "Gaussian W", "student": "Student-t W", "ternary": f"ternary W, {SPARSITY:.0%} zeros"}
CLOSE = "the difference goes to 0 only as p grows"


def frequencies(law: str, rng: np.random.Generator, p: int, m: int) -> NDArray[np.float32]:
    """Return (p, m) independent entries of mean 0 and variance 1."""
    if law == "student":
        return (rng.standard_t(7, (p, m)) * np.sqrt(5 / 7)).astype(np.float32)
    return SparseTernary(SPARSITY).draw(p, m, int(rng.integers(2**31))).weights().astype(np.float32)


def mean_kernel(law: str, X: Floats, rng: np.random.Generator, m: int) -> Floats:
    """Return the mean over m features, 4096 at a time."""
    rows, K = X.astype(np.float32), np.zeros((len(X), len(X)))
    for _ in range(-(-m // 4096)):
        F = np.maximum(rows @ frequencies(law, rng, X.shape[1], 4096), 0)
        K += F @ F.T
    return K / (4096 * -(-m // 4096))


class Spectrum:
    """Eigenvalues, largest first, and first eigenvector of K and of its equivalent, for one draw of the data."""

    def __init__(self, run: Run, law: str, draw: int) -> None:
        mixture, rng = Mixture(run.settings["p"]), run.generator(10 + draw)
        X, self.labels = mixture.draw(rng, run.settings["n"])
        K = ArcCosine(1).gram(X) / 2 if law == "gaussian" else mean_kernel(law, X, rng, run.settings["features"])
        near = kernel_equivalent(
            X,
            self.labels,
            moments=gaussian_moments("relu", mixture.tau),
            means=mixture.means,
            covariances=mixture.covariances,
        )
        (values, vectors), (near_values, near_vectors) = np.linalg.eigh(center_kernel(K)), np.linalg.eigh(near)
        self.values, self.near_values = values[::-1], near_values[::-1]
        self.vector = vectors[:, -1]
        self.near_vector = near_vectors[:, -1] * np.sign(vectors[:, -1] @ near_vectors[:, -1])

    @property
    def bulk_distance(self) -> float:
        """Mean distance of corresponding eigenvalues over the mean eigenvalue."""
        return float(np.mean(np.abs(self.values - self.near_values)) / self.near_values.mean())

    @property
    def spike_ratio(self) -> float:
        """Largest eigenvalue over that of the equivalent."""
        return float(self.values[0] / self.near_values[0])

    @property
    def overlap(self) -> float:
        """Squared product of the first eigenvectors."""
        return float((self.vector @ self.near_vector) ** 2)


def judge(run: Run, law: str, draws: list[Spectrum]) -> None:
    source = {"source": "corrected" if law == "ternary" else "paper"}
    few, name = run.size(0.05, 0.15), LAWS[law]
    words = f"{name}: mean distance of corresponding eigenvalues over the mean eigenvalue"
    distances = [draw.bulk_distance for draw in draws]
    run.claim(f"bulk_{law}", words, "close match", *mean_and_error(distances), below=few, **source)
    words = f"{name}: largest eigenvalue over that of the equivalent"
    ratios = [draw.spike_ratio for draw in draws]
    run.claim(f"spike_{law}", words, "close match", *mean_and_error(ratios), equals=1, slack=few, why=CLOSE, **source)
    words = f"{name}: squared product of the first eigenvectors"
    overlaps = [draw.overlap for draw in draws]
    run.claim(f"vector_{law}", words, "close match", *mean_and_error(overlaps), above=1 - few, **source)


def judge_convergence(run: Run) -> None:
    """Claim that the norm of the difference falls with p, for Gaussian frequencies."""
    sizes, n_draws = run.settings["p_norm"], run.settings["draws_norm"]
    norms = np.empty((n_draws, len(sizes)))
    for i, p in enumerate(sizes):
        mixture = Mixture(p)
        for draw in range(n_draws):
            X, labels = mixture.draw(run.generator(100 + draw), p)
            law = {"means": mixture.means, "covariances": mixture.covariances}
            near = kernel_equivalent(X, labels, moments=gaussian_moments("relu", mixture.tau), **law)
            norms[draw, i] = np.abs(np.linalg.eigvalsh(center_kernel(ArcCosine(1).gram(X) / 2) - near)).max()
    slopes = [np.polyfit(np.log(sizes), np.log(row), 1)[0] for row in norms]
    run.settings["norms"] = np.round(norms.mean(axis=0), 4).tolist()
    words = f"norm of K less its equivalent, n = p = {sizes[0]} to {sizes[-1]}: slope against log p"
    run.claim("norm_slope", words, "goes to 0", *mean_and_error(slopes), below=0)


def draw_plot(shown: dict[str, Spectrum]) -> Figure:
    figure, axes = panels(2, len(LAWS), "Centered kernel matrix of ReLU features (blue) and its equivalent (red)")
    for column, (law, spectrum) in enumerate(shown.items()):
        top, bottom = axes[:, column]
        bins = np.linspace(0, 1.05 * spectrum.near_values[0], 60)
        top.hist(spectrum.values, bins, color=BLUE, alpha=0.5)
        top.hist(spectrum.near_values, bins, color=RED, histtype="step")
        top.set(title=LAWS[law], xlabel="eigenvalue", yscale="log")
        order = np.argsort(spectrum.labels, kind="stable")
        bottom.plot(spectrum.vector[order], color=BLUE, lw=0.5, alpha=0.8)
        bottom.plot(spectrum.near_vector[order], color=RED, lw=0.5, alpha=0.6)
        bottom.set(xlabel="row, by class")
    axes[0, 0].set_ylabel("count")
    axes[1, 0].set_ylabel("first eigenvector")
    return figure


def measure(run: Run) -> Figure:
    run.settings |= {"p": run.size(512, 96), "n": run.size(1024, 160), "features": run.size(2**16, 2**13)}
    run.settings |= {"draws": run.size(3, 2), "p_norm": run.size([128, 256, 512], [48, 96]), "draws_norm": 3}
    shown = {}
    for law in LAWS:
        run.progress(LAWS[law])
        draws = [Spectrum(run, law, draw) for draw in range(run.settings["draws"])]
        judge(run, law, draws)
        shown[law] = draws[0]
    judge_convergence(run)
    return draw_plot(shown)


STUDY = Study("trf.fig2", "TRF", "Fig. 2", "spectrum of the kernel matrix and of its equivalent", measure)

if __name__ == "__main__":
    main(STUDY)
