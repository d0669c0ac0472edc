"""The tables of cublas, cudnn, cutlass and hipblas: what their patterns match (blas, conditions) is
what TVM 0.19 partitions, but for transpositions of other axes, which TVM takes for those of the
last two.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, tir
from te_sched.ir.stmt import IRModule
from te_sched.relax.backend import get_pattern, get_patterns_with_prefix
from te_sched.relax.backend.contrib.cublas import partition_for_cublas
from te_sched.relax.backend.contrib.cudnn import partition_for_cudnn
from te_sched.relax.backend.contrib.cutlass import (
    is_shape_valid_for_cutlass_matmul,
    partition_for_cutlass,
)
from te_sched.relax.backend.contrib.hipblas import partition_for_hipblas
from te_sched.runtime.registry import remove_global_func

A, B = tir.Var("a", "int64"), tir.Var("b", "int64")
Build = Any


def _composites(mod: IRModule) -> list[str]:
    return re.findall(r'"Composite": "([^"]+)"', mod.script())


def _module(infos: dict[str, tuple[Any, str]], build: Build) -> IRModule:
    """A graph of one dataflow block; `build` gets the builder and the parameters."""
    params = [relax.Var(name, relax.TensorStructInfo(*info)) for name, info in infos.items()]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            found = builder.emit_output(build(builder, *params))
        builder.emit_func_output(found)
    return builder.get()


def _product(
    left: Any,
    right: Any,
    dtype: str = "float16",
    bias: Any = None,
    after: Build = None,
    axes: Any = 0,
) -> IRModule:
    """left @ right + bias, and what follows it; `right` is transposed by axes."""

    def build(builder: Any, x: Any, y: Any, *rest: Any) -> Any:
        y = builder.emit(relax.op.permute_dims(y, axes)) if axes != 0 else y
        found = builder.emit(relax.op.matmul(x, y, "int32" if dtype == "int8" else ""))
        for one in rest:
            found = builder.emit(relax.op.add(found, one))
        return found if after is None else after(builder, found)

    out = "int32" if dtype == "int8" else dtype
    biases = {} if bias is None else {"bias": (bias, out)}
    return _module({"x": (left, dtype), "y": (right, dtype), **biases}, build)


def _relu(builder: Any, value: Any) -> Any:
    return relax.op.nn.relu(value)


# A graph, and the functions of cuBLAS, hipBLAS and CUTLASS.
PRODUCTS = {
    "plain": (_product((16, 32), (32, 15)), "matmul", "matmul", "matmul"),
    "float32": (_product((16, 32), (32, 15), "float32"), "matmul", "", "matmul"),
    "float64": (_product((16, 32), (32, 15), "float64"), "", "", ""),
    "layer": (
        _product((16, 32), (15, 32), bias=(15,), after=_relu, axes=None),
        *["matmul_transposed_bias_relu"] * 3,
    ),
    "other axes": (_product((4, 4, 4), (4, 4, 4), axes=[1, 0, 2]), *["matmul"] * 3),
    "row of biases": (_product((8, 16), (16, 16), bias=(1, 16)), *["matmul_bias"] * 3),
    "matrix of biases": (
        _product((8, 16), (16, 16), bias=(8, 16)),
        *("matmul", "matmul", "matmul_bias"),
    ),
    "int8": (_product((16, 32), (32, 8), "int8"), "matmul", "", "matmul"),
    "int8 of 33": (_product((16, 33), (33, 8), "int8"), "", "", "matmul"),
    "int8 and biases": (_product((16, 32), (32, 8), "int8", (8,)), "matmul", "", "matmul_bias"),
    "one right": (_product((3, 16, 16), (1, 16, 16)), *["matmul"] * 3),
    "one left": (_product((1, 16, 16), (3, 16, 16)), "", "", "matmul"),
    "fewer batches": (_product((3, 2, 16, 16), (2, 16, 16)), "", "", ""),
    "batches by symbols": (_product((A, 2, 16, 16), (A, 2, 16, 16)), *["matmul"] * 3),
    "other symbols": (_product((A, 16, 16), (B, 16, 16)), "matmul", "matmul", ""),
    "symbolic sum": (_product((16, A), (A, 16)), "", "", ""),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    mod, *expected = PRODUCTS[name]
    partitions = (partition_for_cublas, partition_for_hipblas, partition_for_cutlass)
    for library, partition, found in zip(
        ("cublas", "hipblas", "cutlass"), partitions, expected, strict=True
    ):
        wanted = [f"{library}.{found}"] if found else []
        assert _composites(partition(mod)) == wanted, library


def test_a_value_that_is_used_elsewhere_stays_outside() -> None:
    def power(builder: Any, value: Any) -> Any:
        return relax.op.add(value, builder.emit(relax.op.power(value, relax.const(2, "float16"))))

    mod = _product((16, 32), (32, 16), after=power)
    for partition in (partition_for_cublas, partition_for_cutlass):
        (found,) = _composites(partition(mod))
        assert found.endswith(".matmul")


@pytest.mark.parametrize(
    ("scale", "zero", "expected"),
    [(2.0, 0.0, "_dequantize"), (2.0, 1.0, ""), ([2.0] * 16, [0.0] * 16, "")],
)
def test_dequantized_products(scale: Any, zero: Any, expected: str) -> None:
    def dequantize(builder: Any, value: Any) -> Any:
        numbers = [relax.const(one, "float16") for one in (scale, zero)]
        return relax.op.dequantize(value, *numbers, axis=-1, out_dtype="float32")

    mod = _product((8, 32), (16, 32), "int8", after=dequantize, axes=None)
    assert _composites(partition_for_cublas(mod)) == [f"cublas.matmul_transposed{expected}"]


def test_scaled_products() -> None:
    def build(builder: Any, x: Any, y: Any, a: Any, b: Any) -> Any:
        y = builder.emit(relax.op.permute_dims(y))
        scaled = relax.op.multiply(relax.op.matmul(x, y), relax.op.multiply(a, b))
        return relax.op.astype(builder.emit(scaled), "float32")

    infos = {"x": ((8, 32), "float16"), "y": ((16, 32), "float16")}
    mod = _module({**infos, "a": ((1,), "float16"), "b": ((1,), "float16")}, build)
    assert _composites(partition_for_cublas(mod)) == ["cublas.matmul_transposed_multiply"]


def _convolution(
    layouts: tuple[str, str], sizes: Any, dtype: str = "float16", after: Build = None, **more: Any
) -> IRModule:
    def build(builder: Any, x: Any, w: Any, *rest: Any) -> Any:
        kinds = dict(zip(("data_layout", "kernel_layout"), layouts, strict=True))
        found = builder.emit(relax.op.nn.conv2d(x, w, padding=1, **kinds, **more))
        return found if after is None else after(builder, found, *rest)

    infos = {"x": (sizes[0], dtype), "w": (sizes[1], dtype)}
    return _module(infos | {f"r{k}": (one, dtype) for k, one in enumerate(sizes[2:])}, build)


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
    assert _composites(partition_for_cudnn(mod)) == wanted
    wanted = [] if cutlass is None else [f"cutlass.{cutlass}"]
    assert _composites(partition_for_cutlass(mod)) == wanted


def test_attention() -> None:
    size = ((1, 4, 2, 8), "float16")
    mod = _module(
        dict.fromkeys("qkv", size), lambda builder, q, k, v: relax.op.nn.attention(q, k, v)
    )
    assert _composites(partition_for_cutlass(mod)) == ["cutlass.attention"]
    assert str(get_pattern("cutlass.attention_var_len").pattern).count("*") == 7


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((3, 16, 15), (15, 2), True),
        ((3, 2, 1, 16, 15), (1, 1, 3, 2, 1, 15, 2), True),
        ((3, 4, 16, 15), (3, 2, 15, 2), False),
        ((3, A, 16, 15), (3, B, 15, 2), False),
        ((3, A, 16, 15), (3, A, 15, 2), True),
        ((3, A), (A, 5), False),
    ],
)
def test_shapes_of_cutlass(left: Any, right: Any, expected: bool) -> None:
    assert is_shape_valid_for_cutlass_matmul(left, right) is expected


def test_tables_are_there_by_name() -> None:
    names = [one.name for one in get_patterns_with_prefix("cublas")]
    assert names[0] == "cublas.matmul_transposed_multiply"
    assert names[-1] == "cublas.matmul"
    assert len(names) == 10
    assert {one.name.partition(".")[0] for one in get_patterns_with_prefix("cu")} == {
        *("cublas", "cudnn", "cutlass")
    }


def test_a_library_of_the_program_runs_a_layer() -> None:
    def compiled(functions: list[Any], options: Any, constants: Any) -> list[Any]:
        def layer(w: Any, x: Any, b: Any, out: Any) -> None:
            out.copyfrom(np.maximum(x.numpy() @ w.numpy().T + b.numpy(), 0))

        return [layer for _ in functions]

    te_sched.register_func("relax.ext.cublas", compiled, override=True)
    try:
        mod = _product((2, 8), (3, 8), "float32", (3,), _relu, axes=None)
        mod = relax.transform.RunCodegen()(partition_for_cublas(mod))
        assert "R.call_dps_packed" in mod["main"].script()
        machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
        x, w, b = (np.random.rand(*one).astype("float32") for one in ((2, 8), (3, 8), (3,)))
        found = machine["main"](*map(nd.array, (x, w, b))).numpy()
        np.testing.assert_allclose(found, np.maximum(x @ w.T + b, 0), rtol=1e-5)
    finally:
        remove_global_func("relax.ext.cublas")
