"""Draw the pictures of the chapter on the ideas, with the library itself: `python docs/pictures.py FOLDER`.

`make docs` calls it. Every number in a picture is computed here and now; nothing is sketched by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import lowtide as lt

BLUE, SAND, CORAL, GRAY = "#2b88a8", "#d9a441", "#d0604a", "#8a8f94"
# Grays and these colors are seen on white and on dark pages alike.
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "lowtide",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.transparent": True,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), "#80868b"),
}


def kernel(figure: Any) -> None:
    """A kernel on a line and on a plane."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    distance = np.linspace(0, 4, 200)
    for gamma, color in ((0.25, SAND), (1.0, BLUE), (4.0, CORAL)):
        left.plot(distance, np.exp(-gamma * distance**2), color=color, label=f"gamma = {gamma:g}")
    left.set(xlabel="distance of x and y", ylabel="k(x, y)", ylim=(0, 1.05))
    left.legend(frameon=False)
    x, y = np.meshgrid(np.linspace(-3, 3, 121), np.linspace(-3, 3, 121))
    right.pcolormesh(x, y, np.exp(-(x**2 + y**2)), cmap="YlGnBu", rasterized=True)
    right.plot(0, 0, "o", color=CORAL)
    right.annotate("x", (0, 0), (0.25, 0.2), color=CORAL)
    right.set(title="how alike every point is to x", xticks=[], yticks=[], aspect="equal")


def waves(figure: Any) -> None:
    """Averages of products of random waves become the kernel."""
    panels = figure.subplots(1, 4, sharey=True)
    distance = np.linspace(0, 4, 120)
    rng = np.random.default_rng(3)
    for panel, n_waves in zip(panels, (1, 10, 100, 1000)):
        frequency, phase = rng.normal(0, np.sqrt(2), n_waves), rng.uniform(0, 2 * np.pi, n_waves)
        start = 2 * np.cos(phase)
        panel.plot(distance, (start * np.cos(np.outer(distance, frequency) + phase)).mean(axis=1), color=BLUE)
        panel.plot(distance, np.exp(-(distance**2)), color=CORAL, linestyle="--")
        panel.set(title=f"{n_waves:,} wave{'s' * (n_waves > 1)}", xlabel="distance", ylim=(-2, 2))
    panels[0].set_ylabel("mean product")


def bit(figure: Any) -> None:
    """A wave, its sign, and the code of some rows."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    t = np.linspace(0, 4 * np.pi, 800)
    left.plot(t, np.cos(t), color=BLUE, label="full: the wave")
    left.plot(t, np.where(np.cos(t) >= 0, 1, -1), color=CORAL, label="one bit: its sign")
    left.set(xlabel="projection of a row onto a random direction", yticks=[-1, 0, 1], xticks=[])
    left.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    X = load_digits().data
    codes = lt.RandomFeatures(gamma="scale", n_components=64, random_state=0).fit(X).encode(X[:16])
    right.imshow(np.asarray(codes) > 0, cmap="gray", interpolation="nearest", aspect="auto")
    right.set(title="16 digits in 64 bits each", xlabel="bit", ylabel="row", xticks=[0, 31, 63], yticks=[0, 15])


def unbiased(figure: Any) -> None:
    """What three pairs of sides have as their mean, over many draws."""
    X = np.linspace(0, 3, 40)[:, None]
    pairs = {"full with full": ("full", "full"), "bit with full": ("codes", "full"), "bit with bit": ("codes", "codes")}
    panels = figure.subplots(1, 3, sharey=True)
    encoders = [lt.RandomFeatures(gamma=1.0, n_components=256, random_state=seed).fit(X) for seed in range(60)]
    for panel, (title, sides) in zip(panels, pairs.items()):
        draws = np.array([encoder.kernel_estimate(X[:1], X, sides=sides)[0] for encoder in encoders])
        panel.plot(X[:, 0], draws[:12].T, color=GRAY, alpha=0.35, linewidth=0.8)
        panel.plot(X[:, 0], draws.mean(axis=0), color=BLUE, linewidth=2, label="mean of 60 draws")
        panel.plot(X[:, 0], np.exp(-(X[:, 0] ** 2)), color=CORAL, linestyle="--", label="the kernel")
        panel.set(title=title, xlabel="distance")
    panels[0].set_ylabel("estimate")
    panels[0].legend(frameon=False)


def harmonics(figure: Any) -> None:
    """A square wave is a sum of waves, and the full side sees the first of them alone."""
    panels = figure.subplots(1, 3, sharey=True)
    t = np.linspace(0, 2 * np.pi, 600)
    square = np.where(np.cos(t) >= 0, 1.0, -1.0)
    first = 4 / np.pi * np.cos(t)
    for panel, wave, title in (
        (panels[0], square, "the bit"),
        (panels[1], first, "its first wave, 4/pi high"),
        (panels[2], square - first, "the rest: three times as fast, and faster"),
    ):
        panel.plot(t, wave, color=CORAL)
        panel.plot(t, np.cos(t), color=BLUE, linestyle="--")
        panel.set_title(f"{title}\nmean product with the full side: {abs((wave * np.cos(t)).mean()):.2f}", fontsize=10)
        panel.set(xticks=[], yticks=[-1, 0, 1])


def bars(figure: Any) -> None:
    """Estimates with their error bars against the truth."""
    X = load_digits().data
    panels = figure.subplots(1, 3, sharey=True, sharex=True)
    for panel, n_components in zip(panels, (256, 1024, 4096)):
        encoder = lt.RandomFeatures(gamma="scale", n_components=n_components, random_state=1).fit(X)
        rows, others = X[:40], X[1000:1040]
        K, std = encoder.kernel_estimate(rows, others, sides=("codes", "full"), return_std=True)
        exact = encoder.kernel_.gram(rows, others)
        at = np.arange(40)  # a pair a row
        estimate, error, truth = K[at, at], std[at, at], exact[at, at]
        panel.errorbar(truth, estimate, 2 * error, fmt="o", color=BLUE, ecolor=GRAY, markersize=3, linewidth=0.8)
        panel.plot([0, 0.7], [0, 0.7], color=CORAL, linestyle="--")
        share = np.mean(np.abs(K - exact) <= 2 * std)
        panel.set_title(f"{n_components // 8} bytes a row\n{share:.0%} of all pairs within two errors", fontsize=10)
        panel.set_xlabel("exact kernel")
    panels[0].set_ylabel("estimate from bits")


def bits(figure: Any) -> None:
    """The error of the kernel, and the accuracy on digits, for the bytes of a row."""
    left, right = figure.subplots(1, 2)
    X, y = load_digits(return_X_y=True)
    X, known, new = X / 16, np.s_[:1200], np.s_[1200:]
    exact_rows, exact_others = X[:200], X[1200:1400]
    for width, color, name in ((None, GRAY, "float32"), (4, SAND, "4 bits"), (1, BLUE, "1 bit")):
        sizes, errors, scores = [], [], []
        for n_bytes in (16, 32, 64, 128, 256):
            n_components = max(2, n_bytes * 8 // (width or 32))
            encoder = lt.RandomFeatures(gamma="scale", n_components=n_components, bits=width, random_state=0).fit(X)
            sides = ("full" if width is None else "codes", "full")
            K = encoder.kernel_estimate(exact_rows, exact_others, sides=sides)
            errors.append(np.sqrt(np.mean((K - encoder.kernel_.gram(exact_rows, exact_others)) ** 2)))
            model = lt.KernelClassifier(features=encoder, loss="squared", C=1.0).fit(X[known], y[known])
            scores.append(model.score(X[new], y[new]))
            sizes.append(n_bytes)
        left.plot(sizes, errors, "o-", color=color, label=name)
        right.plot(sizes, scores, "o-", color=color)
    for panel, name in ((left, "error of a kernel value"), (right, "accuracy on digits")):
        panel.set_xscale("log", base=2)
        panel.set(xlabel="bytes a row", ylabel=name, xticks=sizes, xticklabels=map(str, sizes))
    left.set_yscale("log", base=2)
    left.set(yticks=[1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4], yticklabels=["0.016", "0.031", "0.063", "0.125", "0.25"])
    left.legend(frameon=False)


PICTURES: dict[str, tuple[float, Callable[[Any], None]]] = {
    "kernel": (3.2, kernel),
    "waves": (2.6, waves),
    "bit": (3.0, bit),
    "harmonics": (2.6, harmonics),
    "unbiased": (3.0, unbiased),
    "bars": (3.2, bars),
    "bits": (3.4, bits),
}


def draw(folder: Path) -> None:
    """Write every picture as SVG into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (height, picture) in PICTURES.items():
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(9.6, height), layout="constrained")
            picture(figure)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
