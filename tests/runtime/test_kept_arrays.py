"""Arrays that packed functions keep after the call: they become copies, and views are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import CallError
from te_sched.nd import NDArray
from te_sched.runtime import registry

SIZES = [8, 100_000]  # temporaries on the stack and on the heap


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    registry.remove_global_func("test.keep")


def call(function: Callable[[NDArray, NDArray], Any], n: int, dtype: str = "float32") -> None:
    """Let a function copy a temporary, which holds 0 ... n - 1, into another one."""
    te_sched.register_func("test.keep", function, override=True)
    a = te.placeholder((n,), name="A", dtype=dtype)
    t = te.compute((n,), lambda i: a[i] + te.const(0, dtype), name="T")
    packed = te_sched.tir.call_packed
    o = te.extern((n,), [t], lambda i, o: packed("test.keep", i[0], o[0]), name="O", dtype=dtype)
    b = te.compute((n,), lambda i: o[i] + te.const(0, dtype), name="B")
    module = te_sched.build(te.create_schedule(b.op), [a, b])
    values = te_sched.nd.array(np.arange(n) % 128, dtype=dtype)
    result = te_sched.nd.zeros((n,), dtype)
    module(values, result)
    np.testing.assert_array_equal(result._array, values._array)


@pytest.mark.parametrize("n", SIZES)
def test_an_array_that_is_kept_becomes_a_copy(n: int) -> None:
    kept: list[NDArray] = []

    def keep(x: NDArray, y: NDArray) -> NDArray:
        kept.append(x)
        y[:] = x.numpy()
        return y  # for chaining

    for _ in range(3):
        call(keep, n)
    for one in kept:
        assert one.address == one._array.ctypes.data
        np.testing.assert_array_equal(one.numpy(), np.arange(n, dtype="float32") % 128)


VIEWS: dict[str, Callable[[NDArray], Any]] = {
    "numpy": np.from_dlpack,
    "asarray": np.asarray,
    "slice": lambda x: x[2:],
    "buffer": lambda x: memoryview(np.asarray(x)),
    "capsule": lambda x: x.__dlpack__(),
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_that_is_kept_is_refused(n: int, view: str) -> None:
    kept: list[Any] = []

    def keep(x: NDArray, y: NDArray) -> None:
        kept.append(VIEWS[view](x))
        y.copyfrom(x)

    with pytest.raises(CallError, match=r"'test.keep' keeps a view(.|\n)*keep a copy"):
        call(keep, n)


def test_a_refused_view_of_an_argument_stays_valid() -> None:
    kept: list[Any] = []
    te_sched.register_func("test.keep", lambda x, y: kept.append(np.asarray(x)), override=True)
    a = te.placeholder((1 << 20,), name="A")
    packed = te_sched.tir.call_packed
    b = te.extern((1 << 20,), [a], lambda i, o: packed("test.keep", i[0], o[0]), name="B")
    module = te_sched.build(te.create_schedule(b.op), [a, b])
    with pytest.raises(CallError, match="keeps a view"):
        module(np.arange(1 << 20, dtype="float32"), np.zeros(1 << 20, "float32"))
    np.testing.assert_array_equal(kept[0], np.arange(1 << 20))


def test_a_kept_capsule_of_bfloat16_is_refused() -> None:
    kept: list[Any] = []
    with pytest.raises(CallError, match="keeps a view"):
        call(lambda x, y: kept.append(x.__dlpack__()), 8, "bfloat16")


def test_views_in_a_cycle_that_nobody_has_are_no_matter() -> None:
    def use(x: NDArray, y: NDArray) -> None:
        cycle: list[Any] = [np.from_dlpack(x)]
        cycle.append(cycle)
        y.copyfrom(x)

    call(use, 8)


def test_an_array_in_the_frames_of_an_exception_is_valid() -> None:
    def fail(x: NDArray, y: NDArray) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        call(fail, 8)
    trace: Any = caught.tb
    while trace.tb_next is not None:
        trace = trace.tb_next
    np.testing.assert_array_equal(trace.tb_frame.f_locals["x"].numpy(), np.arange(8))
