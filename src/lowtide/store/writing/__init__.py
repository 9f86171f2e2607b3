"""Rows into a store: shards, commits, one writer, and what an interrupted one has left."""

from lowtide.store.writing.creation import create_store, description, is_unfinished
from lowtide.store.writing.lock import WriterLock
from lowtide.store.writing.recovery import discard_uncommitted
from lowtide.store.writing.shards import ShardRecord, ShardWriter, adopted, shard_writer
from lowtide.store.writing.writer import Piece, append_pieces, commit, pieces_of, values_of, write_documents

__all__ = [
    "Piece",
    "ShardRecord",
    "ShardWriter",
    "WriterLock",
    "adopted",
    "append_pieces",
    "commit",
    "create_store",
    "description",
    "discard_uncommitted",
    "is_unfinished",
    "pieces_of",
    "shard_writer",
    "values_of",
    "write_documents",
]
