"""Rules that schedule functions without a search, and the pass that applies them.

A rule takes a function and gives a schedule of it, or None if the function is not of its kind. Must
not know any rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.codegen.target import Target
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ScheduleError, kind_of, repr_of
from te_sched.ir.expr import Call
from te_sched.ir.stmt import AttrStmt, For, IRModule, PrimFunc
from te_sched.ir.visitor import walk
from te_sched.public_members import PublicObject, is_function
from te_sched.tir.schedule import Schedule
from te_sched.tir.transform import ModulePass

IS_SCHEDULED = "tir.is_scheduled"
# Functions that only the host can call.
_OF_HOST = ("tir.tvm_call_packed", "tir.tvm_call_cpacked", "tir.call_packed", "tir.call_extern")


class DefaultRule(PublicObject):
    """A way to schedule functions of a kind. Subclasses define `apply`."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """A schedule of the function, or a list of them; None if it is not of the rule's kind."""
        raise ScheduleError(
            f"{type(self).__name__} does not say what it applies",
            "a rule is a class with a method apply(func, target, tunable)",
            "define the method",
        )


class ApplyDefaultSchedule(ModulePass):
    """The pass that schedules each function by the first rule that knows its kind.

    Functions with the attribute "tir.is_scheduled" stay as they are; those that were scheduled get
    it. The target is the current one (`with Target("llvm"):`).

    >>> import te_sched
    >>> from te_sched import dlight, te
    >>> A = te.placeholder((64,), name="A")
    >>> B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    >>> module = te_sched.IRModule({"main": te.create_prim_func([A, B])})
    >>> with te_sched.target.Target("llvm"):
    ...     scheduled = dlight.ApplyDefaultSchedule(dlight.cpu.Fallback())(module)
    >>> scheduled["main"].attrs["tir.is_scheduled"]
    1
    """

    def __init__(self, *rules: Any) -> None:
        for rule in rules:
            if not hasattr(rule, "apply") and not is_function(rule):
                raise ScheduleError(
                    f"{repr_of(rule)} is not a rule",
                    f"it is {kind_of(rule)}",
                    "give rules, such as dlight.cpu.Contraction()",
                )
        self.rules = rules

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with scheduled functions."""
        target = Target.current()
        if target is None:
            raise ScheduleError(
                "ApplyDefaultSchedule does not know the target",
                "rules depend on it",
                'use it inside of `with Target("llvm"):`',
            )
        functions: dict[str, Any] = {}
        for name, func in mod.functions.items():
            if isinstance(func, PrimFunc) and not func.attrs.get(IS_SCHEDULED):
                result = self.scheduled(func, func.attrs.get("target", target))
                if result is not None:
                    functions[name] = result
        return mod.with_functions(functions)

    @walks_deeply("schedule a function", ScheduleError)
    def scheduled(self, func: PrimFunc, target: Target) -> PrimFunc | None:
        """The function scheduled by the first rule that knows it, or None."""
        for rule in self.rules:
            apply: Any = getattr(rule, "apply", rule)
            outcome = apply(func, target, False)
            if outcome is None:
                continue
            schedules: Sequence[Schedule] = outcome if isinstance(outcome, list) else [outcome]
            result: PrimFunc = schedules[0].mod["main"]
            return named_as(result, func).with_attr(IS_SCHEDULED, 1)
        return None


def named_as(result: PrimFunc, func: PrimFunc) -> PrimFunc:
    """A scheduled function with the symbol of the given one: a schedule calls it "main"."""
    bare = result.without_attr("global_symbol")
    symbol = func.attrs.get("global_symbol")
    return bare if symbol is None else bare.with_attr("global_symbol", symbol)


def has_threads(func: PrimFunc) -> bool:
    """Whether a function has loops that are bound to threads, or calls functions of the host."""
    return any(map(_is_bound, walk(func.body)))


def _is_bound(node: Any) -> bool:
    """Whether a node binds a thread, or calls a function of the host."""
    if isinstance(node, Call):
        return str(node.op) in _OF_HOST
    if isinstance(node, AttrStmt):
        return node.attr_key in ("thread_extent", "virtual_thread")
    return isinstance(node, For) and node.thread_binding is not None
