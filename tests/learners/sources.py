"""Sources of codes that are not Codes, for learners to read."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowtide.codes import Codes


@dataclass
class Blocks:
    """Rows of codes that are handed out in blocks of at most `most` rows, with columns beside them."""

    codes: Codes
    columns: dict[str, Any] = field(default_factory=dict)
    encoder: Any = None
    most: int = 37
    largest: int = 0

    @property
    def n_rows(self):
        return len(self.codes)

    @property
    def shape(self):
        return self.codes.shape

    def blocks(self, size):
        for block in self.codes.blocks(min(size, self.most)):
            self.largest = max(self.largest, len(block))
            # A copy: nothing may rely on blocks lying side by side in memory.
            yield block[np.arange(len(block))]

    def column(self, name):
        return self.columns[name]
