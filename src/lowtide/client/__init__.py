"""The client of a server: the standard library and lowtide alone."""

from lowtide.client.client import Client, Similar
from lowtide.client.connection import RequestError

__all__ = ["Client", "RequestError", "Similar"]
