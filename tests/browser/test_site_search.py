"""The search of the documentation site works in pages that are opened as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("material", reason="the extra docs is not installed")
build = pytest.importorskip("mkdocs.commands.build")
config = pytest.importorskip("mkdocs.config")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site of two pages, with the plugins and scripts of search that mkdocs.yml names."""
    ours = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    scripts = ours["extra"]["polyfills"]
    pages = tmp_path / "docs"
    (pages / "deep").mkdir(parents=True)
    (pages / "index.md").write_text("# First\n\nA page.\n")
    (pages / "deep/second.md").write_text("# Second\n\nIt explains rfactor.\n")
    for name in scripts:
        (pages / name).write_bytes((ROOT / "docs" / name).read_bytes())
    settings = {
        "site_name": "pages",
        "docs_dir": str(pages),
        "site_dir": str(tmp_path / "site"),
        "use_directory_urls": ours["use_directory_urls"],
        "theme": {"name": "material", "font": False},
        "plugins": [one for one in ours["plugins"] if one in ("search", "offline")],
        "extra": {"polyfills": scripts},
    }
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(settings))
    build.build(config.load_config(str(tmp_path / "mkdocs.yml")))
    return tmp_path / "site"


@pytest.mark.parametrize("start", ["index.html", "deep/second.html"])
def test_search_of_files_needs_no_network(browser: Any, site: Path, start: str) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / start).as_uri())
    page.click(".md-search__input")
    page.keyboard.type("rfactor")
    page.wait_for_selector(".md-search-result__link", timeout=10_000)
    links = [one.get_attribute("href") for one in page.query_selector_all(".md-search-result a")]
    page.close()
    assert links[0].startswith((site / "deep/second.html").as_uri())
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
