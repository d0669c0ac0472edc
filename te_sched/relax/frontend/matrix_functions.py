"""Pseudo-inverses and exponentials of matrices, the last two dimensions of tensors, as tensor
expressions that are computed in float64.

Must not know the format of a model.
"""

from __future__ import annotations

from te_sched import te
from te_sched.ir import intrinsics, ops
from te_sched.ir.builder import IRBuilder
from te_sched.ir.expr import Expr
from te_sched.relax.frontend.matrices import MatrixPart, accumulator, copy_matrix, of_matrices
from te_sched.te.tensor import Tensor

_SWEEPS = 16  # over all pairs of columns, of which 6 to 10 are enough for float64
_DEGREE = 18  # of the polynomial for matrices of a norm of at most 1


def pseudo_inverse(x: Tensor, rtol: float, atol: float) -> Tensor:
    """The pseudo-inverses of matrices: singular values up to the greater of `atol` and `rtol` times
    the greatest one are 0.

    Columns are rotated by pairs until they are orthogonal (one-sided Jacobi: Hestenes 1958).
    """
    rows, columns = x.shape[-2:]

    def write(
        ib: IRBuilder,
        source: MatrixPart,
        result: MatrixPart,
        u: MatrixPart,
        v: MatrixPart,
        squares: MatrixPart,
    ) -> None:
        copy_matrix(ib, source, u, rows, columns)
        _write_unit(ib, v, columns)
        with (
            ib.for_range(0, _SWEEPS, name="sweep"),
            ib.for_range(0, columns, name="p") as p,
            ib.for_range(0, columns - p - 1, name="q") as q,
        ):
            _orthogonalize(ib, u, v, p, p + 1 + q, rows, columns)
        greatest = accumulator(ib, u.number(0))
        with ib.for_range(0, columns, name="j") as j:
            squares.set(_product(ib, u, j, j, rows), j)
            greatest[0] = ops.maximum(greatest[0], squares.get(j))
        limit = ib.let("limit", ops.maximum(u.number(atol), u.number(rtol) * te.sqrt(greatest[0])))
        with ib.for_range(0, columns, name="i") as i, ib.for_range(0, rows, name="k") as k:
            total = accumulator(ib, u.number(0))
            with ib.for_range(0, columns, name="j") as j:
                term = v.get(i, j) * u.get(k, j) / squares.get(j)
                is_zero = te.sqrt(squares.get(j)) <= limit
                total[0] = total[0] + te.select(is_zero, u.number(0), term)
            result.set(total[0], i, k)

    shapes = [[columns, rows], [rows, columns], [columns, columns], [columns]]
    results = [(shape, "float64") for shape in shapes]
    return of_matrices([x], results, write, "pseudo_inverse")[0]


def _product(ib: IRBuilder, u: MatrixPart, p: Expr, q: Expr, rows: Expr) -> Expr:
    """The product of two columns."""
    total = accumulator(ib, u.number(0))
    with ib.for_range(0, rows, name="i") as i:
        total[0] = total[0] + u.get(i, p) * u.get(i, q)
    return ib.let("product", total[0])


def _orthogonalize(
    ib: IRBuilder, u: MatrixPart, v: MatrixPart, p: Expr, q: Expr, rows: Expr, columns: Expr
) -> None:
    """Rotate two columns so that their product is 0."""
    first, second, both = (_product(ib, u, *pair, rows) for pair in ((p, p), (q, q), (p, q)))
    one, two = u.number(1), u.number(2)
    is_apart = both * both > u.number(1e-32) * first * second
    with ib.if_scope(is_apart):
        ratio = ib.let("ratio", (second - first) / (two * both))
        sign = te.select(ratio < u.number(0), u.number(-1), one)
        tangent = ib.let("tangent", sign / (te.abs(ratio) + te.sqrt(one + ratio * ratio)))
        cosine = ib.let("cosine", one / te.sqrt(one + tangent * tangent))
        sine = ib.let("sine", cosine * tangent)
        for part, extent in ((u, rows), (v, columns)):
            with ib.for_range(0, extent, name="i") as i:
                left, right = ib.let("left", part.get(i, p)), ib.let("right", part.get(i, q))
                part.set(cosine * left - sine * right, i, p)
                part.set(sine * left + cosine * right, i, q)


def exponential(x: Tensor) -> Tensor:
    """The exponentials of square matrices: those of halves are squared, as often as needed for a
    polynomial to be exact (scaling and squaring).
    """
    size = x.shape[-1]

    def write(
        ib: IRBuilder,
        source: MatrixPart,
        result: MatrixPart,
        scaled: MatrixPart,
        product: MatrixPart,
    ) -> None:
        count, factor = _halves(ib, source, size)
        with ib.for_range(0, size, name="i") as i, ib.for_range(0, size, name="j") as j:
            scaled.set(ops.cast("float64", source.get(i, j)) * factor, i, j)
        _write_unit(ib, result, size)
        with ib.for_range(0, _DEGREE, name="step") as step:
            _multiply(ib, scaled, result, product, size)
            degree = ops.cast("float64", _DEGREE - step)
            with ib.for_range(0, size, name="i") as i, ib.for_range(0, size, name="j") as j:
                unit = te.select(ops.equal(i, j), result.number(1), result.number(0))
                result.set(unit + product.get(i, j) / degree, i, j)
        with ib.for_range(0, count, name="square"):
            _multiply(ib, result, result, product, size)
            copy_matrix(ib, product, result, size, size)

    results = [([size, size], "float64")] * 3
    return of_matrices([x], results, write, "matrix_exp")[0]


def _halves(ib: IRBuilder, x: MatrixPart, size: Expr) -> tuple[Expr, Expr]:
    """How often a matrix is halved until its norm is at most 1, and the factor of it all."""
    norm = accumulator(ib, ops.const(0, "float64"))
    with ib.for_range(0, size, name="j") as j:
        total = accumulator(ib, ops.const(0, "float64"))
        with ib.for_range(0, size, name="i") as i:
            total[0] = total[0] + te.abs(ops.cast("float64", x.get(i, j)))
        norm[0] = ops.maximum(norm[0], total[0])
    one, zero = ops.const(1, "float64"), ops.const(0, "float64")
    is_large = te.all(norm[0] > one, norm[0] < ops.const(1e300, "float64"))
    exponent = te.select(is_large, te.ceil(te.log2(norm[0])), zero)
    count = ib.let("count", ops.cast("int32", exponent))
    return count, ib.let("factor", intrinsics.exp2(zero - ops.cast("float64", count)))


def _write_unit(ib: IRBuilder, target: MatrixPart, size: Expr) -> None:
    with ib.for_range(0, size, name="i") as i, ib.for_range(0, size, name="j") as j:
        target.set(te.select(ops.equal(i, j), target.number(1), target.number(0)), i, j)


def _multiply(ib: IRBuilder, a: MatrixPart, b: MatrixPart, target: MatrixPart, size: Expr) -> None:
    with ib.for_range(0, size, name="i") as i:
        with ib.for_range(0, size, name="j") as j:
            target.set(target.number(0), i, j)
        with ib.for_range(0, size, name="k") as k:
            left = ib.let("left", a.get(i, k))
            with ib.for_range(0, size, name="j") as j:
                target.set(target.get(i, j) + left * b.get(k, j), i, j)
