"""All loops, indices and shapes of a function in one dtype."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import LoweringError
from te_sched.ir.verify import verify
from te_sched.script import tir as T
from te_sched.tir.passes.force_narrow_indices import force_narrow_indices


def gather() -> tuple[te.Tensor, ...]:
    A, ids = te.placeholder((8, 16), name="A"), te.placeholder((8,), "int32", name="ids")
    return A, ids, te.compute((8,), lambda i: A[i, ids[i] + i] * 2.0, name="B")


def test_results() -> None:
    a, ids = np.random.rand(8, 16).astype("float32"), np.arange(8, dtype="int32")
    out = te_sched.nd.array(np.zeros(8, "float32"))
    module = te_sched.build(te.create_prim_func([*gather()], index_dtype_override="int64"))
    module(te_sched.nd.array(a), te_sched.nd.array(ids), out)
    np.testing.assert_allclose(out.numpy(), a[np.arange(8), 2 * np.arange(8)] * 2)


def test_forced_indices_are_narrow() -> None:
    @T.prim_func
    def wide(A: T.Buffer((T.int64(8),), "int32"), n: T.int64):
        for i in range(T.int64(8)):
            m = i + n
            A[i] = T.Cast("int32", m * T.int64(2)) + T.clz(i)

    func = force_narrow_indices(wide)
    verify(func, "blocks")
    assert "int64" not in str(func)
    assert "T.clz(i) - 32 + 64" in str(func)
    assert str(force_narrow_indices(func)) == str(func)


def test_forcing_rejects_wide_data() -> None:
    @T.prim_func
    def wide(A: T.Buffer((8,), "int64")):
        A[0] = T.int64(1)

    with pytest.raises(LoweringError, match="buffer A has elements of int64"):
        force_narrow_indices(wide)


def test_variables_of_indices_are_wide() -> None:
    A = te.placeholder((4, 6), "uint8", name="A")
    func = te.create_prim_func([A, te_sched.topi.argmax(A, axis=1)], "int64")
    verify(func, "blocks")
    assert "v_A_red_temp_v0: T.int64 = T.Select(" in str(func)
    a, out = np.random.randint(0, 9, (4, 6)).astype("uint8"), te_sched.nd.empty((4,), "int32")
    te_sched.build(func)(te_sched.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), a.argmax(1))
