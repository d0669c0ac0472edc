"""Vectors of small floats are computed two lanes at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.cuda import nvrtc, print_kernels
from te_sched.ir import ops
from te_sched.runtime.cuda_module import CudaModule
from tests.codegen.cuda.devices import agree
from tests.codegen.cuda.kernels import body_of, elementwise

SIZE = 64
COMPUTE: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda a, b: a * b + a - b,
    "constant": lambda a, b: a * ops.const(2.0, a.dtype) + b,
    "choice": lambda a, b: te_sched.tir.Select(a > b, a + b, a - b),
    "function": lambda a, b: te.floor(a * b) * a,
    "cast": lambda a, b: (a.astype("float32") * 2.0).astype(a.dtype) + b,
}


def built(dtype: str, lanes: int, compute: Callable[[Any, Any], Any]) -> CudaModule:
    A, B = (te.placeholder((SIZE,), dtype, name=name) for name in "AB")
    C = te.compute((SIZE,), lambda i: compute(A[i], B[i]), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=lanes)
    s[C].vectorize(inner)
    s[C].bind(outer, te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [A, B, C], target="cuda")
    assert isinstance(module, CudaModule)
    return module


@pytest.mark.parametrize("name", COMPUTE)
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_values(dtype: str, lanes: int, name: str) -> None:
    kind: Any = np.float16
    if dtype == "bfloat16":
        kind = pytest.importorskip("ml_dtypes").bfloat16
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-4, 5, SIZE).astype(kind) for _ in "ab")
    x, y = a.astype("float32"), b.astype("float32")
    expected = {
        "linear": x * y + x - y,
        "constant": x * 2 + y,
        "choice": np.where(x > y, x + y, x - y),
        "function": np.floor(x * y) * x,
        "cast": x * 2 + y,
    }[name]
    agree(built(dtype, lanes, COMPUTE[name]), [a, b], expected.astype(kind))


def test_two_halves() -> None:
    kernels = elementwise(lambda a, b: a * b, ["float16"] * 2, lanes=2)
    assert "const half2 v_2 = v * v_1;" in body_of(print_kernels(kernels))


def test_eight_halves_and_a_constant() -> None:
    compute = lambda a: a * ops.const(2.0, "float16")  # noqa: E731
    text = print_kernels(elementwise(compute, ["float16"], lanes=8))
    assert "const half2 v_2 = __half2half2(v_1);" in text
    assert "half2 v_3[4] = {((const half2*)v)[0] * v_2, ((const half2*)v)[1] * v_2," in text


@pytest.mark.skipif(not nvrtc.is_available(), reason="NVRTC is not installed")
@pytest.mark.parametrize("lanes", [2, 8])
def test_one_instruction_for_two_lanes(lanes: int) -> None:
    kernels = elementwise(lambda a, b: a * b, ["float16"] * 2, lanes=lanes)
    ptx = nvrtc.compile(print_kernels(kernels), "sm_80").ptx
    assert ptx.count("mul.f16x2") == lanes // 2
    assert "mul.f16 " not in ptx


def test_what_is_not_a_vector_in_memory_stays_scalar() -> None:
    A = te.placeholder((32,), "float16", name="A")
    C = te.compute((32,), lambda i: A[31 - i] + A[31 - i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=2)
    s[C].vectorize(inner)
    s[C].bind(outer, te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [A, C], target="cuda")
    assert isinstance(module, CudaModule)
    assert " make_half2(A[" in module.source
