"""The form of kernels, and queries on them.

A kernel is a PrimFunc without buffer_map. Its parameters are pointers to global memory, then
scalars; buffers in its body are views of these pointers, or of its own allocations, whose scope
("shared", "shared.dyn", "local", "warp", "wmma...") is in the type of the pointer. The body begins
with one `thread_extent` attribute per thread axis, in the order of TAGS:

    attr(blockIdx.x, "thread_extent", (n + 63) // 64)
        attr(threadIdx.x, "thread_extent", 64)
            A_shared = allocate([64], scope="shared")
            ...

The host's function has `launch_kernel(name, *arguments, *extents, dynamic shared bytes)` in its
place. Must not know passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from te_sched.ir import dtypes, ops
from te_sched.ir.device_limits import WARP
from te_sched.ir.expr import Call, Expr, IntImm, IterVar, StringImm, Var
from te_sched.ir.stmt import Allocate, AttrStmt, PrimFunc, Stmt
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import statements

LAUNCH = "tir.launch_kernel"
HOST_ONLY = "tir.is_host_func"  # the attribute of functions on memory of the host
BARRIER = "tir.tvm_storage_sync"
KERNEL_CONVENTION = 2  # TVM's code of the calling convention of kernels
DYNAMIC_ALIGNMENT = storage_scope("shared.dyn").alignment  # bytes; between allocations


@dataclass(frozen=True, slots=True)
class LaunchAxis:
    """One axis of the launch: its tag, its index variable, and its extent."""

    tag: str
    var: Var
    extent: Expr

    @property
    def is_block(self) -> bool:
        """Whether it is an axis of blocks, not of threads in a block."""
        return self.tag.startswith("blockIdx")


def is_kernel(func: PrimFunc) -> bool:
    """Whether a function runs on the device."""
    return func.attrs.get("calling_conv") == KERNEL_CONVENTION


def thread_axes(kernel: PrimFunc) -> tuple[tuple[LaunchAxis, ...], Stmt]:
    """The thread axes of a kernel, in the order of TAGS, and the body of every thread."""
    axes, body = [], kernel.body
    while isinstance(body, AttrStmt) and body.key == "thread_extent":
        iter_var: IterVar = body.node
        axes.append(LaunchAxis(iter_var.thread_tag, iter_var.var, body.value))
        body = body.body
    return tuple(axes), body


def thread_number(axes: Iterable[LaunchAxis]) -> tuple[Expr, Expr]:
    """The linear index of a thread in its block, threadIdx.x fastest, and the number of threads."""
    number: Expr = IntImm(0)
    count: Expr = IntImm(1)
    for axis in axes:
        if not axis.is_block:
            number = ops.add(number, ops.mul(axis.var, count))
            count = ops.mul(count, axis.extent)
    return number, count


def with_work(kernel: PrimFunc, body: Stmt) -> PrimFunc:
    """The kernel with another body for every thread; the same object if the body is unchanged."""
    launches = []
    outer = kernel.body
    while isinstance(outer, AttrStmt) and outer.key == "thread_extent":
        launches.append(outer)
        outer = outer.body
    if body is outer:
        return kernel
    for launch in reversed(launches):
        body = AttrStmt(launch.node, launch.key, launch.value, body)
    return kernel.with_body(body)


def launched(root: Stmt) -> dict[Var, str]:
    """The variables of the launches in a statement, in program order, with the tags of the axes."""
    return {
        node.node.var: node.node.thread_tag
        for node in statements(root)
        if type(node) is AttrStmt and node.key == "thread_extent"
    }


def memory_scope(data: Var) -> str:
    """The storage scope of the memory at a pointer."""
    return data.scope or "global"


def allocations(root: Stmt, *scopes: str) -> Iterator[Allocate]:
    """The allocations of some storage scopes in a statement, in program order."""
    for node in statements(root):
        if type(node) is Allocate and memory_scope(node.buffer_var) in scopes:
            yield node


def bytes_of(node: Allocate) -> Expr:
    """The size of an allocation; its constant factors are multiplied without overflow."""
    byte_count = dtypes.storage_bytes(dtypes.element(node.dtype)) * dtypes.lanes(node.dtype)
    byte_count *= math.prod(extent.value for extent in node.extents if isinstance(extent, IntImm))
    size: Expr = IntImm(byte_count, "int32" if byte_count < 1 << 31 else "int64")
    for extent in node.extents:
        if not isinstance(extent, IntImm):
            size = ops.mul(extent, size)
    return size


def dynamic_offsets(kernel: PrimFunc) -> tuple[dict[Var, Expr], Expr]:
    """The offset of each allocation of scope shared.dyn, and their total size in bytes."""
    offsets: dict[Var, Expr] = {}
    total: Expr = IntImm(0)
    for node in allocations(kernel.body, "shared.dyn"):
        offsets[node.buffer_var] = total
        last = ops.add(bytes_of(node), DYNAMIC_ALIGNMENT - 1)
        rounded = ops.mul(ops.floordiv(last, DYNAMIC_ALIGNMENT), DYNAMIC_ALIGNMENT)
        total = ops.add(total, rounded)
    return offsets, total


def static_shared_bytes(kernel: PrimFunc) -> int | None:
    """The bytes of scope shared; None when an extent is not constant."""
    total = 0
    for node in allocations(kernel.body, "shared"):
        size = bytes_of(node)
        if not isinstance(size, IntImm):
            return None
        total += size.value
    return total


def block_size(kernel: PrimFunc) -> int | None:
    """Threads in a block; None when an extent is not constant."""
    extents = [axis.extent for axis in thread_axes(kernel)[0] if not axis.is_block]
    if not all(isinstance(extent, IntImm) for extent in extents):
        return None
    return math.prod(extent.value for extent in extents if isinstance(extent, IntImm))


def lane_mask(axes: Iterable[LaunchAxis]) -> Expr:
    """The mask of active lanes: all lanes, unless the block ends within a warp."""
    count = 1
    for axis in axes:
        if not axis.is_block:
            count = count * axis.extent.value if isinstance(axis.extent, IntImm) else 0
    if count and count % WARP == 0:
        return IntImm(2**WARP - 1, "uint32")
    return Call("uint32", "tir.tvm_warp_activemask", ())


def barrier(scope: str = "shared") -> Expr:
    """The barrier call for the threads of the block ("shared") or of the warp."""
    return Call("int32", BARRIER, (StringImm(scope),))
