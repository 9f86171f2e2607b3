"""A server of models and codes: the extra `serve`."""

from lowtide._checks import missing_extra

try:
    import prometheus_client as _prometheus_client  # noqa: F401
    import starlette as _starlette  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    raise missing_extra(f"lowtide.serve needs {error.name}, which is not installed", "serve") from error

from lowtide.serve.catalog import Catalog, Named
from lowtide.serve.guard import KeyRing
from lowtide.serve.observe import EventLog, configure_logging
from lowtide.serve.server import create_app, run, running
from lowtide.serve.service import Service, Settings

__all__ = [
    "Catalog",
    "EventLog",
    "KeyRing",
    "Named",
    "Service",
    "Settings",
    "configure_logging",
    "create_app",
    "run",
    "running",
]
