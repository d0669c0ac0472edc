"""The page of a story in a browser: with the mouse, with keys, on paper, and without scripts."""

from __future__ import annotations

import pytest

from te_sched.story.page import page_html
from tests.browser.looking import marked
from tests.story.page_sample import sample, step


@pytest.fixture(scope="module")
def html():
    return page_html(sample())


def current(page):
    return page.locator(".page.current").get_attribute("id")


def test_opens_on_the_overview(open_page, html):
    page = open_page(html)
    assert page.title() == "Twice a vector"
    assert page.locator("article:visible").count() == 1
    assert current(page) == "overview"


def test_buttons_step_and_stop_at_the_ends(open_page, html):
    page = open_page(html)
    page.get_by_role("button", name="Previous").click(force=True)
    assert current(page) == "overview"
    for number in range(4):
        page.get_by_role("button", name="Next").click()
        assert current(page) == f"step-{number}"
    page.get_by_role("button", name="Next").click(force=True)
    assert current(page) == "step-3"
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"


def test_arrow_keys_step(open_page, html):
    page = open_page(html)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert current(page) == "step-1"
    page.keyboard.press("ArrowLeft")
    assert current(page) == "step-0"
    page.keyboard.press("Alt+ArrowRight")
    assert current(page) == "step-0"


def test_a_step_is_announced_and_marked_in_the_list(open_page, html):
    page = open_page(html, "#step-0")
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("status").text_content().startswith("Step 1 of 3: ")
    assert page.locator("nav [aria-current=step]").get_attribute("href") == "#step-1"
    assert page.locator("#position").text_content() == "Step 1 of 3"


def test_address_names_the_step(open_page, html):
    page = open_page(html, "#step-2")
    assert current(page) == "step-2"
    assert page.evaluate("scrollY") == 0
    page.keyboard.press("ArrowRight")
    assert page.evaluate("location.hash") == "#step-3"
    page.go_back()
    assert current(page) == "step-2"


def test_going_back_from_the_first_step_leads_to_the_overview(open_page, html):
    page = open_page(html)
    page.keyboard.press("ArrowRight")
    page.go_back()
    assert current(page) == "overview"


def test_an_unknown_address_opens_the_overview(open_page, html):
    assert current(open_page(html, "#step-99")) == "overview"
    assert current(open_page(html, "#%")) == "overview"


def test_links_of_the_list_move_focus_to_the_step(open_page, html):
    page = open_page(html)
    page.locator("nav a[href='#step-1']").click()
    assert current(page) == "step-1"
    assert page.evaluate("document.activeElement.id") == "step-1-title"


def test_source_line_and_step_link_to_each_other(open_page, html):
    page = open_page(html, "#step-2")
    page.get_by_role("link", name="sum.py:7").click()
    page.wait_for_selector("#line-7.asked")
    assert current(page) == "overview"
    page.locator("#line-9").get_by_role("link", name="step 3").click()
    assert current(page) == "step-3"


def test_the_list_scrolls_to_the_step(open_page):
    many = tuple(step(number, f"s[B].split(i, {number})") for number in range(100))
    page = open_page(page_html(sample(steps=many)), "#step-90")
    assert page.locator("nav a[href='#step-90']").evaluate(
        "it => it.getBoundingClientRect().bottom <= innerHeight"
    )
    assert page.evaluate("scrollY") == 0


def test_loops_fold_with_keys(open_page, html):
    page = open_page(html, "#step-1")
    inner = page.locator(".current .nest .row.compute")
    outer = page.locator(".current .nest summary", has_text="i.outer")
    assert inner.is_visible()
    outer.focus()
    page.keyboard.press("Enter")
    assert not inner.is_visible()
    page.keyboard.press("Enter")
    assert inner.is_visible()
    assert page.locator(".chips [aria-pressed=true]").count() == 0


def test_tabs_follow_the_keyboard_pattern(open_page, html):
    page = open_page(html, "#step-1")
    tabs = page.locator(".current .output [role=tab]")
    tabs.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    assert page.evaluate("document.activeElement.textContent") == "Assembly"
    assert [tabs.nth(number).get_attribute("tabindex") for number in range(2)] == ["-1", "0"]
    shown = page.locator(".current .output [role=tabpanel]:visible")
    assert shown.get_attribute("aria-labelledby") == tabs.nth(1).get_attribute("id")
    assert current(page) == "step-1"
    page.keyboard.press("Home")
    assert tabs.nth(0).get_attribute("aria-selected") == "true"


def test_the_tab_chosen_stays_from_step_to_step(open_page, html):
    page = open_page(html, "#step-1")
    page.locator(".current").get_by_role("tab", name="Assembly").click()
    page.get_by_role("button", name="Next").click()
    tab = page.locator(".current").get_by_role("tab", name="Assembly")
    assert tab.get_attribute("aria-selected") == "true"


def test_panes_stay_scrolled_from_step_to_step(open_page, html):
    page = open_page(html, "#step-1", viewport={"width": 1400, "height": 400})
    page.locator(".current .output .panel:not([hidden]) .scroll").evaluate(
        "it => it.scrollTop = 50"
    )
    page.keyboard.press("ArrowRight")
    code = page.locator(".current .output .panel:not([hidden]) .scroll")
    assert code.evaluate("it => it.scrollTop") == 50


def test_generated_code_is_the_steps_own(open_page, html):
    page = open_page(html, "#step-2")
    code = page.locator(".current .output [data-tab=llvm] pre")
    assert code.locator(".l").count() == 40
    assert code.locator(".l").first.text_content() == "  %v0 = add i32 %a, 2"


@pytest.mark.parametrize("how", ["hover", "focus"])
def test_a_stage_is_highlighted_in_all_panes(open_page, html, how):
    page = open_page(html, "#step-1")
    getattr(page.get_by_role("button", name="A", exact=True), how)()
    assert marked(page, ".nest")[-1] == "B[i] = A[i] * 2"
    assert marked(page, ".changes")[0].startswith("\N{MINUS SIGN}")
    assert marked(page, ".output [data-tab=llvm]") == ["%x = load float, ptr %A"]
    assert "A placeholder" in page.locator("#about").text_content()


def test_hovering_over_a_line_highlights_its_stage(open_page, html):
    page = open_page(html, "#step-1")
    page.locator(".current .nest .compute").hover()
    assert marked(page, ".output [data-tab=llvm]") == ["store float %y, ptr %B"]
    page.mouse.move(5, 5)
    assert marked(page, ".output [data-tab=llvm]") == []


def test_a_click_pins_a_stage_and_scrolls_to_it(open_page, html):
    page = open_page(html, "#step-1", viewport={"width": 1400, "height": 500})
    code = page.locator(".current .output [data-tab=llvm] pre")
    page.get_by_role("button", name="A", exact=True).click()
    page.mouse.move(5, 5)
    assert marked(page, ".output [data-tab=llvm]") == ["%x = load float, ptr %A"]
    assert code.evaluate("it => it.scrollTop") > 0
    assert page.get_by_role("button", name="A", exact=True).get_attribute("aria-pressed") == "true"
    assert "highlighted: " in page.get_by_role("status").text_content()
    page.keyboard.press("Escape")
    assert marked(page, ".output [data-tab=llvm]") == []


def test_a_stage_is_offered_once_it_exists(open_page, html):
    page = open_page(html, "#step-1")
    chip = page.locator(".chips button", has_text="B.local")
    assert not chip.is_visible()
    page.keyboard.press("ArrowRight")
    assert chip.is_visible()


def test_reads_without_scripts(open_page, html):
    page = open_page(html, java_script_enabled=False)
    assert page.locator("article:visible").count() == 5
    assert page.locator(".bar").is_hidden()
    text = page.locator("main").inner_text()
    for part in ("Step 1 io, ii = s[B].split", "another axis is vectorized", "for i.outer  0:8"):
        assert part in text
    assert page.locator("#step-1 ins").count() == 2
    assert page.locator("noscript").first.is_visible()


def test_prints_all_steps(open_page, html):
    page = open_page(html, "#step-1")
    page.emulate_media(media="print")
    assert page.locator("article:visible").count() == 5
    assert page.locator(".bar").is_hidden()
    assert page.locator("section.program:visible").count() == 2  # of the first step, and of this


def test_works_inside_of_another_page(open_page, html):
    page = open_page("<!DOCTYPE html><html class='ready'><body></body></html>")
    page.evaluate(
        "html => document.body.append(Object.assign(document.createElement('iframe'),"
        "{srcdoc: html, width: 900, height: 600}))",
        html,
    )
    frame = page.frame_locator("iframe")
    frame.locator("html.ready").wait_for()
    frame.get_by_role("button", name="Next").click()
    frame.get_by_role("button", name="Next").click()
    assert frame.locator(".page.current").get_attribute("id") == "step-1"


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_window(open_page, html, width):
    page = open_page(html, viewport={"width": width, "height": 800})
    for address in ("overview", "step-1", "step-3"):
        page.evaluate("id => { location.hash = id }", address)
        page.wait_for_selector(f"#{address}.current")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_is_wider_than_the_window_without_scripts(open_page, html):
    page = open_page(html, java_script_enabled=False)
    assert page.locator("body").evaluate("it => it.scrollWidth") <= 1400


def test_on_a_phone_the_list_starts_folded(open_page, html):
    page = open_page(html, viewport={"width": 360, "height": 800})
    assert not page.locator("nav ol").is_visible()
    page.locator("nav summary").click()
    assert page.locator("nav ol").is_visible()
