"""Products of bytes use the instructions of the processor, and are exact on all."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from te_sched.dlight.cpu.dot_products import dot_instructions
from te_sched.errors import BuildError
from te_sched.target import Target

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="LLVM compiles for this machine"
)
TARGETS = {
    "vnni": "llvm -mcpu=cascadelake",
    "avx512": "llvm -mcpu=skylake-avx512",
    "avx2": "llvm -mcpu=haswell",
    "": "llvm -mcpu=x86-64",
}
EXTREMES = {"uint8": [0, 1, 127, 128, 255], "int8": [-128, -127, -1, 0, 1, 127]}


def operands(shapes: Any, dtypes: Any) -> list[te.Tensor]:
    """Placeholders of bytes."""
    rows = zip("AB", shapes, dtypes, strict=True)
    return [te.placeholder(shape, dtype, name=name) for name, shape, dtype in rows]


def products(tensors: list[te.Tensor]) -> te.Tensor:
    """A product of matrices, and what is computed of its sums."""
    sums = topi.nn.matmul(*tensors, out_dtype="int32")
    return topi.add(sums, te.const(7, "int32"))


def transposed(tensors: list[te.Tensor]) -> te.Tensor:
    """A product whose first operand is read in vectors."""
    return topi.nn.matmul(*tensors, out_dtype="int32", transpose_a=True, transpose_b=True)


def convolution(tensors: list[te.Tensor]) -> te.Tensor:
    """A convolution with a border of zeros."""
    return topi.nn.conv(*tensors, 1, 1, 1, 1, "NCHW", out_dtype="int32")


def scheduled(function: Any, tensors: list[te.Tensor], target: str, weights: Any) -> Any:
    """The function of tensors with the default schedule; weights are places of parameters."""
    func = te.create_prim_func([*tensors, function(tensors)])
    func = func.with_attr("layout_free_buffers", weights)
    return dlight.cpu.Default().apply(func, Target(target), False)


def windows(data: Any, weights: Any) -> Any:
    """What `convolution` computes, by numpy."""
    padded = np.pad(data, [(0, 0), (0, 0), (1, 1), (1, 1)])
    parts = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[2:], (2, 3))
    return np.einsum("nchwyx,fcyx->nfhw", parts, weights)


class Case(NamedTuple):
    """A function of tensors, that of numpy, shapes and dtypes of the operands."""

    function: Callable[[list[te.Tensor]], te.Tensor]
    by_numpy: Callable[[Any, Any], Any]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    dtypes: tuple[str, str] = ("uint8", "int8")


CASES = {
    "product": Case(products, lambda a, b: a @ b + 7, ((48, 64), (64, 96))),
    "signed rows": Case(products, lambda a, b: a @ b + 7, ((48, 64), (64, 32)), ("int8", "uint8")),
    "padded": Case(products, lambda a, b: a @ b + 7, ((33, 30), (30, 41))),
    "transposed": Case(transposed, lambda a, b: a.T @ b.T, ((32, 64), (20, 32))),
    "convolution": Case(convolution, windows, ((1, 8, 6, 9), (32, 8, 3, 3))),
}


@pytest.mark.parametrize("instructions", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_results(name: str, instructions: str) -> None:
    case = CASES[name]
    tensors = operands(case.shapes, case.dtypes)
    weights = [1] if name == "convolution" else []
    sch = scheduled(case.function, tensors, TARGETS[instructions], weights)
    text = sch.mod.script()
    assert ("llvm.x86.avx512.vpdpbusd." in text) == (instructions == "vnni")
    assert ("llvm.x86.avx" in text) == (instructions != "")
    rng = np.random.default_rng(0)
    pairs = zip(case.shapes, case.dtypes, strict=True)
    arrays = [rng.choice(EXTREMES[dtype], shape).astype(dtype) for shape, dtype in pairs]
    try:
        built = te_sched.build(sch.mod, target="llvm -opt-level=0")
    except BuildError as error:  # another processor
        pytest.skip(str(error))
    expected = case.by_numpy(*[array.astype("int32") for array in arrays])
    result = np.zeros(expected.shape, "int32")
    built(*arrays, result)
    np.testing.assert_array_equal(result, expected)


def test_instructions_follow_the_target() -> None:
    names = {
        name: [first for first, _ in dot_instructions(Target(target))]
        for name, target in TARGETS.items()
    }
    assert names == {
        "vnni": ["vnni", "vnni", "avx512", "avx2"],
        "avx512": ["avx512", "avx2"],
        "avx2": ["avx2"],
        "": [],
    }
    assert dot_instructions(Target("llvm -mtriple=i686-linux-gnu -mcpu=haswell")) == ()


def test_products_of_the_same_sign_have_a_plain_schedule() -> None:
    tensors = operands(((48, 64), (64, 96)), ("int8", "int8"))
    sch = scheduled(products, tensors, TARGETS["vnni"], [])
    assert "llvm.x86" not in sch.mod.script()


def test_few_rows_of_a_matrix_that_varies_are_not_packed() -> None:
    for weights, is_packed in (([], False), ([1], True)):
        tensors = operands(((2, 64), (64, 64)), ("uint8", "int8"))
        sch = scheduled(products, tensors, TARGETS["vnni"], weights)
        assert ("vpdpbusd" in sch.mod.script()) == is_packed
