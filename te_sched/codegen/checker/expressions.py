"""Expressions become closures that compute them for all threads at once.

Values that do not depend on the innermost loops are cached between iterations. Must not know
statements; calls are in `intrinsics`, `warps` and `accesses`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from te_sched.codegen.calls import intrinsic_of
from te_sched.codegen.checker.machine import KernelState, Site
from te_sched.codegen.checker.memory import Index, Place
from te_sched.codegen.checker.numbers import (
    Value,
    cast,
    constant,
    plain,
    rounded,
    typed,
    wrapped,
)
from te_sched.codegen.checker.space import all_dimensions
from te_sched.codegen.cuda.tensor_cores import FragmentShape
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.buffer import element_offset

Run = Callable[[], Any]
_KEPT = 256
_KEPT_BYTES = 8 << 20


@dataclass(slots=True)
class ExprClosure:
    """A compiled expression: `slots` are its variables, `is_pure` whether it depends on nothing
    else, `reads` whether it reads memory.
    """

    run: Run
    slots: frozenset[int] = frozenset()
    is_pure: bool = True
    reads: bool = False
    is_leaf: bool = False


CallCompiler = Callable[["Compiler", E.Call], ExprClosure]


class Compiler:
    """Compiles the expressions of one function; `calls` has what each intrinsic is."""

    def __init__(self, machine: KernelState, calls: Mapping[str, CallCompiler]) -> None:
        self.machine, self.calls = machine, calls
        self.threads: set[int] = set()  # slots of values that may differ between threads
        self.indices: dict[Any, ExprClosure] = {}
        self.fragments: Mapping[E.Var, FragmentShape] = {}
        self.is_counted = True  # whether a GPU does what is compiled

    # -- what others use ---------------------------------------------------------------------------

    def expression(self, node: E.Expr) -> ExprClosure:
        """The code of an expression."""
        method = _METHODS.get(type(node))
        if method is None:
            raise self.unknown(type(node).__name__)
        return method(self, node)

    def expression_with(self, node: E.Expr, loads: Iterable[ExprClosure]) -> ExprClosure:
        """The code of an expression, with other code in place of its loads."""
        following, calls = iter(loads), self.calls
        self.calls = {**calls, "load": lambda _, node: next(following)}
        try:
            return self.expression(node)
        finally:
            self.calls = calls

    def value(self, node: E.Expr) -> ExprClosure:
        """The code of an expression, with caching between iterations where it is worthwhile."""
        code = self.expression(node)
        return self.kept(code) if self._pays(code) else code

    def index(self, node: E.Expr) -> ExprClosure:
        """The code of an index: an int, or an `Index`."""
        key = _identity(node)
        if key in self.indices:
            return self.indices[key]
        code = self.expression(node)
        inner = code.run

        def run() -> Place:
            value = inner()
            return int(value) if not isinstance(value, np.ndarray) else Index(value)

        closure = ExprClosure(run, code.slots, code.is_pure, code.reads, code.is_leaf)
        if not code.is_pure:
            return closure
        # Equal indices share their arrays, so that results for one are found by its identity.
        shared = self.indices[key] = self.kept(closure) if code.slots & self.threads else closure
        return shared

    def place(self, buffer: E.Buffer, indices: Sequence[E.Expr]) -> ExprClosure:
        """The position of an access in elements of the memory."""
        offset: E.Expr = element_offset(buffer, list(indices))
        lanes = dtypes.lanes(buffer.dtype)
        if lanes > 1:
            if dtypes.lanes(offset.dtype) > 1:
                raise self.unknown(f"a vector of {buffer.dtype}")
            start = E.Mul(offset, E.IntImm(lanes, offset.dtype))
            offset = E.Ramp(start, E.IntImm(1, offset.dtype), lanes)
        return self.index(offset)

    def binding(self, var: E.Var, expression: E.Expr) -> Run:
        """The code that gives the variable of a let its value."""
        machine, slot = self.machine, self.machine.slot(var)
        value = self.value(expression)
        if not value.is_pure or value.slots & self.threads:
            self.threads.add(slot)
        if not value.is_pure or not value.slots:
            return lambda: machine.assign(slot, owned(value.run()))
        key_of, versions = operator.itemgetter(*value.slots), machine.versions
        return lambda: machine.assign(slot, owned(value.run()), (slot, key_of(versions)))

    def site(self, buffer: E.Buffer, indices: Sequence[E.Expr], does: str) -> Site:
        """A place in the text where memory is accessed."""
        name = buffer.name.replace(".", "_")  # as it is printed
        text = f"{name}[{', '.join(str(index) for index in indices)}]"
        site = Site(len(self.machine.sites), name, text, does, buffer.name)
        site.is_counted = self.is_counted
        self.machine.sites.append(site)
        return site

    def unknown(self, what: str) -> BuildError:
        """An error about a construct that the checked mode does not support."""
        return BuildError(
            f"the checked mode does not support {what} in {self.machine.kernel!r}",
            help="run the program on the emulated device without checks",
        )

    def joined(self, run: Run, parts: Sequence[ExprClosure], is_pure: bool = True) -> ExprClosure:
        """Code that uses others."""
        slots = frozenset().union(*[part.slots for part in parts])
        pure = is_pure and all(part.is_pure for part in parts)
        return ExprClosure(run, slots, pure, any(part.reads for part in parts))

    def operands(self, nodes: Sequence[E.Expr]) -> list[ExprClosure]:
        """The codes of operands; those that depend on fewer variables than the whole are cached."""
        codes = [self.expression(node) for node in nodes]
        slots = frozenset().union(*[code.slots for code in codes])
        return [
            self.kept(code) if self._pays(code) and code.slots != slots else code for code in codes
        ]

    def _pays(self, code: ExprClosure) -> bool:
        return code.is_pure and not code.is_leaf and bool(code.slots & self.threads)

    def kept(self, code: ExprClosure) -> ExprClosure:
        """The code, with its results cached by the values of its variables."""
        versions, inner = self.machine.versions, code.run
        key_of = operator.itemgetter(*code.slots)
        results: dict[Any, Any] = {}
        kept_bytes = 0

        def remember(key: Any) -> Any:
            nonlocal kept_bytes
            value = inner()
            array = value.values if isinstance(value, Index) else value
            kept_bytes += getattr(array, "nbytes", 0)
            if len(results) >= _KEPT or kept_bytes > _KEPT_BYTES:
                results.clear()
                kept_bytes = getattr(array, "nbytes", 0)
            results[key] = value
            return value

        def run() -> Any:
            key = key_of(versions)
            result = results.get(key)
            return result if result is not None else remember(key)

        return ExprClosure(run, code.slots)


def _identity(node: E.Expr) -> Any:
    """Equal for expressions that compute the same in the same way."""
    if isinstance(node, E.Var):
        return node
    if isinstance(node, E.IntImm):
        return (node.value, node.dtype)
    if isinstance(node, E.BinaryOp | E.CompareOp):
        return (type(node), _identity(node.a), _identity(node.b))
    if isinstance(node, E.Ramp):
        return (E.Ramp, _identity(node.base), _identity(node.stride), node.lanes)
    return (node,)


# -- leaves ----------------------------------------------------------------------------------------


def _var(c: Compiler, node: E.Var) -> ExprClosure:
    values, slot = c.machine.values, c.machine.slot(node)
    return ExprClosure(lambda: values[slot], frozenset([slot]), is_leaf=True)


def always(value: Value) -> ExprClosure:
    """The code of a constant."""
    return ExprClosure(lambda: value, is_leaf=True)


# -- arithmetic ------------------------------------------------------------------------------------


_Operator = Callable[[Value, Value], Value]


def _unless_zero(divide: _Operator) -> _Operator:
    """A division, which by zero gives zero (of arrays numpy does that itself)."""
    return lambda a, b: 0 if type(b) is int and b == 0 else divide(a, b)


def _divide(a: Value, b: Value) -> Value:
    """Integers round towards zero."""
    inexact = (a % b != 0) & ((a < 0) != (b < 0))
    return a // b + inexact


def _remainder(a: Value, b: Value) -> Value:
    if type(a) is int and type(b) is int:
        return abs(a) % abs(b) * (1 if a >= 0 else -1)
    return np.fmod(a, b)


def _extremum(is_better: _Operator) -> _Operator:
    """The smaller or larger of two integers."""

    def choose(a: Value, b: Value) -> Value:
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return np.where(is_better(a, b), a, b)
        return a if is_better(a, b) else b

    return choose


_ARITHMETIC: dict[type, _Operator] = {
    **{E.Add: operator.add, E.Sub: operator.sub, E.Mul: operator.mul},
    **{E.FloorDiv: _unless_zero(operator.floordiv), E.FloorMod: _unless_zero(operator.mod)},
    **{E.Div: _unless_zero(_divide), E.Mod: _unless_zero(_remainder)},
    **{E.Min: _extremum(operator.lt), E.Max: _extremum(operator.gt)},
    **{E.EQ: operator.eq, E.NE: operator.ne, E.LT: operator.lt, E.LE: operator.le},
    **{E.GT: operator.gt, E.GE: operator.ge},
}
# Of floats, where numpy's functions do what operators do not, or are faster.
_OF_FLOATS: dict[type, _Operator] = {
    **{E.Add: np.add, E.Sub: np.subtract, E.Mul: np.multiply},
    **{E.Div: np.divide, E.FloorDiv: np.floor_divide},
    **{E.Min: np.minimum, E.Max: np.maximum},
}


def _binary(c: Compiler, node: E.BinaryOp) -> ExprClosure:
    a, b = parts = c.operands((node.a, node.b))
    compute, left, right, dtype = _ARITHMETIC[type(node)], a.run, b.run, node.dtype
    if dtypes.is_float(dtype):
        compute = _OF_FLOATS.get(type(node), compute)
        if dtypes.element(dtype) == "bfloat16":
            return c.joined(lambda: rounded(compute(left(), right()), dtype), parts)
        return c.joined(lambda: compute(left(), right()), parts)

    def run() -> Value:
        result = compute(left(), right())
        return wrapped(result, dtype) if type(result) is int else result

    return c.joined(run, parts)


def _compare(c: Compiler, node: E.CompareOp) -> ExprClosure:
    a, b = parts = c.operands((node.a, node.b))
    compute, left, right = _ARITHMETIC[type(node)], a.run, b.run
    return c.joined(lambda: plain(compute(left(), right())), parts)


def _cast(c: Compiler, node: E.Cast) -> ExprClosure:
    part = c.expression(node.value)
    inner, source, dtype = part.run, node.value.dtype, node.dtype
    return c.joined(lambda: cast(inner(), source, dtype), [part])


# -- conditions ------------------------------------------------------------------------------------


def _not(c: Compiler, node: E.Not) -> ExprClosure:
    part = c.expression(node.a)
    inner = part.run
    return c.joined(lambda: plain(np.logical_not(inner())), [part])


def under(machine: KernelState, condition: np.ndarray, run: Run) -> Any:
    """The result of `run` under a condition; 0 if it holds for no thread."""
    before = machine.mask
    mask = condition if before is None else before & condition
    if not mask.any():
        return 0
    machine.mask = mask
    try:
        return run()
    finally:
        machine.mask = before


def _logical(c: Compiler, node: E.And | E.Or) -> ExprClosure:
    """The second condition is read from memory only where the first one does not decide."""
    a, b = parts = c.operands((node.a, node.b))
    left, right, guarded, machine = a.run, b.run, b.reads, c.machine
    is_or = type(node) is E.Or
    combine = operator.or_ if is_or else operator.and_

    def run() -> Value:
        first = left()
        if not isinstance(first, np.ndarray):
            return is_or if bool(first) is is_or else right()
        if guarded:
            first = all_dimensions(first)
            return combine(first, np.bool_(under(machine, ~first if is_or else first, right)))
        return combine(first, right())

    return c.joined(run, parts)


def conditional(c: Compiler, condition: E.Expr, first: E.Expr, second: E.Expr) -> ExprClosure:
    """One of two values; each is loaded only for the threads that select it."""
    parts = c.operands((condition, first, second))
    test, yes, no = (part.run for part in parts)
    machine, dtype = c.machine, first.dtype
    guards = (parts[1].reads, parts[2].reads)

    def chosen(where: np.ndarray, guarded: bool, run: Run) -> Value:
        value = under(machine, where, run) if guarded else run()
        return typed(value, dtype)

    def run() -> Value:
        where = test()
        if not isinstance(where, np.ndarray):
            return yes() if where else no()
        where = all_dimensions(where)
        a = chosen(where, guards[0], yes)
        b = chosen(~where if guards[1] else where, guards[1], no)
        return np.where(where, a, b)

    return c.joined(run, parts)


# -- vectors ---------------------------------------------------------------------------------------


def _ramp(c: Compiler, node: E.Ramp) -> ExprClosure:
    a, b = parts = c.operands((node.base, node.stride))
    base, stride = a.run, b.run
    steps = np.arange(node.lanes, dtype=np.int32).reshape(-1, 1, 1, 1, 1)
    steps = steps.astype(dtypes.element(node.dtype))
    return c.joined(lambda: steps * stride() + base(), parts)


def lane_of(value: Value, number: int, lanes: int) -> Value:
    """One lane of a vector; values that all lanes share have no axis for them."""
    if isinstance(value, np.ndarray) and value.ndim == 5:
        return value[number if value.shape[0] == lanes else 0]
    return value


def _shuffle(c: Compiler, node: E.Shuffle) -> ExprClosure:
    parts = [c.expression(vector) for vector in node.vectors]
    counts = [dtypes.lanes(vector.dtype) for vector in node.vectors]
    if not all(isinstance(index, E.IntImm) for index in node.indices):
        raise c.unknown("a Shuffle with indices that are not constant")
    numbers = [index.value for index in node.indices if isinstance(index, E.IntImm)]
    dtype = dtypes.element(node.dtype)

    def run() -> Value:
        lanes = [
            lane_of(value, number, count)
            for value, count in zip([part.run() for part in parts], counts, strict=True)
            for number in range(count)
        ]
        elements = [lanes[number] for number in numbers]
        return elements[0] if len(elements) == 1 else stacked(elements, dtype)

    return c.joined(run, parts)


def stacked(values: Sequence[Value], dtype: str) -> np.ndarray:
    """A vector of lanes."""
    arrays = [np.asarray(typed(value, dtype)) for value in values]
    shape = np.broadcast_shapes((1, 1, 1, 1), *[array.shape for array in arrays])
    return np.stack([np.broadcast_to(array, shape) for array in arrays])


def _let(c: Compiler, node: E.Let) -> ExprClosure:
    machine, slot = c.machine, c.machine.slot(node.var)
    c.threads.add(slot)
    value, body = c.expression(node.value), c.expression(node.body)

    def run() -> Value:
        machine.assign(slot, owned(value.run()))
        return body.run()

    return ExprClosure(run, value.slots | body.slots, False, value.reads or body.reads)


def owned(value: Value) -> Value:
    """A value that does not change when memory does."""
    return value.copy() if isinstance(value, np.ndarray) and value.base is not None else value


def _call(c: Compiler, node: E.Call) -> ExprClosure:
    compile_call = c.calls.get(intrinsic_of(node))
    if compile_call is None:
        raise c.unknown(f"the intrinsic {node.op}")
    return compile_call(c, node)


_METHODS: dict[type, Callable[[Compiler, Any], ExprClosure]] = {
    E.Var: _var,
    E.IntImm: lambda _, node: always(constant(node.value, node.dtype)),
    E.FloatImm: lambda _, node: always(constant(node.value, node.dtype)),
    E.StringImm: lambda _, node: always(node.value),
    E.Cast: _cast,
    **{kind: _binary if issubclass(kind, E.BinaryOp) else _compare for kind in _ARITHMETIC},
    E.And: _logical,
    E.Or: _logical,
    E.Not: _not,
    E.Select: lambda c, node: conditional(c, node.condition, node.true_value, node.false_value),
    E.Ramp: _ramp,
    E.Broadcast: lambda c, node: c.expression(node.value),
    E.Shuffle: _shuffle,
    E.Let: _let,
    E.Call: _call,
    E.BufferLoad: lambda c, node: c.calls["load"](c, node),
}
