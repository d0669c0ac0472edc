"""Products of bytes use the instructions of the processor, and are exact on all; products of
bfloat16 are added in pairs.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from te_sched.dlight.cpu.dot_products import dot_instructions, pair_instructions
from te_sched.errors import BuildError
from te_sched.lowering.blocks.widen_halves import widen_halves
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


def in_groups(tensors: list[te.Tensor]) -> te.Tensor:
    """A convolution of three groups."""
    return topi.nn.group_conv2d_nchw(*tensors, 1, 1, 1, 3, out_dtype="int32")


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


def windows_in_groups(data: Any, weights: Any) -> Any:
    """What `in_groups` computes, by numpy."""
    parts = zip(np.split(data, 3, 1), np.split(weights, 3), strict=True)
    return np.concatenate([windows(*part) for part in parts], 1)


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
    "groups": Case(in_groups, windows_in_groups, ((2, 24, 6, 9), (96, 8, 3, 3))),
}


@pytest.mark.parametrize("instructions", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_results(name: str, instructions: str) -> None:
    case = CASES[name]
    tensors = operands(case.shapes, case.dtypes)
    weights = [1] if name in ("convolution", "groups") else []
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


def test_rows_of_a_prime_number_without_borders_have_tiles_of_several() -> None:
    """What is read as one element for a vector of channels is clamped at the end of a row."""
    tensors = operands(((1, 8, 6, 21), (32, 8, 3, 3)), ("uint8", "int8"))

    def without_border(tensors: list[te.Tensor]) -> te.Tensor:
        return topi.nn.conv(*tensors, 1, 0, 1, 1, "NCHW", out_dtype="int32")

    sch = scheduled(without_border, tensors, "llvm", [1])
    assert "conv2d_nchw_pad" in sch.mod.script()
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (1, 8, 6, 21), "uint8")
    b = rng.integers(-128, 128, (32, 8, 3, 3), "int8")
    parts = np.lib.stride_tricks.sliding_window_view(a.astype("int32"), (3, 3), (2, 3))
    expected = np.einsum("nchwyx,fcyx->nfhw", parts, b.astype("int32"))
    result = np.zeros(expected.shape, "int32")
    te_sched.build(sch.mod, target="llvm -opt-level=0")(a, b, result)
    np.testing.assert_array_equal(result, expected)


def test_groups_that_instructions_do_not_divide_have_a_plain_schedule() -> None:
    tensors = operands(((1, 18, 6, 9), (96, 6, 3, 3)), ("uint8", "int8"))
    assert "vpdpbusd" not in scheduled(in_groups, tensors, TARGETS["vnni"], [1]).mod.script()


# -- bfloat16 --------------------------------------------------------------------------------------

WITH_PAIRS, WITHOUT_PAIRS = "llvm -mcpu=cooperlake", "llvm -mcpu=cascadelake"


def halves(function: Any, shapes: Any, target: str) -> Any:
    """The schedule of a function of bfloat16, computed in float32 as in graphs."""
    tensors = operands(shapes, ("bfloat16", "bfloat16"))
    func = widen_halves(te.create_prim_func([*tensors, function(*tensors)]))
    func = func.with_attr("layout_free_buffers", [1])
    return dlight.cpu.Default().apply(func, Target(target), False)


def bordered(data: te.Tensor, weights: te.Tensor) -> te.Tensor:
    """A convolution of one group with borders."""
    return topi.nn.conv2d_nchw(data, weights, 1, 1, 1)


def grouped(data: te.Tensor, weights: te.Tensor) -> te.Tensor:
    """A convolution of three groups, and a function of its sums."""
    return topi.nn.relu(topi.nn.group_conv2d_nchw(data, weights, 1, 1, 1, 3))


HALVES = {
    "product": (topi.nn.matmul, lambda a, b: a @ b, ((48, 64), (64, 96))),
    "padded": (topi.nn.matmul, lambda a, b: a @ b, ((33, 31), (31, 41))),
    "dense": (topi.nn.dense, lambda a, b: a @ b.T, ((20, 30), (40, 30))),
    "convolution": (bordered, windows, ((1, 8, 6, 9), (32, 8, 3, 3))),
    "groups": (
        grouped,
        lambda a, b: np.maximum(windows_in_groups(a, b), 0),
        ((2, 18, 6, 9), (96, 6, 3, 3)),
    ),
}


@pytest.mark.parametrize("name", HALVES)
def test_products_of_bfloat16_are_added_in_pairs(name: str) -> None:
    function, by_numpy, shapes = HALVES[name]
    assert "dpbf16ps" not in halves(function, shapes, WITHOUT_PAIRS).mod.script()
    sch = halves(function, shapes, WITH_PAIRS)
    assert "llvm.x86.avx512bf16.dpbf16ps.512" in sch.mod.script()
    try:
        built = te_sched.build(sch.mod, target="llvm -opt-level=0")
    except BuildError as error:  # another processor
        pytest.skip(str(error))
    rng = np.random.default_rng(0)
    numbers = [rng.integers(-8, 8, shape).astype("float32") for shape in shapes]
    expected = by_numpy(*numbers)
    arrays = [te_sched.nd.array(one, dtype="bfloat16") for one in (*numbers, 0 * expected)]
    built(*arrays)
    result = arrays[-1].numpy().astype("float32")
    np.testing.assert_allclose(result, expected, rtol=2**-8, atol=0)


@pytest.mark.parametrize("name", ["product", "convolution"])
def test_pairs_of_special_values(name: str) -> None:
    """Borders of zeros stay what they are, and NaN and infinity reach the results."""
    function, by_numpy, shapes = HALVES[name]
    try:
        built = te_sched.build(halves(function, shapes, WITH_PAIRS).mod, target="llvm")
    except BuildError as error:  # another processor
        pytest.skip(str(error))
    a, b = (np.ones(shape, "float32") for shape in shapes)
    a.flat[0], a.flat[-1] = np.nan, np.inf
    expected = by_numpy(a, b)
    arrays = [te_sched.nd.array(one, dtype="bfloat16") for one in (a, b, np.zeros_like(expected))]
    built(*arrays)
    np.testing.assert_allclose(arrays[-1].numpy().astype("float32"), expected, rtol=2**-8)


def test_instructions_for_pairs_follow_the_target() -> None:
    assert pair_instructions(Target(WITH_PAIRS)) == (("bf16", 16), ("bf16", 8))
    assert pair_instructions(Target(WITHOUT_PAIRS)) == ()


def test_what_another_block_computes_is_not_rounded() -> None:
    """Only copies are kept in bfloat16: a factor that is computed has more digits."""

    def function(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        shifted = te.compute(a.shape, lambda *at: a[at] * te.const(1.5, "bfloat16"), "shifted")
        return topi.nn.conv2d_nchw(shifted, b, 1, 1, 1)

    sch = halves(function, ((1, 8, 6, 9), (32, 8, 3, 3)), WITH_PAIRS)
    assert "dpbf16ps" not in sch.mod.script()
