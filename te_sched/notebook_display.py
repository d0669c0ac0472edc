"""What a notebook shows of objects whose classes are loaded late; `te_sched.views` says how before.

Must not know pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# How objects of a class are written as HTML, by the name of the class.
HTML_OF: dict[str, Callable[[Any], str]] = {}


class Shown:
    """An object that a notebook shows as HTML, where there is a way."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        html_of = HTML_OF.get(type(self).__name__)
        return html_of(self) if html_of is not None else None
