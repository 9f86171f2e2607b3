"""The bytes of a store: Zarr arrays in shards, and the manifest that says which rows count."""

from lowtide.store.format.array import CODES, DTYPES, StoredArray
from lowtide.store.format.documents import documents
from lowtide.store.format.layout import LARGEST_CHUNK, SUM_BYTES, Layout, default_rows
from lowtide.store.format.manifest import FORMAT, MOST_CATEGORIES, Column, Manifest, is_column_name

__all__ = [
    "CODES",
    "DTYPES",
    "FORMAT",
    "LARGEST_CHUNK",
    "MOST_CATEGORIES",
    "SUM_BYTES",
    "Column",
    "Layout",
    "Manifest",
    "StoredArray",
    "default_rows",
    "documents",
    "is_column_name",
]
