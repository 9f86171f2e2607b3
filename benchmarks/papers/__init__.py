"""One script per figure of the papers: a plot, and each claim with what was measured.

`python -m benchmarks.papers` lists them; `python -m benchmarks.papers.orf.fig1 --quick` runs one.
"""
