"""The page's own modules, run by real Chromium on the served page."""

from __future__ import annotations

import base64
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import lowtide as lt

__all__ = ["CHROMIUM", "QUIET", "BrowserEncoder", "chromium"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Nothing but what is tested: no sandbox for root, no network of the browser's own.
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

_ENCODE = """async ([page, rows]) => {
  const { encoderOf } = await import(`${page}/encoder.js`);
  const { packCodes } = await import(`${page}/wire.js`);
  const description = await (await fetch(`${page}/v1/encoder`)).json();
  const encoder = encoderOf(description);
  const bytes = Uint8Array.from(atob(rows), (character) => character.charCodeAt(0));
  const numbers = new Float32Array(bytes.buffer);
  const codes = [];
  for (let at = 0; at < numbers.length; at += encoder.nFeatures)
    codes.push(encoder.encode(numbers.subarray(at, at + encoder.nFeatures)));
  let text = "";
  for (const byte of packCodes(encoder, codes)) text += String.fromCharCode(byte);
  return btoa(text);
}"""


@contextmanager
def chromium(*switches: str) -> Iterator[Any]:
    """Start the system's Chromium, with further switches; needs playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *switches])
        yield browser
        browser.close()


class BrowserEncoder:
    """A page of a server that holds one encoder."""

    def __init__(self, page: Any, address: str, encoder: Any) -> None:
        self._page, self._address, self._encoder = page, address, encoder

    def codes(self, rows: Any) -> lt.Codes:
        """Return the codes that the page makes of rows and puts into one message."""
        sent = base64.b64encode(np.ascontiguousarray(rows, "<f4").tobytes()).decode("ascii")
        return lt.wire.unpack(base64.b64decode(self._page.evaluate(_ENCODE, [self._address, sent])), self._encoder)

    @classmethod
    @contextmanager
    def serving(cls, encoder: Any) -> Iterator[BrowserEncoder]:
        """Serve an encoder and open its page."""
        from lowtide import serve

        with tempfile.TemporaryDirectory() as folder, chromium() as browser:
            path = Path(folder, "encoder.lowtide")
            lt.save(encoder, path)
            catalog = serve.Catalog.load([serve.Named.parse(str(path))])
            settings = serve.Settings(port=0)
            with serve.running(serve.Service(catalog, settings, serve.KeyRing.from_text(""))) as address:
                page = browser.new_page()
                page.goto(address)
                yield cls(page, address, encoder)
