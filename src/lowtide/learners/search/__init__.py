"""Cross-validated search on one sketch."""

from lowtide.learners.search.search import SketchSearchCV

__all__ = ["SketchSearchCV"]
