"""Pages of the documentation site on a phone, a tablet and a screen, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.looking import contrasts
from tests.golden.corpus import load

yaml = pytest.importorskip("yaml", reason="the extra docs is not installed")
pytest.importorskip("material", reason="the extra docs is not installed")
build = pytest.importorskip("mkdocs.commands.build")
config = pytest.importorskip("mkdocs.config")

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"

# The hooks of the site without its pages.
HOOK = f"""
import runpy
names = runpy.run_path({str(SCRIPTS / "site_pages.py")!r})
on_page_markdown, on_page_content = names["on_page_markdown"], names["on_page_content"]
"""
MODULE = '''
def put(
    first: int, /, second: "list[int]" = None, *rest: int, third: bool = True, **others: str
) -> int:
    """Put it."""

def get(first: int) -> int:
    """Get it."""
'''
LONG = "B[i_outer * 16 + i_inner] = " + " + ".join(
    f"A_{at}[i_outer * 16 + i_inner]" for at in range(12)
)
PROGRAM = f"@T.prim_func\ndef main(a: T.handle):\n    for i in T.serial(4):\n        {LONG}\n"
NOTEBOOK = [
    {"cell_type": "markdown", "source": "# A notebook"},
    {
        "cell_type": "code",
        "execution_count": 7,
        "source": f"x = 1  # {LONG}\nprint(f)",
        "outputs": [
            {"output_type": "stream", "text": PROGRAM},
            {"output_type": "error", "traceback": [f"ScheduleError: {LONG}"]},
            {"output_type": "display_data", "data": {"text/html": f"<pre>{LONG}</pre>"}},
        ],
    },
]
COLUMNS = 14
TABLE = "\n".join(
    [
        f"| {' | '.join(f'column {at}' for at in range(COLUMNS))} |",
        f"| {'--- | ' * COLUMNS}",
        f"| {' | '.join(f'`a_name_of_{at}` and words' for at in range(COLUMNS))} |",
    ]
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home page, a notebook, a table and signatures, with the settings of mkdocs.yml."""
    folder = tmp_path_factory.mktemp("site")
    ours = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    pages = folder / "docs"
    pages.mkdir()
    for name in ("site.css", "images", "index.md", *ours["extra"]["polyfills"]):
        (pages / name).symlink_to(ROOT / "docs" / name)
    (pages / "notebook.md").write_text(
        load(SCRIPTS / "notebook_pages.py").markdown({"cells": NOTEBOOK})
    )
    (pages / "table.md").write_text(f"# A table\n\n{TABLE}\n")
    (pages / "signatures.md").write_text("# Signatures\n\n::: sample\n")
    (folder / "sample.py").write_text(MODULE)
    (folder / "hook.py").write_text(HOOK)
    (docstrings,) = [one for one in ours["plugins"] if "mkdocstrings" in one]
    settings = docstrings["mkdocstrings"]
    settings["custom_templates"] = str(ROOT / settings["custom_templates"])
    settings["handlers"]["python"]["paths"] = [str(folder)]
    settings["handlers"]["python"]["options"].pop("extensions")
    (folder / "mkdocs.yml").write_text(
        yaml.safe_dump(
            {
                **{
                    name: ours[name]
                    for name in ("theme", "extra_css", "extra", "markdown_extensions")
                },
                "site_name": "pages",
                "use_directory_urls": False,
                "hooks": ["hook.py"],
                "plugins": ["search", "offline", docstrings],
            }
        )
    )
    build.build(config.load_config(str(folder / "mkdocs.yml")))
    return folder / "site"


@pytest.fixture(params=[(390, "dark"), (1024, "light"), (1440, "dark")], scope="module")
def window(request: Any, browser: Any) -> Any:
    """A phone, a tablet, a screen."""
    width, scheme = request.param
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    yield page
    page.close()


@pytest.fixture
def show(window: Any, site: Path) -> Any:
    """A function that opens a page of the site, which must not be wider than the window."""

    def opened(name: str) -> Any:
        window.goto((site / name).as_uri())
        window.wait_for_selector(".md-code__nav, .md-clipboard, table", state="attached")
        assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
        return window

    return opened


def test_outputs_scroll_below_their_code(show):
    page = show("notebook.html")
    edges, grounds, texts = page.evaluate(
        """() => {
          const blocks = [...document.querySelectorAll(".cell pre, .output")];
          const style = (it) => getComputedStyle(it);
          const scrolling = [...document.querySelectorAll(".output code, .output.rich")];
          return [
            blocks.map((it) => [it.getBoundingClientRect().left, it.getBoundingClientRect().right]),
            [document.body, ...blocks].map((it) => style(it).backgroundColor),
            scrolling.map((it) => [style(it).overflowX, it.scrollWidth > it.clientWidth]),
          ];
        }"""
    )
    assert len(edges) == 4
    assert all(edge == pytest.approx(edges[0], abs=0.5) for edge in edges)
    assert len({*grounds}) == 4  # the page, code, outputs, errors
    assert texts == [["auto", True]] * 3
    assert page.locator(".cell .filename").text_content() == "In [7]"


def test_printed_programs_have_colors(show):
    colors = (
        show("notebook.html")
        .locator(".output .k, .output .nf, .output .mi")
        .evaluate_all("all => all.map((it) => getComputedStyle(it).color)")
    )
    assert len({*colors}) == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["notebook.html", "signatures.html"])
def test_text_has_contrast(show, window, name, scheme):
    window.emulate_media(color_scheme=scheme)
    page = show(name)
    assert len(contrasts(page)) > 20
    hidden = 1.01  # transparent: marks of headings, links that the keyboard alone reaches
    assert [one for one in contrasts(page, below=4.5) if one[0] > hidden] == []


@pytest.mark.parametrize("name", ["notebook.html", "signatures.html", "index.html"])
def test_copy_buttons_cover_nothing(show, name):
    gaps = show(name).evaluate(
        """() => [...document.querySelectorAll(".md-code__nav, pre > .md-clipboard")].map((it) =>
          it.getBoundingClientRect().left
            - it.parentElement.querySelector("code").getBoundingClientRect().right)"""
    )
    assert gaps
    assert min(gaps) >= 0


def test_tables_are_not_cut(show):
    page = show("table.html")
    cut, is_list = page.evaluate(
        """() => {
          const around = document.querySelector(".md-typeset__scrollwrap");
          const cells = [...document.querySelectorAll("td")];
          const right = around.getBoundingClientRect().right;
          const over = cells.filter((it) => it.getBoundingClientRect().right > right + 1);
          const scrolls = getComputedStyle(around).overflowX === "auto";
          return [over.length > 0 && !scrolls, getComputedStyle(cells[0]).display === "block"];
        }"""
    )
    assert not cut
    if is_list:
        assert page.viewport_size["width"] == 390
        label = page.locator("td").nth(3).evaluate("it => getComputedStyle(it, '::before').content")
        assert "column 3" in label


def test_signatures_have_a_parameter_a_line(show):
    texts = show("signatures.html").locator(".doc-signature code").all_text_contents()
    assert [text.strip() for text in texts] == [
        "put(\n    first: int,\n    /,\n    second: list[int] = None,\n    *rest: int,\n"
        "    third: bool = True,\n    **others: str,\n) -> int",
        "get(first: int) -> int",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_home_page_has_a_picture_and_two_buttons(show, window, scheme):
    window.emulate_media(color_scheme=scheme)
    page = show("index.html")
    assert page.locator(".hero .md-button:visible").count() == 2
    (picture,) = page.locator(".hero img:visible").all()
    assert picture.get_attribute("src").startswith(f"images/explain-{scheme}.png")
    assert picture.evaluate("it => it.naturalWidth") > 0
