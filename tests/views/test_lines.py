import re
import xml.etree.ElementTree as ElementTree

from te_sched.views.lines import TreeLine, tree_html, tree_text


def lines(*depths):
    return [TreeLine(depth, "loop", f"{depth}<b>", ("C",)) for depth in depths]


def test_text_is_drawn_with_lines():
    assert tree_text(lines(0, 1, 2, 2, 1)) == "0<b>\n├─ 1<b>\n│  ├─ 2<b>\n│  └─ 2<b>\n└─ 1<b>"


def test_text_of_nothing_is_empty():
    assert tree_text([]) == ""


def test_text_of_several_roots():
    assert tree_text(lines(0, 1, 0, 1)) == "0<b>\n└─ 1<b>\n0<b>\n└─ 1<b>"


def test_html_nests_what_opens_and_closes():
    root = ElementTree.fromstring(
        re.sub(r"<style>.*?</style>", "", tree_html(lines(0, 1, 2, 2, 1)), flags=re.S).replace(
            " open", ""
        )
    )
    branch = root.find("details/details")
    assert branch is not None
    assert branch.findtext("summary") == "1<b>"
    assert [one.text for one in branch.findall("div")] == ["2<b>", "2<b>"]
    assert branch.find("div").get("data-stages") == "C"


def test_html_has_no_script():
    assert "<script" not in tree_html(lines(0, 1))
