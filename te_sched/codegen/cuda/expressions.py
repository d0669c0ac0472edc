"""Expressions as lanes of C++ text: one function for each class of node.

Must not know statements, nor what intrinsics mean (`intrinsics`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from te_sched.codegen.calls import intrinsic_of, operator_of
from te_sched.codegen.cuda import arithmetic, memory, pairs, types
from te_sched.codegen.cuda.pieces import (
    Piece,
    PieceLanes,
    conditional,
    negated,
    operation,
)
from te_sched.codegen.cuda.writer import KernelText
from te_sched.ir import dtypes
from te_sched.ir import expr as E


def _float(out: KernelText, node: E.FloatImm) -> list[Piece]:
    out.unit.type_of(node.dtype)
    return [types.floating(node.value, node.dtype)]


def _cast(out: KernelText, node: E.Cast) -> list[Piece]:
    source, target = dtypes.element(node.value.dtype), dtypes.element(node.dtype)
    lanes = out.lanes(node.value)
    if source == target:
        return _spread(out, lanes, node.dtype)
    converted = [arithmetic.cast(out.unit, lane, source, target) for lane in lanes]
    return _spread(out, converted, node.dtype)


def _spread(out: KernelText, lanes: list[Piece], dtype: str) -> list[Piece]:
    """As many lanes as the type has, also of a scalar."""
    count = dtypes.lanes(dtype)
    if len(lanes) == 1 < count:
        return [out.simple(lanes[0], dtype)] * count
    return lanes


def _pairs(out: KernelText, a: E.Expr, b: E.Expr) -> list[tuple[Piece, Piece]]:
    return list(zip(out.lanes(a), out.lanes(b), strict=True))


def _linear(out: KernelText, node: E.BinaryOp) -> list[Piece]:
    name, dtype = operator_of(node), dtypes.element(node.dtype)
    first, second = out.lanes(node.a), out.lanes(node.b)
    if len(first) > 1 and dtypes.is_small_float(dtype):
        vectors = pairs.compute_pairs(out, name, first, second, node.dtype)
        if vectors is not None:
            return vectors
    wraps = out.analyzer.data.of(node)
    return [
        arithmetic.linear(out.unit, name, a, b, dtype, wraps)
        for a, b in zip(first, second, strict=True)
    ]


def _division(out: KernelText, node: E.BinaryOp) -> list[Piece]:
    return quotients(out, operator_of(node), node.a, node.b)


def quotients(out: KernelText, name: str, a: E.Expr, b: E.Expr) -> list[Piece]:
    """div, mod (towards zero), floordiv or floormod of two values."""
    dtype = dtypes.element(a.dtype)
    bounds = ((0, 0), (0, 0))
    if not dtypes.is_float(dtype):
        bounds = (out.bounds(a), out.bounds(b))
    lanes = _pairs(out, a, b)
    return [arithmetic.division(out.unit, name, *pair, dtype, bounds) for pair in lanes]


def _extremum(out: KernelText, node: E.BinaryOp) -> list[Piece]:
    name, dtype = operator_of(node), dtypes.element(node.dtype)
    lanes = _pairs(out, node.a, node.b)
    return [arithmetic.extremum(out.unit, name, a, b, dtype) for a, b in lanes]


def _comparison(out: KernelText, node: E.CompareOp) -> list[Piece]:
    symbol = arithmetic.COMPARISONS[operator_of(node)]
    return [operation(symbol, a, b) for a, b in _pairs(out, node.a, node.b)]


def _logical(out: KernelText, node: E.CompareOp) -> list[Piece]:
    symbol = "&&" if type(node) is E.And else "||"
    first = out.lanes(node.a)
    with out.capture() as lines:
        second = out.lanes(node.b)
    if not lines:
        return [operation(symbol, a, b) for a, b in zip(first, second, strict=True)]
    holds = out.declare("holds", node.dtype)
    out.assign(holds, first, node.dtype)
    if len(holds) > 1:  # lanes decide for themselves; there is nothing to skip
        out.lines += [line[2:] for line in lines]
        return [operation(symbol, a, b) for a, b in zip(holds, second, strict=True)]
    test = holds[0] if symbol == "&&" else negated(holds[0])
    out.do(f"if ({test.text}) {{")
    _assign_after(out, lines, holds, second, node.dtype)
    out.do("}")
    return holds


def _assign_after(
    out: KernelText, lines: list[str], target: list[Piece], lanes: list[Piece], dtype: str
) -> None:
    """The captured lines followed by an assignment of their result: the body of a branch."""
    out.lines += lines
    out.depth += 1
    out.assign(target, lanes, dtype)
    out.depth -= 1


def _select(out: KernelText, node: E.Select) -> list[Piece]:
    tests = out.lanes(node.condition)
    return _choices(out, tests, out.lanes(node.true_value), out.lanes(node.false_value))


def branches(out: KernelText, condition: E.Expr, yes: E.Expr, no: E.Expr) -> list[Piece]:
    """The lanes of one of two values; only the one that is taken is evaluated."""
    tests = out.lanes(condition)
    with out.capture() as first:
        a = out.lanes(yes)
    with out.capture() as second:
        b = out.lanes(no)
    if not first and not second:
        return _choices(out, tests, a, b)
    if len(tests) > 1:
        raise out.error(
            "cannot choose between vectors by a vector of conditions",
            "each lane would have to load separate elements",
            "do not vectorize this loop",
        )
    chosen = out.declare("chosen", yes.dtype)
    out.do(f"if ({tests[0].text}) {{")
    for lines, lanes, tail in ((first, a, "} else {"), (second, b, "}")):
        _assign_after(out, lines, chosen, lanes, yes.dtype)
        out.do(tail)
    return chosen


def _choices(out: KernelText, tests: list[Piece], a: list[Piece], b: list[Piece]) -> list[Piece]:
    count = max(len(a), len(b), len(tests))
    if len(tests) == 1 < count:
        tests = [out.simple(tests[0], "bool", "holds")] * count
    return [conditional(*choice) for choice in zip(tests, a, b, strict=True)]


def _ramp(out: KernelText, node: E.Ramp) -> list[Piece]:
    dtype = node.base.dtype
    base = out.simple(out.scalar(node.base), dtype, "i")
    stride = out.simple(out.scalar(node.stride), dtype, "stride")
    lanes = [base]
    for number in range(1, node.lanes):
        if isinstance(node.base, E.IntImm) and isinstance(node.stride, E.IntImm):
            lanes.append(types.integer(node.base.value + number * node.stride.value, dtype))
            continue
        if isinstance(node.stride, E.IntImm):
            step = types.integer(number * node.stride.value, dtype)
        else:
            step = operation("*", stride, types.integer(number, dtype))
        lanes.append(arithmetic.linear(out.unit, "add", base, step, dtype))
    return lanes


def _broadcast(out: KernelText, node: E.Broadcast) -> list[Piece]:
    lanes = [out.simple(lane, node.value.dtype) for lane in out.lanes(node.value)]
    return lanes * node.lanes


def _shuffle(out: KernelText, node: E.Shuffle) -> list[Piece]:
    lanes = [lane for vector in node.vectors for lane in out.lanes(vector)]
    chosen = []
    for index in node.indices:
        if not isinstance(index, E.IntImm):
            raise out.error(
                "lane numbers of a Shuffle must be constants", "", "use integer constants"
            )
        chosen.append(lanes[index.value])
    return chosen


def bind(out: KernelText, var: E.Var, value: E.Expr) -> None:
    """Give a variable its value."""
    lanes = out.lanes(value)
    if var.dtype == "handle":
        kind = var.pointer.element if var.pointer is not None else "void"
        out.elements[var] = dtypes.element(kind)
        name = out.names.fresh(var.name)
        pointer = f"{out.unit.type_of(kind)}*"
        out.do(f"{pointer} {name} = ({pointer}){lanes[0].at(14)};")
        out.environment[var] = [Piece(name)]
        return
    out.environment[var] = out.define(var.name, var.dtype, lanes)
    if out.analyzer.data.of(value):
        out.analyzer.data.add(var)
    if dtypes.is_integral(var.dtype) and dtypes.lanes(var.dtype) == 1:
        out.analyzer.bind(var, value)


def _let(out: KernelText, node: E.Let) -> list[Piece]:
    bind(out, node.var, node.value)
    return out.lanes(node.body)


def _call(out: KernelText, node: E.Call) -> list[Piece]:
    name = intrinsic_of(node)
    writer = out.writers.calls.get(name)
    if writer is None:
        raise out.error(
            f"intrinsic {node.op} is not available in CUDA kernels",
            _why_unknown(name),
            "use one of: " + ", ".join(sorted(out.writers.calls)),
        )
    return writer(out, node)


def _why_unknown(name: str) -> str:
    if name == "tvm_thread_allreduce":
        return "the device passes replace it, and have not been run"
    if "packed" in name or name.startswith("call_llvm"):
        return "it exists only on the host"
    return ""


def as_argument(out: KernelText, node: E.Expr) -> Piece:
    """A value as one piece: of a vector the whole, in CUDA's type."""
    lanes = out.lanes(node)
    if len(lanes) == 1:
        return lanes[0]
    if types.vector_type(node.dtype) is None:
        raise out.error(
            f"cannot pass a {node.dtype} as an argument",
            "CUDA has no vector type of this size",
            "use two or four lanes of 32 bits",
        )
    if isinstance(lanes, PieceLanes) and lanes.whole is not None:
        return Piece(lanes.whole)
    return Piece(out.whole(node.dtype, lanes))


WRITERS: Mapping[type, Callable[[KernelText, Any], list[Piece]]] = {
    E.Var: KernelText.look_up,
    E.IntImm: lambda _, node: [types.integer(node.value, node.dtype)],
    E.FloatImm: _float,
    E.StringImm: lambda _, node: [Piece(json.dumps(node.value))],
    E.Cast: _cast,
    **dict.fromkeys((E.Add, E.Sub, E.Mul), _linear),
    **dict.fromkeys((E.Div, E.Mod, E.FloorDiv, E.FloorMod), _division),
    **dict.fromkeys((E.Min, E.Max), _extremum),
    **dict.fromkeys((E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE), _comparison),
    **dict.fromkeys((E.And, E.Or), _logical),
    E.Not: lambda out, node: [negated(lane) for lane in out.lanes(node.a)],
    E.Select: _select,
    E.Ramp: _ramp,
    E.Broadcast: _broadcast,
    E.Shuffle: _shuffle,
    E.Call: _call,
    E.Let: _let,
    E.BufferLoad: lambda out, node: memory.load(out, node.buffer, node.indices),
}
