import sys
from types import SimpleNamespace

import pytest

import te_sched
from te_sched.errors import DeclarationError
from te_sched.views.highlight import css, html_lines, own_style, show, to_html, to_terminal


def test_html_has_classes_and_escapes():
    html = to_html("if x < 1:  # <b>\n    pass")
    assert html.startswith('<pre class="te-code"><span class="k">if</span>')
    assert "<b>" not in html
    assert '<span class="c1"># &lt;b&gt;</span>' in html


@pytest.mark.parametrize("text", ["", "x", "x\n", "\n\nx\n\n", '"""a\nb"""', "a\x0bb\u2028c\nd"])
def test_html_lines_are_the_lines_of_the_text(text):
    assert len(html_lines(text)) == len(text.removesuffix("\n").split("\n"))


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("llvm", "define i32 @f()", '<span class="k">define</span>'),
        ("cuda", "__global__ void f();", '<span class="kr">__global__</span>'),
        ("asm", "  movl $1, %eax", '<span class="nf">movl</span>'),
        ("ptx", "mov.u32 %r1, 1;", '<span class="k">mov'),
        ("diff", "+a", '<span class="gi">+a</span>'),
        ("text", "<x>", "&lt;x&gt;"),
    ],
)
def test_languages(language, text, wanted):
    assert wanted in to_html(text, language)


def test_other_languages_are_refused():
    with pytest.raises(
        DeclarationError, match=r"(?s)unknown language 'pyton'.*did you mean 'python'"
    ):
        to_html("x", "pyton")


def test_terminal_text_has_colors():
    assert to_terminal("x = 1") == "x = \x1b[34m1\x1b[39;49;00m"


def test_style_stays_inside_its_selector():
    rules = css(".mine").split("}")
    assert all(".mine" in rule for rule in rules if "{" in rule)
    assert "prefers-color-scheme:dark" in css()


def test_style_of_notebooks_gives_letters_of_one_width():
    assert ":root .te-code{font:13px/1.45 ui-monospace" in own_style()


def test_show_colors_what_a_terminal_shows(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)  # its modules alone are not a notebook
    show("x = 1")
    assert capsys.readouterr().out == "x = 1\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show("x = 1")
    assert "\x1b[" in capsys.readouterr().out


def test_show_in_a_notebook_is_html(monkeypatch):
    from IPython import display

    shown = []
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=None))
    monkeypatch.setattr(display, "display", shown.append)
    te_sched.tir.PrimFunc((), te_sched.tir.Evaluate(0), {}).show()
    assert '<pre class="te-code">' in shown[0].data
