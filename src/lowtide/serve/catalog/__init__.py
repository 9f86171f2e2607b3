"""What is served: models and databases by name, and what they answer."""

from lowtide.serve.catalog.batching import Batcher
from lowtide.serve.catalog.catalog import Catalog, Named
from lowtide.serve.catalog.database import Neighbors, Search, ServedDatabase
from lowtide.serve.catalog.model import Output, ServedModel
from lowtide.serve.catalog.query import Kind, Query, QueryReader

__all__ = [
    "Batcher",
    "Catalog",
    "Kind",
    "Named",
    "Neighbors",
    "Output",
    "Query",
    "QueryReader",
    "Search",
    "ServedDatabase",
    "ServedModel",
]
