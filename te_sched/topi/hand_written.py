"""Operators written as explicit loops: scans, scatters and searches.

Must not know targets: only loops over independent rows are parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import builder, dtypes, ops
from te_sched.ir.builder import BufferVar, IRBuilder
from te_sched.signatures import is_sequence
from te_sched.te.tensor import Tensor
from te_sched.topi.transform import index_depth, reshape
from te_sched.topi.utils import (
    Number,
    Size,
    Sizes,
    check_choice,
    check_rank,
    check_same,
    check_tensor,
    extern,
    normalized_axis,
    prod,
    tensor_of,
)

Binary = Callable[[Any, Any], Any]

_REDUCTIONS: dict[str, Binary] = {
    "update": lambda old, new: new,
    "add": ops.add,
    "mul": ops.mul,
    "min": ops.minimum,
    "max": ops.maximum,
}


def _loops(ib: IRBuilder, extents: Sequence[Any], stack: ExitStack, kind: str = "serial") -> Any:
    """Enters nested loops into `stack` and returns their variables."""
    return [stack.enter_context(ib.for_range(0, extent, kind=kind)) for extent in extents]


def _made(shape: Any, inputs: list[Tensor], write: Any, name: str, dtype: str) -> Tensor:
    """The tensor that write(builder, input pointers, output pointer) fills."""

    def statement(ins: Any, outs: Any) -> Any:
        ib = builder.create()
        write(ib, [ib.buffer_ptr(buffer) for buffer in ins], ib.buffer_ptr(outs[0]))
        return ib.get()

    return extern([tuple(shape)], inputs, statement, name=name, dtype=[dtype], tag=name)


def _copy(ib: IRBuilder, source: BufferVar, target: BufferVar, shape: Sequence[Size]) -> None:
    with ExitStack() as stack:
        at = tuple(_loops(ib, shape, stack))
        target[at] = source[at]


def scanop(
    data: Tensor,
    binop: Binary,
    identity_value: Number,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """The scan of `binop` along an axis, or over all elements in row-major order.

    Parameters
    ----------
    identity_value : the identity of `binop`, which each scan starts from.
    dtype : dtype of the result, by default that of the data.
    exclusive : whether each result excludes its own element.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.scanop(A, te.add, 0, "my_sum", axis=1)
    Tensor(shape=[4, 8], op.name=my_sum)
    """
    source = check_tensor(data, op_name)
    if axis is None:
        source, axis = reshape(source, [prod(source.shape)]), 0
    along = normalized_axis(axis, source.ndim, op_name)
    kind = source.dtype if dtype is None else dtypes.spelled(dtype)
    others = [*source.shape[:along], *source.shape[along + 1 :]]

    def write(ib: IRBuilder, ins: list[BufferVar], out: BufferVar) -> None:
        with ExitStack() as stack:
            rest = _loops(ib, others, stack, "parallel" if others else "serial")[: len(others)]
            total = ib.allocate(kind, (1,), name="total", scope="local")
            total[0] = ops.cast(kind, ops.convert(identity_value))
            with ib.for_range(0, source.shape[along], name="k") as k:
                at = (*rest[:along], k, *rest[along:])
                if exclusive:
                    out[at] = total[0]
                total[0] = binop(total[0], ops.cast(kind, ins[0][at]))
                if not exclusive:
                    out[at] = total[0]

    return _made(source.shape, [source], write, op_name, kind)


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """The cumulative sum along an axis, or over all elements; see scanop.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.cumsum(A, axis=1).shape, topi.cumsum(A).shape
    ([4, 8], [32])
    """
    return scanop(data, ops.add, 0, "cumsum_generic", axis, dtype, exclusive)


def cumprod(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """The cumulative product along an axis, or over all elements; see scanop.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.cumprod(A, axis=0).shape
    [4, 8]
    """
    return scanop(data, ops.mul, 1, "cumprod_generic", axis, dtype, exclusive)


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """A copy of the data with updates written at `indices` along `axis`.

    indices, updates : tensors of one shape and the rank of the data.

    reduction : how to combine the old and the new value: "update", "add", "mul", "min" or "max".

    Negative indices count from the end.

    >>> A = te.placeholder((4, 8), name="A")
    >>> I = te.placeholder((2, 8), "int32", name="I")
    >>> U = te.placeholder((2, 8), name="U")
    >>> topi.scatter_elements(A, I, U).shape
    [4, 8]
    """
    check_choice(reduction, _REDUCTIONS, "scatter_elements", "reduction")
    combine = _REDUCTIONS[reduction]
    source, where = (
        check_tensor(data, "scatter_elements"),
        check_tensor(indices, "scatter_elements"),
    )
    at = normalized_axis(axis, source.ndim, "scatter_elements")
    check_same(where.ndim, source.ndim, "scatter_elements", "rank of indices")
    check_same(updates.ndim, where.ndim, "scatter_elements", "rank of updates")
    for a, b in zip(where.shape, updates.shape, strict=True):
        check_same(b, a, "scatter_elements", "extent of updates")

    def write(ib: IRBuilder, ins: list[BufferVar], out: BufferVar) -> None:
        _copy(ib, ins[0], out, source.shape)
        with ExitStack() as stack:
            position = tuple(_loops(ib, where.shape, stack))
            index = ins[1][position]
            inside = te.select(index < 0, index + source.shape[at], index)
            target = (*position[:at], inside, *position[at + 1 :])
            out[target] = combine(out[target], ins[2][position])

    return _made(source.shape, [source, where, updates], write, "scatter_elements", source.dtype)


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """A copy of the data with updates, elements or slices, written at index vectors.

    indices : index vectors along the first dimension.
    mode : as `reduction` of scatter_elements.

    >>> A = te.placeholder((4, 8), name="A")
    >>> I = te.placeholder((2, 5), "int32", name="I")
    >>> U = te.placeholder((5,), name="U")
    >>> topi.scatter_nd(A, I, U, mode="add").shape
    [4, 8]
    """
    check_choice(mode, _REDUCTIONS, "scatter_nd", "mode")
    combine = _REDUCTIONS[mode]
    source, where = check_tensor(data, "scatter_nd"), check_tensor(indices, "scatter_nd")
    depth, points = index_depth(where, "scatter_nd"), where.ndim - 1
    check_same(updates.ndim, points + source.ndim - depth, "scatter_nd", "rank of updates")

    def write(ib: IRBuilder, ins: list[BufferVar], out: BufferVar) -> None:
        _copy(ib, ins[0], out, source.shape)
        with ExitStack() as stack:
            position = _loops(ib, updates.shape, stack)
            index = [ins[1][(part, *position[:points])] for part in range(depth)]
            target = (*index, *position[points:])
            out[target] = combine(out[target], ins[2][tuple(position)])

    return _made(source.shape, [source, where, updates], write, "scatter_nd", source.dtype)


def sparse_to_dense(
    sparse_indices: Tensor, output_shape: Sizes, sparse_values: Tensor, default_value: Number = 0
) -> Tensor:
    """A dense tensor with values at the given indices and `default_value` elsewhere.

    sparse_indices : one index vector in each row.

    >>> I = te.placeholder((5, 2), "int32", name="I")
    >>> V = te.placeholder((5,), name="V")
    >>> topi.sparse_to_dense(I, (4, 8), V).shape
    [4, 8]
    """
    where, values = (
        check_tensor(tensor, "sparse_to_dense") for tensor in (sparse_indices, sparse_values)
    )
    shape = list(output_shape) if is_sequence(output_shape) else [output_shape]
    start: Any = ops.cast(
        values.dtype, default_value() if isinstance(default_value, Tensor) else default_value
    )

    def write(ib: IRBuilder, ins: list[BufferVar], out: BufferVar) -> None:
        with ExitStack() as stack:
            out[tuple(_loops(ib, shape, stack))] = start
        with ExitStack() as stack:
            row = _loops(ib, where.shape[:1], stack)
            parts = range(len(shape)) if where.ndim == 2 else None
            index = [ins[0][(*row, *((n,) if parts else ()))] for n in parts or (0,)]
            out[tuple(index)] = ins[1][tuple(row)] if values.ndim else ins[1][0]

    return _made(shape, [where, values], write, "sparse_to_dense", values.dtype)


def invert_permutation(data: Tensor) -> Tensor:
    """The inverse permutation: element data[i] of the result is i.

    >>> P = te.placeholder((8,), "int32", name="P")
    >>> topi.invert_permutation(P)
    Tensor(shape=[8], op.name=invert_permutation)
    """
    source = check_rank(data, 1, "invert_permutation")

    def write(ib: IRBuilder, ins: list[BufferVar], out: BufferVar) -> None:
        with ib.for_range(0, source.shape[0]) as i:
            out[ins[0][i]] = ops.cast(source.dtype, i)

    return _made(source.shape, [source], write, "invert_permutation", source.dtype)


def searchsorted(
    sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: str = "int64"
) -> Tensor:
    """The insertion indices of values into a sorted sequence.

    sorted_sequence : sorted along its last dimension; a vector, or a row for each row of values.
    right : insert after equal elements instead of before them.

    >>> S, V = te.placeholder((100,), name="S"), te.placeholder((4, 8), name="V")
    >>> topi.searchsorted(S, V).shape
    [4, 8]
    """
    source, wanted = (check_tensor(tensor, "searchsorted") for tensor in (sorted_sequence, values))
    if source.ndim not in (1, wanted.ndim) or not source.ndim:
        raise DeclarationError(
            f"topi.searchsorted sequence has {source.ndim} dimensions, values have {wanted.ndim}",
            "",
            "give a vector, or a row for each row of values",
        )
    count = source.shape[-1]

    def write(ib: IRBuilder, ins: list[BufferVar], out: BufferVar) -> None:
        with ExitStack() as stack:
            at = tuple(_loops(ib, wanted.shape, stack))
            low = ib.allocate("int32", (1,), name="low", scope="local")
            high = ib.allocate("int32", (1,), name="high", scope="local")
            low[0], high[0] = 0, ops.cast("int32", count)
            with ib.while_loop(low[0] < high[0]):
                middle = ib.let("middle", ops.floordiv(low[0] + high[0], 2))
                element = ins[0][(*at[: source.ndim - 1], middle)]
                value = ins[1][at]
                is_before = element <= value if right else element < value
                if dtypes.is_float(wanted.dtype):  # NaN is after all numbers
                    is_before = te.any(is_before, te.isnan(value))
                with ib.if_scope(is_before):
                    low[0] = middle + 1
                with ib.else_scope():
                    high[0] = middle
            out[at] = ops.cast(out_dtype, low[0])

    return _made(wanted.shape, [source, wanted], write, "searchsorted", out_dtype)


def unravel_index(indices: Tensor, shape: Tensor) -> Tensor:
    """The index vectors, along a new first dimension, of flat indices into a row-major array.

    >>> I = te.placeholder((5,), "int32", name="I")
    >>> S = te.placeholder((2,), "int32", name="S")
    >>> topi.unravel_index(I, S).shape
    [2, 5]
    """
    where, extents = check_tensor(indices, "unravel_index"), check_rank(shape, 1, "unravel_index")
    rank = index_depth(extents, "unravel_index")

    def element(part: Any, *i: Any) -> Any:
        rest: Any = where(*i)
        parts = []
        for number in reversed(range(rank)):
            parts.append(ops.floormod(rest, extents(number)))
            rest = ops.floordiv(rest, extents(number))
        value: Any = parts[-1]
        for number in range(1, rank):
            value = te.if_then_else(ops.equal(part, number), parts[rank - 1 - number], value)
        return value

    return tensor_of([rank, *where.shape], element, "T_unravel_index")
