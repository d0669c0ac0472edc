"""Rows of operators of torch that factor matrices: determinants, inverses, solutions, factors.

Where torch raises an error, as for singular matrices, results are infinite, NaN, or of no use; the
operators named _ex return the codes that say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir import dtypes
from te_sched.ir.graph import GraphExpr, GraphVar, TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.frontend import matrices, matrix_functions
from te_sched.relax.frontend.tensors import fixed_size
from te_sched.relax.frontend.torch.importer import Importer, row
from te_sched.relax.frontend.torch.indexing import common_shape
from te_sched.relax.frontend.torch.memory import is_node
from te_sched.relax.frontend.torch.values import Value
from te_sched.te.tensor import Tensor


def _several(
    imp: Importer, function: Callable[..., list[Tensor]], count: int, *args: GraphExpr
) -> list[GraphVar]:
    """The results of a function of tensor expressions that has some."""
    call = imp.builder.emit_te(function, *args)
    return [imp.emit(TupleGetItem(call, index)) for index in range(count)]


def _matrix(imp: Importer, x: GraphExpr, is_square: bool = True) -> GraphExpr:
    """A tensor, whose last two dimensions are matrices of floats; GraphError for others."""
    shape, dtype = imp.shape(x), imp.dtype(x)
    is_fit = len(shape) >= 2 and (not is_square or imp.is_equal(*shape[-2:]))
    if not is_fit or not dtypes.is_float(dtype) or dtypes.is_small_float(dtype):
        kind = "square matrices" if is_square else "matrices"
        raise GraphError(
            f"{imp.info(x)} has no {kind} of float32 or float64",
            "they are the last two dimensions of a tensor",
            "convert or reshape it before",
        )
    return x


def _transposed(imp: Importer, x: GraphExpr) -> GraphVar:
    rank = imp.info(x).ndim
    return imp.emit(R.permute_dims(x, [*range(rank - 2), rank - 1, rank - 2]))


def _factors(imp: Importer, A: GraphExpr) -> list[GraphVar]:
    """The factors of square matrices, their pivots and codes."""
    return _several(imp, matrices.lu_factors, 3, _matrix(imp, A))


def _solved(
    imp: Importer, factors: Sequence[GraphExpr], B: GraphExpr, is_transposed: bool = False
) -> GraphExpr:
    """The solutions of A @ x = B, by the factors and pivots of A."""
    solve = partial(matrices.solution, is_transposed=is_transposed)
    lu, pivots = factors[:2]
    shape = imp.shape(lu)
    lu, B = _with_batches(imp, lu, B)
    pivots = imp.broadcast(pivots, [*imp.shape(lu)[:-2], shape[-1]])
    return imp.builder.emit_te(solve, lu, pivots, B, primfunc_name_hint="solution")


def _factors_of_determinant(imp: Importer, A: GraphExpr) -> list[GraphVar]:
    """The factors and pivots that torch returns beside a determinant: of the transposed matrix, if
    the elements of its columns are next to each other then.
    """
    node = imp.node.args[0]
    is_transposed = is_node(node) and node.meta["val"].is_contiguous()
    return _factors(imp, _transposed(imp, A) if is_transposed else A)[:2]


@row("_linalg_det")
def _det_and_factors(imp: Importer, A: GraphExpr) -> tuple[GraphExpr, ...]:
    factors = _factors_of_determinant(imp, A)
    return imp.builder.emit_te(matrices.determinant, *factors), *factors


@row("_linalg_slogdet")
def _slogdet_and_factors(imp: Importer, A: GraphExpr) -> tuple[GraphExpr, ...]:
    factors = _factors_of_determinant(imp, A)
    return *_several(imp, matrices.log_determinant, 2, *factors), *factors


@row("det", "linalg_det")
def _det(imp: Importer, A: GraphExpr) -> GraphExpr:
    return imp.builder.emit_te(matrices.determinant, *_factors(imp, A)[:2])


@row("slogdet", "linalg_slogdet")
def _slogdet(imp: Importer, A: GraphExpr) -> Value:
    return tuple(_several(imp, matrices.log_determinant, 2, *_factors(imp, A)[:2]))


@row("logdet")
def _logdet(imp: Importer, A: GraphExpr) -> GraphExpr:
    sign, log = _several(imp, matrices.log_determinant, 2, *_factors(imp, A)[:2])
    of_sign = imp.emit(R.log(sign))  # NaN of negative ones
    return imp.emit(R.add(log, of_sign))


@row("linalg_lu_factor_ex")
def _lu_factor_ex(
    imp: Importer, A: GraphExpr, *, pivot: bool = True, check_errors: bool = False
) -> tuple[GraphExpr, ...]:
    if not pivot:
        raise GraphError(
            "matrices are factored without exchanges of rows", "pivot is False", "leave it out"
        )
    return tuple(_several(imp, matrices.lu_factors, 3, _matrix(imp, A, False)))


@row("linalg_lu_factor")
def _lu_factor(imp: Importer, A: GraphExpr, *, pivot: bool = True) -> Value:
    return _lu_factor_ex(imp, A, pivot=pivot)[:2]


@row("linalg_lu_solve")
def _lu_solve(
    imp: Importer,
    LU: GraphExpr,
    pivots: GraphExpr,
    B: GraphExpr,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> GraphExpr:
    """The solutions of A @ x = B, by the factors of A, or of its transpose if `adjoint`."""
    if left:
        return _solved(imp, (LU, pivots), B, adjoint)
    x = _solved(imp, (LU, pivots), _transposed(imp, B), not adjoint)
    return _transposed(imp, x)


@row("lu_solve")
def _lu_solve_of_right_side(
    imp: Importer, B: GraphExpr, LU: GraphExpr, pivots: GraphExpr
) -> GraphExpr:
    return _lu_solve(imp, LU, pivots, B)


@row("lu_unpack")
def _lu_unpack(
    imp: Importer,
    LU: GraphExpr,
    pivots: GraphExpr,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[GraphExpr, ...]:
    """The matrices P, L and U with P @ L @ U = A; those that are not unpacked are empty."""
    shape, dtype = imp.shape(LU), imp.dtype(LU)
    p: GraphExpr = imp.emit(R.zeros([0], dtype))
    lower = upper = p
    if unpack_pivots:
        permute = partial(matrices.permutation, rows=shape[-2])
        p = imp.builder.emit_te(permute, pivots, primfunc_name_hint="permutation")
        p = imp.cast(p, dtype)
    if unpack_data:
        count = imp.shape(pivots)[-1]
        axis = len(shape) - 1
        lower = imp.emit(R.strided_slice(LU, [axis], [0], [count], [1], True))
        ones = imp.emit(R.eye(shape[-2], count, 0, dtype))
        lower = imp.emit(R.add(imp.emit(R.tril(lower, -1)), ones))
        rows = imp.emit(R.strided_slice(LU, [axis - 1], [0], [count], [1], True))
        upper = imp.emit(R.triu(rows))
    return p, lower, upper


@row("linalg_lu")
def _lu(imp: Importer, A: GraphExpr, *, pivot: bool = True) -> tuple[GraphExpr, ...]:
    factors, pivots, _ = _lu_factor_ex(imp, A, pivot=pivot)
    return _lu_unpack(imp, factors, pivots)


def _is_vector(imp: Importer, A: GraphExpr, B: GraphExpr) -> bool:
    """Whether the right side of an equation has vectors in place of matrices."""
    shapes = imp.shape(_matrix(imp, A)), imp.shape(B)
    return len(shapes[1]) == 1 or (
        len(shapes[1]) == len(shapes[0]) - 1 and all(map(imp.is_equal, shapes[0][:-1], shapes[1]))
    )


@row("_linalg_solve_ex")
def _solve_and_factors(
    imp: Importer, A: GraphExpr, B: GraphExpr, *, left: bool = True, check_errors: bool = False
) -> tuple[GraphExpr, ...]:
    is_vector = _is_vector(imp, A, B)
    B = imp.emit(R.expand_dims(B, [-1])) if is_vector else B
    factors, pivots, codes = _factors(imp, A)
    x = _lu_solve(imp, factors, pivots, B, left=left)
    return imp.emit(R.squeeze(x, [-1])) if is_vector else x, factors, pivots, codes


@row("linalg_solve_ex")
def _solve_ex(
    imp: Importer, A: GraphExpr, B: GraphExpr, *, left: bool = True, check_errors: bool = False
) -> tuple[GraphExpr, GraphExpr]:
    x, *_, codes = _solve_and_factors(imp, A, B, left=left)
    return x, codes


def _with_batches(imp: Importer, a: GraphExpr, b: GraphExpr) -> tuple[GraphExpr, GraphExpr]:
    """Matrices with the same batches."""
    shapes = imp.shape(a), imp.shape(b)
    batch = common_shape([shape[:-2] for shape in shapes])
    first, second = (
        imp.broadcast(x, [*batch, *shape[-2:]]) for x, shape in zip((a, b), shapes, strict=True)
    )
    return first, second


@row("linalg_solve")
def _solve(imp: Importer, A: GraphExpr, B: GraphExpr, *, left: bool = True) -> GraphExpr:
    return _solve_ex(imp, A, B, left=left)[0]


@row("linalg_inv_ex")
def _inv_ex(imp: Importer, A: GraphExpr, *, check_errors: bool = False) -> tuple[GraphExpr, ...]:
    shape, dtype = imp.shape(_matrix(imp, A)), imp.dtype(A)
    identity = imp.emit(R.eye(shape[-1], shape[-1], 0, dtype))
    *factors, codes = _factors(imp, A)
    return _solved(imp, factors, identity), codes


@row("inverse", "linalg_inv")
def _inv(imp: Importer, A: GraphExpr) -> Value:
    return _inv_ex(imp, A)[0]


@row("linalg_solve_triangular")
def _solve_triangular(
    imp: Importer,
    A: GraphExpr,
    B: GraphExpr,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> GraphExpr:
    A = _matrix(imp, A)
    if not left:
        A, B, upper = _transposed(imp, A), _transposed(imp, B), not upper
    solve = partial(matrices.triangular_solution, is_upper=upper, has_ones=unitriangular)
    x = imp.builder.emit_te(
        solve, *_with_batches(imp, A, B), primfunc_name_hint="triangular_solution"
    )
    return x if left else _transposed(imp, x)


@row("triangular_solve")
def _triangular_solve(
    imp: Importer,
    B: GraphExpr,
    A: GraphExpr,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[GraphExpr, GraphExpr]:
    """The solutions, and a copy of the matrices."""
    matrix, is_upper = (_transposed(imp, A), not upper) if transpose else (A, upper)
    solve = partial(_solve_triangular, upper=is_upper, unitriangular=unitriangular)
    return solve(imp, matrix, B), _with_batches(imp, A, B)[0]


@row("cholesky_solve")
def _cholesky_solve(
    imp: Importer, B: GraphExpr, factor: GraphExpr, upper: bool = False
) -> GraphExpr:
    """The solutions of A @ x = B, by the factor of A."""
    lower = _transposed(imp, factor) if upper else factor
    y = _solve_triangular(imp, lower, B, upper=False)
    return _solve_triangular(imp, _transposed(imp, lower), y, upper=True)


@row("cholesky_inverse")
def _cholesky_inverse(imp: Importer, factor: GraphExpr, upper: bool = False) -> GraphExpr:
    size = imp.shape(_matrix(imp, factor))[-1]
    identity = imp.emit(R.eye(size, size, 0, imp.dtype(factor)))
    return _cholesky_solve(imp, identity, factor, upper)


@row("linalg_cholesky_ex")
def _cholesky_ex(
    imp: Importer, A: GraphExpr, *, upper: bool = False, check_errors: bool = False
) -> tuple[GraphExpr, GraphExpr]:
    A = _matrix(imp, A)
    A = _transposed(imp, A) if upper else A
    factor, codes = _several(imp, matrices.cholesky_factor, 2, A)
    return _transposed(imp, factor) if upper else factor, codes


@row("cholesky", "linalg_cholesky")
def _cholesky(imp: Importer, A: GraphExpr, upper: bool = False) -> Value:
    return _cholesky_ex(imp, A, upper=upper)[0]


@row("linalg_qr", "qr")
def _qr(imp: Importer, A: GraphExpr, mode: str | bool = "reduced") -> Value:
    is_complete = mode in ("complete", False)  # torch.qr's argument is `some`
    factor = partial(matrices.qr_factors, is_complete=is_complete)
    shape = imp.shape(_matrix(imp, A, False))
    call = imp.builder.emit_te(factor, A, primfunc_name_hint="qr_factors")
    q, r = [imp.emit(TupleGetItem(call, index)) for index in range(2)]
    r = imp.emit(R.triu(r))
    if not is_complete:
        count = imp.shape(q)[-1]
        r = imp.emit(R.strided_slice(r, [len(shape) - 2], [0], [count], [1], True))
    return (imp.emit(R.zeros([0], imp.dtype(A))), r) if mode == "r" else (q, r)


@row("linalg_pinv", "pinverse")
def _pinv(
    imp: Importer,
    A: GraphExpr,
    rcond: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> GraphExpr:
    """Pseudo-inverses; the lower half of hermitian matrices is read."""
    sizes = [fixed_size(size, "invert") for size in imp.shape(_matrix(imp, A, hermitian))[-2:]]
    rtol = rcond if rtol is None else rtol
    if imp.is_tensor(rtol) or imp.is_tensor(atol):
        raise GraphError(
            "the tolerance of a pseudo-inverse is a tensor",
            "a call computes it",
            "give numbers: torch.linalg.pinv(A, rtol=1e-5)",
        )
    if hermitian:
        upper = _transposed(imp, imp.emit(R.tril(A, -1)))
        A = imp.emit(R.add(imp.emit(R.tril(A)), upper))
    if rtol is None:
        rtol = 0.0 if atol else max(sizes) * float(np.finfo(imp.dtype(A)).eps)
    function = partial(matrix_functions.pseudo_inverse, rtol=rtol, atol=atol or 0.0)
    result = imp.builder.emit_te(function, A, primfunc_name_hint="pseudo_inverse")
    return imp.cast(result, imp.dtype(A))


@row("linalg_matrix_exp", "matrix_exp")
def _matrix_exp(imp: Importer, A: GraphExpr) -> GraphExpr:
    return imp.cast(
        imp.builder.emit_te(matrix_functions.exponential, _matrix(imp, A)), imp.dtype(A)
    )
