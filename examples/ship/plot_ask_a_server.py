"""
Ask a server in a few hundred bits
==================================

A client that can send little: it encodes an image here and sends only the bits. The server holds the weights. How does
the accuracy depend on the bytes that are sent for an image?
"""

import os
import tempfile

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import lowtide as lt
from lowtide.serve import Catalog, KeyRing, Named, Service, Settings, running

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)

# %%
# Models of several sizes in one server. `lowtide serve 64=... 128=...` does the same from the command line.

folder = tempfile.TemporaryDirectory()
files = []
for m in (64, 128, 256, 512, 1024, 2048):
    model = lt.KernelClassifier(gamma=0.001, n_components=m, C="auto", random_state=0).fit(X_train, y_train)
    path = os.path.join(folder.name, f"{m}.lowtide")
    lt.save(model, path)
    files.append(Named.parse(path))
service = Service(Catalog.load(files), Settings(port=0), KeyRing({}))

# %%
# The client fetches the encoder of a model once, and then sends codes. Its bits are those that the server would have
# made: only the fingerprint, 68 bytes a message in all, goes along.

sizes, right = [], []
with running(service) as address:
    for name in service.current.catalog.models:
        with lt.Client(address, model=name) as client:
            labels = client.predict(X_test)
            sizes.append(client.bytes_sent / len(X_test))
            right.append((labels == y_test).mean())
            print(f"{name:>5} bits: {sizes[-1]:6.1f} bytes an image, accuracy {right[-1]:.3f}")
    with lt.Client(address, model="2048", send="rows") as client:
        raw = (client.predict(X_test) == y_test).mean(), client.bytes_sent / len(X_test)
        print(f"  raw rows: {raw[1]:6.1f} bytes an image, accuracy {raw[0]:.3f}")

figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
axis.plot(sizes, right, "o-", label="one bit a feature")
axis.plot(raw[1], raw[0], "s", color="tab:red", label="64 pixels as float32")
axis.set(xscale="log", xlabel="bytes sent for an image", ylabel="test accuracy")
axis.legend()
plt.show()
folder.cleanup()
