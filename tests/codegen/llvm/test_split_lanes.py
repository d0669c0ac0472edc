"""Stores of vectors whose lanes are not a power of two, as several."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.llvm.split_lanes import split_lanes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.structural import structural_equal
from tests.codegen.programs import buffer, build, function


@pytest.mark.parametrize("lanes", [3, 6, 7, 12, 20, 24, 28, 48, 96, 100])
def test_lanes_that_are_no_power_of_two(lanes: int) -> None:
    A, B = te.placeholder((40, lanes), name="A"), te.placeholder((40,), "int32", name="B")
    k = te.reduce_axis((0, 40), "k")
    C = te.compute(
        (5, lanes), lambda i, j: te.sum(te.exp(A[k, j]) * B[k].astype("float32"), axis=k), name="C"
    )
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    s[C].reorder(i, k, j)
    s[C].vectorize(j)
    module = te_sched.build(s, [A, B, C])
    assert f"<{lanes} x float>" not in module.get_source() or lanes < 12
    a = np.random.default_rng(5).random((40, lanes)).astype("float32")
    b, c = np.arange(40, dtype="int32"), np.zeros((5, lanes), "float32")
    module(a, b, c)
    np.testing.assert_allclose(c, np.broadcast_to((np.exp(a) * b[:, None]).sum(0), c.shape), 1e-5)


@pytest.mark.parametrize("shift", [-1, 1, 16])
def test_a_vector_that_moves_along_its_buffer_is_loaded_first(shift: int) -> None:
    A = buffer("A", [100])

    def at(start: int) -> E.Expr:
        return E.Ramp(E.IntImm(start), E.IntImm(1), 48)

    store = S.BufferStore(A, E.BufferLoad(A, (at(20),)), (at(20 + shift),))
    a = np.arange(100, dtype="float32")
    expected = a.copy()
    expected[20 + shift : 68 + shift] = a[20:68]
    build(function([A], store))(a)
    np.testing.assert_array_equal(a, expected)


def add_to(lanes: int, is_shifted: bool = False) -> S.BufferStore:
    """C[0:lanes] = C[0:lanes] + A[1:lanes + 1]"""
    a, c = buffer("A", [200]), buffer("C", [200])

    def at(start: int) -> E.Ramp:
        return E.Ramp(E.IntImm(start), E.IntImm(1), lanes)

    own = E.BufferLoad(c, (at(int(is_shifted)),))
    return S.BufferStore(c, E.Add(own, E.BufferLoad(a, (at(1),))), (at(0),))


@pytest.mark.parametrize(
    ("lanes", "parts"),
    [
        *[(48, [32, 16]), (12, [8, 4]), (100, [64, 32, 4]), (160, [64, 64, 32])],
        *[(16, [16]), (7, [7]), (9, [9]), (13, [13]), (6, [6])],  # a part would be too small
    ],
)
def test_parts_are_powers_of_two(lanes: int, parts: list[int]) -> None:
    stores = split_lanes(add_to(lanes), lambda data: True)
    starts = [store.indices[0].base.value for store in stores]
    assert [store.indices[0].lanes for store in stores] == parts
    assert starts == [sum(parts[:k]) for k in range(len(parts))]
    for store, start in zip(stores, starts, strict=True):
        own, other = store.value.a.indices[0], store.value.b.indices[0]
        assert structural_equal(own, store.indices[0])
        assert (other.base.value, other.lanes) == (start + 1, store.indices[0].lanes)


def test_stores_that_a_later_part_may_read_are_whole() -> None:
    whole, shifted = add_to(48), add_to(48, is_shifted=True)
    assert split_lanes(shifted, lambda data: True) == [shifted]
    for name in ("A", "C"):
        assert split_lanes(whole, lambda data, name=name: data.name != name) == [whole]


@pytest.mark.parametrize("op", ["tir.call_pure_extern", "tir.exp"])
def test_calls_are_split_that_compute_each_lane_alone(op: str) -> None:
    store = add_to(48)
    call = E.Call("float32x48", op, (store.value,))
    parts = split_lanes(S.BufferStore(store.buffer, call, store.indices), lambda data: True)
    assert [part.value.dtype for part in parts] == (
        ["float32x32", "float32x16"] if op == "tir.exp" else ["float32x48"]
    )
