"""`lowtide verify`: whether a store or a file is what was written."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.terminal import Voice, voice_options

__all__ = ["verify"]


@click.command(short_help="Compare a store or a file with its checksums.")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@voice_options
def verify(path: Path, voice: Voice) -> None:
    """Read all of a store (.zarr) or of a model, encoder or code file, and compare it with its checksums.

    Ends with 1 and names every damaged shard and chunk when something is not what was written. Nothing is changed.
    """
    import lowtide as lt
    from lowtide.cli.terminal import bytes_in_words, counted
    from lowtide.persist import describe

    if path.is_dir():
        store = lt.CodeStore.open(path)
        store.verify()
        n_shards = -(-store.n_rows // store.shard_rows)
        found = {"path": str(path), "kind": "store", "rows": store.n_rows, "shards": n_shards, "bytes": store.nbytes}
        what = f"{counted(store.n_rows, 'row')} in {counted(n_shards, 'shard')}, {bytes_in_words(store.nbytes)}"
    else:
        content = describe(path)
        found = {"path": str(path), "kind": content["kind"], "bytes": content["bytes"]}
        what = f"{content['kind']}, {bytes_in_words(content['bytes'])}"
    voice.say(f"{path} is as it was written: {what}.")
    voice.result("verify", found)
