"""A headless Chromium of the machine. If `TE_SCHED_BROWSER` names it, it is required.

Messages on the console, failures, and requests for other files fail the test of a page.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_ASKED = os.environ.get("TE_SCHED_BROWSER", "")


def _missing(why: str) -> NoReturn:
    if _ASKED:
        pytest.fail(f"TE_SCHED_BROWSER is set, but {why}")
    pytest.skip(f"{why}; install a Chromium and '.[dev]', or set TE_SCHED_BROWSER")


def _executable() -> str:
    names = [_ASKED] if os.sep in _ASKED else [_ASKED, *_NAMES]
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    _missing(f"none of these is found: {', '.join(filter(None, names))}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser, shared by all tests of a process."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed")
    executable = _executable()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@dataclass
class Window:
    """A page of a browser, shared by several tests, and its messages since the last one."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    own: str = ""  # the address of what it shows

    def __post_init__(self) -> None:
        self.page.set_default_timeout(10_000)
        self.page.on("console", lambda message: self._complain(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self._complain(f"error: {error}"))
        self.page.on("request", lambda asked: self._judge(asked.url))

    def _complain(self, text: str) -> None:
        self.complaints.append(text)

    def _judge(self, url: str) -> None:
        if not url.startswith((self.own, "data:")):
            self._complain(f"request: {url}")


@pytest.fixture(scope="session")
def windows() -> dict[str, Window]:
    """Windows by options, opened at their first use, since this is slow."""
    return {}


@pytest.fixture
def open_page(
    browser: Any, windows: dict[str, Window], tmp_path: Path
) -> Iterator[Callable[..., Any]]:
    """A function that opens HTML as a file: `open_page(html, "#step-3", color_scheme="dark")`."""
    numbers = count()

    def opened(html: str, address: str = "", **options: Any) -> Any:
        window = windows.get(repr(options))
        if window is None:
            given = {"viewport": {"width": 1400, "height": 900}, **options}
            window = windows[repr(options)] = Window(browser.new_page(**given))
        page = window.page
        scheme = options.get("color_scheme", "light")
        page.emulate_media(media="screen", color_scheme=scheme, reduced_motion="reduce")
        path = tmp_path / f"story-{next(numbers)}.html"
        path.write_text(html, encoding="utf-8")
        window.own = path.as_uri()
        page.goto(path.as_uri() + address)
        page.mouse.move(0, 0)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html.ready")
        return page

    yield opened
    complaints = [one for window in windows.values() for one in window.complaints]
    for window in windows.values():
        window.complaints.clear()
    assert complaints == []
