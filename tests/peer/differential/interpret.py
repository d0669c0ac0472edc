"""Executes functions, of blocks or lowered, statement by statement, on numpy arrays.

The reference for random TensorIR programs: loops of all kinds are sequential, and memory that was
not written cannot be read. Vectors are arrays of one dimension. Must not know lowering or code
generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.blocks import AllocateConst, BlockRealize, DeclBuffer
from te_sched.ir.intrinsic_table import INTRINSICS

_MOST_STEPS = 150_000  # about a quarter of a minute


class Undefined(Exception):
    """Raised if the program has no defined result."""


class Unsupported(Exception):
    """Raised if the program has a construct that is not interpreted, or runs too long."""


_Iterations = tuple[tuple[int, int], ...]  # of parallel loops: number of the loop, iteration


class Memory:
    """The numbers of an allocation, and which of them were written; a vector is several of them."""

    def __init__(self, elements: np.ndarray, is_written: bool) -> None:
        self.elements = elements
        self.written = np.full(elements.shape, is_written)
        self.writers: dict[int, _Iterations] = {}

    def load(self, slots: range) -> Any:
        self._check(slots)
        if not all(self.written[at] for at in slots):
            raise Undefined("an element is read before it is written")
        return self.elements[slots[0] if len(slots) == 1 else slots]

    def store(self, slots: range, value: Any) -> None:
        self._check(slots)
        self.elements[slots] = value
        self.written[slots] = True

    def _check(self, slots: range) -> None:
        if slots[0] < 0 or slots[-1] >= len(self.elements):
            raise Undefined("an access is out of bounds")


def run(
    func: S.PrimFunc, arguments: Sequence[Any], sizes: Mapping[str, int], is_strict: bool = False
) -> None:
    """Execute a function; arrays are changed in place.

    `sizes` are the values of the variables in shapes, by name. If the run `is_strict`, blocks must
    not access more than the regions that they state, nor iterations of parallel and vectorized
    loops what others write.
    """
    machine = _Machine(sizes, is_strict)
    arrays = []
    for param, given in zip(func.params, arguments, strict=True):
        buffer = func.buffer_map.get(param)
        if buffer is None:
            machine.env[param] = np.dtype(param.dtype).type(given)
            continue
        memory = Memory(given.reshape(-1).copy(), True)
        arrays.append((given, memory))
        machine.enter_parameter(buffer, given, memory)
    with np.errstate(all="ignore"):
        machine.execute(func.body)
    for given, memory in arrays:
        given[...] = memory.elements.reshape(given.shape)


class _Machine:
    """Variables, memory, and the sources of views with the first index of each dimension."""

    def __init__(self, sizes: Mapping[str, int], is_strict: bool = False) -> None:
        self.sizes, self.is_strict = sizes, is_strict
        self.iterations: _Iterations = ()
        self.loops = 0  # parallel loops that were executed
        self.stated: list[_Regions] = []  # what the blocks around may read and write
        self.env: dict[E.Var, Any] = {}
        self.memory: dict[E.Var, Memory] = {}
        self.views: dict[E.Buffer, tuple[E.Buffer, tuple[int, ...]]] = {}
        self.steps = 0

    def enter_parameter(self, buffer: E.Buffer, given: np.ndarray, memory: Memory) -> None:
        """A parameter is compact; its strides and offset may be variables."""
        self.memory[buffer.data] = memory
        strides = [stride // given.itemsize for stride in given.strides]
        pairs = [*zip(buffer.shape, given.shape, strict=True)]
        pairs += zip(buffer.strides, strides, strict=False)
        for wanted, found in [*pairs, (buffer.elem_offset, 0)]:
            if type(wanted) is E.Var:
                self.env[wanted] = np.dtype(wanted.dtype).type(found)

    # Expressions.

    def value(self, e: Any) -> Any:
        evaluate = _VALUES.get(type(e))
        if evaluate is None:
            raise Unsupported(type(e).__name__)
        return evaluate(self, e)

    def integers(self, indices: Sequence[Any]) -> tuple[int, ...]:
        return tuple([int(self.value(index)) for index in indices])

    def place(self, buffer: E.Buffer, indices: tuple[int, ...]) -> tuple[Memory, range]:
        """The memory and the positions of an element: one, or those of a vector."""
        shape = self.integers(buffer.shape)
        if len(indices) != len(shape):
            raise Unsupported("an access of another rank")
        if any(not 0 <= index < size for index, size in zip(indices, shape, strict=True)):
            raise Undefined(f"index {indices} of {buffer.name} is out of bounds")
        if buffer in self.views:
            source, low = self.views[buffer]
            indices = (0,) * (len(low) - len(indices)) + indices
            return self.place(source, tuple(map(int.__add__, low, indices)))
        if buffer.data not in self.memory:
            raise Unsupported("memory from elsewhere")
        at = int(self.value(buffer.elem_offset))
        at += sum(map(int.__mul__, indices, self.strides(buffer)))
        width = dtypes.lanes(buffer.dtype)
        return self.memory[buffer.data], range(at * width, at * width + width)

    def strides(self, buffer: E.Buffer) -> tuple[int, ...]:
        if buffer in self.views:
            return self.strides(self.views[buffer][0])[-len(buffer.shape) :]
        shape = self.integers(buffer.shape)
        compact = tuple([prod(shape[i + 1 :]) for i in range(len(shape))])
        return self.integers(buffer.strides) or compact

    def check(self, buffer: E.Buffer, indices: Sequence[int], memory: Memory, slots: range) -> None:
        """Whether iterations that run at the same time do not share an element, and the block
        states the access.
        """
        for writer in {memory.writers.get(at, ()) for at in slots}:
            for (loop, step), (other, now) in zip(writer, self.iterations, strict=False):
                if loop != other:
                    break
                if step != now:
                    raise Undefined(f"iterations of a parallel loop write and access {buffer.name}")
        regions = self.stated[-1] if self.stated else None
        if regions is not None and not any(
            one is buffer
            and all(low <= i < high for i, (low, high) in zip(indices, bounds, strict=True))
            for one, bounds in regions
        ):
            raise Undefined(f"a block does not state that it accesses {buffer.name}{indices}")

    # Statements.

    def execute(self, s: Any) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise Unsupported("too many steps")
        act = _ACTIONS.get(type(s))
        if act is None:
            raise Unsupported(type(s).__name__)
        act(self, s)

    def allocate(self, data: E.Var, dtype: str, extents: Sequence[Any], strides: Any = ()) -> None:
        shape = self.integers(extents)
        size = prod(shape)
        if strides:
            size = 1 + sum((n - 1) * s for n, s in zip(shape, self.integers(strides), strict=True))
        self.memory[data] = Memory(np.zeros(size * dtypes.lanes(dtype), _element(dtype)), False)


def _binary(function: Callable[..., Any]) -> Callable[[_Machine, Any], Any]:
    return lambda machine, e: function(machine.value(e.a), machine.value(e.b))


def _divide(machine: _Machine, e: Any) -> Any:
    a, b = machine.value(e.a), machine.value(e.b)
    if _element(e.dtype).kind == "f":
        return a / b
    return (np.sign(a) * np.sign(b) * (abs(a) // abs(b))).astype(a.dtype)


def _element(dtype: str) -> np.dtype[Any]:
    """The type of the elements of a vector, or of a number."""
    return np.dtype(dtypes.element(dtype))


def _is_vector(a: Any) -> bool:
    return isinstance(a, np.ndarray)


def _either(number: Callable[..., Any], vector: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, and another for vectors."""
    return lambda *args: vector(*args) if any(map(_is_vector, args)) else number(*args)


def _sum(machine: _Machine, e: Any) -> Any:
    return machine.value(e.a) + machine.value(e.b)


def _cast(machine: _Machine, e: E.Cast) -> Any:
    value, target = np.asarray(machine.value(e.value))[()], _element(e.dtype)
    if target.kind in "iu" and value.dtype.kind == "f":
        if not np.all(abs(value) < 2**31):
            raise Undefined("a float is converted to an integer that cannot represent it")
        return value.astype("int64").astype(target)
    return value.astype(target)


def _lanes(machine: _Machine, indices: Sequence[Any]) -> list[tuple[int, ...]] | None:
    """The indices of each element of a vector; None for a number."""
    values = [machine.value(index) for index in indices]
    if not any(map(_is_vector, values)):
        return None
    return [tuple(map(int, one)) for one in zip(*np.broadcast_arrays(*values), strict=True)]


def _load(machine: _Machine, e: E.BufferLoad) -> Any:
    if (lanes := _lanes(machine, e.indices)) is not None:
        return np.hstack([_element_at(machine, e.buffer, indices) for indices in lanes])
    return _element_at(machine, e.buffer, machine.integers(e.indices))


def _element_at(machine: _Machine, buffer: E.Buffer, indices: tuple[int, ...]) -> Any:
    memory, slots = machine.place(buffer, indices)
    if machine.is_strict:
        machine.check(buffer, indices, memory, slots)
    return memory.load(slots)


def _select(machine: _Machine, e: E.Select) -> Any:
    """Only the chosen value of a number: the other one may be of an element that does not exist
    once the program is lowered.
    """
    condition = machine.value(e.condition)
    if _is_vector(condition):
        return np.where(condition, machine.value(e.true_value), machine.value(e.false_value))
    return machine.value(e.true_value if condition else e.false_value)


def _both(machine: _Machine, e: E.And) -> Any:
    a = machine.value(e.a)
    return a & machine.value(e.b) if _is_vector(a) else a and machine.value(e.b)


def _any(machine: _Machine, e: E.Or) -> Any:
    a = machine.value(e.a)
    return a | machine.value(e.b) if _is_vector(a) else a or machine.value(e.b)


def _ramp(machine: _Machine, e: E.Ramp) -> Any:
    base, stride = machine.value(e.base), machine.value(e.stride)
    return base + stride * np.arange(e.lanes, dtype=_element(e.dtype))


def _call(machine: _Machine, e: E.Call) -> Any:
    name = str(e.op).removeprefix("tir.")
    if name == "if_then_else":
        return machine.value(e.args[1 if machine.value(e.args[0]) else 2])
    row = INTRINSICS.get(name)
    if row is None or row.meaning is None:
        raise Unsupported(f"call of {name}")
    return np.asarray(row.meaning(*map(machine.value, e.args))).astype(_element(e.dtype))[()]


def _let(machine: _Machine, e: Any) -> Any:
    machine.env[e.var] = machine.value(e.value)
    return machine.value(e.body)


_VALUES: dict[type, Callable[[_Machine, Any], Any]] = {
    E.Var: lambda machine, e: machine.env[e] if e in machine.env else _size(machine, e),
    E.IntImm: lambda machine, e: np.dtype(e.dtype).type(e.value),
    E.FloatImm: lambda machine, e: np.dtype(e.dtype).type(e.value),
    E.Add: _sum,
    E.Sub: _binary(lambda a, b: a - b),
    E.Mul: _binary(lambda a, b: a * b),
    E.Div: _divide,
    E.Mod: _binary(np.fmod),
    E.FloorDiv: _binary(lambda a, b: a // b),
    E.FloorMod: _binary(lambda a, b: a % b),
    E.Min: _binary(_either(min, np.minimum)),
    E.Max: _binary(_either(max, np.maximum)),
    E.LT: _binary(lambda a, b: a < b),
    E.LE: _binary(lambda a, b: a <= b),
    E.GT: _binary(lambda a, b: a > b),
    E.GE: _binary(lambda a, b: a >= b),
    E.EQ: _binary(lambda a, b: a == b),
    E.NE: _binary(lambda a, b: a != b),
    E.And: _both,
    E.Or: _any,
    E.Not: lambda machine, e: np.logical_not(machine.value(e.a)),
    E.Ramp: _ramp,
    E.Broadcast: lambda machine, e: np.full(e.lanes, machine.value(e.value)),
    E.Cast: _cast,
    E.Select: _select,
    E.Let: _let,
    E.Call: _call,
    E.BufferLoad: _load,
}


def _size(machine: _Machine, e: E.Var) -> Any:
    if e.name not in machine.sizes:
        raise Unsupported(f"variable {e.name}")
    return np.dtype(e.dtype).type(machine.sizes[e.name])


def _store(machine: _Machine, s: S.BufferStore) -> None:
    value = machine.value(s.value)
    if (lanes := _lanes(machine, s.indices)) is not None:
        width = dtypes.lanes(s.buffer.dtype)
        parts = np.broadcast_to(value, len(lanes) * width).reshape(len(lanes), width)
        for indices, one in zip(lanes, parts, strict=True):
            _set_element(machine, s.buffer, indices, one)
    else:
        _set_element(machine, s.buffer, machine.integers(s.indices), value)


def _set_element(machine: _Machine, buffer: E.Buffer, indices: tuple[int, ...], value: Any) -> None:
    memory, slots = machine.place(buffer, indices)
    if machine.is_strict:
        machine.check(buffer, indices, memory, slots)
        memory.writers.update(dict.fromkeys(slots, machine.iterations))
    memory.store(slots, value)


def _loop(machine: _Machine, s: S.For) -> None:
    kind, first = np.dtype(s.loop_var.dtype).type, int(machine.value(s.min))
    around, is_parallel = machine.iterations, s.kind in ("parallel", "vectorized")
    machine.loops += is_parallel
    number = machine.loops
    for step in range(int(machine.value(s.extent))):
        machine.env[s.loop_var] = kind(first + step)
        if is_parallel:
            machine.iterations = (*around, (number, step))
        machine.execute(s.body)
    machine.iterations = around


def _attribute(machine: _Machine, s: S.AttrStmt) -> None:
    """A thread axis of a lowered program is a loop, unless it is in force already."""
    if s.key == "thread_extent" and s.node.var not in machine.env:
        for step in range(int(machine.value(s.value))):
            machine.env[s.node.var] = np.dtype(s.node.var.dtype).type(step)
            machine.execute(s.body)
        del machine.env[s.node.var]
    else:
        machine.execute(s.body)


def _while(machine: _Machine, s: S.While) -> None:
    while machine.value(s.condition):
        machine.execute(s.body)


def _choose(machine: _Machine, s: S.IfThenElse) -> None:
    if machine.value(s.condition):
        machine.execute(s.then_case)
    elif s.else_case is not None:
        machine.execute(s.else_case)


def _bind(machine: _Machine, s: S.LetStmt) -> None:
    machine.env[s.var] = machine.value(s.value)
    machine.execute(s.body)


def _allocate(machine: _Machine, s: S.Allocate) -> None:
    machine.allocate(s.buffer_var, s.dtype, s.extents)
    machine.execute(s.body)


def _constant(machine: _Machine, s: AllocateConst) -> None:
    machine.memory[s.buffer_var] = Memory(np.asarray(s.data).reshape(-1), True)
    machine.execute(s.body)


def _declare(machine: _Machine, s: DeclBuffer) -> None:
    if s.buffer.data not in machine.memory:
        raise Unsupported("memory from elsewhere")
    machine.execute(s.body)


def _sequence(machine: _Machine, s: S.SeqStmt) -> None:
    for one in s.seq:
        machine.execute(one)


def _realize(machine: _Machine, s: BlockRealize) -> None:
    """Execute an instance of a block: `init` if all reduction iterators are at their start."""
    block, values = s.block, [machine.value(value) for value in s.iter_values]
    if not machine.value(s.predicate):
        return
    is_first = True
    for axis, value in zip(block.iter_vars, values, strict=True):
        machine.env[axis.var] = np.dtype(axis.var.dtype).type(value)
        assert axis.dom is not None
        first = int(machine.value(axis.dom.min))
        if not first <= value < first + int(machine.value(axis.dom.extent)):
            raise Undefined(f"iterator {axis.var.name} is {value}, outside of its domain")
        is_first &= axis.kind != "CommReduce" or value == first
    for buffer in block.alloc_buffers:
        machine.allocate(buffer.data, buffer.dtype, buffer.shape, buffer.strides)
    for match in block.match_buffers:
        _match(machine, match)
    if machine.is_strict:
        machine.stated.append(_stated(machine, block))
    if block.init is not None and is_first:
        machine.execute(block.init)
    machine.execute(block.body)
    if machine.is_strict:
        machine.stated.pop()


_Regions = list[tuple[E.Buffer, list[tuple[int, int]]]] | None


def _stated(machine: _Machine, block: Any) -> _Regions:
    """What a block states that it accesses; None if it states nothing."""
    if block.match_buffers or not (block.reads or block.writes):
        return None
    found = []
    for region in (*block.reads, *block.writes):
        low = machine.integers([one.min for one in region.region])
        extents = machine.integers([one.extent for one in region.region])
        bounds = [(a, a + n) for a, n in zip(low, extents, strict=True)]
        found.append((region.buffer, bounds))
    return found


def _match(machine: _Machine, match: Any) -> None:
    """Make the buffer of a `match_buffer` a view of the elements of its region."""
    source, view = match.source.buffer, match.buffer
    low = machine.integers([one.min for one in match.source.region])
    machine.views[view] = source, low
    machine.memory[view.data], slots = machine.place(source, low)
    offset = [(view.elem_offset, slots[0])]
    for wanted, found in [*zip(view.strides, machine.strides(view), strict=False), *offset]:
        if type(wanted) is E.Var:
            machine.env[wanted] = np.dtype(wanted.dtype).type(found)


_ACTIONS: dict[type, Callable[[_Machine, Any], None]] = {
    S.BufferStore: _store,
    S.For: _loop,
    S.While: _while,
    S.IfThenElse: _choose,
    S.LetStmt: _bind,
    S.AttrStmt: _attribute,
    S.AssertStmt: lambda machine, s: machine.execute(s.body),
    S.Allocate: _allocate,
    S.SeqStmt: _sequence,
    S.Evaluate: lambda machine, s: machine.value(s.value),
    AllocateConst: _constant,
    DeclBuffer: _declare,
    BlockRealize: _realize,
}
