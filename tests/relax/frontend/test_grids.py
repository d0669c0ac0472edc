"""Images at coordinates beside torch."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, te
from te_sched.relax.frontend.grids import grid_sample

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)


def check(x, grid, method, padding, aligns_corners) -> None:
    placeholders = [
        te.placeholder(array.shape, name=name) for array, name in ((x, "x"), (grid, "g"))
    ]
    result = grid_sample(*placeholders, method, padding, aligns_corners)
    function = te_sched.build(te.create_prim_func([*placeholders, result]), target="llvm")
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(method, method)
    wanted = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(grid), mode, padding, aligns_corners
    )
    out = nd.array(np.zeros(wanted.shape, "float32"))
    function(nd.array(x), nd.array(grid), out)
    np.testing.assert_allclose(out.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("method", "padding", "aligns_corners"),
    [
        ("nearest", "zeros", True),
        ("linear", "border", False),
        ("linear", "reflection", True),
        ("linear", "reflection", False),
        ("cubic", "zeros", False),
    ],
)
def test_images(method: str, padding: str, aligns_corners: bool) -> None:
    x = RNG.random((2, 3, 4, 5), dtype=np.float32)
    grid = RNG.uniform(-1.7, 1.7, (2, 3, 6, 2)).astype("float32")
    check(x, grid, method, padding, aligns_corners)


@pytest.mark.parametrize("padding", ["zeros", "border"])
def test_volumes(padding: str) -> None:
    x = RNG.random((1, 2, 3, 4, 5), dtype=np.float32)
    grid = RNG.uniform(-1.5, 1.5, (1, 2, 3, 2, 3)).astype("float32")
    check(x, grid, "linear", padding, False)


@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_cubic_volumes_of_equal_images_are_images(padding: str) -> None:
    """The weights of a spline add up to 1; elements outside are others of the same images."""
    x = RNG.random((1, 2, 4, 5), dtype=np.float32)
    grid = RNG.uniform(-1.5, 1.5, (1, 2, 3, 3)).astype("float32")
    image = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(grid[..., :2].copy()), "bicubic", padding, False
    )
    volume = np.repeat(x[:, :, None], 3, 2)
    placeholders = [
        te.placeholder(volume.shape, name="x"),
        te.placeholder((1, 1, *grid.shape[1:]), name="g"),
    ]
    result = grid_sample(*placeholders, "cubic", padding, False)
    function = te_sched.build(te.create_prim_func([*placeholders, result]), target="llvm")
    out = nd.array(np.zeros((1, 2, 1, 2, 3), "float32"))
    function(nd.array(volume), nd.array(grid[:, None]), out)
    np.testing.assert_allclose(out.numpy()[:, :, 0], image.numpy(), rtol=1e-4, atol=1e-5)


def test_expressions_of_many_elements_are_small() -> None:
    """The 64 elements of a cubic volume are a reduction, in place of as many terms."""
    placeholders = [te.placeholder((1, 2, 4, 5, 6), name="x"), te.placeholder((1, 2, 3, 4, 3))]
    result = grid_sample(*placeholders, "cubic", "zeros", False)
    assert len(te.create_prim_func([*placeholders, result]).script()) < 20000


def test_16_bit_floats_are_sums_in_float32() -> None:
    x = RNG.random((1, 1, 4, 4)).astype("float16")
    grid = RNG.uniform(-1, 1, (1, 3, 3, 2)).astype("float16")
    placeholders = [te.placeholder(a.shape, "float16", name=n) for a, n in ((x, "x"), (grid, "g"))]
    result = grid_sample(*placeholders, "cubic", "border", True)
    assert result.dtype == "float16"
    function = te_sched.build(te.create_prim_func([*placeholders, result]), target="llvm")
    out = nd.array(np.zeros((1, 1, 3, 3), "float16"))
    function(nd.array(x), nd.array(grid), out)
    wanted = torch.nn.functional.grid_sample(
        torch.tensor(x).float(), torch.tensor(grid).float(), "bicubic", "border", True
    )
    np.testing.assert_allclose(out.numpy(), wanted.half().numpy(), rtol=2e-3, atol=1e-3)


def test_coordinates_that_are_not_numbers() -> None:
    x = RNG.random((1, 1, 2, 2), dtype=np.float32)
    placeholders = [te.placeholder((1, 1, 2, 2), name="x"), te.placeholder((1, 1, 2, 2), name="g")]
    result = grid_sample(*placeholders, "linear", "border", False)
    function = te_sched.build(te.create_prim_func([*placeholders, result]), target="llvm")
    grid = np.array([[[[np.nan, np.inf], [-np.inf, 0]]]], "float32")
    function(nd.array(x), nd.array(grid), nd.array(np.zeros((1, 1, 1, 2), "float32")))
