"""Instruments of passes: objects that a pass context calls before and after each pass.

    with te_sched.transform.PassContext(instruments=[PassTimingInstrument()]):
        module = pipeline(module)

They have TVM's names, there in `tvm.instrument` and `tvm.ir.instrument`.
"""

from __future__ import annotations

import functools
import inspect
import sys
import time
from typing import Any

from te_sched.errors import LoweringError, kind_of, warn
from te_sched.ir.stmt import IRModule
from te_sched.passes import PassInfo
from te_sched.public_members import PublicObject

__all__ = [
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "pass_instrument",
]


class PassInstrument(PublicObject):
    """The base of instruments: override what you need.

    >>> from te_sched import IRModule, tir, transform
    >>> class Names(PassInstrument):
    ...     def run_after_pass(self, mod, info):
    ...         print(info.name)
    >>> with transform.PassContext(instruments=[Names()]):
    ...     module = tir.transform.Simplify()(IRModule())
    tir.Simplify
    """

    def enter_pass_ctx(self) -> None:
        """Called when the context is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when the context is left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether to run a pass."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called before a pass, with the module that it gets."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called after a pass, with the module that it returned."""


def pass_instrument(pi_cls: Any = None) -> Any:
    """A decorator that makes an instrument of a class with some of the methods of PassInstrument.

    >>> from te_sched import IRModule, tir, transform
    >>> @pass_instrument
    ... class Skip:
    ...     def __init__(self, name):
    ...         self.name = name
    ...     def should_run(self, mod, info):
    ...         return info.name != self.name
    >>> isinstance(Skip("tir.Simplify"), PassInstrument)
    True
    """
    if pi_cls is None:
        return pass_instrument
    if not inspect.isclass(pi_cls):
        raise LoweringError(
            f"pass_instrument cannot decorate {kind_of(pi_cls)}",
            "it decorates classes",
            "decorate a class",
        )
    if issubclass(pi_cls, PassInstrument):
        return pi_cls
    body = {name: getattr(pi_cls, name) for name in ("__module__", "__qualname__", "__doc__")}
    return functools.wraps(pi_cls, updated=())(
        type(pi_cls.__name__, (pi_cls, PassInstrument), body)
    )


class PassTimingInstrument(PassInstrument):
    """Measures passes; `render()` returns a table, inside of the context.

    A line is a pass: its time, without the passes it runs in brackets, and the shares of the whole
    and of the pass around it.
    """

    def __init__(self) -> None:
        self._root = _Timed("")
        self._open = [self._root]

    def enter_pass_ctx(self) -> None:
        """Forget earlier measurements."""
        self.__init__()  # type: ignore[misc]

    exit_pass_ctx = enter_pass_ctx

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Start the clock of a pass."""
        timing = _Timed(info.name)
        self._open[-1].inner.append(timing)
        self._open.append(timing)
        timing.start = time.perf_counter_ns()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Stop the clock of a pass."""
        done = self._open.pop()
        done.duration = time.perf_counter_ns() - done.start

    def render(self) -> str:
        """The times of the passes of this context, as text; empty if none has run."""
        if not self._root.inner:
            warn("no passes have been measured")
            return ""
        total = sum(timing.duration for timing in self._root.inner)
        lines: list[str] = []
        _render(self._root.inner, 0, total, total, lines)
        return "".join(f"{line}\n" for line in lines)


class _Timed:
    """The time of a pass, and the passes that it ran."""

    def __init__(self, name: str) -> None:
        self.name, self.start, self.duration = name, 0, 0
        self.inner: list[_Timed] = []


def _render(timed: list[_Timed], depth: int, total: int, outer: int, lines: list[str]) -> None:
    for timing in timed:
        own = timing.duration - sum(inner.duration for inner in timing.inner)
        shares = [100 * timing.duration / max(whole, 1) for whole in (total, outer)]
        lines.append(
            "\t" * depth + f"{timing.name}: {timing.duration // 1000}us [{own // 1000}us] "
            f"({shares[0]:.2f}%; {shares[1]:.2f}%)"
        )
        _render(timing.inner, depth + 1, total, timing.duration, lines)


class PrintBeforeAll(PassInstrument):
    """Prints the module before each pass."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module."""
        print(f"Before Running Pass: {info}\n\n{mod}")


class PrintAfterAll(PassInstrument):
    """Prints the module after each pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module."""
        print(f"After Running Pass: {info}\n\n{mod}")


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after the passes with given names.

    Parameters
    ----------
    print_before_pass_names : the names of passes before which it is printed.
    print_after_pass_names : those after which it is printed.
    """

    def __init__(self, print_before_pass_names: Any = (), print_after_pass_names: Any = ()) -> None:
        self.print_before_pass_names = list(print_before_pass_names)
        self.print_after_pass_names = list(print_after_pass_names)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module, if the pass is listed."""
        if info.name in self.print_before_pass_names:
            PrintBeforeAll().run_before_pass(mod, info)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module, if the pass is listed."""
        if info.name in self.print_after_pass_names:
            PrintAfterAll().run_after_pass(mod, info)


sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
