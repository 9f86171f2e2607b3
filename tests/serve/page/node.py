"""What tests of the page's modules need, or else they are skipped."""

from __future__ import annotations

import pytest
from benchmarks.clients.javascript import NODE, PAGE, codes_by_javascript

__all__ = ["NODE", "PAGE", "codes_by_javascript", "needs_node"]

needs_node = pytest.mark.skipif(NODE is None, reason="needs node, to run the page's JavaScript")
