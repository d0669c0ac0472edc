"""The HTML display of objects in notebooks, which `te_sched.views` registers by class names.

Must not know pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Functions that convert an object to HTML, by the name of its class.
HTML_OF: dict[str, Callable[[Any], str]] = {}


class Shown:
    """Base class of objects that a notebook shows as HTML if a function is registered."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        html_of = HTML_OF.get(type(self).__name__)
        return html_of(self) if html_of is not None else None
