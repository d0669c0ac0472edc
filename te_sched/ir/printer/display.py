"""Showing a text to a person: in colours where the terminal or notebook has them."""

from __future__ import annotations

import sys


def show(text: str) -> None:
    """Print Python text, highlighted by pygments in a terminal or notebook if it is installed."""
    in_notebook = "ipykernel" in sys.modules
    if not in_notebook and not sys.stdout.isatty():
        print(text)
        return
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter, Terminal256Formatter
        from pygments.lexers import PythonLexer
    except ImportError:
        print(text)
        return
    if in_notebook:
        from IPython.display import HTML, display

        page = highlight(text, PythonLexer(), HtmlFormatter(noclasses=True))
        display(HTML(page))
    else:
        print(highlight(text, PythonLexer(), Terminal256Formatter()), end="")
