"""What a server says of itself: logs and metrics."""

from lowtide.serve.observe.log import EventLog, JsonFormatter, configure_logging
from lowtide.serve.observe.metrics import Metrics

__all__ = ["EventLog", "JsonFormatter", "Metrics", "configure_logging"]
