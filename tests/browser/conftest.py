"""A headless Chromium of the machine. `TE_SCHED_BROWSER` may name it, and asks that it be there.

A page that says something on the console, fails, or asks for anything but itself fails its test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_ASKED = os.environ.get("TE_SCHED_BROWSER", "")


def _missing(why: str) -> None:
    if _ASKED:
        pytest.fail(f"TE_SCHED_BROWSER is set, but {why}")
    pytest.skip(f"{why}; install a Chromium and te-sched[dev], or set TE_SCHED_BROWSER")


def _executable() -> str:
    named = [_ASKED] if shutil.which(_ASKED) else list(_NAMES)
    for name in named:
        found = shutil.which(name)
        if found:
            return found
    _missing("no Chromium is found")
    raise AssertionError


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser that all tests of a process share."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed")
    executable = _executable()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def contexts(browser: Any) -> dict[str, Any]:
    """Contexts by their options, made when they are first needed: making one is slow."""
    return {}


@pytest.fixture
def open_page(
    browser: Any, contexts: dict[str, Any], tmp_path: Path
) -> Iterator[Callable[..., Any]]:
    """Opens HTML as a file: `open_page(html, "#step-3", color_scheme="dark")`."""
    pages, complaints = [], []

    def opened(html: str, address: str = "", **options: Any) -> Any:
        path = tmp_path / "story.html"
        path.write_text(html, encoding="utf-8")
        if repr(options) not in contexts:
            given = {"viewport": {"width": 1400, "height": 900}, **options}
            contexts[repr(options)] = browser.new_context(reduced_motion="reduce", **given)
        page = contexts[repr(options)].new_page()
        pages.append(page)
        page.set_default_timeout(5000)
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda asked: _judge_request(asked.url, path.as_uri(), complaints))
        page.goto(path.as_uri() + address)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html.ready")
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []


def _judge_request(url: str, own: str, complaints: list[str]) -> None:
    if not url.startswith((own, "data:")):
        complaints.append(f"request: {url}")
