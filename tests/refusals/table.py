"""The table of refusals: calls that are refused, each with its error and a part of the message.

Some are mistakes of users: small programs with a title and a corrected version, in the folder
`mistakes`, from which `scripts/errors.py` makes docs/errors. The others are in the modules of this
folder. `test_refusals` tests all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from te_sched.errors import ScheduleError, TeSchedError

Case = tuple[Callable[..., Any], type[TeSchedError], str]


@dataclass(eq=False)
class Refusal:
    """A refused call.

    `match` is a regular expression for the message. `call` may have the parameters `folder` (an
    empty one), `patch` (pytest's monkeypatch) and `p`, the result of `program`: a SimpleNamespace
    with a schedule `s`, which the call does not change. A mistake of users has a `title`, the
    number of an `issue` of TVM about it, if any, and the corrected program (`right`).
    """

    area: str
    name: str
    call: Callable[..., Any]
    error: type[TeSchedError]
    match: str
    program: Callable[[], Any] | None = None
    title: str = ""
    issue: int | None = None
    right: Callable[..., Any] | None = None

    def help(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator for the corrected program."""
        self.right = function
        return function


TABLE: list[Refusal] = []


def mistake(
    title: str, error: type[TeSchedError], match: str, issue: int | None = None
) -> Callable[[Callable[..., Any]], Refusal]:
    """Decorator for a refused program."""

    def entered(wrong: Callable[..., Any]) -> Refusal:
        area, name = wrong.__module__.rpartition(".")[2], wrong.__name__
        TABLE.append(Refusal(area, name, wrong, error, match, title=title, issue=issue))
        return TABLE[-1]

    return entered


def enter(area: str, cases: Mapping[str, Case]) -> None:
    """Add calls to the table, by name."""
    TABLE.extend(Refusal(area, name, *case) for name, case in cases.items())


def enter_primitives(
    area: str, cases: Iterable[tuple[Callable[[], Any], Callable[[Any], Any], str]]
) -> None:
    """Add calls on the schedule of a program to the table."""
    TABLE.extend(
        Refusal(area, match, call, ScheduleError, match, program) for program, call, match in cases
    )
