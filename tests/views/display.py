"""What notebooks show of an object."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from IPython.core.formatters import DisplayFormatter

VOID = re.compile(r"<style>.*?</style>", re.DOTALL)


def html_of(thing):
    """What IPython would send to a notebook; it must be well-formed."""
    formats, _ = DisplayFormatter().format(thing)
    html = formats["text/html"]
    assert formats["text/plain"]
    assert "<script" not in html
    ElementTree.fromstring(VOID.sub("", html).replace("<details open>", "<details>"))
    return html


def text_of(html):
    return "".join(ElementTree.fromstring(VOID.sub("", html).replace(" open>", ">")).itertext())
