"""The client of a server: the standard library and lowtide alone."""

from lowtide.client.client import Client, Similar

__all__ = ["Client", "Similar"]
