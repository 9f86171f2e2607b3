"""Long fits say how far they are: scikit-learn's callbacks where they exist, and a bar with verbose=1."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CallbackSupport", "FitProgress", "reports_progress"]

Method = TypeVar("Method", bound=Callable[..., Any])

try:  # experimental since scikit-learn 1.9
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support before scikit-learn 1.9."""

    with_callbacks = None


def reports_progress(method: Method) -> Method:
    """Tear callbacks down when the method ends, however it ends."""
    return method if with_callbacks is None else cast(Method, with_callbacks(method))


class FitProgress:
    """The steps of one fit, None when nobody knows how many."""

    def __init__(self, estimator: Any, n_steps: int | None) -> None:
        self._estimator = estimator
        start = getattr(estimator, "_init_callback_context", None)
        self._context = start(max_subtasks=n_steps) if start is not None else None
        self._bar: Any = None
        self._n_steps = n_steps
        self._rows: dict[str, Any] = {}

    @contextmanager
    def running(self, X: Any, y: Any) -> Iterator[FitProgress]:
        """Open the fit for callbacks and the bar, and close it however it ends."""
        self._rows = {"X": X, "y": y}
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=self._estimator, **self._rows)
        if self._estimator.verbose:
            self._bar = _bar(type(self._estimator).__name__, self._n_steps)
        try:
            yield self
        finally:
            if self._bar is not None:
                self._bar.stop()
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._rows)

    def step(self, name: str, attributes: Callable[[], dict[str, Any]] | None = None) -> bool:
        """Report one step as done; return whether a callback asks to stop.

        Parameters
        ----------
        name : str
        attributes : callable, optional
            Returns what a copy of the estimator needs to predict as if the fit ended here; called if a callback asks.
        """
        stop = False
        if self._context is not None:
            task = self._context.subcontext(task_name=name)
            task.call_on_fit_task_begin(estimator=self._estimator)
            stop = bool(
                task.call_on_fit_task_end(estimator=self._estimator, **self._rows, reconstruction_attributes=attributes)
            )
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])
        return stop


def _bar(name: str, n_steps: int | None) -> Any:
    """Return a running bar on stderr, erased at the end."""
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(f"{name}.fit", total=n_steps)
    bar.start()
    return bar
