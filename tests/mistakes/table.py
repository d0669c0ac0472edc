"""The table of mistakes: each a small program that is refused, with its message and its cure.

The modules of this folder fill it; `test_mistakes` goes through it, and `scripts/errors.py` makes
docs/errors.md of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from te_sched.errors import TeSchedError


@dataclass(eq=False)
class Mistake:
    """A program that is refused.

    `match` is a regular expression for the message. `issue` is the number of a thread at TVM, where
    people met it. `right`, if any, is the program as the cure says.
    """

    title: str
    error: type[TeSchedError]
    match: str
    wrong: Callable[..., Any]
    issue: int | None = None
    right: Callable[..., Any] | None = field(default=None)

    @property
    def name(self) -> str:
        """What it is called in tests."""
        return f"{self.wrong.__module__.rpartition('.')[2]}.{self.wrong.__name__}"

    def cure(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorates the program as the cure says."""
        self.right = function
        return function


TABLE: list[Mistake] = []


def mistake(
    title: str, error: type[TeSchedError], match: str, issue: int | None = None
) -> Callable[[Callable[..., Any]], Mistake]:
    """Decorates a program that is refused. Its parameter `folder`, if any, is an empty one."""

    def entered(wrong: Callable[..., Any]) -> Mistake:
        TABLE.append(Mistake(title, error, match, wrong, issue))
        return TABLE[-1]

    return entered
