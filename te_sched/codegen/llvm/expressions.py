"""Expressions into LLVM values: one function per class of node.

Must not know statements. Calls of intrinsics are handed to a function that `entry` provides, so
that the tables of intrinsics can use `evaluate` in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.codegen.calls import operator_of, writer_of
from te_sched.codegen.llvm import arithmetic, memory
from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import Value, floating, integer, llvm_type
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.choices import choice_of, with_choice
from te_sched.ir.structural import structural_equal
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import replace, walk


def evaluate(out: FunctionText, node: E.Expr) -> Value:
    """Write the instructions that compute an expression; gives its value."""
    return writer_of(_WRITERS, node)(out, node)


def evaluate_index(out: FunctionText, node: E.Expr) -> Value:
    """An index: its sums do not overflow; those of integers from memory were checked."""
    out.indexing += 1
    value = evaluate(out, node)
    out.indexing -= 1
    return value


def evaluate_condition(out: FunctionText, node: E.Expr) -> Value:
    """A condition, a bound or an extent: expressions of loop variables alone do not overflow."""
    out.deciding += 1
    value = evaluate(out, node)
    out.deciding -= 1
    return value


def _apart(out: FunctionText, writer: Callable[[FunctionText, Any], Value], node: Any) -> Value:
    """Operands other than sums, in indices too: only expressions of loop variables alone do not
    overflow. Sums of loaded values in an index were checked; other results of them may wrap.
    """
    indexing, out.indexing = out.indexing, 0
    out.deciding += indexing
    value = writer(out, node)
    out.indexing, out.deciding = indexing, out.deciding - indexing
    return value


def is_speculatable(node: E.Expr) -> bool:
    """Whether evaluating it early is safe and cheap: no memory, calls or divisions."""
    return not any(type(part) in _NOT_SPECULATABLE for part in walk(node))


_NOT_SPECULATABLE = {E.BufferLoad, E.Call, E.Div, E.Mod, E.FloorDiv, E.FloorMod, E.Let}


def bind(out: FunctionText, var: E.Var, expression: E.Expr) -> None:
    """Give a variable its value: as indices see it and, where that differs, exactly."""
    before = out.assumed
    out.plain.pop(var, None)
    if dtypes.parse(var.dtype).code != "int":
        out.environment[var] = evaluate(out, expression)
        return
    out.deciding += 1  # not `indexing`: what comes from memory may wrap
    out.environment[var] = evaluate(out, expression)
    out.deciding -= 1
    if out.assumed != before and not (out.indexing or out.deciding):
        out.plain[var] = evaluate(out, expression)


def evaluate_place(out: FunctionText, index: E.Expr) -> memory.LaneAddresses:
    """Where the elements of an index are."""
    if type(index) is E.Ramp and isinstance(index.stride, E.IntImm):
        return memory.LaneAddresses(
            index.lanes, evaluate_index(out, index.base), index.stride.value
        )
    value = evaluate_index(out, index)
    lanes = dtypes.lanes(index.dtype)
    return memory.LaneAddresses(lanes, value, None if lanes > 1 else 1)


def _cast(out: FunctionText, node: E.Cast) -> Value:
    if dtypes.is_small_float(node.dtype):
        narrow = _never_widened(node.value, node.dtype)
        if narrow is not None:
            return _apart(out, evaluate, narrow)
    value = _apart(out, evaluate, node.value)
    if dtypes.lanes(node.dtype) != dtypes.lanes(value.dtype):
        value = memory.broadcast(out, value, dtypes.lanes(node.dtype))
    return cast(out, value, node.dtype)


def _never_widened(value: E.Expr, dtype: str) -> E.Expr | None:
    """A value of float32 that was converted from a small float, or zero, before it was; None for
    other values. A choice is one of such values.
    """
    if isinstance(value, E.Cast):
        is_wide = dtypes.parse(value.dtype).code == "float" and dtypes.parse(value.dtype).bits == 32
        return value.value if is_wide and value.value.dtype == dtype else None
    if isinstance(value, E.Broadcast):
        element = _never_widened(value.value, dtypes.with_lanes(dtype, 1))
        return None if element is None else replace(value, value=element, dtype=dtype)
    if isinstance(value, E.FloatImm):
        return E.FloatImm(0.0, dtype) if same(value, E.FloatImm(0.0, value.dtype)) else None
    choice = choice_of(value)
    if choice is None:
        return None
    condition, *parts = choice
    yes, no = (_never_widened(part, dtype) for part in parts)
    return None if yes is None or no is None else with_choice(value, condition, yes, no)


def _linear(out: FunctionText, node: E.BinaryOp) -> Value:
    a, b = evaluate(out, node.a), evaluate(out, node.b)
    return arithmetic.binary(out, operator_of(node), a, b)


def _comparison(out: FunctionText, node: E.CompareOp) -> Value:
    a, b = evaluate(out, node.a), evaluate(out, node.b)
    return arithmetic.compare(out, operator_of(node), a, b)


def _logical(out: FunctionText, node: E.CompareOp) -> Value:
    name, a = operator_of(node), evaluate(out, node.a)
    if dtypes.lanes(a.dtype) == 1 and not is_speculatable(node.b):
        return _short_circuit(out, name, a, node.b)
    b = evaluate(out, node.b)
    text = out.emit(f"{name} {llvm_type(a.dtype)} {a.text}, {b.text}")
    return Value(text, a.dtype, 0, 1, a.data or b.data)


def _short_circuit(out: FunctionText, name: str, a: Value, node: E.Expr) -> Value:
    """Evaluate b only when a does not decide."""
    first, more, done = out.block, out.label("more"), out.label("decided")
    out.branch_if(a.text, *((more, done) if name == "and" else (done, more)))
    out.open(more)
    b = evaluate(out, node)
    last = out.block
    out.branch(done)
    out.open(done)
    decided = "false" if name == "and" else "true"
    return Value(out.emit(f"phi i1 [ {decided}, %{first} ], [ {b.text}, %{last} ]"), "bool", 0, 1)


def _not(out: FunctionText, node: E.Not) -> Value:
    a = evaluate(out, node.a)
    ones = arithmetic.constant_like(1, a.dtype).text
    return Value(out.emit(f"xor {llvm_type(a.dtype)} {a.text}, {ones}"), a.dtype, 0, 1, a.data)


def _select(out: FunctionText, node: E.Select) -> Value:
    condition = evaluate_condition(out, node.condition)
    return arithmetic.select(
        out, condition, evaluate(out, node.true_value), evaluate(out, node.false_value)
    )


def conditional(out: FunctionText, condition: E.Expr, yes: E.Expr, no: E.Expr) -> Value:
    """if_then_else: only the side that is taken is evaluated."""
    test = evaluate_condition(out, condition)
    if is_speculatable(yes) and is_speculatable(no):
        return arithmetic.select(out, test, evaluate(out, yes), evaluate(out, no))
    if dtypes.lanes(test.dtype) > 1:
        raise BuildError(
            "condition of if_then_else is a vector, expected a scalar",
            "only the side that is taken may be computed, and lanes may take different sides",
            "use tir.Select where both may be computed, or take the elements one by one",
        )
    then, other, done = out.label("then"), out.label("else"), out.label("done")
    out.branch_if(test.text, then, other)
    values, ends = [], []
    for block, side in ((then, yes), (other, no)):
        out.open(block)
        values.append(evaluate(out, side))
        ends.append(out.block)
        out.branch(done)
    out.open(done)
    pairs = ", ".join(f"[ {value.text}, %{end} ]" for value, end in zip(values, ends, strict=True))
    lo, hi = min(value.lo for value in values), max(value.hi for value in values)
    return Value(out.emit(f"phi {llvm_type(values[0].dtype)} {pairs}"), values[0].dtype, lo, hi)


def _ramp(out: FunctionText, node: E.Ramp) -> Value:
    base, stride = evaluate(out, node.base), evaluate(out, node.stride)
    element = dtypes.element(node.dtype)
    steps = ", ".join(f"{llvm_type(element)} {k}" for k in range(node.lanes))
    steps_value = Value(f"<{steps}>", node.dtype, 0, node.lanes - 1, False)
    start = memory.broadcast(out, base, node.lanes)
    if stride.text != "1":
        steps_value = arithmetic.binary(
            out, "mul", steps_value, memory.broadcast(out, stride, node.lanes)
        )
    return arithmetic.binary(out, "add", start, steps_value)


def _shuffle(out: FunctionText, node: E.Shuffle) -> Value:
    indices = []
    for index in node.indices:
        if not isinstance(index, E.IntImm):
            raise BuildError(
                "lane numbers of a Shuffle must be constants",
                help="use integer constants",
            )
        indices.append(index.value)
    return memory.shuffle(out, [evaluate(out, vector) for vector in node.vectors], indices)


def _load(out: FunctionText, node: E.BufferLoad) -> Value:
    (index,) = node.indices
    if node.predicate is not None:
        mask, place = evaluate(out, node.predicate), evaluate_place(out, index)
        is_stored = out.stored_lanes is not None and structural_equal(
            out.stored_lanes, node.predicate
        )
        return memory.load_masked(out, node.buffer, place, mask, is_stored)
    if isinstance(index, E.Broadcast):  # one element in every lane
        scalar = memory.load(out, node.buffer, evaluate_place(out, index.value))
        return (
            memory.broadcast(out, scalar, index.lanes)
            if dtypes.lanes(scalar.dtype) == 1
            else memory.concatenate(out, [scalar] * index.lanes)
        )
    return memory.load(out, node.buffer, evaluate_place(out, index))


def _let(out: FunctionText, node: E.Let) -> Value:
    bind(out, node.var, node.value)
    return evaluate(out, node.body)


def _call(out: FunctionText, node: E.Call) -> Value:
    writer: Callable[[FunctionText, E.Call], Value] = _CALLS["write"]
    if node.op == "tir.likely":
        return writer(out, node)
    return _apart(out, writer, node)


_CALLS: dict[str, Any] = {}


def use_calls(writer: Callable[[FunctionText, E.Call], Value]) -> None:
    """Provide the function that writes calls (done once, by `intrinsics`)."""
    _CALLS["write"] = writer


def _nonlinear(out: FunctionText, node: E.BinaryOp) -> Value:
    return _apart(out, _linear, node)


_WRITERS: dict[type, Callable[[FunctionText, Any], Value]] = {
    E.Var: FunctionText.lookup,
    E.IntImm: lambda _, node: integer(node.value, node.dtype),
    E.FloatImm: lambda _, node: floating(node.value, node.dtype),
    E.StringImm: lambda out, node: Value(out.module.string(node.value), "handle", data=False),
    E.Cast: _cast,
    **dict.fromkeys((E.Add, E.Sub, E.Mul), _linear),
    **dict.fromkeys((E.Div, E.Mod, E.FloorDiv, E.FloorMod, E.Min, E.Max), _nonlinear),
    **dict.fromkeys((E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE), _comparison),
    **dict.fromkeys((E.And, E.Or), _logical),
    E.Not: _not,
    E.Select: lambda out, node: _apart(out, _select, node),
    E.Ramp: _ramp,
    E.Broadcast: lambda out, node: memory.broadcast(out, evaluate(out, node.value), node.lanes),
    E.Shuffle: _shuffle,
    E.Call: _call,
    E.Let: _let,
    E.BufferLoad: _load,
}
