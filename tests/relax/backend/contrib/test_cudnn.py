"""Convolutions that cuDNN and CUTLASS partition."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.ir.stmt import IRModule
from te_sched.relax.backend.contrib.cudnn import partition_for_cudnn
from te_sched.relax.backend.contrib.cutlass import partition_for_cutlass
from tests.relax.backend.partitioned import A, Build, composites_of, module_of


def _convolution(
    layouts: tuple[str, str], sizes: Any, dtype: str = "float16", after: Build = None, **more: Any
) -> IRModule:
    def build(builder: Any, x: Any, w: Any, *rest: Any) -> Any:
        kinds = dict(zip(("data_layout", "kernel_layout"), layouts, strict=True))
        found = builder.emit(relax.op.nn.conv2d(x, w, padding=1, **kinds, **more))
        return found if after is None else after(builder, found, *rest)

    infos = {"x": (sizes[0], dtype), "w": (sizes[1], dtype)}
    return module_of(infos | {f"r{k}": (one, dtype) for k, one in enumerate(sizes[2:])}, build)


def _layer(builder: Any, value: Any, bias: Any) -> Any:
    return relax.op.nn.relu(builder.emit(relax.op.add(value, bias)))


def _residual(builder: Any, value: Any, bias: Any, residual: Any) -> Any:
    return relax.op.multiply(residual, _layer(builder, value, bias))


LAST, FIRST = ("NHWC", "OHWI"), ("NCHW", "OIHW")


SIZES = ((2, 16, 16, 8), (8, 3, 3, 8))


CONVOLUTIONS = {
    "plain": (_convolution(LAST, SIZES), "", "conv2d"),
    "channels first": (_convolution(FIRST, ((2, 8, 16, 16), (8, 8, 3, 3))), "", None),
    "other layouts": (_convolution(("NHWC", "HWIO"), ((2, 16, 16, 8), (3, 3, 8, 8))), None, None),
    "float64": (_convolution(LAST, SIZES, "float64"), None, None),
    "depthwise": (_convolution(LAST, (SIZES[0], (8, 3, 3, 1)), groups=8), "", None),
    "symbolic": (_convolution(LAST, ((A, 16, 16, 8), SIZES[1])), "", None),
    "layer": (
        _convolution(LAST, (*SIZES, (1, 1, 1, 8)), after=_layer),
        *("_bias_relu", "conv2d_bias_relu"),
    ),
    "residual": (
        _convolution(LAST, (*SIZES, (8,), SIZES[0]), after=_residual),
        *("_bias_relu", "conv2d_bias_relu_residual_multiply"),
    ),
    "row of residuals": (
        _convolution(LAST, (*SIZES, (8,), (1, 8)), after=_residual),
        *("_bias_relu", "conv2d_bias_relu_residual_multiply"),
    ),
    "other residuals": (
        _convolution(LAST, (*SIZES, (8,), (1, 16, 16, 8)), after=_residual),
        *("_bias_relu", "conv2d_bias_relu"),
    ),
    "a number": (
        _convolution(LAST, (*SIZES, (8,), ()), after=_residual),
        *("_bias_relu", "conv2d_bias_relu"),
    ),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    mod, cudnn, cutlass = CONVOLUTIONS[name]
    wanted = [] if cudnn is None else [f"cudnn.conv2d.nhwc_ohwi{cudnn}"]
    assert composites_of(partition_for_cudnn(mod)) == wanted
    wanted = [] if cutlass is None else [f"cutlass.{cutlass}"]
    assert composites_of(partition_for_cutlass(mod)) == wanted
