"""What a file keeps of a compressed machine."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, ClassVar

import numpy as np

from lowtide._checks import fail
from lowtide.learners.compression.error import DecisionReport
from lowtide.learners.state import Arrays, MachineState

__all__ = ["CompressedState"]


class CompressedState(MachineState):
    """To and from what a file keeps of a compressed machine: also the scale of columns, and the report."""

    _fitted_numbers: ClassVar[tuple[str, ...]] = ("layout_factor_",)
    scale_: Any
    report_: DecisionReport

    def _own_state(self) -> tuple[dict[str, Any], Arrays]:
        return {"report": asdict(self.report_)}, {} if self.scale_ is None else {"scale": self.scale_}

    def _take_own_state(self, spec: dict[str, Any], arrays: Arrays) -> None:
        names = {field.name for field in fields(DecisionReport)}
        if set(spec["report"]) != names or not all(isinstance(v, _PLAIN) for v in spec["report"].values()):
            raise fail(type(self).__name__, f"a report must have {', '.join(sorted(names))}", spec["report"])
        self.report_ = DecisionReport(**spec["report"])
        self.scale_ = np.array(arrays["scale"]) if "scale" in arrays else None
        if self.scale_ is not None and (self.scale_.shape != (self.n_features_in_,) or not np.all(self.scale_ > 0)):
            raise fail(type(self).__name__, "scale must be positive, a number a column", self.scale_.shape)

    def _n_columns(self, n_classes: int) -> int:
        """Return a column a pair of classes."""
        return n_classes * (n_classes - 1) // 2


_PLAIN = (int, float, str, type(None))
