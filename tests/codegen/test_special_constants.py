"""Constants of special values: programs compute with them what they compute with the same values
from memory, and their texts are read back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import relax, te, tir
from te_sched.ir.structural import structural_equal
from te_sched.ir.structural_hash import structural_hash
from te_sched.script import from_source

VALUES = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.5, -0.5)
PAIRS = [(a, b) for a in VALUES for b in VALUES]
DTYPES = ("float16", "float32", "float64")

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": te.add,
    "subtract": te.subtract,
    "multiply": te.multiply,
    "max": te.max,
    "min": te.min,
    "less": lambda a, b: tir.Select(a < b, a, b),
    "less_equal": lambda a, b: tir.Select(a <= b, a, b),
    "not_less": lambda a, b: tir.Select(tir.Not(a < b), a, b),
    "equal": lambda a, b: tir.Select(tir.EQ(a, b), a + 1, b - 1),
    "difference": lambda a, b: (a - a) + (b - b),
    "zeros": lambda a, b: tir.Select(a > b, tir.const(0.0, a.dtype), tir.const(-0.0, a.dtype)),
    "add zeros": lambda a, b: (a + tir.const(0.0, a.dtype)) - (tir.const(-0.0, a.dtype) - b),
    "multiply zeros": lambda a, b: a * tir.const(0.0, a.dtype) + b * tir.const(-0.0, a.dtype),
    **{
        name: lambda a, b, name=name: getattr(te, name)(a)  # type: ignore[misc]
        for name in ("floor", "ceil", "round", "trunc", "nearbyint", "abs")
    },
}


def _computed(dtype: str, *, is_constant: bool) -> Any:
    """The results of the operations for all pairs, whose values are constants or elements."""
    shape = (len(OPERATIONS), len(PAIRS))
    A, B = (te.placeholder((len(PAIRS),), dtype, name=name) for name in "AB")

    def stores(inputs: Any, outputs: Any) -> Any:
        builder = tir.ir_builder.create()
        a, b, result = map(builder.buffer_ptr, (*inputs, *outputs))
        for row, function in enumerate(OPERATIONS.values()):
            if is_constant:
                for column, pair in enumerate(PAIRS):
                    constants = [tir.const(value, dtype) for value in pair]
                    result[row, column] = function(*constants)
            else:
                with builder.for_range(0, len(PAIRS)) as i:
                    result[row, i] = function(a[i], b[i])
        return builder.get()

    C = te.extern(shape, [A, B], stores, name="C", dtype=dtype)
    found = np.full(shape, 9, dtype)
    columns = [np.array(column, dtype) for column in zip(*PAIRS, strict=True)]
    te_sched.build(te.create_schedule(C.op), [A, B, C], "llvm")(*columns, found)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_fold_to_what_memory_gives(dtype: str) -> None:
    rows = zip(*[_computed(dtype, is_constant=one) for one in (False, True)], strict=True)
    for name, (expected, found) in zip(OPERATIONS, rows, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=name)
        if name in ("max", "min"):  # of zeros either sign (docs/legality.md)
            continue
        signs = [np.signbit(one[~np.isnan(expected)]) for one in (found, expected)]
        np.testing.assert_array_equal(*signs, err_msg=name)


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
@pytest.mark.parametrize("value", [*VALUES, 0.1, 1e-40, -5e-324, 6e-8])
def test_texts_of_constants_are_read_back(dtype: str, value: float) -> None:
    x = tir.Var("x", dtype)
    for expr in (tir.const(value, dtype), tir.Add(x, tir.const(value, dtype))):
        func = tir.PrimFunc([x], tir.Evaluate(expr)).with_attr("value", value)
        again = from_source(func.script())
        assert structural_equal(func, again)
        assert structural_hash(func) == structural_hash(again)
        assert structural_equal(te_sched.ir.load_json(te_sched.ir.save_json(func)), func)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", VALUES)
def test_texts_of_constants_of_graphs_are_read_back(dtype: str, value: float) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2,), dtype))
    constants = [relax.const(np.full(shape, value), dtype) for shape in ((), (2,))]
    with builder.function("main", [x]):
        sums = [builder.emit(relax.op.add(x, constant)) for constant in constants]
        builder.emit_func_output(relax.Tuple(sums))
    module = builder.get()
    for again in (
        from_source(module.script(show_meta=True)),
        te_sched.ir.load_json(te_sched.ir.save_json(module)),
    ):
        assert structural_equal(module, again)
        assert structural_hash(module) == structural_hash(again)


def test_arrays_are_the_same_if_their_bits_are() -> None:
    quiet, other = np.array([0x7FC00000, 0x7FC00001], "uint32").view("float32").reshape(2, 1)
    arrays = [np.zeros(1, "float32"), -np.zeros(1, "float32"), quiet, other]
    constants = [relax.const(array) for array in arrays]
    for place, left in enumerate(constants):
        for position, right in enumerate(constants):
            is_same = place == position
            assert structural_equal(left, right) == is_same
            assert (structural_hash(left) == structural_hash(right)) == is_same
    one, two = (tir.PrimFunc([], tir.Evaluate(0)).with_attr("x", [v]) for v in (0.0, -0.0))
    assert not structural_equal(one, two)


def test_zeros_of_both_signs_divide_differently() -> None:
    func = from_source("""
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.float32(1) / T.Select(i < 2, T.float32(0), T.float32(-0.0))
""")
    result = np.zeros(4, "float32")
    te_sched.build(func, target="llvm")(result)
    assert result.tolist() == [math.inf, math.inf, -math.inf, -math.inf]
