"""Intervals: a least and a greatest value of any kind. Must not know what the ends are. Ends are
expressions (`int_set`), forms (`forms`, `aliasing`), or several forms of which the greatest or the
least counts (`analysis.programs.cover`). Constant bounds, which lowering needs most often, are
pairs of integers instead (`const_bounds`).
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

End = TypeVar("End")


class Interval(NamedTuple, Generic[End]):
    """The integers from min to max. An end None is infinite, or not known."""

    min: End
    max: End
