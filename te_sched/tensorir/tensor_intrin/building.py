"""Functions of which tensor intrinsics are made: parameters, dot products, vectors.

Must not know any target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize, whole_buffer
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_llvm_pure_intrin
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    BufferRegion,
    Call,
    Expr,
    IntImm,
    IterVar,
    Ramp,
    Range,
    Var,
)
from te_sched.ir.intrinsics import reinterpret
from te_sched.ir.stmt import BufferStore, For, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import walk
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL

Pair = tuple[PrimFunc, PrimFunc]
Buffers = tuple[Buffer, Buffer, Buffer]


def parameter(
    name: str,
    shape: Sequence[int],
    dtype: str,
    scope: str = "",
    alignment: int = -1,
    offset_factor: int = 1,
    is_strided: bool = False,
) -> Buffer:
    """A buffer of an intrinsic, whose offset is any multiple of a number; with any strides if it
    `is_strided`.
    """
    strides = (
        [Var(f"{name}_s{dimension}") for dimension in range(len(shape))] if is_strided else None
    )
    return decl_buffer(
        shape,
        dtype,
        name,
        strides=strides,
        scope=scope,
        data_alignment=alignment,
        offset_factor=offset_factor,
    )


def function(buffers: Sequence[Buffer], body: Stmt, reads: Sequence[Buffer]) -> PrimFunc:
    """A function of buffers that reads some of them and writes the last."""
    params = [Var(f"{buffer.name}_handle", "handle") for buffer in buffers]
    root = Block(
        (),
        tuple(map(whole_buffer, reads)),
        (whole_buffer(buffers[-1]),),
        "root",
        None,
        body,
    )
    realize = BlockRealize((), ops.TRUE, root)
    return PrimFunc(tuple(params), realize, dict(zip(params, buffers, strict=True)))


def loops(
    names: str,
    kinds: Sequence[str],
    extents: Sequence[int],
    body: Callable[..., BufferStore],
    block: str = "update",
    prefix: str = "v",
) -> Stmt:
    """Loops around a block with an iterator for each, that makes a store of them."""
    variables = [Var(name) for name in names]
    axes = [
        IterVar(Range(IntImm(0), IntImm(extent)), Var(f"{prefix.format(name)}{name}"), kind)
        for name, kind, extent in zip(names, kinds, extents, strict=True)
    ]
    store = body(*[axis.var for axis in axes])
    loads = [load for load in walk(store.value) if isinstance(load, BufferLoad)]
    nest: Stmt = BlockRealize(
        tuple(variables),
        ops.TRUE,
        Block(
            tuple(axes),
            tuple(map(_element, loads)),
            (_element(BufferLoad(store.buffer, store.indices)),),
            block,
            None,
            store,
        ),
    )
    for var, extent in reversed(list(zip(variables, extents, strict=True))):
        nest = For(var, IntImm(0), IntImm(extent), "serial", nest)
    return nest


def _element(load: BufferLoad) -> BufferRegion:
    return BufferRegion(load.buffer, tuple([Range(index, IntImm(1)) for index in load.indices]))


def updated(target: BufferLoad, a: Expr, b: Expr) -> BufferStore:
    """The store target = target + a * b, with a and b converted to its dtype."""
    value = target + ops.cast(target.dtype, a) * ops.cast(target.dtype, b)
    return BufferStore(target.buffer, value, target.indices)


class Vectors:
    """Statements on vectors: variables for values, and what is done with them."""

    def __init__(self) -> None:
        self.bound: list[tuple[Var, Expr]] = []

    def let(self, name: str, value: Expr) -> Var:
        """A variable for a value."""
        self.bound.append((Var(name, value.dtype), value))
        return self.bound[-1][0]

    def then(self, body: Stmt) -> Stmt:
        """The statement in which the variables have their values."""
        for var, value in reversed(self.bound):
            body = LetStmt(var, value, body)
        return body


def vector(buffer: Buffer, count: int, row: int = 0) -> BufferLoad:
    """The elements of a buffer from a row on, across its rows."""
    rows = [IntImm(row)] * (len(buffer.shape) - 1)
    return BufferLoad(buffer, (*rows, Ramp(IntImm(0), IntImm(1), count)))


def stored(buffer: Buffer, value: Expr, count: int) -> BufferStore:
    """A store of the first elements of a buffer."""
    return BufferStore(buffer, value, vector(buffer, count).indices)


def as_bits(dtype: str, value: Expr) -> Expr:
    """A value with the same bits."""
    return reinterpret(dtype, value)


def llvm(dtype: str, name: str, *args: Expr) -> Call:
    """A call of an LLVM intrinsic."""
    return call_llvm_pure_intrin(dtype, name, ops.const(len(args), "uint32"), *args)


def dot_product(
    rows: int,
    depth: int,
    dtypes: Sequence[str],
    compute: Callable[[Buffers], Stmt],
    has_rows_first: bool = False,
    scope: str = "",
) -> Pair:
    """C[i] += A[k] * B[i, k] for `rows` rows of `depth` elements; `compute` makes the statement
    that computes it. Factors have the other order if it `has_rows_first`; C has
    a storage scope.
    """

    def buffers() -> Buffers:
        return (
            parameter("A", (depth,), dtypes[0]),
            parameter("B", (rows, depth), dtypes[1]),
            parameter("C", (rows,), dtypes[2], scope),
        )

    a, b, c = buffers()

    def update(i: Var, k: Var) -> BufferStore:
        four, row = BufferLoad(a, (k,)), BufferLoad(b, (i, k))
        factors = (row, four) if has_rows_first else (four, row)
        return updated(BufferLoad(c, (i,)), *factors)

    body = loops("ik", (SPATIAL, REDUCTION), (rows, depth), update)
    own = buffers()
    described = function((a, b, c), body, (c, a, b))
    return described, function(own, compute(own), (own[2], own[0], own[1]))
