"""Accesses by one index."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import BufferLoad, FloatImm, IntImm, Ramp
from te_sched.ir.stmt import BufferStore
from te_sched.lowering.join_dimensions import join_dimensions
from tests.lowering.build import function, store, var

i, j, k = var("i"), var("j"), var("k")


def test_rows_follow_each_other() -> None:
    A = decl_buffer((2, 3, 4), name="A")
    found = join_dimensions(function(BufferStore(A, FloatImm(1.0, "float32"), (i, j, k)), A))
    assert isinstance(found.body, BufferStore)
    assert [str(index) for index in found.body.indices] == ["i * 12 + j * 4 + k"]


def test_strides_and_vectors() -> None:
    A = decl_buffer((4, 8), name="A", strides=[16, 2])
    B = decl_buffer((4, 8), name="B")
    lanes = Ramp(j, IntImm(1), 4)
    found = join_dimensions(function(BufferStore(B, BufferLoad(A, (i, lanes)), (i, lanes)), A, B))
    body = found.body
    assert isinstance(body, BufferStore)
    assert isinstance(body.value, BufferLoad)
    assert str(body.indices[0]) == "T.Ramp(i * 8 + j, 1, 4)"
    assert str(body.value.indices[0]) == "T.Ramp(i * 16 + j * 2, 2, 4)"


def test_what_has_one_dimension_stays() -> None:
    A = decl_buffer((64,), name="A")
    func = function(store(A, 1.0, i), A)
    assert join_dimensions(func) is func


@pytest.mark.parametrize("scope", ["local", "shared", "warp"])
def test_memory_of_kernels_whose_dimensions_are_set_apart(scope: str) -> None:
    A = te.placeholder((32, 8), name="A")
    B = te.compute((32, 8), lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    copy = s.cache_write(B, scope)
    s[copy].transform_layout(lambda i, j: [j, te.AXIS_SEPARATOR, i])
    thread = te.thread_axis("threadIdx.x")
    s[B].reorder(B.op.axis[1], B.op.axis[0])
    s[B].bind(B.op.axis[1], te.thread_axis("blockIdx.x"))
    s[B].bind(B.op.axis[0], thread)
    s[copy].compute_at(s[B], B.op.axis[1])
    if scope != "local":
        s[copy].bind(s[copy].leaf_iter_vars[1], thread)
    function = te_sched.build(s, [A, B], "cuda")
    a = np.random.default_rng(0).random((32, 8), "float32")
    device = te_sched.emulated_cuda(0)
    given, result = te_sched.nd.array(a, device), te_sched.nd.empty((32, 8), "float32", device)
    function(given, result)
    np.testing.assert_array_equal(result.numpy(), a * 2)
