"""The page of a story for those who read it by ear, by keys, in the dark, or on paper."""

from __future__ import annotations

from itertools import pairwise

import pytest

from te_sched.story.page import page_html
from tests.browser.looking import contrasts
from tests.story.page_sample import sample


@pytest.fixture(scope="module")
def html():
    return page_html(sample())


def accessible(page):
    """The nodes of the tree that assistive technology sees, as (role, name, properties)."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    return [
        (
            node["role"]["value"],
            node.get("name", {}).get("value", ""),
            {one["name"]: one["value"].get("value") for one in node.get("properties", [])},
        )
        for node in nodes
        if not node["ignored"]
    ]


@pytest.mark.parametrize("address", ["", "#step-1", "#step-3"])
def test_what_can_be_focused_has_a_name(open_page, html, address):
    nodes = accessible(open_page(html, address))
    focusable = [node for node in nodes if node[2].get("focusable") and node[0] != "RootWebArea"]
    assert len(focusable) > 10
    assert [node for node in focusable if not node[1] and node[0] != "main"] == []


def test_page_has_landmarks(open_page, html):
    roles = [role for role, _, _ in accessible(open_page(html, "#step-1"))]
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert roles.count(landmark) == 1, landmark


@pytest.mark.parametrize("address", ["", "#step-1", "#step-3"])
def test_levels_of_headings_follow_each_other(open_page, html, address):
    page = open_page(html, address)
    levels = [int(found["level"]) for role, _, found in accessible(page) if role == "heading"]
    assert levels[:2] == [1, 2]
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_names_of_elements_are_unique(open_page, html):
    page = open_page(html, "#step-1")
    ids = page.locator("[id]").evaluate_all("all => all.map(it => it.id)")
    assert len(ids) == len(set(ids))


def test_references_between_elements_lead_somewhere(open_page, html):
    page = open_page(html, "#step-1")
    missing = page.evaluate(
        """() => ["aria-controls", "aria-labelledby"].flatMap((name) =>
            [...document.querySelectorAll(`[${name}]`)]
                .map((one) => one.getAttribute(name))
                .filter((id) => document.getElementById(id) === null))"""
    )
    assert missing == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["", "#step-0", "#step-1", "#step-3"])
def test_text_has_contrast(open_page, html, scheme, address):
    page = open_page(html, address, color_scheme=scheme)
    assert len(contrasts(page)) > 50
    assert contrasts(page, below=4.5) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_highlighted_text_has_contrast(open_page, html, scheme):
    page = open_page(html, "#step-1", color_scheme=scheme)
    page.get_by_role("button", name="B", exact=True).click()
    assert contrasts(page, below=4.5) == []


def test_dark_and_light_differ(open_page, html):
    grounds = {
        open_page(html, color_scheme=scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    }
    assert len(grounds) == 2


@pytest.mark.parametrize("address", ["", "#step-1"])
def test_focus_is_visible(open_page, html, address):
    page = open_page(html, address)
    stops = 0
    while page.evaluate("document.activeElement !== document.body") or stops == 0:
        stops += 1
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        tag = page.evaluate("document.activeElement.outerHTML.slice(0, 80)")
        assert style == "solid" or tag.startswith("<body"), tag
    assert stops >= 10


def test_first_stop_skips_to_the_story(open_page, html):
    page = open_page(html)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "story"


def test_changes_have_signs_beside_their_colors(open_page, html):
    page = open_page(html, "#step-1")
    assert page.locator(".current ins .diff").all_text_contents() == ["+", "+"]
    assert page.locator(".current del .diff").all_text_contents() == ["\N{MINUS SIGN}"] * 2


def test_motion_is_reduced_where_that_is_asked(open_page, html):
    page = open_page(html, "#step-1")  # `open_page` asks
    behavior = page.locator(".current .scroll").first.evaluate(
        "it => getComputedStyle(it).scrollBehavior"
    )
    assert behavior == "auto"


def test_paper_has_nothing_folded_or_cut(open_page, html):
    page = open_page(html, "#step-1")
    page.locator(".current .nest summary").first.click()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("article:visible").count() == 5
    assert page.locator(".nest details:not([open])").count() == 0
    assert page.locator("article .nest .compute").first.is_visible()
