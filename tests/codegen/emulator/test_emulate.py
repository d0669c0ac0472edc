"""Accesses by indices from memory, on the emulated device: in bounds, or an error before them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, te, tir
from te_sched.codegen.emulator.serialize_threads import serialize_threads
from te_sched.errors import AccessError, BuildError
from te_sched.ir import expr as E
from tests.codegen.checker import kernels as k

DEVICE = te_sched.emulated_cuda(0)
OUTSIDE = [64, -1, 10**9, -(2**31)]
WORDS = tir.call_intrin


def gathered(rank: int = 1, cache: tuple[str, str] | None = None) -> tuple[Any, list[Any]]:
    """B[i] = A[I[i]], or B[i, j] = A[i, I[j]], in threads, perhaps through a cache."""
    A = te.placeholder((64,) * rank, name="A")
    indices = te.placeholder((64,), "int32", name="I")
    if rank == 1:
        B = te.compute((64,), lambda i: A[indices[i]], name="B")
    else:
        B = te.compute((64, 64), lambda i, j: A[i, indices[j]], name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[-1], factor=32)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    if cache is not None:
        cached = s.cache_read({"A": A, "I": indices}[cache[0]], cache[1], [B])
        s[cached].compute_at(s[B], inner if cache[1] == "local" else outer)
    return s, [A, indices, B]


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


def written(
    body: Callable[..., None], dtypes: Sequence[str] = ("float32", "int32", "float32")
) -> Any:
    """A kernel by hand of a warp over A, I and B."""
    buffers = [
        tir.decl_buffer((256,), dtype, name) for dtype, name in zip(dtypes, "AIB", strict=True)
    ]
    ib = tir.ir_builder.create()
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", 32)
    body(ib, *[ib.buffer_ptr(buffer) for buffer in buffers], tx.var)
    handles = [tir.Var(buffer.name, "handle") for buffer in buffers]
    func = tir.PrimFunc(handles, ib.get(), dict(zip(handles, buffers, strict=True)))
    return te_sched.build(func.with_attr("global_symbol", "main"), target="cuda")


def run(module: Any, index: int, dtypes: Sequence[str] = ("float32", "int32", "float32")) -> Any:
    arrays = [te_sched.nd.array(np.zeros(256, dtype), DEVICE) for dtype in dtypes]
    arrays[1] = te_sched.nd.array(np.full(256, index, "int32"), DEVICE)
    module(*arrays)
    return arrays[2].numpy()


def address(load: Any) -> Any:
    return WORDS("handle", "tir.address_of", load)


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


@pytest.mark.parametrize("what", ["number", "place", "stride"])
def test_fragments(what: str) -> None:
    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        c = ib.allocate("float32", (256,), "c", scope="wmma.accumulator").asobject().data
        number, start, stride = (
            I[0] if what == one else usual
            for one, usual in (("number", 0), ("place", 0), ("stride", 16))
        )
        ib.emit(WORDS("handle", "tir.tvm_fill_fragment", c, 16, 16, 16, number, 1.0))
        there = address(B[start]), stride, "row_major"
        ib.emit(WORDS("handle", "tir.tvm_store_matrix_sync", c, 16, 16, 16, 0, *there))

    module = written(body)
    if what != "stride":
        assert (run(module, 0) == 1).all()
    with pytest.raises(AccessError, match=r"write [cB] at"):
        run(module, 17)


@pytest.mark.parametrize("index", [0, 31, -1, 33, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("how", ["", "_up", "_down"])
def test_lanes_from_memory(how: str, index: int) -> None:
    """A lane that does not exist gives what the thread has itself."""

    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        every = E.IntImm(2**32 - 1, "uint32")
        value = tx.astype("float32")
        B[tx] = WORDS("float32", f"tir.tvm_warp_shuffle{how}", every, value, I[tx], 32, 32)

    lanes = np.arange(32)
    source = {"": index % 32, "_up": lanes - index, "_down": lanes + index}[how]
    is_there = how == "" or ((index >= 0) & (source >= 0) & (source < 32))
    expected = np.where(is_there, source, lanes)
    np.testing.assert_array_equal(run(written(body), index)[:32], expected)


def test_shuffle_of_a_width_from_memory_is_refused() -> None:
    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        every = E.IntImm(2**32 - 1, "uint32")
        B[tx] = WORDS("float32", "tir.tvm_warp_shuffle", every, A[tx], 0, I[tx], 32)

    with pytest.raises(BuildError, match=r"shuffle width .* must be 1, 2, 4, 8, 16 or 32"):
        run(written(body), 32)


def test_more_blocks_than_int32_counts() -> None:
    def build(ib: Any, C: Any, bx: Any, by: Any) -> None:
        C[0] = 1.0

    tags = {**k.TAGS, "by": "blockIdx.y"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k, "TAGS", tags)
        module = k.program(build, [k.array("C", 1)], bx=2**31 - 1, by=65535)
    loop = serialize_threads(module["main_kernel"]).body
    assert loop.extent.value == (2**31 - 1) * 65535
    assert loop.loop_var.dtype == "int64"
