"""What is read off a kernel."""

from __future__ import annotations

import pytest

from te_sched.ir.device_limits import TAGS
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.kernel import (
    KERNEL_CONVENTION,
    LaunchAxis,
    allocations,
    block_size,
    bytes_of,
    dynamic_offsets,
    is_kernel,
    lane_mask,
    launched,
    static_shared_bytes,
    thread_axes,
)
from te_sched.ir.stmt import Stmt
from tests.lowering.build import EFFECT, allocate, function, temporary, thread

n, bx, tx = Var("n"), Var("bx"), Var("tx")


def launch(body: Stmt, threads: int = 32) -> Stmt:
    return thread("blockIdx.x", 4, bx, thread("threadIdx.x", threads, tx, body))


def axis(tag: str, extent: int | Var) -> LaunchAxis:
    return LaunchAxis(tag, Var("t"), IntImm(extent) if isinstance(extent, int) else extent)


def test_axes_and_what_each_thread_does() -> None:
    kernel = function(launch(EFFECT))
    axes, body = thread_axes(kernel)
    assert [(one.tag, one.var, one.is_block) for one in axes] == [
        *(("blockIdx.x", bx, True), ("threadIdx.x", tx, False))
    ]
    assert body is EFFECT
    assert launched(kernel.body) == {bx: "blockIdx.x", tx: "threadIdx.x"}
    assert block_size(kernel) == 32
    assert {tag.split(".")[0] for tag in TAGS} == {"blockIdx", "threadIdx"}


def test_kernels_are_known_by_their_convention() -> None:
    host = function(EFFECT)
    assert not is_kernel(host)
    assert is_kernel(host.with_attr("calling_conv", KERNEL_CONVENTION))


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [("float32", (8, 4), 128), ("bool", (8,), 8), ("float16x2", (8,), 32), ("int8", (), 1)],
)
def test_bytes_of_an_allocation(dtype: str, shape: tuple[int, ...], size: int) -> None:
    found = bytes_of(allocate(temporary("w", *shape, dtype=dtype), EFFECT))
    assert isinstance(found, IntImm)
    assert found.value == size


def test_bytes_are_counted_without_overflow() -> None:
    found = bytes_of(allocate(temporary("w", 2**30, 4), EFFECT))
    assert isinstance(found, IntImm)
    assert (found.value, found.dtype) == (2**34, "int64")


def test_shared_memory_of_a_kernel() -> None:
    one, two = temporary("one", 8, scope="shared"), temporary("two", 3, scope="shared")
    own = temporary("own", 9, scope="local")
    kernel = function(launch(allocate(one, allocate(own, allocate(two, EFFECT)))))
    assert static_shared_bytes(kernel) == 44
    assert [node.buffer_var for node in allocations(kernel.body, "local")] == [own.data]


def test_dynamic_memory_is_aligned() -> None:
    one, two = temporary("one", 40, scope="shared.dyn"), temporary("two", 1, scope="shared.dyn")
    offsets, total = dynamic_offsets(function(launch(allocate(one, allocate(two, EFFECT)))))
    assert [str(offset) for offset in offsets.values()] == ["0", "256"]
    assert str(total) == "384"


def test_masks_of_whole_warps() -> None:
    whole = lane_mask([axis("blockIdx.x", 3), axis("threadIdx.x", 16), axis("threadIdx.y", 4)])
    assert isinstance(whole, IntImm)
    assert whole.value == 2**32 - 1
    for extent in (33, n):
        assert str(lane_mask([axis("threadIdx.x", extent)])) == "T.tvm_warp_activemask()"
