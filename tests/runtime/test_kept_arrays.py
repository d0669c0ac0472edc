"""Arrays that packed functions keep after the call: they become copies, and views are refused."""

from __future__ import annotations

import contextlib
import gc
import weakref
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


def build(function: Callable[[NDArray, NDArray], Any], n: int) -> te_sched.runtime.Module:
    """B is what a function makes of A, both of them arguments."""
    te_sched.register_func("test.keep", function, override=True)
    a = te.placeholder((n,), name="A")
    packed = te_sched.tir.call_packed
    b = te.extern((n,), [a], lambda i, o: packed("test.keep", i[0], o[0]), name="B")
    return te_sched.build(te.create_schedule(b.op), [a, b])


@pytest.mark.parametrize("is_raised", [False, True])
def test_arguments_live_as_long_as_a_refused_view(is_raised: bool) -> None:
    kept: list[Any] = []

    def keep(x: NDArray, y: NDArray) -> None:
        kept.append(np.asarray(x))
        if is_raised:
            raise CallError("keep", "of this test", "do not")

    module, n = build(keep, 1 << 20), 1 << 20
    values = np.arange(n, dtype="float32")
    argument = weakref.ref(values)
    with pytest.raises(CallError, match="keep"):
        module(values, np.zeros(n, "float32"))
    del values
    gc.collect()
    np.testing.assert_array_equal(kept[0], np.arange(n))
    kept.clear()
    gc.collect()
    assert argument() is None


def test_what_a_failed_call_had_goes_without_a_collection() -> None:
    def fail(x: NDArray, y: NDArray) -> None:
        raise ValueError("mine")

    module, values = build(fail, 8), np.zeros(8, "float32")
    argument = weakref.ref(values)
    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            module(values, np.zeros(8, "float32"))
        del values
        assert argument() is None
    finally:
        gc.enable()


def test_an_array_that_is_returned_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    monkeypatch.setattr(NDArray, "own_memory", lambda one: copies.append(one))
    module = build(lambda x, y: y.copyfrom(x), 8)
    result = np.zeros(8, "float32")
    module(np.arange(8, dtype="float32"), result)
    np.testing.assert_array_equal(result, np.arange(8))
    assert not copies


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
