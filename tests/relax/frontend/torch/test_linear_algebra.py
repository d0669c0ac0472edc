"""Functions of matrices of torch: determinants, inverses, solutions and factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError
from tests.relax.frontend.torch.torch_models import BOTH, check, imported, results_of

torch = pytest.importorskip("torch")
linalg = torch.linalg
DTYPES = [torch.float32, torch.float64]
SHAPES = [(3, 3), (2, 1, 4, 4), (1, 1), (2, 0, 0), (0, 3, 3), (64, 64)]


def matrices(shape: tuple[int, ...], dtype: Any = torch.float64) -> Any:
    """Matrices with small numbers on the diagonal, so that rows are exchanged."""
    x = torch.from_numpy(np.random.default_rng(0).normal(size=shape)).to(dtype)
    x.diagonal(0, -2, -1).mul_(1e-3)
    return x


def tolerance(dtype: Any) -> float:
    """That of results that depend on matrices of some condition."""
    return 2e-3 if dtype == torch.float32 else 1e-8


def of_square_matrices(x: Any) -> tuple[Any, ...]:
    factors, pivots, codes = linalg.lu_factor_ex(x)
    inverse, info = linalg.inv_ex(x)
    return (
        *(torch.det(x), *torch.slogdet(x), torch.logdet(x), linalg.det(x), factors, pivots, codes),
        *(torch.inverse(x), inverse, info, linalg.solve(x, x.mT), linalg.solve(x, x.sum(-1))),
        linalg.solve(x, x.mT + 1, left=False),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_square_matrices(shape: tuple[int, ...], dtype: Any) -> None:
    check(of_square_matrices, matrices(shape, dtype), rtol=tolerance(dtype), atol=tolerance(dtype))


def test_both_importers_and_open_sizes() -> None:
    def function(x: Any) -> Any:
        return torch.det(x), linalg.solve(x, x[:, :1]), linalg.lu_factor(x)

    check(function, matrices((4, 4)), importers=BOTH)
    check(lambda x: (torch.det(x), linalg.inv(x)), matrices((5, 3, 3)), importers=("dynamic",))


def test_names_in_core_aten() -> None:
    """Determinants and solutions return factors, and checks of codes have tokens of their order."""

    def function(x: Any) -> tuple[Any, ...]:
        _, *factors = torch.ops.aten._linalg_det(x)
        solved = torch.ops.aten._linalg_solve_ex(x, x[..., 0])
        return (
            *(torch.det(x), torch.logdet(x), linalg.inv(x), linalg.solve(x, x.mT + 1, left=False)),
            *(*linalg.lu_factor(x), *factors, *torch.ops.aten._linalg_slogdet(x.mT), *solved),
            linalg.cholesky(x @ x.mT + torch.eye(4)),
        )

    x = matrices((2, 4, 4), torch.float32)
    check(function, x, importers=("exported", "decomposed"), rtol=2e-3, atol=2e-3)


def test_solutions_by_factors() -> None:
    def function(x: Any, b: Any) -> tuple[Any, ...]:
        factors, pivots = linalg.lu_factor(x)
        root = linalg.cholesky(x @ x.mT + torch.eye(4))
        return (
            *(linalg.lu_solve(factors, pivots, b), torch.lu_solve(b, factors, pivots)),
            linalg.lu_solve(factors, pivots, b, adjoint=True),
            linalg.lu_solve(factors, pivots, b.mT, left=False),
            linalg.lu_solve(factors, pivots, b.mT, left=False, adjoint=True),
            *(torch.cholesky_solve(b, root), torch.cholesky_solve(b, root.mT, upper=True)),
            *(torch.cholesky_inverse(root), torch.linalg.lu_solve(factors[0], pivots[0], b)),
            *torch.triangular_solve(b, x),
            torch.triangular_solve(b, x, upper=False, transpose=True, unitriangular=True)[0],
        )

    x, b = matrices((3, 4, 4)), torch.rand(3, 4, 2, dtype=torch.float64)
    check(function, x, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (3, 5), (0, 2, 2)], ids=str)
def test_unpacked_factors(shape: tuple[int, ...]) -> None:
    def function(x: Any) -> tuple[Any, ...]:
        factors, pivots = linalg.lu_factor(x)
        lower, upper = torch.lu_unpack(factors, pivots, unpack_pivots=False)[1:]
        return *linalg.lu(x), *torch.lu_unpack(factors, pivots), lower, upper

    check(function, matrices(shape))


def test_singular_matrices_have_codes() -> None:
    x = torch.tensor([[[1.0, 2], [2, 4]], [[0, 0], [0, 1]], [[0, 2], [3, 4]]])
    check(lambda x: (torch.det(x), *torch.slogdet(x), torch.logdet(x)), x)
    check(lambda x: (*linalg.lu_factor_ex(x), linalg.inv_ex(x)[1]), x)
    inverse, *_ = results_of(imported(linalg.inv, (x,)), (x,))
    assert not np.isfinite(inverse[:2]).all((1, 2)).any()
    np.testing.assert_allclose(inverse[2], linalg.inv(x[2]), rtol=1e-5)


def test_factors_of_matrices_that_are_not_square() -> None:
    for shape in ((5, 3), (2, 3, 5), (4, 1), (1, 4), (0, 3), (3, 0)):
        check(lambda x: linalg.lu_factor_ex(x), matrices(shape))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [*SHAPES, (5, 3), (2, 3, 5), (4, 1), (0, 3), (3, 0)], ids=str)
def test_orthogonal_factors(shape: tuple[int, ...], dtype: Any) -> None:
    def factors(x: Any) -> tuple[Any, ...]:
        return (*linalg.qr(x), *linalg.qr(x, mode="complete"), linalg.qr(x, mode="r")[1])

    zeros = [(torch.zeros(shape, dtype=dtype),)]
    rtol, atol = tolerance(dtype), tolerance(dtype) / 10
    check(factors, matrices(shape, dtype), rtol=rtol, atol=atol, others=zeros)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_triangular_matrices(shape: tuple[int, ...], dtype: Any) -> None:
    def function(x: Any) -> tuple[Any, ...]:
        positive = x @ x.mT + torch.eye(x.shape[-1], dtype=dtype)
        factor, codes = linalg.cholesky_ex(positive)
        solved = linalg.solve_triangular(factor, x, upper=False)
        others = linalg.solve_triangular(factor.mT, x, upper=True, left=False)
        ones = linalg.solve_triangular(factor.mT / 9, x, upper=True, unitriangular=True)
        upper = linalg.cholesky(positive, upper=True)
        return factor, codes, torch.cholesky(positive), upper, solved, others, ones

    check(function, matrices(shape, dtype), rtol=tolerance(dtype), atol=tolerance(dtype))


def test_codes_of_matrices_that_are_not_positive() -> None:
    x = torch.tensor([[[1.0, 2], [2, 1]], [[-1, 0], [0, 1]], [[4, 2], [2, 3]]])
    check(lambda x: linalg.cholesky_ex(x)[1], x)


def test_other_matrices_are_refused() -> None:
    with pytest.raises(GraphError, match=r"has no square matrices of float32 or float64"):
        imported(lambda x: torch.det(x.half()), (torch.ones(3, 3),), "fx")


def test_factors_without_exchanges_of_rows_are_rejected() -> None:
    from te_sched.relax.frontend.torch.importer import ROWS

    with pytest.raises(GraphError, match="matrices are factored without exchanges of rows"):
        ROWS["linalg_lu_factor_ex"].rule(None, None, pivot=False)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (torch.linalg.pinv(x), torch.linalg.pinv(x.mT), torch.pinverse(x)),
        lambda x: (torch.linalg.pinv(x, rtol=0.4), torch.linalg.pinv(x, atol=0.5)),
        lambda x: torch.linalg.pinv(x @ x.mT, hermitian=True),
        lambda x: torch.linalg.matrix_exp(x[..., :3, :3] * 3),
    ],
)
def test_pseudo_inverses_and_exponentials(function: Any) -> None:
    x = torch.rand(2, 3, 5, generator=torch.Generator().manual_seed(0)) - 0.3
    check(function, x, rtol=1e-4, atol=1e-4)
    check(function, x.double(), rtol=1e-8, atol=1e-8)


def test_pseudo_inverses_reject_tolerances_of_calls() -> None:
    with pytest.raises(GraphError, match="the tolerance of a pseudo-inverse is a tensor"):
        imported(lambda x, t: torch.linalg.pinv(x, rtol=t), (torch.rand(2, 3), torch.rand(())))
