"""Numbers that describe the loops of a schedule, for cost models.

A row for each loop, after "Learning to Optimize Tensor Programs" (Chen and others, 2018), with
TVM's names: the loop's length, its depth, the iterations outside and inside of it, its kind; the
arithmetic that it executes itself; and for each access inside of it

- the stride, in elements, of the access along the loop (0: it does not move),
- the modulus of its index (-1: there is none),
- the number of elements that the loops from this one inwards touch, and how often each is touched,
- both again for the threads of a parallel loop, else 0.

Initializations of reductions are left out, and loops of one iteration kept, so that all schedules
of a template have rows of the same lengths. Must not know models.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from te_sched import config
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.record import decode
from te_sched.autotvm.task.task import create
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.expr import (
    Add,
    BinaryOp,
    BufferLoad,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
    Var,
)
from te_sched.ir.stmt import AttrStmt, BufferStore, For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import children, walk
from te_sched.lowering.pipeline import scheduled_loops
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import checked
from te_sched.te.tensor import Tensor

_THREADS = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")
_KINDS = (*_THREADS, "unrolled", "vectorized", "parallel", "serial", "virtual")
_THREADED = frozenset({*_THREADS, "parallel"})
_ATTRIBUTES = ("length", "nest_level", "topdown", "bottomup", *(f"ann_{n}" for n in range(11)))
_ARITHMETIC = ("add", "mul", "div")
_ACCESS = ("stride", "mod", "count", "reuse", "T_count", "T_reuse")
_OPERATIONS = {Add: "add", Sub: "add", Mul: "mul", Div: "div", FloorDiv: "div", Mod: "div"}
Row = list[list[Any]]


class _Access(NamedTuple):
    name: str  # of its buffer, with the number of the access
    strides: Mapping[Var, int]  # how far it moves in memory along each loop around it
    modulus: int


class _Loop(NamedTuple):
    var: Var
    extent: int
    kind: str
    outer: tuple[_Loop, ...]
    accesses: list[tuple[_Access, tuple[_Loop, ...]]]  # with the loops from this one inwards
    arithmetic: Counter[str]
    iterations: list[int]  # of each store inside


@checked
def ana_lower(
    sch: Schedule,
    args: Sequence[Tensor],
    binds: Mapping[Tensor, Any] | None = None,
    simple_mode: bool = True,
) -> PrimFunc:
    """The program of a schedule with all its loops, also those of one iteration."""
    del binds, simple_mode
    kept = dataclasses.replace(config.current().lowering, keep_trivial_loops=True)
    with config.scoped(lowering=kept):
        return scheduled_loops(sch, args)


@checked
def get_itervar_feature(sch: Schedule, args: Sequence[Tensor], take_log: bool = False) -> list[Row]:
    """The rows of all loops, outer ones first.

    A row is a list of lists: ["_itervar_", variable], ["_attr_", ...], ["_arith_", ...] and one
    for each access, such as ["A_0", ...].

    Parameters
    ----------
    take_log : whether numbers are replaced by their logarithms, with their signs.

    >>> A = te.placeholder((8, 4), name="A")
    >>> B = te.compute((8, 4), lambda i, j: A[i, j] * 2.0, name="B")
    >>> for row in get_itervar_feature(te.create_schedule(B.op), [A, B]):
    ...     print(row[0][1], row[1][1:5], row[3])
    i [8, 1, 8, 32] ['A_0', 4, -1, 32, 1, 0, 0]
    j [4, 2, 32, 4] ['A_0', 1, -1, 4, 1, 0, 0]
    """
    rows = [_row(loop) for loop in _LoopCollector(ana_lower(sch, args)).loops]
    return [_logarithms(row) for row in rows] if take_log else rows


def _logarithms(row: Row) -> Row:
    """Numbers as logarithms, but for the depth and the kind."""
    itervar, attributes, *rest = row
    counts = [attributes[1], *attributes[3:5]]
    length, *iterations = map(_logarithm, counts)
    logs = [["_attr_", length, attributes[2], *iterations, *attributes[5:]]]
    return [itervar, *logs, *[[name, *map(_logarithm, values)] for name, *values in rest]]


def _logarithm(value: float) -> float:
    return math.copysign(math.log2(abs(value) + 1), value) if value else 0.0


def _row(loop: _Loop) -> Row:
    iterations = sum(loop.iterations)
    outside = math.prod(outer_loop.extent for outer_loop in loop.outer) * loop.extent
    inside = max(1, iterations // max(1, outside))
    kinds = [int(loop.kind == kind) for kind in _KINDS]
    row: Row = [
        ["_itervar_", loop.var],
        ["_attr_", loop.extent, len(loop.outer) + 1, outside, inside * loop.extent, *kinds],
        ["_arith_", *(loop.arithmetic[operation] for operation in _ARITHMETIC)],
    ]
    for access, loops in sorted(loop.accesses, key=lambda entry: _natural(entry[0].name)):
        row.append([access.name, *_access_numbers(loop, access, loops)])
    return row


def _natural(name: str) -> tuple[str, int]:
    """Names in the order of buffers, then of numbers."""
    buffer, _, number = name.rpartition("_")
    return buffer, int(number)


def _access_numbers(loop: _Loop, access: _Access, inner: tuple[_Loop, ...]) -> list[int]:
    stride = access.strides[loop.var]
    count = math.prod(loop.extent for loop in inner if access.strides[loop.var])
    total = math.prod(loop.extent for loop in inner)
    threads = [0, 0]
    if loop.kind in _THREADED:
        threads = [loop.extent, 1] if stride else [1, loop.extent]
    return [stride, access.modulus, count, total // max(count, 1), *threads]


def _modulus(index: Expr) -> int:
    """The divisor of the first remainder in an index; -1 without one."""
    for node in walk(index):
        if isinstance(node, FloorMod | Mod) and isinstance(node.b, IntImm):
            return node.b.value
    return -1


def _value(e: Any, values: Mapping[Var, int]) -> int:
    """An index where all other variables, and what cannot be evaluated, are 0."""
    if isinstance(e, IntImm):
        return e.value
    if isinstance(e, Var):
        return values.get(e, 0)
    if isinstance(e, Cast):
        return _value(e.value, values)
    if not isinstance(e, BinaryOp):
        return 0
    a, b = _value(e.a, values), _value(e.b, values)
    if isinstance(e, Add):
        return a + b
    if isinstance(e, Sub):
        return a - b
    if isinstance(e, Mul):
        return a * b
    if isinstance(e, Min | Max):
        return min(a, b) if isinstance(e, Min) else max(a, b)
    if b == 0:
        return 0
    return a % b if isinstance(e, FloorMod | Mod) else a // b


class _LoopCollector:
    """The loops of a program, outer ones first, with what is inside of them."""

    def __init__(self, func: PrimFunc) -> None:
        self.loops: list[_Loop] = []
        self._counts: Counter[str] = Counter()
        stores = [node for node in walk(func.body) if isinstance(node, BufferStore)]
        self._updated = {store.buffer for store in stores if store.buffer in _loaded(store)}
        self._visit(func.body, ())
        self.loops = [loop for loop in self.loops if loop.iterations]

    def _visit(self, s: Any, outer: tuple[_Loop, ...]) -> None:
        if isinstance(s, BufferStore):
            self._store(s, outer)
        elif isinstance(s, For):
            self._enter(s.loop_var, s.extent, s.kind, s.body, outer)
        elif isinstance(s, AttrStmt) and isinstance(s.node, IterVar) and "thread" in s.key:
            kind = "virtual" if s.key == "virtual_thread" else s.node.thread_tag
            self._enter(s.node.var, s.value, kind, s.body, outer)
        else:
            for part in s.seq if isinstance(s, SeqStmt) else children(s):
                if isinstance(part, Stmt):
                    self._visit(part, outer)

    def _enter(
        self, var: Var, extent: Expr, kind: str, body: Stmt, outer: tuple[_Loop, ...]
    ) -> None:
        length = extent.value if isinstance(extent, IntImm) else 1
        loop = _Loop(var, length, kind, outer, [], Counter(), [])
        self.loops.append(loop)
        self._visit(body, (*outer, loop))

    def _store(self, store: BufferStore, loops: tuple[_Loop, ...]) -> None:
        loaded: list[Any] = [node for node in walk(store.value) if isinstance(node, BufferLoad)]
        if store.buffer in self._updated and store.buffer not in _loaded(store):
            return  # it initializes a reduction
        accesses = [self._access(node.buffer, node.indices, loops) for node in (*loaded, store)]
        total = math.prod(loop.extent for loop in loops)
        for number, loop in enumerate(loops):
            loop.accesses.extend((access, loops[number:]) for access in accesses)
            loop.iterations.append(total)
        if loops:
            loops[-1].arithmetic.update(_arithmetic(store.value))

    def _access(self, buffer: Any, indices: Sequence[Expr], loops: tuple[_Loop, ...]) -> _Access:
        number = self._counts[buffer.name]
        self._counts[buffer.name] += 1
        position: Expr = IntImm(0)
        for index, size in zip(indices, buffer.shape, strict=True):
            position = Add(Mul(position, size), index)
        base = _value(position, {})
        strides = {
            loop.var: _value(position, {loop.var: 1}) - base if loop.extent > 1 else 0
            for loop in loops
        }
        return _Access(f"{buffer.name}_{number}", strides, _modulus(position))


def _loaded(store: BufferStore) -> set[Any]:
    return {node.buffer for node in walk(store.value) if isinstance(node, BufferLoad)}


def _arithmetic(value: Expr) -> Counter[str]:
    """The operations of an expression, without those of indices."""
    pending: list[Any] = [value]
    counts: Counter[str] = Counter()
    while pending:
        node = pending.pop()
        counts[_OPERATIONS.get(type(node), "")] += 1
        pending += () if isinstance(node, BufferLoad) else children(node)
    return counts


@checked
def flatten_itervar_feature(fea: Sequence[Row]) -> Any:
    """The numbers of rows as a vector."""
    return np.array([value for row in fea for _, *values in row[1:] for value in values], float)


@checked
def get_itervar_feature_flatten(
    sch: Schedule, args: Sequence[Tensor], take_log: bool = True
) -> Any:
    """The numbers of the rows of all loops as a vector."""
    return flatten_itervar_feature(get_itervar_feature(sch, args, take_log))


@checked
def get_flatten_name(fea: str | Sequence[Any]) -> list[str]:
    """The names of the numbers of `flatten_itervar_feature`.

    Parameters
    ----------
    fea : rows, or a line of a log.
    """
    rows: Sequence[Any] = _rows_of_line(fea) if isinstance(fea, str) else fea
    if not all(isinstance(row, list | tuple) and len(row) > 1 for row in rows):
        raise DeclarationError(
            f"{repr_of(fea)} has other rows than those of get_itervar_feature",
            "",
            "pass its result, or a line of a log",
        )
    fields = {"_attr_": _ATTRIBUTES, "_arith_": _ARITHMETIC}
    names = [
        f"{row[0][1]}.{name}.{field}"
        for row in rows
        for name, *_ in row[1:]
        for field in fields.get(name, _ACCESS)
    ]
    return [f"f{number}.{name}" for number, name in enumerate(names)]


def _rows_of_line(line: str) -> list[Row]:
    record = decode(line)
    if record is None:
        raise DeclarationError(
            f"{repr_of(line)} is a line of a log that is too old", "", "measure again"
        )
    inp = record[0]
    task = create(inp.task.name, inp.task.args, inp.target)
    with inp.target:
        return get_itervar_feature(*task.instantiate(inp.config))


@checked
def get_buffer_curve_sample_flatten(
    sch: Schedule, args: Sequence[Tensor], sample_n: int = 30
) -> Any:
    """Curves of how accesses trade memory for reuse, sampled at powers of two, as a vector.

    For each buffer there are four: the most reuse within a number of elements, the fewest elements
    for a reuse, the most outer iterations within a number of elements, and the fewest elements for
    a number of outer iterations. A point is a logarithm and its place: the length of the vector is
    that of the buffers times 8 `sample_n`, for all programs.
    """
    points: dict[str, list[tuple[float, float, float]]] = {}
    for row in get_itervar_feature(sch, args):
        outside = row[1][3]
        for name, _, _, count, reuse, *_ in row[3:]:
            points.setdefault(name.rpartition("_")[0], []).append((count, reuse, outside))
    vector: list[float] = []
    for _, samples in sorted(points.items()):
        counts, reuses, outsides = (
            np.log2(column) for column in np.maximum(np.array(samples).T, 1)
        )
        for places, values, choose in (
            (counts, reuses, np.maximum),
            (reuses, counts, np.minimum),
            (counts, outsides, np.maximum),
            (outsides, counts, np.minimum),
        ):
            vector += _curve(places, values, choose, sample_n)
    return np.array(vector)


def _curve(places: Any, values: Any, choose: Any, count: int) -> list[float]:
    """At 0 to `count` - 1: the largest value up to there, or the smallest one from there on."""
    samples: list[float] = []
    for at in range(count):
        inside = values[places <= at] if choose is np.maximum else values[places >= at]
        samples += [float(choose.reduce(inside)) if len(inside) else 0.0, float(at)]
    return samples


_tell_of_absent_names(__name__)
