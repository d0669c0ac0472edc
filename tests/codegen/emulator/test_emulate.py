"""Accesses by indices from memory, on the emulated device: in bounds, or an error before them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, te, tir
from te_sched.errors import AccessError
from tests.codegen.emulator.kernels import DEVICE, address, gathered, run, written

OUTSIDE = [64, -1, 10**9, -(2**31)]


def call(module: Any, index: int, rank: int = 1) -> np.ndarray:
    """The result for indices of which the sixth is given."""
    table = np.random.default_rng(0).random((64,) * rank, "float32")
    indices = np.arange(64, dtype="int32")[::-1].copy()
    indices[5] = index
    arrays = [te_sched.nd.array(x, DEVICE) for x in (table, indices, np.zeros_like(table))]
    module(*arrays)
    result = arrays[2].numpy()
    if -1 < index < 64:
        np.testing.assert_array_equal(result, table[..., indices])
    return result


@pytest.mark.parametrize("index", OUTSIDE)
@pytest.mark.parametrize("cache", [None, ("A", "local"), ("A", "shared"), ("I", "shared")])
def test_gathers_outside_are_refused(cache: tuple[str, str] | None, index: int) -> None:
    module = te_sched.build(*gathered(1, cache), target="cuda")
    call(module, 63)
    match = rf"read A\S* at {index} in .*(.|\n)*blockIdx.x = 0 and threadIdx.x = 5"
    with pytest.raises(AccessError, match=match):
        call(module, index)


def test_index_that_leaves_its_row_alone_is_refused() -> None:
    module = te_sched.build(*gathered(2), target="cuda")
    call(module, 63, 2)
    with pytest.raises(AccessError, match="read A at 64 in dimension 1"):
        call(module, 64, 2)


def test_lowered_and_saved_programs_are_checked(tmp_path: pathlib.Path) -> None:
    module = te_sched.build(te_sched.lower(*gathered()), target="cuda")
    module.export_library(tmp_path / "gather.so")
    for one in (module, te_sched.runtime.load_module(tmp_path / "gather.so")):
        with pytest.raises(AccessError, match="read A at 64"):
            call(one, 64)


def test_kernels_for_a_gpu_are_what_they_were() -> None:
    checked = te_sched.build(*gathered(), target="cuda")
    with config.scoped(check_accesses=False):
        bare = te_sched.build(*gathered(), target="cuda")
    assert checked.imported_modules[0].get_source() == bare.imported_modules[0].get_source()
    assert checked.get_source() == bare.get_source()


def test_what_is_proved_or_not_verified_has_no_checks() -> None:
    def texts(module: Any) -> str:
        return module.checked_program("main").script()

    with config.scoped(check_accesses=False):
        assert "report" not in texts(te_sched.build(*gathered(), target="cuda"))
    assert "report" not in texts(te_sched.build(*gathered(), target="cuda", verify=False))
    assert "report" in texts(te_sched.build(*gathered(), target="cuda"))
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[63 - i], name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    assert "report" not in texts(te_sched.build(s, [A, B], target="cuda"))


def scatter(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
    B[I[tx] + tx] = A[tx]


def atomic(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
    ib.emit(tir.call_extern("float32", "atomicAdd", address(B[I[tx]]), A[tx]))


def pointer(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
    B[tx] = tir.call_extern("float32", "__ldg", address(A[I[tx]]))


def registers(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
    own = ib.allocate("float32", 256, "own", scope="local")
    with ib.for_range(0, 256) as i:
        own[i] = A[i]
    B[tx] = own[I[tx]]


@pytest.mark.parametrize("index", [256, -32, 10**9, -(2**31)])
@pytest.mark.parametrize("body", [scatter, atomic, pointer, registers])
def test_kernels_by_hand(body: Callable[..., None], index: int) -> None:
    module = written(body)
    run(module, 0)
    with pytest.raises(AccessError, match=r"(read|write) \w+ at -?\d+ in dimension 0"):
        run(module, index)
