"""Accesses of reshapes are simplified by the domains of iterators."""

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, tir, topi
from te_sched.dlight.simple_accesses import with_simple_accesses
from te_sched.target import Target


def by_head(rows):
    """The rows of each of three heads, one after the other."""
    a = te.placeholder((1, rows, 3, 8), name="A")
    return te.create_prim_func(
        [a, topi.reshape(topi.transpose(a, (0, 2, 1, 3)), (3, rows, 8))],
        index_dtype_override="int64",
    )


def indices_of(func, name):
    sch = tir.Schedule(func)
    block = sch.get(sch.get_block(name))
    return [str(one) for one in block.body.value.indices]


@pytest.mark.parametrize("rows", [10, te.var("n", "int64")])
def test_a_reshape_reads_iterators(rows):
    func = by_head(rows)
    assert "//" in str(indices_of(func, "T_reshape"))
    simple = with_simple_accesses(func)
    assert indices_of(simple, "T_reshape") == ["T.int64(0)", "v_ax0", "v_ax1", "v_ax2"]
    assert with_simple_accesses(simple).script() == simple.script()
    a = np.arange(240, dtype="float32").reshape(1, 10, 3, 8)
    out = np.empty((3, 10, 8), "float32")
    te_sched.build(simple)(a, out)
    np.testing.assert_array_equal(out, a[0].transpose(1, 0, 2))


def test_divisions_that_mean_something_stay():
    a = te.placeholder((12, 8), name="A")
    func = te.create_prim_func([a, topi.reshape(a, (8, 12))], index_dtype_override="int64")
    simple = with_simple_accesses(func)
    assert "//" in str(indices_of(simple, "T_reshape"))
    values, out = np.arange(96, dtype="float32").reshape(12, 8), np.empty((8, 12), "float32")
    te_sched.build(simple)(values, out)
    np.testing.assert_array_equal(out, values.reshape(8, 12))


def test_squares_of_a_size_divide():
    """The scores of attention of n positions, by batch and head and back."""
    n = te.var("n", "int64")
    a = te.placeholder((6, n, n), name="A")
    split = topi.reshape(a, (2, 3, n, n))
    back = topi.reshape(topi.exp(split), (6, n, n))
    func = with_simple_accesses(te.create_prim_func([a, back], index_dtype_override="int64"))
    assert indices_of(func, "T_reshape") == ["v_ax0 * T.int64(3) + v_ax1", "v_ax2", "v_ax3"]
    by_head = ["v_ax0 // T.int64(3)", "v_ax0 % T.int64(3)", "v_ax1", "v_ax2"]
    assert indices_of(func, "T_reshape_1") == by_head
    values, out = (
        np.arange(150, dtype="float32").reshape(6, 5, 5) / 150,
        np.empty((6, 5, 5), "float32"),
    )
    te_sched.build(func)(values, out)
    np.testing.assert_allclose(out, np.exp(values), rtol=1e-6)


def test_indices_of_data_stay():
    a, at = te.placeholder((8, 4), name="A"), te.placeholder((5,), "int64", "at")
    b = te.compute((5, 4), lambda i, j: a[(at[i] * 2 + j // 4) % 8, j], name="B")
    func = with_simple_accesses(te.create_prim_func([a, at, b], index_dtype_override="int64"))
    assert "at[v_i]" in indices_of(func, "B")[0]
    values, places = np.arange(32, dtype="float32").reshape(8, 4), np.array([3, 0, 1, 9, 2])
    out = np.empty((5, 4), "float32")
    te_sched.build(func)(values, places, out)
    np.testing.assert_array_equal(out, values[places * 2 % 8])


def test_products_of_heads_are_tiled():
    """A reshape between a transposition and a product does not hide the product."""
    q, k = (te.placeholder((1, 32, 3, 16), name=one) for one in "qk")
    rows = [topi.reshape(topi.transpose(one, (0, 2, 1, 3)), (3, 32, 16)) for one in (q, k)]
    func = te.create_prim_func([q, k, topi.nn.batch_matmul(*rows)], index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, Target("llvm"), False)
    assert "dlight.scheduled" in str(sch.mod)
    values = [np.random.default_rng(0).random((1, 32, 3, 16), "float32") for _ in "qk"]
    out = np.empty((3, 32, 32), "float32")
    te_sched.build(sch.mod)(*values, out)
    expected = np.einsum("ihd,jhd->hij", values[0][0], values[1][0])
    np.testing.assert_allclose(out, expected, rtol=1e-5)
