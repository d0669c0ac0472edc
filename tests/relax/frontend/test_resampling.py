"""Resampled tensors in graphs: which become R.image.resize2d, and open sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, tir
from te_sched.relax.frontend.resampling import resampled
from te_sched.topi.image.resampling import TOLERANCE, ResampledAxis, Resampling

H = tir.Var("h", "int64")


def module_of(shape: Any, axes: list[ResampledAxis], resampling: Resampling) -> Any:
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(resampled(builder, x, axes, resampling))
    return builder.finalize()


@pytest.mark.parametrize(
    ("shape", "axis", "resampling", "is_operator"),
    [
        ((1, 2, 4, 4), ResampledAxis(2, 9), Resampling("linear"), True),
        ((1, 2, 4, H), ResampledAxis(3, H * 2), Resampling("cubic"), True),
        ((2, 4, 4), ResampledAxis(2, 9), Resampling("linear"), False),
        ((1, 2, 4, 4), ResampledAxis(1, 9), Resampling("linear"), False),
        ((1, 2, 4, 4), ResampledAxis(2, 9, step=0.4), Resampling("linear"), False),
        ((1, 2, 4, 4), ResampledAxis(2, 9), Resampling("linear", antialias=True), False),
        ((1, 2, 4, 4), ResampledAxis(2, 8), Resampling("nearest_neighbor"), False),
        (
            (1, 2, 4, 4),
            ResampledAxis(2, 8),
            Resampling("nearest_neighbor", tolerance=TOLERANCE),
            True,
        ),
    ],
)
def test_calls_of_resize2d(
    shape: Any, axis: ResampledAxis, resampling: Resampling, is_operator: bool
) -> None:
    text = str(module_of(shape, [axis], resampling))
    assert ("R.image.resize2d(" in text) is is_operator
    assert ("def resample(" in text) is not is_operator


def test_open_sizes_are_those_of_the_call() -> None:
    axis = ResampledAxis(1, H * 2, step=0.5)
    mod = module_of((1, H), [axis], Resampling("nearest_neighbor", "asymmetric"))
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    for size in (3, 5):
        x = np.arange(size, dtype="float32")[None]
        assert machine["main"](nd.array(x)).numpy().tolist() == x.repeat(2, 1).tolist()
