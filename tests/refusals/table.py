"""The table of refusals: calls that are refused, each with its error and a part of the message.

Some are mistakes that users make: small programs with a title and a help, in the folder `mistakes`,
from which `scripts/errors.py` makes docs/errors. The others are in the modules beside this one.
`test_refusals` goes through all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from te_sched.errors import ScheduleError, TeSchedError

Case = tuple[Callable[..., Any], type[TeSchedError], str]


@dataclass(eq=False)
class Refusal:
    """A call that is refused.

    `match` is a regular expression for the message. `call` may have the parameters `folder`, an
    empty one, `patch`, pytest's monkeypatch, and `p`, what `program` makes: a SimpleNamespace with
    a schedule `s`, which the call does not change. A mistake of users has a `title`, perhaps the
    number of a thread (`issue`) at TVM, where people met it, and the program as the help says
    (`right`).
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
        """Decorates the program as the help says."""
        self.right = function
        return function


TABLE: list[Refusal] = []


def mistake(
    title: str, error: type[TeSchedError], match: str, issue: int | None = None
) -> Callable[[Callable[..., Any]], Refusal]:
    """Decorates a program that is refused."""

    def entered(wrong: Callable[..., Any]) -> Refusal:
        area, name = wrong.__module__.rpartition(".")[2], wrong.__name__
        TABLE.append(Refusal(area, name, wrong, error, match, title=title, issue=issue))
        return TABLE[-1]

    return entered


def enter(area: str, cases: Mapping[str, Case]) -> None:
    """Put calls into the table, by their names."""
    TABLE.extend(Refusal(area, name, *case) for name, case in cases.items())


def enter_primitives(
    area: str, cases: Iterable[tuple[Callable[[], Any], Callable[[Any], Any], str]]
) -> None:
    """Put calls into the table that are made on the schedule of a program."""
    TABLE.extend(
        Refusal(area, match, call, ScheduleError, match, program) for program, call, match in cases
    )
