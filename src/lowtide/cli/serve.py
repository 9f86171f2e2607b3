"""`lowtide serve` answers questions to models and codes over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.terminal import FILE

# \b keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  lowtide serve flowers.lowtide
  lowtide serve digits=v3.lowtide --codes known=codes.lowtide --port 8080
  lowtide serve --codes texts=db.zarr --finer texts=fine.zarr
  lowtide serve flowers.lowtide --host 0.0.0.0 --keys keys.txt --proxy --rate 100
"""


@click.command(epilog=_EXAMPLES)
@click.argument("models", nargs=-1, metavar="[[NAME=]MODEL...]")
@click.option(
    "--codes",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Codes to search in, a file or a store (.zarr); may be repeated. A store has its encoder and needs no MODEL.",
)
@click.option(
    "--finer",
    multiple=True,
    metavar="NAME=FILE",
    help="The rows of --codes of that name in more bits: requests with ?rescore=4 score the best again by them; may be "
    "repeated.",
)
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port to listen on; 0 for any free one.")
@click.option(
    "--keys",
    type=FILE,
    help="API keys, one 'name: key' per line; also from LOWTIDE_KEYS.  [needed unless on a loopback address]",
)
@click.option(
    "--rate", type=click.FloatRange(0, min_open=True), help="Requests per second of each key.  [default: no limit]"
)
@click.option("--max-body", type=click.IntRange(1), default=16, help="Largest body of a request, in MiB.")
@click.option("--max-rows", type=click.IntRange(1), default=1 << 16, help="Most rows in a request.")
@click.option(
    "--memory",
    type=click.IntRange(1),
    help="Memory of all requests together, in MiB.  [default: a quarter of what is free]",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another host name of the server; may be repeated.")
@click.option("--proxy", is_flag=True, help="Say that a proxy in front of the server does TLS.")
@click.option("--plain-http", is_flag=True, help="Accept keys from other machines without TLS.")
@click.option("--batching/--no-batching", default=True, help="Answer requests that wait together by one computation.")
@click.option("--log/--no-log", "log", default=True, help="Write a line to stderr for each request.")
def serve(
    models: tuple[str, ...],
    codes: tuple[str, ...],
    finer: tuple[str, ...],
    host: str,
    port: int,
    keys: Path | None,
    rate: float | None,
    max_body: int,
    max_rows: int,
    memory: int | None,
    allow_host: tuple[str, ...],
    proxy: bool,
    plain_http: bool,
    batching: bool,
    log: bool,
) -> None:
    """Serve MODEL files over HTTP: predict from codes, rows or features, and find the most similar rows of codes.

    Open the printed address in a browser to try the models; programs use lowtide.Client. SIGHUP loads models and keys
    again without losing a request; SIGTERM answers the requests that have arrived, then stops.
    """
    import sys

    from lowtide.serve import Catalog, EventLog, KeyRing, Named, Service, Settings, configure_logging, run

    settings = Settings(
        host,
        port,
        body_bytes=max_body << 20,
        rows=max_rows,
        rate=rate,
        batching=batching,
        memory=None if memory is None else memory << 20,
        allow_hosts=allow_host,
        proxy=proxy,
        plain_http=plain_http,
    )
    catalog = Catalog.load(*([Named.parse(text) for text in texts] for texts in (models, codes, finer)))
    service = Service(catalog, settings, KeyRing.load(keys), keys, EventLog(sys.stderr if log else None))

    def started(address: str) -> None:
        click.echo(f"Serving {', '.join(catalog.models or catalog.databases)} on {address}", err=False)

    configure_logging()
    run(service, started)
