"""What of a page matters to tests: its tags, texts and tables."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "img", "hr"}


class Outline(HTMLParser):
    """What of a page matters here: whether its tags are closed, its scripts, its addresses."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.addresses: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def texts_of(html):
    """The packed table of lines and texts."""
    packed = re.search(r'id="texts">([^<]*)</script>', html)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def lines_of(html, number, name):
    """The lines of a text of a step, as HTML."""
    table = texts_of(html)
    (text,) = [one for one in table["texts"][str(number)] if one["name"] == name]
    runs = text["runs"]
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return [table["lines"][first + k] for first, count in pairs for k in range(count)]
