"""Memory that is private to threads or warps.

    S_local[tx + i]      is element [tx, tx + i], where the first index is the thread
    S_warp[i]            is element [tx // 32, i], where the first index is the warp

Statements outside of loops over a thread axis are executed by all of its threads. Must not know
analyses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from te_sched.analysis.programs.accesses import Access
from te_sched.ir import ops
from te_sched.ir.device_limits import WARP
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.scopes import Loop, Memory
from te_sched.ir.visitor import variables_of

_ONE = IntImm(1)


class MemoryOwners:
    """The owners of a memory, one index per axis before those of the element. There are no axes if
    all threads share it, or each iteration of the loops around the allocation has its own.
    `have_parts` says whether different owners write different elements.
    """

    def __init__(self, memory: Memory, accesses: Sequence[Access]) -> None:
        self.are_warps = memory.storage.rank == "warp"
        loops: dict[Var, Loop] = {}
        if memory.is_in_kernel and memory.storage.rank in ("warp", "local"):
            loops = {loop.var: loop for loop in self._writers(accesses)}
        axes = sorted(loops.values(), key=lambda loop: loop.tag)
        self.axes = [loop for loop in axes if loop not in memory.loops]
        self.have_parts = not all(ops.is_const(self._count(axis), 1) for axis in axes)

    def _writers(self, accesses: Sequence[Access]) -> Iterator[Loop]:
        """The thread axes that identify the thread that writes an element.

        Results of cross-thread reductions are in the registers of all threads, and no index names
        these.
        """
        for access in accesses:
            variables = variables_of(*(access.index or ())) if access.writes else ()
            for loop in access.loops:
                if loop.kind == "thread" and (self.are_warps or loop.var in variables):
                    yield loop

    def with_axes(
        self, memory: Memory, accesses: Sequence[Access]
    ) -> tuple[Memory, Sequence[Access]]:
        """The memory and its accesses, with the owner of each element as leading indices."""
        counts = tuple(map(self._count, self.axes))
        region = (*[(IntImm(0), count) for count in counts], *memory.region)
        whole = replace(memory, region=region, shape=(*counts, *memory.shape))
        return whole, [self._owned(access) for access in accesses]

    def text(self, which: Sequence[int]) -> str:
        """The thread or warp that owns an element, for messages."""
        parts = []
        for axis, number in zip(self.axes, which, strict=False):
            if not ops.is_const(axis.extent, 1):
                first = number * self._width(axis)
                last = first + self._width(axis) - 1
                parts.append(f"{axis.tag} = {first}" + (f" to {last}" if last > first else ""))
        return f"the {'warp' if self.are_warps else 'thread'} with {' and '.join(parts)}"

    def _owned(self, access: Access) -> Access:
        if access.index is None:
            return access
        inside = {loop.var for loop in access.loops}
        which: list[Expr] = []
        sizes: list[Expr] = []
        for axis in self.axes:
            is_inside = axis.var in inside
            which.append(ops.floordiv(axis.var, self._width(axis)) if is_inside else IntImm(0))
            sizes.append(_ONE if is_inside else self._count(axis))
        return replace(access, index=(*which, *access.index), sizes=(*sizes, *access.sizes))

    def _width(self, axis: Loop) -> int:
        """The number of threads along an axis that share memory."""
        return WARP if self.are_warps and axis.tag == "threadIdx.x" else 1

    def _count(self, axis: Loop) -> Expr:
        """The number of owners along a thread axis."""
        width = self._width(axis)
        return ops.floordiv(ops.add(axis.extent, width - 1), width)
