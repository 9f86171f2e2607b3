"""What a model may take, and what was chosen for it: a budget, and a table of the candidates that were tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf, isfinite
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowtide._checks import available_memory, check_integer, check_positive, fail
from lowtide.codes import stored_bits
from lowtide.learners.strength import Walk, paired_gain

__all__ = ["Budget", "Candidate", "Choice", "Outcome", "Trial", "Value", "memory_components", "trials_of"]

Value = float | int | str | None

# Products a second that the seconds of a budget are counted with: one speed for all machines, so that all choose alike.
_SPEED = 2e10
# The part of the memory that is left which codes may take.
_MEMORY = 0.25
# Characters of a text in a file.
_LONGEST_TEXT = 200


@dataclass(frozen=True)
class Budget:
    """What a model may take; None for no limit.

    Parameters
    ----------
    item : int, optional
        Bytes of a row's code.
    model : int, optional
        Bytes of the weights and of what the encoder drew.
    seconds : float, optional
        Of the fit, counted with a speed that is the same for all machines: so the choice is.

    Examples
    --------
    >>> Budget.of(64).n_components(bits=1, n_rows=1000, n_outputs=10)
    512
    >>> Budget.of({"model": 100_000}).n_components(bits=1, n_rows=1000, n_outputs=10)
    1088
    """

    item: int | None = None
    model: int | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, given: Any, owner: str = "budget") -> Budget:
        """Return a budget given as None, as bytes an item, or as a dictionary of its parts."""
        if given is None or isinstance(given, cls):
            return given or cls()
        parts = {"item": given} if isinstance(given, Integral) else given
        names = ("item", "model", "seconds")
        if not isinstance(parts, dict) or not set(parts) <= set(names):
            need = f"budget must be None, bytes an item, or a dictionary with some of {', '.join(map(repr, names))}"
            raise fail(owner, need, given, "budget=64 or budget={'model': 100_000}, say.")
        for name in ("item", "model"):
            if parts.get(name) is not None:
                check_integer(owner, f"budget[{name!r}]", parts[name], 8)
        if parts.get("seconds") is not None:
            check_positive(owner, "budget['seconds']", parts["seconds"])
        return cls(**parts)

    def __str__(self) -> str:
        """Return the limits there are."""
        limits = {"item": "{} bytes an item", "model": "a model of {} bytes", "seconds": "{} seconds"}
        given = {name: getattr(self, name) for name in limits}
        return ", ".join(limits[name].format(value) for name, value in given.items() if value is not None)

    def n_components(
        self, *, bits: int | None, n_rows: int, n_outputs: int, n_columns: int = 0, metric: str | None = None
    ) -> int | None:
        """Return the most components that keep within it, at least 1; None where nothing binds them.

        Parameters
        ----------
        bits : int or None
            Bits a level; None for features without codes, 32 bits each.
        n_rows, n_outputs : int
            Rows of the fit, and columns of its weights.
        n_columns : int
            Of the rows.
        metric : str or None
            Kind of the metric, "auto" where it will not be "full". Frequencies in mixed columns are kept as they are.
        """
        limits = []
        if self.item is not None:
            width = 32 if bits is None else stored_bits(bits)
            limits.append(8 * (self.item // 8 * 8) // width)
        if self.model is not None:
            # A weight an output in float64, and of a component half a frequency: its length, dither, angles and place.
            each = 8.0 * n_outputs + 8.5 + (2.0 * n_columns if metric == "full" else 0.0)
            scales = 0.0 if metric is None else 4.0 * n_columns * (n_columns if metric == "full" else 1)
            limits.append(int(max(0.0, self.model - scales) / each) // 64 * 64)
        if self.seconds is not None:
            limits.append(_affordable(n_rows, n_outputs, self.seconds * _SPEED))
        return max(1, min(limits)) if limits else None


def memory_components(n_rows: int, bits: int | None) -> int:
    """Return the most components whose codes of all rows take a quarter of the memory that is left, at least 64."""
    available = available_memory()
    if available is None:
        return 1 << 62
    width = 32 if bits is None else stored_bits(bits)
    return max(64, int(_MEMORY * available * 8.0 / width / max(1, n_rows)) // 64 * 64)


def _affordable(n: int, k: int, products: float) -> int:
    """Return the most components, a power of two, whose fit to n rows takes so many products."""
    m = 64
    while m < 1 << 20:
        following = 2.0 * m
        cost = min(0.05 * n * following**2 + following**3 / 6.0, 0.05 * following * n * n + n**3 / 6.0)
        if cost + 4.0 * n * following * k > products:
            break
        m *= 2
    return m


@dataclass(frozen=True)
class Candidate:
    """Settings of random features; in what is asked for, "auto" stands for those that are left to the data.

    `gamma` is None for a kernel with a scale of its own. `metric` is None, a kind, or what was learned; `kept` are the
    places of frequencies, None for all, and `drawn` how many times as many are drawn as are kept.
    """

    gamma: Any
    n_components: Any
    metric: Any = None
    drawn: Any = None
    kept: NDArray[Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether something of it is left to the data, or has to be learned."""
        return "auto" in (self.gamma, self.n_components) or self.metric is not None or self.drawn is not None

    @property
    def kind(self) -> Literal["diagonal", "full"] | None:
        """What the metric is."""
        return None if self.metric is None else "diagonal" if self.metric.ndim == 1 else "full"

    def settings(self) -> dict[str, Value]:
        """Return settled settings by the names of a learner's parameters."""
        own = {"gamma": self.gamma, "n_components": self.n_components, "metric": self.kind, "prune": self.drawn}
        # Numbers that were given may be those of numpy; a table of them is kept as JSON.
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in own.items()}
        return {name: value for name, value in plain.items() if name != "gamma" or value is not None}


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried: the setting, its value, and the left-out loss of the rows that judged it.

    `error` is the standard error of its difference to the candidate that was best before; 0 for the first.
    """

    setting: str
    value: Value
    loss: float
    error: float = 0.0
    chosen: bool = False


def trials_of(setting: str, walk: Walk, value: Callable[[float], Value] = float) -> list[Trial]:
    """Return the candidates of a walk as trials, under a value that says them."""
    best, trials = walk.tried[walk.chosen][:, 0], []
    for candidate, losses in walk.tried.items():
        error = 0.0 if candidate == walk.chosen else paired_gain(best, losses[:, 0], walk.weights)[1]
        trials.append(Trial(setting, value(candidate), walk.mean(candidate), error, candidate == walk.chosen))
    return trials


class Outcome(NamedTuple):
    """What a setting came to: its value, the left-out loss of that, and how many candidates were tried."""

    setting: str
    value: Value
    loss: float
    n_tried: int


@dataclass(frozen=True)
class Choice:
    """The settings that were chosen from the data, with one row for each candidate that was tried.

    Attributes
    ----------
    settings : dict
        Values by name, those that were given too.
    trials : tuple of Trial
        In the order of trial.
    judged_by : int
        Rows whose left-out losses decided.
    source : str
        What these were: "rows", "codes", either "of the first block", or "rows of a sample".

    Examples
    --------
    >>> trials = (Trial("C", 1.0, 0.25), Trial("C", 10.0, 0.125, 0.01, chosen=True))
    >>> print(Choice({"C": 10.0}, trials, judged_by=500))
    Chosen: C=10; by the left-out loss of 500 rows.
    <BLANKLINE>
    setting  value  left-out loss
    C        1      0.25000
    C        10     0.12500 +- 0.01000  chosen
    """

    settings: dict[str, Value]
    trials: tuple[Trial, ...] = ()
    judged_by: int = 0
    source: str = "rows"

    def with_more(self, settings: dict[str, Value], trials: Iterable[Trial] = (), judged_by: int = 0) -> Choice:
        """Return the choice with further settings."""
        more = (*self.trials, *trials)
        return replace(
            self, settings={**self.settings, **settings}, trials=more, judged_by=max(self.judged_by, judged_by)
        )

    def of_features(self) -> Choice:
        """Return the choice of the encoder alone, for a fit that keeps it."""
        about = ("gamma", "n_components", "metric", "prune")
        settings = {name: value for name, value in self.settings.items() if name in about}
        trials = tuple(trial for trial in self.trials if trial.setting.startswith(about))
        return replace(self, settings=settings, trials=trials)

    def without(self, name: str) -> Choice:
        """Return the choice without a setting."""
        return replace(self, settings={each: value for each, value in self.settings.items() if each != name})

    def __str__(self) -> str:
        """Return the table as text."""
        chosen = ", ".join(f"{name}={_short(value)}" for name, value in self.settings.items())
        if not self.trials:
            return f"Given: {chosen}."
        lines = [f"Chosen: {chosen}; by the left-out loss of {self.judged_by} {self.source}.", ""]
        rows = [("setting", "value", "left-out loss", "")]
        for trial in self.trials:
            loss = f"{trial.loss:.5f}" + (f" +- {trial.error:.5f}" if trial.error else "")
            rows.append((trial.setting, _short(trial.value), loss, "chosen" if trial.chosen else ""))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(lines)

    def outcomes(self) -> list[Outcome]:
        """Return what each setting that was chosen came to, in the order of choice."""
        tried: dict[str, list[Trial]] = {}
        for trial in self.trials:
            tried.setdefault(trial.setting, []).append(trial)
        return [
            Outcome(setting, trial.value, trial.loss, len(trials))
            for setting, trials in tried.items()
            for trial in trials
            if trial.chosen
        ]

    def to_config(self) -> dict[str, Any]:
        """Return it ready for JSON, settings as pairs in their order; an error that is infinite is None there."""
        trials = [
            [each.setting, each.value, *(x if isfinite(x) else None for x in (each.loss, each.error)), each.chosen]
            for each in self.trials
        ]
        settings = [list(pair) for pair in self.settings.items()]
        return {"settings": settings, "trials": trials, "judged_by": self.judged_by, "source": self.source}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Choice:
        """Return the choice of `to_config`; anything else, which a file may hold, is refused."""
        if set(config) != {"settings", "trials", "judged_by", "source"}:
            raise fail("Choice", "must have settings, trials, judged_by and source", sorted(config))
        trials = []
        for row in _rows(config["trials"], 5):
            setting, value, loss, error, chosen = row
            if not isinstance(chosen, bool):
                raise fail("Choice", "a trial must have a setting, a value, a loss, an error and a truth value", row)
            trials.append(Trial(_text(setting), _value(value), _number(loss), _number(error), chosen))
        return cls(
            {_text(name): _value(value) for name, value in _rows(config["settings"], 2)},
            tuple(trials),
            check_integer("Choice", "judged_by", config["judged_by"], 0),
            _text(config["source"]),
        )


def _rows(value: Any, width: int) -> list[Any]:
    """Return a list of a file whose entries are lists of a width."""
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) == width for row in value):
        raise fail("Choice", f"settings and trials must be lists of lists of {width}", value)
    return value


def _text(value: Any) -> str:
    """Return a text of a file that may be printed."""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.isprintable():
        raise fail("Choice", f"texts must be printable, of at most {_LONGEST_TEXT} characters", value)
    return value


def _value(value: Any) -> Value:
    """Return the value of a setting in a file."""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)):
        return value
    return _text(value)


def _number(value: Any) -> float:
    """Return a loss or an error of a file; None stands for infinity."""
    if value is None:
        return inf
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not isfinite(value):
        raise fail("Choice", "losses and errors must be finite numbers, or None", value)
    return float(value)


def _short(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
