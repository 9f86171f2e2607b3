"""The comparison behind `lowtide demo`: compute (results), then views (terminal, JSON, page)."""

from lowtide.cli.showcase.json_view import to_json
from lowtide.cli.showcase.measure import compare
from lowtide.cli.showcase.page import render_page
from lowtide.cli.showcase.results import Calibration, Comparison, KernelError, Outcome, Plan
from lowtide.cli.showcase.terminal import progress, show

__all__ = [
    "Calibration",
    "Comparison",
    "KernelError",
    "Outcome",
    "Plan",
    "compare",
    "progress",
    "render_page",
    "show",
    "to_json",
]
