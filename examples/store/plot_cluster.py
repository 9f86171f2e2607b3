"""
One fit, two worker processes
=============================

Rows of a Dask array are encoded by two workers, which keep the codes; only sums come back. The model is the one that a
single process finds. The bars show what travels: the rows are read where they are, and a Gram matrix or a gradient is
all that ever leaves a worker.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import load_digits

import lowtide as lt
from lowtide.distributed import encode, fit, predict
from lowtide.persist import to_bytes


def main():
    X, y = load_digits(return_X_y=True)
    X = np.tile(X, (8, 1)) + np.random.default_rng(0).normal(0, 0.5, (8 * len(X), X.shape[1]))
    y = np.tile(y, 8)
    rows, labels = da.from_array(X, chunks=(2000, 64)), da.from_array(y, chunks=2000)

    # %%
    # Any cluster will do, in place of this small one: ``client="tcp://scheduler:8786"``.
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        settings = {"gamma": 0.001, "n_components": 1024, "random_state": 0}
        model = fit(lt.KernelClassifier(**settings), rows, labels, client=client)
        found = client.compute(predict(model, rows)).result()
        codes = client.gather(client.compute(list(encode(model.features_, rows).parts)))

    # %%
    # The same bits and the same weights as in one process.
    alone = lt.KernelClassifier(**settings).fit(X, y)
    difference = np.abs(model.coef_ - alone.coef_).max() / np.abs(alone.coef_).max()
    print(f"accuracy {np.mean(found == y):.3f}, weights differ by {difference:.1e}")
    print("codes are equal:", lt.concatenate(codes) == alone.features_.encode(X))

    # %%
    m, k = 1024, 10
    sizes = {
        "rows, float64": X.nbytes,
        "codes": sum(part.nbytes for part in codes),
        "Gram matrix": 8 * m * m,
        "gradient": 8 * (m + 1) * k,
        "encoder": len(to_bytes(model.features_)),
    }
    stays = {"rows, float64", "codes"}
    _, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    colors = ["tab:blue" if name in stays else "tab:orange" for name in sizes]
    ax.barh(list(sizes), [size / 1e3 for size in sizes.values()], color=colors)
    ax.set(xscale="log", xlabel="kB (blue stays on the workers, orange travels)")
    ax.invert_yaxis()
    plt.show()


if __name__ == "__main__":
    main()
