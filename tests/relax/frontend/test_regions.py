"""Pools of regions beside loops of numpy."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, te
from te_sched.relax.frontend.regions import Alignment, max_roi_pool, roi_align

RNG = np.random.default_rng(0)
X = RNG.random((2, 3, 6, 5), dtype=np.float32)


def run(make, *arrays):
    placeholders = [
        te.placeholder(array.shape, str(array.dtype), name=f"p{n}")
        for n, array in enumerate(arrays)
    ]
    result = make(*placeholders)
    function = te_sched.build(te.create_prim_func([*placeholders, result]), target="llvm")
    out = nd.array(np.zeros([int(size) for size in result.shape], "float32"))
    function(*[nd.array(array) for array in arrays], out)
    return out.numpy()


def test_an_aligned_region_of_whole_elements_is_the_image() -> None:
    corners, batches = np.array([[0, 0, 5, 6]], "float32"), np.array([1], "int64")
    how = Alignment(1, 1.0, True, False)
    result = run(lambda *tensors: roi_align(*tensors, (6, 5), how), X, corners, batches)
    np.testing.assert_allclose(result[0], X[1], rtol=1e-5)


def test_points_are_as_many_as_elements_of_the_image() -> None:
    corners, batches = np.array([[0, 0, 4, 6]], "float32"), np.array([0], "int64")
    how = Alignment(0, 1.0, True, False)
    result = run(lambda *tensors: roi_align(*tensors, (3, 2), how), X, corners, batches)
    wanted = X[0, :, :, :4].reshape(3, 3, 2, 2, 2).mean((2, 4))
    np.testing.assert_allclose(result[0], wanted, rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_maxima_of_regions(scale: float) -> None:
    regions = np.array([[1, 0, 0, 3 / scale, 3 / scale]], "float32")
    result = run(lambda *tensors: max_roi_pool(*tensors, (2, 2), scale), X, regions)
    wanted = X[1, :, :4, :4].reshape(3, 2, 2, 2, 2).max((2, 4))
    np.testing.assert_allclose(result[0], wanted, rtol=1e-6)


def test_regions_outside_are_0() -> None:
    regions = np.array([[0, 9, 9, 11, 11]], "float32")
    result = run(lambda *tensors: max_roi_pool(*tensors, (1, 1), 1.0), X, regions)
    assert not result.any()
