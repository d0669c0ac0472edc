"""Syntax highlighting for pages, terminals and notebooks, by pygments, which is loaded when a text
is first shown. Must not know the origin of texts.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

from te_sched.errors import DeclarationError, did_you_mean, is_in_notebook, repr_of
from te_sched.views.theme import colors

# Names of languages, and pygments' names of them.
_LEXERS = {
    "python": "python",
    "llvm": "llvm",
    "cuda": "cuda",
    "c": "c",
    "asm": "gas",
    "ptx": "ptx",
    "diff": "diff",
    "text": "text",
}
# Colors of pygments' classes, by prefixes of their names.
_RULES = (
    ('[class^="k"],.ow', "keyword"),
    (".nd,.nf,.nc,.nb,.bp,.nl", "name"),
    ('[class^="s"]', "string"),
    ('[class^="m"],.il', "number"),
    ('[class^="c"]', "comment"),
    (".gi", "added"),
    (".gd", "removed"),
    (".gu,.gh", "mark"),
)

# Classes of parts without a color: names, operators, punctuation, white space.
_PLAIN = re.compile(r'<span class="(?:n|na|nn|nv|nx|o|p|w|err)">([^<]*)</span>')


def to_html(text: str, language: str = "python") -> str:
    """The text as a `<pre class="te-code">` whose parts have the classes that `css` colors."""
    return '<pre class="te-code">' + "\n".join(html_lines(text, language)) + "</pre>"


def html_lines(text: str, language: str = "python") -> list[str]:
    """The lines of a text as HTML, each well-formed."""
    from pygments.formatters.html import HtmlFormatter

    marked = _highlighted(text, language, HtmlFormatter(nowrap=True))
    return _PLAIN.sub(r"\1", marked).removesuffix("\n").split("\n")


def to_terminal(text: str, language: str = "python") -> str:
    """The text with the colors of a terminal."""
    from pygments.formatters.terminal import TERMINAL_COLORS, TerminalFormatter
    from pygments.token import Whitespace

    scheme = {**TERMINAL_COLORS, Whitespace: ("", "")}
    return _highlighted(text, language, TerminalFormatter(colorscheme=scheme)).removesuffix("\n")


def css(selector: str = ".te-code") -> str:
    """The style of highlighted text, for light and dark pages, inside a selector alone."""
    rules = "".join(
        ",".join(f"{selector} {part}" for part in parts.split(",")) + f"{{color:var(--te-{name})}}"
        for parts, name in _RULES
    )
    layout = f"{selector}{{margin:0;overflow-x:auto;background:none;color:inherit;tab-size:4}}"
    return colors(selector) + layout + rules


def own_style() -> str:
    """`css` and the font of program text, for pages with another style of <pre>."""
    font = "font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
    return f"{css()}:root .te-code{{{font};margin:.2em 0;padding:0;border:0;white-space:pre}}"


def show(text: str, language: str = "python") -> None:
    """Print a text: in colors in a terminal or notebook, without them elsewhere."""
    if is_in_notebook():
        from IPython.display import HTML, display

        page = f"<style>{own_style()}</style>{to_html(text, language)}"
        display(HTML(page))  # type: ignore[no-untyped-call]
    else:
        print(to_terminal(text, language) if sys.stdout.isatty() else text)


def _highlighted(text: str, language: str, formatter: Any) -> str:
    from pygments import highlight

    lines = text if text.endswith("\n") else f"{text}\n"
    marked: str = highlight(lines, _lexer(language), formatter)
    return marked


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name

    name = _LEXERS.get(language)
    if name is None:
        raise DeclarationError(
            f"cannot highlight unknown language {repr_of(language)}",
            "",
            f"use one of {', '.join(_LEXERS)}{did_you_mean(language, _LEXERS)}",
        )
    return get_lexer_by_name(name, stripnl=False, stripall=False, ensurenl=False)
