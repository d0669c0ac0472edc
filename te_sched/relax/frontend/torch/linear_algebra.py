"""Rows of operators of torch that factor matrices: determinants, inverses, solutions, factors.

Where torch raises an error, as for singular matrices, results are infinite, NaN, or of no use; the
operators named _ex return the codes that say so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from te_sched.errors import GraphError
from te_sched.ir import dtypes
from te_sched.ir.graph import GraphExpr, GraphVar, TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.frontend import matrices
from te_sched.relax.frontend.torch.importer import Importer, row
from te_sched.relax.frontend.torch.indexing import common_shape
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


def _solved(imp: Importer, A: GraphExpr, B: GraphExpr) -> tuple[GraphExpr, GraphExpr]:
    """The solutions of A @ x = B, and codes."""
    left, right = _with_batches(imp, A, B)
    factors, pivots, codes = _factors(imp, left)
    return imp.builder.emit_te(matrices.solution, factors, pivots, right), codes


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


@row("linalg_solve_ex")
def _solve_ex(
    imp: Importer, A: GraphExpr, B: GraphExpr, *, left: bool = True, check_errors: bool = False
) -> tuple[GraphExpr, GraphExpr]:
    shapes = imp.shape(_matrix(imp, A)), imp.shape(B)
    is_vector = len(shapes[1]) == 1 or (
        len(shapes[1]) == len(shapes[0]) - 1 and all(map(imp.is_equal, shapes[0][:-1], shapes[1]))
    )
    if is_vector:
        B = imp.emit(R.expand_dims(B, [-1]))
    elif not left:  # x @ a = b
        A, B = _transposed(imp, A), _transposed(imp, B)
    x, codes = _solved(imp, A, B)
    if is_vector:
        return imp.emit(R.squeeze(x, [-1])), codes
    return x if left else _transposed(imp, x), codes


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
    return _solved(imp, A, identity)


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
