"""
Stop work that takes too long
=============================

A `CancelToken` ends what runs under it, from another thread or when its time is out. Nothing is left half made, and the
next call works at once. Ctrl-C does the same without a token.
"""

import threading
import time

import matplotlib.pyplot as plt
import numpy as np

import lowtide as lt

X = np.random.default_rng(0).standard_normal((40_000, 64), dtype=np.float32)
encoder = lt.RandomFeatures(n_components=16_384, random_state=0).fit(X[:1000])

# %%
# A deadline
# ----------
#
# The codes of all rows take longer than a hundredth of a second, so there are none.

try:
    with lt.CancelToken(seconds=0.01):
        encoder.encode(X)
except lt.errors.CancelledError as error:
    print(error)

# %%
# Another thread
# --------------
#
# Here a timer says stop after 20 ms, ten times. What counts is how long the work goes on after that.

answers = []
for _ in range(10):
    token, said = lt.CancelToken(), []
    timer = threading.Timer(0.02, lambda token=token, said=said: (said.append(time.perf_counter()), token.cancel()))
    timer.start()
    try:
        with token:
            while True:
                encoder.encode(X)
    except lt.errors.CancelledError:
        answers.append(1000 * (time.perf_counter() - said[0]))
    timer.join()

assert encoder.encode(X[:10]).shape == (10, 16_384)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.bar(range(1, 11), answers)
axes.set(xlabel="time it was stopped", ylabel="milliseconds to the answer", title="Work ends soon after it is told to")
plt.show()
