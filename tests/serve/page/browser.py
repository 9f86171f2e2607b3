"""A served model in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.clients.chromium import CHROMIUM

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: chromium)")


@contextmanager
def served(*files: Path, keys: str = "") -> Iterator[str]:
    """Serve model files from a thread, on any free port; gives the address."""
    serve = pytest.importorskip("lowtide.serve")
    catalog = serve.Catalog.load([serve.Named.parse(str(file)) for file in files])
    settings = serve.Settings(port=0, stop_seconds=2.0)
    with serve.running(serve.Service(catalog, settings, serve.KeyRing.from_text(keys))) as address:
        yield address


class Visit:
    """A page in the browser, with all it said on the console and all it asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.page = browser.new_page(viewport={"width": 1280, "height": 900}, **options)
        self.complaints: list[str] = []
        self.requests: list[Any] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.goto(address)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is asked for."""
        self.page.wait_for_selector("#stages[aria-busy=false]")

    def choose(self, model: str) -> None:
        """Choose a model and wait until it is there."""
        self.page.select_option("#model", model)
        self.settle()

    def draw(self, *strokes: list[tuple[float, float]]) -> None:
        """Draw lines through places given as shares of the pad."""
        box = self.page.locator("#pad").bounding_box()
        for stroke in strokes:
            places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
            self.page.mouse.move(*places[0])
            self.page.mouse.down()
            for place in places[1:]:
                self.page.mouse.move(*place, steps=6)
            self.page.mouse.up()

    def answer(self) -> str:
        """Return the answer once no question is under way."""
        self.settle()
        return str(self.page.inner_text("#answer")).strip()

    def sent(self) -> list[Any]:
        """Return the questions to the model."""
        return [request for request in self.requests if "/predict" in request.url]

    def close(self) -> None:
        self.page.close()
