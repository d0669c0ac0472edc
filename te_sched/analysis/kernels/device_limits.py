"""Limits of a GPU: threads in a block, blocks in a grid, shared memory, memory of the host.

Called by `build` before compilation, so that errors name stages and axes, not error codes of the
driver. Must not know how kernels are made.
"""

from __future__ import annotations

from te_sched.errors import BuildError, Subject
from te_sched.ir.device_limits import LOCAL_BYTES, DeviceLimits
from te_sched.ir.expr import BufferLoad, IntImm
from te_sched.ir.kernel import (
    HOST_ONLY,
    allocations,
    block_size,
    bytes_of,
    dynamic_offsets,
    is_kernel,
    memory_scope,
    static_shared_bytes,
    thread_axes,
)
from te_sched.ir.stmt import Allocate, BufferStore, IRModule, PrimFunc
from te_sched.ir.storage_scopes import KERNEL_SCOPES
from te_sched.ir.visitor import statements, walk
from te_sched.wording import wording


def check_device_limits(program: IRModule, limits: DeviceLimits) -> None:
    """Refuse a program that the GPU cannot run.

    Raises
    ------
    BuildError if a stage is not bound to threads, a block has too many threads, an axis is too
    long, a storage scope does not exist in kernels, or a block or a thread needs too much memory.
    """
    for func in program.functions.values():
        if is_kernel(func):
            _check_threads(func, limits)
            _check_scopes(func)
            _check_shared(func, limits)
            _check_local(func)
        else:
            _check_host(func)


def _check_host(func: PrimFunc) -> None:
    """Refuse accesses to device memory by the host, but for functions on memory of the host."""
    if func.attrs.get(HOST_ONLY):
        return
    for node in walk(func.body):
        if isinstance(node, BufferStore | BufferLoad):
            name = node.buffer.name
            does = "computed" if isinstance(node, BufferStore) else "read"
            raise BuildError(
                f"{wording().memory} {name} is {does} outside of the kernels of function "
                f"{_name(func)!r}",
                "no loop around it is bound to a thread, and the host cannot access device memory",
                wording().bind.format(name),
                where=wording().subject(name),
            )


def _check_threads(kernel: PrimFunc, limits: DeviceLimits) -> None:
    launch = _launch(kernel)
    for axis in thread_axes(kernel)[0]:
        most = limits.longest(axis.tag)
        if isinstance(axis.extent, IntImm) and not 0 <= axis.extent.value <= most:
            raise BuildError(
                f"extent of {axis.tag} in kernel {_name(kernel)!r} must be from 1 to {most}, got "
                f"{axis.extent.value}",
                f"the launch is {launch}",
                f"split the {wording().loop} and bind a shorter part of it"
                if axis.extent.value > 0
                else f"give {axis.tag} a positive extent",
                where=[*_stages(kernel), Subject(wording().loop, axis.tag)],
            )
    count, most = block_size(kernel), limits.threads
    if count is not None and count > most:
        raise BuildError(
            f"kernel {_name(kernel)!r} has {count} threads in a block, which has at most {most}",
            f"the launch is {launch}",
            "split by smaller factors before binding to threadIdx",
            where=_stages(kernel),
        )


def _check_scopes(kernel: PrimFunc) -> None:
    for node in statements(kernel.body):
        scope = memory_scope(node.buffer_var) if type(node) is Allocate else "local"
        if scope not in KERNEL_SCOPES:
            name = node.buffer_var.name
            raise BuildError(
                f"scope {scope!r} of {wording().memory} {name} is not available in kernel "
                f"{_name(kernel)!r}",
                f"the scopes of a kernel are {', '.join(KERNEL_SCOPES)}",
                f"set one of these scopes, or compute {name} outside of all kernels",
                where=wording().subject(name),
            )


def _check_shared(kernel: PrimFunc, limits: DeviceLimits) -> None:
    for node in statements(kernel.body):
        scope = memory_scope(node.buffer_var) if type(node) is Allocate else "shared.dyn"
        if scope != "shared.dyn" and not isinstance(bytes_of(node), IntImm):
            raise BuildError(
                f"size of {wording().memory} {node.buffer_var.name} in kernel {_name(kernel)!r} is "
                f"{bytes_of(node)} bytes, expected a constant",
                f"memory of scope {scope} must have a constant size",
                "compute it in tiles of constant size"
                + (', or give it scope "shared.dyn"' if scope == "shared" else ""),
                where=wording().subject(node.buffer_var.name),
            )
    static = static_shared_bytes(kernel) or 0
    most = limits.shared_bytes
    if static > most:
        raise BuildError(
            f"kernel {_name(kernel)!r} has {static} bytes of shared memory, "
            f"a block has at most {most}",
            f"it holds {_buffers(kernel, 'shared')}",
            "compute smaller tiles at a time (split the loop that the cached "
            f"{wording().computation}s are in by a smaller factor), or give large "
            f'{wording().memory}s scope "shared.dyn"',
            where=_stages(kernel),
        )
    dynamic = dynamic_offsets(kernel)[1]
    allowed = limits.all_shared_bytes
    if isinstance(dynamic, IntImm) and static + dynamic.value > allowed:
        raise BuildError(
            f"kernel {_name(kernel)!r} has {static + dynamic.value} bytes of shared memory, "
            f"a block of {limits.arch} has at most {allowed}",
            f"it holds {_buffers(kernel, 'shared.dyn')}",
            "compute smaller tiles at a time",
            where=_stages(kernel),
        )


def _check_local(kernel: PrimFunc) -> None:
    sizes = [
        (size.value, node.buffer_var.name)
        for node in allocations(kernel.body, "local")
        if isinstance(size := bytes_of(node), IntImm)
    ]
    total = sum(size for size, _ in sizes)
    if total > LOCAL_BYTES:
        most, largest = max(sizes)
        raise BuildError(
            f"kernel {_name(kernel)!r} has {total} bytes of registers per thread, "
            f"a thread has at most {LOCAL_BYTES}",
            f"{largest} takes {most}",
            f"compute fewer elements of {largest} at a time: split the loop around it by a smaller "
            "factor, or compute it further inside",
            where=wording().subject(largest),
        )


def _name(func: PrimFunc) -> str:
    return str(func.attrs.get("global_symbol", "main"))


def _launch(kernel: PrimFunc) -> str:
    return ", ".join(f"{axis.tag} = {axis.extent}" for axis in thread_axes(kernel)[0])


def _buffers(kernel: PrimFunc, scope: str) -> str:
    return ", ".join(
        f"{node.buffer_var.name} {bytes_of(node)}" for node in allocations(kernel.body, scope)
    )


def _stages(kernel: PrimFunc) -> list[Subject]:
    """The stages that a kernel computes into global memory: "stage B, C"."""
    names = {
        node.buffer.name: None
        for node in statements(kernel.body)
        if type(node) is BufferStore and memory_scope(node.buffer.data) == "global"
    }
    first, *others = names or [_name(kernel)]
    memory = wording().memory
    return [Subject(memory, first), *[Subject(memory, name, name) for name in others]]
