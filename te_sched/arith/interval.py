"""Intervals: a minimum and a maximum of any kind. Must not know the kinds of ends.

Ends are expressions (`int_set`), forms (`forms`, `aliasing`), or several forms of which the
greatest or the least applies (`analysis.programs.cover`). Constant bounds, which lowering needs
most often, are pairs of integers instead (`const_bounds`).
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

End = TypeVar("End")


class Interval(NamedTuple, Generic[End]):
    """The integers from min to max. An end None is infinite or unknown."""

    min: End
    max: End
