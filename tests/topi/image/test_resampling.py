"""Resampled axes: sums along one axis after the other, antialiasing, steps and factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.te.tensor import Tensor
from te_sched.topi.image.resampling import ResampledAxis, Resampling, resample
from tests.topi.running import case, check, floats

ROWS = floats(2, 7)


def filtered(x: Any, size: int, radius: int) -> Any:
    """Means of rows, weighted by hats that are as wide as two elements of the result."""
    step = x.shape[1] / size
    centers = (np.arange(size)[:, None] + 0.5) * step - 0.5
    distance = np.abs(np.arange(x.shape[1]) - centers) / max(step, 1)
    weights = np.maximum(radius - distance, 0)
    return (x @ (weights / weights.sum(1, keepdims=True)).T).astype("float32")


@pytest.mark.parametrize("size", [1, 3, 5, 12])
def test_antialiased_elements_are_means(size: int) -> None:
    options = Resampling("linear", antialias=True, excludes_outside=True)

    def resized(x: Tensor) -> Tensor:
        return resample(x, [ResampledAxis(1, size)], options)

    check(case("antialias", resized, lambda x: filtered(x, size, 1), ROWS))


@pytest.mark.parametrize("transformation", ["half_pixel", "align_corners", "asymmetric"])
def test_separable_sums_are_those_of_one(transformation: str) -> None:
    axes = [ResampledAxis(0, 5), ResampledAxis(1, 31)]
    X = te.placeholder(ROWS.shape, name="X")
    at_once = resample(X, axes, Resampling("cubic", transformation))
    function = te_sched_build(X, at_once)
    separable = Resampling("cubic", transformation, is_separable=True)
    check(case("separable", lambda x: resample(x, axes, separable), function, ROWS))


def te_sched_build(X: Tensor, result: Tensor) -> Any:
    """A function of arrays that computes a tensor of another one."""
    import te_sched
    from te_sched import nd

    kernel = te_sched.build(te.create_schedule(result.op), [X, result], "llvm")

    def run(x: Any) -> Any:
        out = nd.empty(tuple(int(size) for size in result.shape), result.dtype)
        kernel(nd.array(x), out)
        return out.numpy()

    return run


def test_nearest_elements_by_a_step_and_by_a_factor() -> None:
    by_step = Resampling("nearest_neighbor", "asymmetric")
    indices = np.floor(np.arange(11, dtype="float32") * np.float32(1 / 1.7)).astype("int64")
    for axis in (ResampledAxis(1, 11, step=1 / 1.7), ResampledAxis(1, 11, factor=1.7)):
        check(
            case(
                "nearest",
                lambda x, axis=axis: resample(x, [axis], by_step),
                lambda x: x[:, indices],
                ROWS,
            )
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("quadratic",), "quadratic"),
        (("linear", "whole_pixel"), "whole_pixel"),
        (("linear", "half_pixel", "up"), "up"),
    ],
)
def test_resampling_rejects_words(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        Resampling(*words)
