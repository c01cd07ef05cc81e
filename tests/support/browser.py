"""A headless Chromium for tests of pages, driven by playwright, and what a page reported to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Opened:
    """A page in the browser, with the errors of its console and the addresses that it asked for."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        """Text of the first element."""
        return str(self.page.locator(selector).first.inner_text())

    def js(self, expression: str) -> Any:
        """Value of an expression in the page."""
        return self.page.evaluate(f"() => ({expression})")

    def point(self, row: int = 0) -> tuple[float, float]:
        """Pixels of the first point of a row, by its index, as the mouse needs them."""
        place = self.js(
            f"""(() => {{
              const point = chart.picture.points.find((each) => each.row.index === {row});
              const [x, y] = placer(chart.plot).at(point.x, point.y / chart.picture.factor);
              const box = chart.plot.getBoundingClientRect();
              return [x + box.left, y + box.top];
            }})()"""
        )
        return place[0], place[1]


def chromium() -> Iterator[Any]:
    """A browser; skips where playwright or Chromium is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        # Chromium's sandbox refuses root, which containers run as.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, file: Path, **context: Any) -> Iterator[Opened]:
    """A page from a file, drawn; it has no network."""
    made = browser.new_context(offline=True, **{"viewport": {"width": 1440, "height": 1000}, **context})
    made.set_default_timeout(20_000)
    shown = Opened(made.new_page())
    shown.page.on("console", lambda message: message.type == "error" and shown.errors.append(message.text))
    shown.page.on("pageerror", lambda error: shown.errors.append(str(error)))
    shown.page.on("request", lambda request: shown.requests.append(request.url))
    shown.page.goto(file.as_uri())
    shown.page.wait_for_selector("#chart[data-ready]")
    yield shown
    made.close()
