"""Reductions along rows that vectors do not divide: vectors of parts, with the results of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from te_sched.dlight.cpu.row_reductions import is_row, with_padded_reductions
from te_sched.ir.expr import BufferLoad
from te_sched.ir.stmt import PrimFunc

LLVM = te_sched.target.Target("llvm")
SHAPES = ((512, 64), (3, 1), (1, 17), (5, 100), (0, 3), (2, 16))


def of_rows(compute: Any, dtype: str = "float32") -> PrimFunc:
    """A function of a matrix of n rows of m elements."""
    n, m = te.var("n", "int64"), te.var("m", "int64")
    x = te.placeholder((n, m), name="x", dtype=dtype)
    return te.create_prim_func([x, compute(x)])


def check(func: PrimFunc, expected: Any, shapes: Any = SHAPES, dtype: str = "float32") -> str:
    """Compare with numpy; the text of the scheduled program."""
    schedule: Any = dlight.cpu.Default().apply(func, LLVM, False)
    module = te_sched.build(schedule.mod, "llvm -opt-level=0")
    for shape in shapes:
        x = (np.random.default_rng(0).random(shape) * 9 - 4).astype(dtype)
        wanted = expected(x)
        result = np.zeros(wanted.shape, wanted.dtype)
        module(x, result)
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=1e-6)
    return str(schedule.mod)


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        (topi.sum, lambda x: x.sum(-1)),
        (topi.max, lambda x: x.max(-1, initial=np.finfo("float32").min)),
        (topi.min, lambda x: x.min(-1, initial=np.finfo("float32").max)),
        (topi.prod, lambda x: x.prod(-1)),
    ],
)
def test_reductions_of_open_rows(reduce: Any, expected: Any) -> None:
    text = check(of_rows(lambda x: reduce(x, 1)), expected)
    assert "_rf" in text
    assert "pragma_loop_partition_hint" in text


def test_softmax_of_open_rows_is_one_loop_over_rows() -> None:
    def softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if not x.size:
            return x
        powers = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    text = check(of_rows(topi.nn.softmax), softmax)
    assert text.count("T.parallel") == 1


def test_reductions_of_integers() -> None:
    check(
        of_rows(lambda x: topi.max(x, 1), "int32"),
        lambda x: x.max(-1, initial=-(2**31)),
        dtype="int32",
    )


@pytest.mark.parametrize("size", [33, 67, 100, 127])
@pytest.mark.parametrize("reduce", [topi.sum, topi.max, topi.prod])
def test_reductions_of_given_rows(reduce: Any, size: int) -> None:
    """Sums of steps that do not exist would have what lies behind a row."""
    x = te.placeholder((6, size), name="x")
    func = te.create_prim_func([x, reduce(x, 1)])
    expected = {topi.sum: np.sum, topi.max: np.max, topi.prod: np.prod}[reduce]
    text = check(func, lambda x: expected(x, axis=-1), [(6, size)])
    assert "_rf" in text


@pytest.mark.parametrize(("rows", "size"), [((512,), 99), ((2, 3), 50), ((1,), 33)])
def test_two_sums_of_given_rows(rows: tuple[int, ...], size: int) -> None:
    x = te.placeholder((*rows, size), name="x")
    weight, bias = (te.placeholder((size,), name=name) for name in ("weight", "bias"))
    norm = topi.nn.layer_norm(x, weight, bias, [-1], 1e-5)
    schedule: Any = dlight.cpu.Default().apply(
        te.create_prim_func([x, weight, bias, norm]), LLVM, False
    )
    assert "_rf" in str(schedule.mod)
    rng = np.random.default_rng(0)
    arrays = [rng.random(one, "float32") for one in ((*rows, size), (size,), (size,))]
    result = np.zeros((*rows, size), "float32")
    te_sched.build(schedule.mod, "llvm")(*arrays, result)
    values = arrays[0].astype("float64")
    values -= values.mean(-1, keepdims=True)
    wanted = values / np.sqrt((values**2).mean(-1, keepdims=True) + 1e-5) * arrays[1] + arrays[2]
    np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)


def test_other_reductions_stay_as_they_are() -> None:
    n, m = te.var("n", "int64"), te.var("m", "int64")
    a, b = te.placeholder((n, m), name="a"), te.placeholder((m, 8), name="b")
    product = te.create_prim_func([a, b, topi.nn.matmul(a, b)])
    columns = of_rows(lambda x: topi.sum(x, 0))
    places = of_rows(lambda x: topi.argmax(x, 1))
    fixed = te.placeholder((4, 32), name="x")
    known = te.create_prim_func([fixed, topi.sum(fixed, 1)])
    for func in (product, columns, places, known):
        assert with_padded_reductions(func, 16) is func


def test_rows_of_loads() -> None:
    i, k = te.var("i"), te.var("k")
    buffer = te_sched.tir.decl_buffer((8, 8))
    assert is_row(BufferLoad(buffer, (i, k)), k)
    assert is_row(BufferLoad(buffer, (i, i)), k)
    assert not is_row(BufferLoad(buffer, (k, i)), k)
    assert not is_row(BufferLoad(buffer, (i, k * 2)), k)
