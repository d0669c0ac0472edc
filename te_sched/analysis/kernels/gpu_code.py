"""Checks of functions that contain kernels, before these are split off the host's part.

`device_limits` checks kernels by themselves. Must not know code generation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from te_sched.errors import DeclarationError, did_you_mean
from te_sched.ir import dtypes
from te_sched.ir.expr import BufferLoad, Call, Cast, IntImm, Ramp, Var
from te_sched.ir.kernel import bytes_of
from te_sched.ir.scopes import Loop, loop_of
from te_sched.ir.stmt import Allocate, BufferStore, PrimFunc
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import children, parts_of, walk

LIMITS = (
    *("max_local_memory_per_block", "max_shared_memory_per_block", "max_threads_per_block"),
    *("max_thread_x", "max_thread_y", "max_thread_z", "max_vthread", "max_vector_bytes"),
    "max_kernels",
)


def host_access(func: PrimFunc) -> str | None:
    """The name of a buffer of the arguments that is accessed outside of kernels, or None."""
    arguments = {*func.params, *(buffer.data for buffer in func.buffer_map.values())}
    return next(_host_accesses(func.body, arguments), None)


def _host_accesses(node: Any, arguments: set[Var]) -> Iterator[str]:
    loop = loop_of(node)
    if loop is not None and loop.is_launched:
        return
    if isinstance(node, BufferStore | BufferLoad) and node.buffer.data in arguments:
        yield node.buffer.name
    for child in children(node):
        yield from _host_accesses(child, arguments)


def exceeded_limit(func: PrimFunc, limits: Mapping[str, int]) -> str | None:
    """The first of the limits (named in LIMITS) that a kernel of a function exceeds, or None. A
    kernel that binds a thread axis to loops of different extents exceeds every limit.

    Raises
    ------
    DeclarationError for an unknown limit.
    """
    for name in limits:
        if name not in LIMITS:
            raise DeclarationError(
                f"unknown limit of GPU code: {name}{did_you_mean(name, LIMITS)}",
                "",
                f"give some of {', '.join(LIMITS)}",
            )
    search = _Kernels(limits)
    search.statement(func.body)
    if search.count > limits.get("max_kernels", search.count):
        return "max_kernels"
    return search.exceeded


class _Kernels:
    """Adds up what each kernel uses; memory allocated around a kernel counts for it, too."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self.limits = limits
        self.exceeded: str | None = None
        self.count = 0
        self.is_inside = False
        self.extents: dict[str, int] = {}
        self.memory = {"local": 0, "shared": 0}

    def at_most(self, name: str, number: int) -> None:
        """Note a limit that a number exceeds."""
        if self.exceeded is None and number > self.limits.get(name, number):
            self.exceeded = name

    def statement(self, node: Any) -> None:
        """Visit a statement."""
        loop = loop_of(node)
        is_first = loop is not None and loop.is_launched and not self.is_inside
        if is_first:
            self.count += 1
            self.is_inside = True
            self.extents = {}
        if loop is not None:
            self.launch(loop)
        before = dict(self.memory)
        self.own(node)
        for part in parts_of(node):
            self.statement(part)
        if is_first:
            self.finish()
            self.is_inside = False
        if not self.is_inside:
            self.memory = before

    def launch(self, loop: Loop) -> None:
        """Note the extent of an axis of threads."""
        if not isinstance(loop.extent, IntImm) or loop.kind not in ("thread", "virtual"):
            return
        extent = loop.extent.value
        if loop.kind == "virtual":
            extent *= self.extents.get("vthread", 1)
            self.extents["vthread"] = extent
            self.at_most("max_vthread", extent)
        elif self.extents.setdefault(loop.tag, extent) != extent:
            self.exceeded = f"extent of {loop.tag}"

    def own(self, node: Any) -> None:
        """Note the memory and the vectors of a statement itself."""
        if isinstance(node, Allocate):
            size = bytes_of(node)
            scope = storage_scope(node.buffer_var.scope).rank
            if scope in self.memory and isinstance(size, IntImm):
                self.memory[scope] += size.value
            self.vector(node.dtype)
        if isinstance(node, BufferStore):
            self.access(node)
        parts = parts_of(node)
        for child in children(node):
            if not any(child is part for part in parts):
                for expr in walk(child):
                    if isinstance(expr, BufferLoad):
                        self.access(expr)
                    elif isinstance(expr, Cast | Call):
                        self.vector(expr.dtype)

    def access(self, node: BufferLoad | BufferStore) -> None:
        """Note the vector that an access moves, if its elements are not apart."""
        lanes = max((dtypes.lanes(index.dtype) for index in node.indices), default=1)
        dtype = node.buffer.dtype
        self.vector(dtypes.with_lanes(dtypes.element(dtype), dtypes.lanes(dtype) * lanes))
        for index in node.indices:
            if isinstance(index, Ramp) and not _is_one(index.stride):
                self.vector(index.dtype)

    def vector(self, dtype: str) -> None:
        """Note a vector."""
        if dtypes.lanes(dtype) > 1:
            self.at_most("max_vector_bytes", dtypes.storage_bytes(dtype))

    def finish(self) -> None:
        """Note the limits of a whole kernel."""
        threads = 1
        for tag, extent in self.extents.items():
            if tag.startswith("threadIdx"):
                threads *= extent
                self.at_most(f"max_thread_{tag[-1]}", extent)
        self.at_most("max_threads_per_block", threads)
        self.at_most("max_local_memory_per_block", self.memory["local"])
        self.at_most("max_shared_memory_per_block", self.memory["shared"])


def _is_one(e: Any) -> bool:
    return isinstance(e, IntImm) and e.value == 1
