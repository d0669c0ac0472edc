"""Outputs of notebooks look the same in the documentation site as in Jupyter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.test_pages_of_schedules import blur

material = pytest.importorskip("material", reason="the extra docs is not installed")

SITE_CSS = Path(__file__).resolve().parents[2] / "docs" / "site.css"
STYLES = Path(material.__file__).parent.glob("templates/assets/stylesheets/*.css")

LOOK = """() => {
  const names = ["display", "margin", "padding", "borderWidth", "boxShadow", "backgroundColor",
                 "font", "content", "position", "left", "maskImage", "width", "height"];
  const seen = [];
  for (const element of document.querySelectorAll(".te-card :is(details, summary, dd)"))
    for (const part of [null, "::before", "::after"]) {
      const style = getComputedStyle(element, part);
      if (part && style.content === "none") continue;
      const found = names.map((name) => `${name}: ${style[name]}`);
      seen.push([element.tagName, part, element.textContent.slice(0, 20), ...found].join("; "));
    }
  return seen;
}"""


def page(styles, card):
    css = "".join(f"<style>{path.read_text()}</style>" for path in styles)
    return (
        f'<html class="ready" dir="ltr"><head>{css}</head><body dir="ltr" style="font: 16px serif">'
        f'<div class="md-typeset" style="font: 16px serif; width: 600px">{card}</div></body></html>'
    )


def test_material_does_not_change_outputs(open_page):
    card = blur()._repr_html_()
    alone = open_page(page([], card)).evaluate(LOOK)
    assert len(alone) > 10
    assert open_page(page([*sorted(STYLES), SITE_CSS], card)).evaluate(LOOK) == alone
