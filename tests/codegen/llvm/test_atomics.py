"""Atomic operations: their instructions, and those of many blocks on one element on all devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.codegen.llvm.atomics import CALLS
from te_sched.codegen.llvm.types import Value
from te_sched.codegen.target import as_target
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.runtime.cuda_module import CudaModule
from tests.codegen.checker import kernels as k
from tests.codegen.cuda.devices import DEVICE, agree
from tests.codegen.llvm.instructions import new_function, text_of
from tests.codegen.programs import buffer


def updates(name: str, dtype: str) -> Any:
    """C[i % 4] = f(C[i % 4], A[i]), for all i in no order."""

    def build(ib: Any, A: Any, C: Any, bx: E.Var, tx: E.Var) -> None:
        place = E.Call("handle", "tir.address_of", (C[ops.floormod(tx, 4)],))
        ib.emit(E.Call(dtype, f"tir.atomic_{name}", (place, A[bx * 32 + tx])))

    return build


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32"])
@pytest.mark.parametrize(("name", "combine"), [("add", np.sum), ("max", np.max)])
def test_updates(name: str, combine: Any, dtype: str) -> None:
    values = np.random.default_rng(0).integers(0, 100, 32 * 64).astype(dtype)
    expected = combine(values.reshape(-1, 4), axis=0).astype(dtype)
    buffers = [k.array("A", values.size, dtype), k.array("C", 4, dtype)]
    program = k.program(updates(name, dtype), buffers, bx=64, tx=32)
    agree(program, [values], expected, archs=["sm_80"], initialized="C")


@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_with_nan_are_nan(name: str) -> None:
    """Whether it is in memory before, comes first or comes last; as of two values."""
    dtype = "float32"
    values = np.array([3, np.nan, -5, 1, 2, np.nan, -4, 1] * 8, dtype)
    values[-1] = np.nan
    before = np.array([0, 0, np.nan, 0], dtype)
    expected = getattr(np, f"{name}imum").reduce(np.concatenate([before, values]).reshape(-1, 4))
    buffers = [k.array("A", values.size, dtype), k.array("C", 4, dtype)]
    module = CudaModule(k.program(updates(name, dtype), buffers, bx=2, tx=32), as_target("cuda"))
    checked, emulated = before.copy(), te_sched.nd.array(before, DEVICE)
    module.check(values, checked, initialized=["C"])
    module(te_sched.nd.array(values, DEVICE), emulated)
    np.testing.assert_array_equal(checked, expected)
    np.testing.assert_array_equal(emulated.numpy(), expected)


def test_compare_and_swap() -> None:
    """Of all threads one takes the place."""

    def build(ib: Any, C: Any, bx: E.Var, tx: E.Var) -> None:
        place = E.Call("handle", "tir.address_of", (C[0],))
        old = E.Call("int32", "tir.atomic_cas", (place, E.IntImm(0), E.IntImm(7)))
        count = E.Call("handle", "tir.address_of", (C[1],))
        first = ops.cast("int32", ops.equal(old, 0))
        ib.emit(E.Call("int32", "tir.atomic_add", (count, first)))

    program = k.program(build, [k.array("C", 2, "int32")], bx=8, tx=32)
    agree(program, [], np.array([7, 1], "int32"), archs=["sm_80"], initialized="C")


def test_results_are_places_of_their_own() -> None:
    def build(ib: Any, C: Any, N: Any, bx: E.Var, tx: E.Var) -> None:
        place = E.Call("handle", "tir.address_of", (N[0],))
        C[bx * 32 + tx] = E.Call("int32", "tir.atomic_add", (place, E.IntImm(1)))

    buffers = [k.array("C", 256, "int32"), k.array("N", 1, "int32")]
    program = k.program(build, buffers, bx=8, tx=32)
    inputs, expected = [np.zeros(256, "int32")], np.array([256], "int32")
    module = agree(program, inputs, expected, archs=["sm_80"], initialized="N")
    assert "atomicAdd" in module.source


def test_arrays_that_must_not_be_written_are_refused() -> None:
    buffers = [k.array("A", 64), k.array("C", 4)]
    module = CudaModule(
        k.program(updates("add", "float32"), buffers, bx=2, tx=32), as_target("cuda")
    )
    assert [one.written for one in module.host(None)["main"].signature.parameters] == [False, True]


def atomic(name: str, dtype: str, *values: float) -> str:
    """The instructions of an atomic operation on an element of A."""
    out, place = new_function(), buffer("A", [4], dtype)
    out.environment[place.data] = Value("%a", "handle")
    pointer = E.Call("handle", "tir.address_of", (E.BufferLoad(place, (E.IntImm(0),)),))
    operands = [ops.const(value, dtype) for value in values]
    CALLS[name](out, E.Call(dtype, f"tir.{name}", (pointer, *operands)))
    return text_of(out)


@pytest.mark.parametrize(
    ("name", "dtype", "instruction"),
    [
        *[
            ("atomic_add", "float16", "fadd ptr %a, half"),
            ("atomic_add", "uint64", "add ptr %a, i64"),
        ],
        *[("atomic_max", "int32", "max ptr %a, i32"), ("atomic_max", "uint32", "umax ptr %a, i32")],
        *[
            ("atomic_min", "uint32", "umin ptr %a, i32"),
            ("atomic_add", "float64", "fadd ptr %a, double"),
        ],
        ("atomic_exch", "float32", "xchg ptr %a, float"),
    ],
)
def test_operations_are_those_of_the_type(name: str, dtype: str, instruction: str) -> None:
    assert f"atomicrmw {instruction}" in atomic(name, dtype, 3)


def test_values_are_compared_as_integers() -> None:
    assert "cmpxchg ptr %a, i64 5, i64 9" in atomic("atomic_cas", "int64", 5, 9)
    with pytest.raises(BuildError, match=r"tir.atomic_cas does not support float32\n"):
        atomic("atomic_cas", "float32", 5, 9)
    with pytest.raises(BuildError, match=r"tir.atomic_add does not support int8\n(?s:.*)float64"):
        atomic("atomic_add", "int8", 1)
