"""Small stores for the tests: few rows a chunk, few chunks a shard, so that every border is met."""

import numpy as np

import lowtide as lt

LAYOUT = {"chunk_rows": 8, "shard_chunks": 3}


def rows(n=200, d=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def fitted(**parameters):
    return lt.RandomFeatures(**{"n_components": 100, "random_state": 0, **parameters}).fit(rows())


def filled(path, n=61, encoder=None, **columns):
    """Return a closed store of n rows with y = 0, 1, 2, ..., and the codes it holds."""
    encoder = encoder or fitted()
    columns = columns or {"y": np.arange(n)}
    with lt.CodeStore.create(path, encoder, **LAYOUT) as store:
        store.append(rows()[:n], **columns)
    return encoder.encode(rows()[:n])


def write_shard(task):
    """Write a shard; here, where another process finds it by name."""
    writer, index, codes, y = task
    return writer.write(index, codes, y=y)
