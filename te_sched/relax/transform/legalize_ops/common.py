"""What legalization rules share: their registration, and constants as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from te_sched.ir import ops
from te_sched.ir.graph import Constant, GraphCall
from te_sched.ir.op import ATTRIBUTES, Op, register_op_attr
from te_sched.relax.block_builder import BlockBuilder

LegalizeFunc = Callable[[BlockBuilder, GraphCall], Any]
TEFunc = Callable[..., Any]


@overload
def register_legalize(op_name: str) -> Callable[[LegalizeFunc], LegalizeFunc]: ...
@overload
def register_legalize(op_name: str, legal_func: LegalizeFunc) -> LegalizeFunc: ...
def register_legalize(op_name: str, legal_func: LegalizeFunc | None = None) -> Any:
    """Register the rule of an operator; without a function, returns a decorator.

    >>> from te_sched import relax, topi
    >>> def twice(builder, call):
    ...     return builder.call_te(topi.add, call.args[0], call.args[0])
    >>> register_legalize("demo.twice", twice) is twice
    True
    """
    return register_op_attr(op_name, "FLegalize", legal_func)


@overload
def library_rule(op_name: str) -> Callable[[LegalizeFunc], LegalizeFunc]: ...
@overload
def library_rule(op_name: str, legal_func: LegalizeFunc) -> LegalizeFunc: ...
def library_rule(op_name: str, legal_func: LegalizeFunc | None = None) -> Any:
    """Set a rule of te_sched's own, as `register_legalize` does those of programs: executables
    that were built with these alone may be kept on disk.
    """
    if legal_func is None:
        return lambda decorated: library_rule(op_name, decorated)
    ATTRIBUTES.setdefault(op_name, {})["FLegalize"] = legal_func
    return legal_func


def scalar_or_expr(expr: Any, python_native: bool = False) -> Any:
    """A constant without dimensions as a number of its dtype, everything else as it is.

    `python_native` asks for a number of Python.
    """
    if isinstance(expr, Constant) and len(expr.data.shape) == 0:
        value = expr.data.numpy().item()
        return value if python_native else ops.const(value, str(expr.data.dtype))
    return expr


def call_te_of(te_func: TEFunc, name: str | None = None) -> LegalizeFunc:
    """A rule that calls a function of tensor expressions with the arguments of the call."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        hint = {} if name is None else {"primfunc_name_hint": name}
        return builder.call_te(te_func, *call.args, **hint)

    return legalize


def rule_of(op: Op) -> LegalizeFunc | None:
    """The rule of an operator; None if there is none."""
    found: LegalizeFunc | None = op.get_attr("FLegalize")
    return found
