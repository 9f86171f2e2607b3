"""
From a spreadsheet to a server, a report and a device
=====================================================

House sales as an office would export them, with semicolons, decimal commas, dates and blank cells. The commands of
``lowtide`` fit a model, evaluate it, serve it, write a report and write it as C. Do all of them answer alike?
"""

import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import lowtide as lt
from lowtide.cli.main import main
from lowtide.serve import Catalog, KeyRing, Named, Service, Settings, running

folder = Path(tempfile.mkdtemp())
file, new, model, page = (str(folder / name) for name in ("sales.csv", "new.csv", "sales.lowtide", "report.html"))
rng, n = np.random.default_rng(0), 600
sold = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
table = pd.DataFrame({"sale": np.arange(n) + 1000, "area": rng.uniform(40, 220, n).round(1), "sold": sold})
table = table.assign(town=rng.choice(["Bern", "Oslo", "Rome"], n), garden=rng.choice([True, False], n))
level = table["town"].map({"Bern": 1.2, "Oslo": 1.5, "Rome": 0.9}) * (1 + 0.0003 * (sold - sold[0]).days)
dear = table["area"] * level * np.where(table["garden"], 1.1, 1.0) > 160
table["price"] = np.where(dear, "dear", "cheap")
table.loc[rng.random(n) < 0.08, "area"] = np.nan
for name, part in ((file, table[:450]), (new, table[450:])):
    part.to_csv(name, index=False, sep=";", decimal=",", date_format="%d.%m.%Y")
print(Path(file).read_text()[:160])

# %%
# Fit and evaluate. What each column holds is found and shown; ``--column`` and ``--drop`` would change it.

lowtide = partial(main, standalone_mode=False)  # a command of the command line, from Python
lowtide(["fit", file, "--target", "price", "-o", model, "--components", "1024", "--metric", "none"])
lowtide(["evaluate", model, new])

# %%
# Serve: a row is sent by the names of its columns, as the table has them. A blank cell is None.

rows = table[450:].drop(columns=["sale", "price"]).assign(sold=lambda t: t["sold"].dt.strftime("%d.%m.%Y"))
rows = [{name: None if cell != cell else cell for name, cell in row.items()} for row in rows.to_dict("records")]
known = (learner := lt.load(model)).predict(rows)
service = Service(Catalog.load([Named.parse(model)]), Settings(port=0), KeyRing({}))
with running(service) as address, lt.Client(address) as client:
    print(f"server: {np.mean(client.predict(rows) == known):.0%} as in Python")

# %%
# A report about this table, and C that takes the raw columns. Where there is a compiler, the C is asked too.

lowtide(["report", model, new, "-o", page, "--rows", "150", "--quiet"])
lowtide(["export-c", model, "-o", str(folder), "--name", "sales", "--check", new])
fill = {"area": "{area!r}", "sold": 'sales_date({j}, "{sold}")', "town": 'sales_category({j}, "{town}")'}
columns = enumerate(learner.decision_.recipe.columns)
cells = [fill.get(name, "{garden:d}").replace("{j}", str(j)) for j, name in columns]
asked = ["{" + ", ".join(cells).format(**row).replace("None", "0.0 / 0.0") + "}" for row in rows]
program = '#include <stdio.h>\n#include "sales.h"\nint main(void)\n{{\n    uint8_t code[SALES_CODE_BYTES];\n'
program += "    double rows[][SALES_COLUMNS] = {{{}}};\n    for (int i = 0; i < {}; i++)\n"
program += "        if (sales_encode(rows[i], code) == 0) puts(sales_classes[sales_decide(code)]);\n}}\n"
(folder / "main.c").write_text(program.format(", ".join(asked), len(rows)))
if shutil.which("cc"):
    subprocess.run(["cc", "-std=c99", "-O2", "main.c", "sales.c", "-o", "sales"], cwd=folder, check=True)
    answers = subprocess.run([folder / "sales"], capture_output=True, text=True, check=True).stdout.split()
    print(f"C: {np.mean(np.array(answers) == known):.0%} as in Python, weights rounded to 8 bits")
shutil.rmtree(folder)

# %%
# The border between cheap and dear depends on the town.

for town, part in table[450:].assign(answer=known).groupby("town"):
    plt.scatter(part["area"], np.full(len(part), town), c=part["answer"] == "dear", cmap="coolwarm", alpha=0.6)
plt.gca().set(xlabel="area", title="predicted: cheap (blue), dear (red)")
plt.show()
