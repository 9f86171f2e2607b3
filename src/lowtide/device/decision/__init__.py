"""The decision of a learner as C.

`weights`: in a few bits. `prefix`: integers in fewer, common ones first. `storage`: how weights lie in flash and are
read there. `rule`: scores and classes from a code.
"""

from lowtide.device.decision.rule import Decision
from lowtide.device.decision.weights import WEIGHTS

__all__ = ["WEIGHTS", "Decision"]
