"""Functions of matrices, the last two dimensions of tensors, as tensor expressions.

Each is one loop over the matrices of a batch. Nothing raises an error: singular matrices have
factors with zeros, codes above 0, and inverses with infinite elements or NaN. Must not know the
format of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from te_sched import te
from te_sched.ir import builder as loops
from te_sched.ir import ops
from te_sched.ir.builder import BufferVar, IRBuilder
from te_sched.ir.expr import Buffer, Expr, ExprLike
from te_sched.ir.stmt import Stmt
from te_sched.te.tensor import Tensor

Extents = Sequence[Expr]


class MatrixPart(NamedTuple):
    """What a buffer has for a matrix of a batch: a matrix, a vector or a number."""

    buffer: BufferVar
    batch: tuple[Expr, ...]

    def get(self, *index: ExprLike) -> Expr:
        """An element."""
        return self.buffer[(*self.batch, *index)]

    def set(self, value: ExprLike, *index: ExprLike) -> None:
        """Write an element."""
        self.buffer[(*self.batch, *index)] = value

    def number(self, value: float) -> Expr:
        """A number of the dtype of the elements."""
        return ops.const(value, self.buffer.dtype)


_Write = Callable[..., None]


def of_matrices(
    tensors: Sequence[Tensor], results: Sequence[tuple[Extents, str]], write: _Write, name: str
) -> list[Tensor]:
    """Tensors that `write(builder, *parts)` computes for each matrix of a batch."""
    return _of_batches(tensors, 2, results, write, name)


def _of_batches(
    tensors: Sequence[Tensor],
    rank: int,
    results: Sequence[tuple[Extents, str]],
    write: _Write,
    name: str,
) -> list[Tensor]:
    """Tensors that `write(builder, *parts)` computes for each element of a batch.

    Parameters
    ----------
    rank : the dimensions of an element of the first tensor.
    results : the sizes, behind those of the batch, and the dtypes of the results.
    """
    batch = list(tensors[0].shape[: tensors[0].ndim - rank])

    def statement(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        ib = loops.create()
        pointers = [ib.buffer_ptr(buffer) for buffer in (*ins, *outs)]
        with ExitStack() as stack:
            index = tuple([stack.enter_context(ib.for_range(0, extent)) for extent in batch])
            write(ib, *[MatrixPart(pointer, index) for pointer in pointers])
        return ib.get()

    shapes = [(*batch, *extents) for extents, _ in results]
    dtypes = [dtype for _, dtype in results]
    outputs = te.extern(shapes, list(tensors), statement, name=name, dtype=dtypes)
    return [outputs] if isinstance(outputs, Tensor) else list(outputs)


def copy_matrix(
    ib: IRBuilder, source: MatrixPart, target: MatrixPart, rows: Expr, columns: Expr
) -> None:
    with ib.for_range(0, rows, name="i") as i, ib.for_range(0, columns, name="j") as j:
        target.set(ops.cast(target.buffer.dtype, source.get(i, j)), i, j)


def accumulator(ib: IRBuilder, value: Expr) -> BufferVar:
    """A variable that loops change."""
    total = ib.allocate(value.dtype, (1,), name="total", scope="local")
    total[0] = value
    return total


def lu_factors(x: Tensor) -> list[Tensor]:
    """The factors L and U of matrices with their rows exchanged, in one matrix, as LAPACK.

    The pivots are the rows, counted from 1, with which row k was exchanged: the greatest element
    of each column. The code is 0, or the number of the first pivot that is 0.
    """
    rows, columns = x.shape[-2:]
    count = ops.minimum(rows, columns)

    def write(
        ib: IRBuilder, source: MatrixPart, factors: MatrixPart, pivots: MatrixPart, code: MatrixPart
    ) -> None:
        copy_matrix(ib, source, factors, rows, columns)
        code.set(code.number(0))
        with ib.for_range(0, count, name="k") as k:
            _exchange_rows(ib, factors, pivots, k, rows, columns)
            is_regular = ops.not_equal(factors.get(k, k), factors.number(0))
            with ib.if_scope(is_regular), ib.for_range(0, rows - k - 1, name="i") as i:
                row = k + 1 + i
                factor = ib.let("factor", factors.get(row, k) / factors.get(k, k))
                factors.set(factor, row, k)
                with ib.for_range(0, columns - k - 1, name="j") as j:
                    column = k + 1 + j
                    rest = factors.get(row, column) - factor * factors.get(k, column)
                    factors.set(rest, row, column)
            with ib.else_scope(), ib.if_scope(ops.equal(code.get(), 0)):
                code.set(ops.cast("int32", k + 1))

    results: list[tuple[Extents, str]] = [
        ([rows, columns], x.dtype),
        ([count], "int32"),
        ([], "int32"),
    ]
    return of_matrices([x], results, write, "lu_factors")


def _exchange_rows(
    ib: IRBuilder, factors: MatrixPart, pivots: MatrixPart, k: Expr, rows: Expr, columns: Expr
) -> None:
    """Exchange row k with that of the greatest element below the diagonal of column k."""
    pivot = accumulator(ib, ops.cast("int64", k))
    with ib.for_range(0, rows - k - 1, name="i") as i:
        is_greater = te.abs(factors.get(k + 1 + i, k)) > te.abs(factors.get(pivot[0], k))
        with ib.if_scope(is_greater):
            pivot[0] = ops.cast("int64", k + 1 + i)
    pivots.set(ops.cast("int32", pivot[0] + 1), k)
    with ib.if_scope(ops.not_equal(pivot[0], k)), ib.for_range(0, columns, name="j") as j:
        _swap(ib, factors, k, pivot[0], j)


def _swap(ib: IRBuilder, matrix: MatrixPart, first: Expr, second: Expr, column: Expr) -> None:
    value = ib.let("value", matrix.get(first, column))
    matrix.set(matrix.get(second, column), first, column)
    matrix.set(value, second, column)


def log_determinant(factors: Tensor, pivots: Tensor) -> list[Tensor]:
    """The signs of determinants of factored matrices, and the logarithms of their sizes."""
    size, dtype = factors.shape[-1], factors.dtype

    def write(
        ib: IRBuilder, lu: MatrixPart, exchanges: MatrixPart, sign: MatrixPart, log: MatrixPart
    ) -> None:
        sign.set(sign.number(1))
        log.set(log.number(0))
        with ib.for_range(0, size, name="k") as k:
            sign.set(sign.get() * _sign(lu.get(k, k)) * _sign_of_exchange(lu, exchanges, k))
            log.set(log.get() + te.log(te.abs(lu.get(k, k))))

    results: list[tuple[Extents, str]] = [([], dtype), ([], dtype)]
    return of_matrices([factors, pivots], results, write, "log_determinant")


def _sign(value: Expr) -> Expr:
    """1, -1 or 0; NaN of NaN."""
    zero, one = ops.const(0, value.dtype), ops.const(1, value.dtype)
    return te.select(value > zero, one, te.select(value < zero, zero - one, value))


def determinant(factors: Tensor, pivots: Tensor) -> Tensor:
    """The determinants of square matrices, by their factors and pivots."""
    size = factors.shape[-1]

    def write(ib: IRBuilder, lu: MatrixPart, exchanges: MatrixPart, product: MatrixPart) -> None:
        product.set(product.number(1))
        with ib.for_range(0, size, name="k") as k:
            product.set(product.get() * lu.get(k, k) * _sign_of_exchange(lu, exchanges, k))

    return of_matrices([factors, pivots], [([], factors.dtype)], write, "determinant")[0]


def _sign_of_exchange(lu: MatrixPart, pivots: MatrixPart, k: Expr) -> Expr:
    is_same = ops.equal(pivots.get(k), ops.cast("int32", k + 1))
    return te.select(is_same, lu.number(1), lu.number(-1))


def solution(factors: Tensor, pivots: Tensor, b: Tensor, is_transposed: bool = False) -> Tensor:
    """The solutions of a @ x = b, by the factors of a, or of its transpose; batches have the same
    sizes.
    """
    size, columns = b.shape[-2:]
    shape = size, columns

    def write(
        ib: IRBuilder, lu: MatrixPart, exchanges: MatrixPart, source: MatrixPart, x: MatrixPart
    ) -> None:
        copy_matrix(ib, source, x, size, columns)
        if is_transposed:
            _substitute(ib, lu, x, shape, is_upper=False, has_ones=False, is_transposed=True)
            _substitute(ib, lu, x, shape, is_upper=True, has_ones=True, is_transposed=True)
            _exchange(ib, exchanges, x, shape, is_reversed=True)
            return
        _exchange(ib, exchanges, x, shape)
        _substitute(ib, lu, x, shape, is_upper=False, has_ones=True)
        _substitute(ib, lu, x, shape, is_upper=True, has_ones=False)

    inputs, results = [factors, pivots, b], [([size, columns], b.dtype)]
    return of_matrices(inputs, results, write, "solution")[0]


def _exchange(
    ib: IRBuilder,
    pivots: MatrixPart,
    x: MatrixPart,
    shape: tuple[Expr, Expr],
    is_reversed: bool = False,
) -> None:
    """Exchange the rows of a square system in the order of the pivots, or back."""
    size, columns = shape
    with ib.for_range(0, size, name="k") as k:
        row = size - 1 - k if is_reversed else k
        _exchange_row(ib, pivots, x, row, columns)


def _exchange_row(
    ib: IRBuilder, pivots: MatrixPart, x: MatrixPart, row: Expr, columns: Expr
) -> None:
    pivot = ib.let("pivot", pivots.get(row) - 1)
    is_moved = ops.not_equal(pivot, ops.cast("int32", row))
    with ib.if_scope(is_moved), ib.for_range(0, columns, name="j") as j:
        _swap(ib, x, row, pivot, j)


def permutation(pivots: Tensor, rows: ExprLike) -> Tensor:
    """The matrices of 0 and 1 that put the exchanged rows of factored matrices back."""
    count, extent = pivots.shape[-1], ops.convert(rows)

    def write(ib: IRBuilder, exchanges: MatrixPart, matrix: MatrixPart) -> None:
        with ib.for_range(0, extent, name="i") as i, ib.for_range(0, extent, name="j") as j:
            matrix.set(ops.cast("int32", ops.equal(i, j)), i, j)
        with ib.for_range(0, count, name="k") as k:
            _exchange_row(ib, exchanges, matrix, count - 1 - k, extent)

    return _of_batches([pivots], 1, [([extent, extent], "int32")], write, "permutation")[0]


def triangular_solution(a: Tensor, b: Tensor, is_upper: bool, has_ones: bool) -> Tensor:
    """The solutions of a @ x = b, of triangular matrices, whose other elements are not read.

    `has_ones`: the elements of the diagonal are 1, in place of those of the matrix.
    """
    size, columns = b.shape[-2:]

    def write(ib: IRBuilder, matrix: MatrixPart, source: MatrixPart, x: MatrixPart) -> None:
        copy_matrix(ib, source, x, size, columns)
        _substitute(ib, matrix, x, (size, columns), is_upper, has_ones)

    results = [([size, columns], b.dtype)]
    return of_matrices([a, b], results, write, "triangular_solution")[0]


def _substitute(
    ib: IRBuilder,
    matrix: MatrixPart,
    x: MatrixPart,
    shape: tuple[Expr, Expr],
    is_upper: bool,
    has_ones: bool,
    is_transposed: bool = False,
) -> None:
    """Solve a triangular system in place, a row after the other.

    `is_transposed`: the matrix is read transposed, whose upper triangle is that of `is_upper`.
    """

    def element(row: Expr, column: Expr) -> Expr:
        return matrix.get(column, row) if is_transposed else matrix.get(row, column)

    size, columns = shape
    with ib.for_range(0, size, name="k") as k:
        row = size - 1 - k if is_upper else k
        with ib.for_range(0, k, name="i") as i:
            other = size - 1 - i if is_upper else i
            factor = ib.let("factor", element(row, other))
            with ib.for_range(0, columns, name="j") as j:
                x.set(x.get(row, j) - factor * x.get(other, j), row, j)
        if not has_ones:
            with ib.for_range(0, columns, name="j") as j:
                x.set(x.get(row, j) / matrix.get(row, row), row, j)


def cholesky_factor(x: Tensor) -> list[Tensor]:
    """The lower factors of symmetric matrices, of which the lower half is read, and codes.

    A code is 0, or the number of the first pivot that is not positive, whose root is NaN or 0.
    """
    size = x.shape[-1]

    def write(ib: IRBuilder, source: MatrixPart, factor: MatrixPart, code: MatrixPart) -> None:
        code.set(code.number(0))
        with ib.for_range(0, size, name="j") as j:
            with ib.for_range(0, j, name="i") as i:
                factor.set(factor.number(0), i, j)
            with ib.for_range(0, size - j, name="i") as i:
                row = j + i
                rest = accumulator(ib, source.get(row, j))
                with ib.for_range(0, j, name="k") as k:
                    rest[0] = rest[0] - factor.get(row, k) * factor.get(j, k)
                with ib.if_scope(ops.equal(i, 0)):
                    is_first = te.all(
                        ops.logical_not(rest[0] > factor.number(0)), ops.equal(code.get(), 0)
                    )
                    with ib.if_scope(is_first):
                        code.set(ops.cast("int32", j + 1))
                    factor.set(te.sqrt(rest[0]), j, j)
                with ib.else_scope():
                    factor.set(rest[0] / factor.get(j, j), row, j)

    results: list[tuple[Extents, str]] = [([size, size], x.dtype), ([], "int32")]
    return of_matrices([x], results, write, "cholesky")


def qr_factors(x: Tensor, is_complete: bool) -> list[Tensor]:
    """The orthogonal factors Q of matrices, and matrices whose upper triangles are R.

    Columns are reflected as LAPACK does (Householder), which decides about signs. `is_complete`:
    Q is square.
    """
    rows, columns = x.shape[-2:]
    count = ops.minimum(rows, columns)
    width = rows if is_complete else count

    def write(
        ib: IRBuilder, source: MatrixPart, q: MatrixPart, r: MatrixPart, scales: MatrixPart
    ) -> None:
        copy_matrix(ib, source, r, rows, columns)
        with ib.for_range(0, count, name="k") as k:
            _find_reflection(ib, r, scales, k, rows)
            with ib.for_range(0, columns - k - 1, name="j") as j:
                _reflect(ib, r, scales.get(k), r, (k, k + 1 + j), rows)
        with ib.for_range(0, rows, name="i") as i, ib.for_range(0, width, name="j") as j:
            q.set(te.select(ops.equal(i, j), q.number(1), q.number(0)), i, j)
        with ib.for_range(0, count, name="n") as n, ib.for_range(0, width, name="j") as j:
            row = count - 1 - n
            _reflect(ib, r, scales.get(row), q, (row, j), rows)

    results: list[tuple[Extents, str]] = [
        ([rows, width], x.dtype),
        ([rows, columns], x.dtype),
        ([count], x.dtype),
    ]
    return of_matrices([x], results, write, "qr_factors")[:2]


def _find_reflection(ib: IRBuilder, r: MatrixPart, scales: MatrixPart, k: Expr, rows: Expr) -> None:
    """Write the vector that makes zeros below the diagonal of column k in their place, the element
    on the diagonal, and the scale of the reflection.
    """
    squares = accumulator(ib, r.number(0))
    with ib.for_range(0, rows - k - 1, name="i") as i:
        squares[0] = squares[0] + r.get(k + 1 + i, k) * r.get(k + 1 + i, k)
    scales.set(scales.number(0), k)
    with ib.if_scope(ops.not_equal(squares[0], r.number(0))):
        first = ib.let("first", r.get(k, k))
        length = ib.let("length", te.sqrt(first * first + squares[0]))
        reflected = ib.let(
            "reflected", te.select(first >= r.number(0), r.number(0) - length, length)
        )
        scales.set((reflected - first) / reflected, k)
        with ib.for_range(0, rows - k - 1, name="i") as i:
            r.set(r.get(k + 1 + i, k) / (first - reflected), k + 1 + i, k)
        r.set(reflected, k, k)


def _reflect(
    ib: IRBuilder,
    vectors: MatrixPart,
    scale: Expr,
    target: MatrixPart,
    position: tuple[Expr, Expr],
    rows: Expr,
) -> None:
    """Reflect a column by vector k, of which the first element is 1, from row k on."""
    k, column = position
    total = accumulator(ib, target.get(k, column))
    with ib.for_range(0, rows - k - 1, name="i") as i:
        total[0] = total[0] + vectors.get(k + 1 + i, k) * target.get(k + 1 + i, column)
    total[0] = total[0] * scale
    target.set(target.get(k, column) - total[0], k, column)
    with ib.for_range(0, rows - k - 1, name="i") as i:
        rest = target.get(k + 1 + i, column) - total[0] * vectors.get(k + 1 + i, k)
        target.set(rest, k + 1 + i, column)
