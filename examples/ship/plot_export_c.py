"""
A model as C
============

A classifier of 8 x 8 digits as one C99 header and one source for a device without heap or libm: what it takes in flash
with weights of 8, 6 and 4 bits, and what the rounding costs. Where this machine has a C compiler, the code is compiled
and asked.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import lowtide as lt

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = lt.KernelClassifier(n_components=2048, metric=None, random_state=0).fit(X_train, y_train)

# %%
# Flash is tables and code. The encoder's share is the same for all; of ten classes nine have weights. The integers are
# under a prefix code, which takes a good bit off each; ``favor="time"`` keeps them side by side, quicker to read.

kinds = ["float16", "int8", "int6", "int4"]
made = {kind: lt.device.export_c(model, name="digits", weights=kind, rows=X_test) for kind in kinds}
for kind, code in made.items():
    print(f"{kind:8} {code.flash_bytes:6,} bytes of flash, {code.ram_bytes} of RAM, {code.agreement:.2%} classes kept")

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
weights = [made[kind].tables["weights"] / 1000 for kind in kinds]
rest = [made[kind].flash_bytes / 1000 - size for kind, size in zip(kinds, weights)]
axis.barh(kinds, rest, label="encoder and code")
axis.barh(kinds, weights, left=rest, label="weights")
axis.set(xlabel="flash in kB")
axis.legend()

# %%
# A program that reads rows and prints classes, compiled here: its classes are those of the rounded decision.

PROGRAM = """
#include <stdio.h>
#include "digits.h"
int main(void)
{
    float row[DIGITS_FEATURES];
    uint8_t code[DIGITS_CODE_BYTES];
    while (fread(row, sizeof row, 1, stdin) == 1 && digits_encode(row, code) == 0)
        puts(digits_classes[digits_decide(code)]);
    return 0;
}
"""

compiler = shutil.which("cc")
if compiler:
    with tempfile.TemporaryDirectory() as folder:
        made["int8"].write(folder)
        Path(folder, "main.c").write_text(PROGRAM)
        subprocess.run([compiler, "-std=c99", "-O2", "main.c", "digits.c", "-o", "digits"], cwd=folder, check=True)
        rows = X_test.astype(np.float32).tobytes()
        run = subprocess.run([f"{folder}/digits"], input=rows, capture_output=True, check=True)
    answers = np.array(run.stdout.split(), dtype=int)
    print(f"C: {np.mean(answers == y_test):.4f} right, Python: {model.score(X_test, y_test):.4f}")
plt.show()
