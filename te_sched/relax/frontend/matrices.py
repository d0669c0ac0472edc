"""Functions of matrices, as tensor expressions. Must not know the format of a model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from te_sched import te
from te_sched.ir import builder as loops
from te_sched.ir import ops
from te_sched.ir.builder import BufferVar, IRBuilder
from te_sched.ir.expr import Buffer, Expr
from te_sched.ir.stmt import Stmt
from te_sched.te.tensor import Tensor


def determinant(x: Tensor) -> Tensor:
    """The determinants of square matrices, the last two dimensions, by Gauss' elimination.

    The greatest element of each column is the pivot.
    """
    size, outer, dtype = x.shape[-1], list(x.shape[:-2]), x.dtype

    def statement(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        ib = loops.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        rows = ib.allocate(dtype, (size, size), name="rows", scope="global")
        product = ib.allocate(dtype, (1,), name="product", scope="local")
        with ExitStack() as stack:
            index = tuple([stack.enter_context(ib.for_range(0, extent)) for extent in outer])
            with ib.for_range(0, size) as i, ib.for_range(0, size) as j:
                rows[i, j] = source[(*index, i, j)]
            product[0] = ops.const(1, dtype)
            with ib.for_range(0, size, name="k") as k:
                _eliminate(ib, rows, product, k, size)
            result[index] = product[0]
        return ib.get()

    made: Tensor = te.extern([tuple(outer)], [x], statement, name="determinant", dtype=[dtype])
    return made


def _eliminate(ib: IRBuilder, rows: BufferVar, product: BufferVar, k: Expr, size: Expr) -> None:
    """Make zeros below the diagonal in column k, and multiply the product by its pivot."""
    pivot = ib.allocate("int64", (1,), name="pivot", scope="local")
    pivot[0] = ops.cast("int64", k)
    with ib.for_range(0, size - k - 1, name="i") as i:
        is_greater = te.abs(rows[k + 1 + i, k]) > te.abs(rows[pivot[0], k])
        with ib.if_scope(is_greater):
            pivot[0] = ops.cast("int64", k + 1 + i)
    with ib.if_scope(ops.not_equal(pivot[0], k)):
        product[0] = ops.const(0, product.dtype) - product[0]
        with ib.for_range(0, size, name="j") as j:
            value = ib.let("value", rows[k, j])
            rows[k, j] = rows[pivot[0], j]
            rows[pivot[0], j] = value
    product[0] = product[0] * rows[k, k]
    is_regular = ops.not_equal(rows[k, k], ops.const(0, product.dtype))
    with ib.if_scope(is_regular), ib.for_range(0, size - k - 1, name="i") as i:
        factor = ib.let("factor", rows[k + 1 + i, k] / rows[k, k])
        with ib.for_range(0, size - k, name="j") as j:
            rows[k + 1 + i, k + j] = rows[k + 1 + i, k + j] - factor * rows[k, k + j]
