"""The rule for a sum with what is computed from it: sums of rows, products with vectors."""

from __future__ import annotations

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.access import MemoryOrder, is_broadcast, nest, sum_of
from te_sched.dlight.gpu.base import GPURule, power_of_two, unroll
from te_sched.tensorir.facts.axes import largest_divisor
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule

_TILE = 16  # threads of a block along each dimension, where neighbors in memory are not reduced


class Reduction(GPURule):
    """A sum, of which a block of threads computes an element or a row of them together.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> A = te.placeholder((8, 512), name="A")
    >>> func = te.create_prim_func([A, topi.sum(A, axis=1)])
    >>> sch = dlight.gpu.Reduction().apply(func, te_sched.target.Target("cuda"), False)
    >>> [sch.get(loop).extent for loop in sch.get_loops("A_red")]
    [8, 1, 512]
    """

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None for other kinds."""
        summation = sum_of(sch)
        if summation is None:
            return None
        block, access, epilogue = summation
        nest(sch, block, access, [axis for axis in access.order if axis.kind == "S"])
        if access.is_inner_reduction:
            _along_memory(sch, block, target, access, epilogue)
        else:
            _across_memory(sch, block, access, epilogue)
        return sch


def _along_memory(
    sch: Schedule, block: BlockRV, target: Target, access: MemoryOrder, epilogue: BlockRV | None
) -> None:
    """One block of threads for each element: neighbors in memory are read by neighbors."""
    _, reduced, _ = sch.get_loops(block)
    extent = loop_extent(sch, reduced.key)
    most = target.max_threads_per_block
    threads = most if extent is None else min(power_of_two(extent), most)
    _, tx = sch.split(reduced, [None, threads])
    part = sch.rfactor(tx, 0)
    bx, serial, tx, _ = sch.get_loops(part)
    sch.reorder(bx, tx, serial)
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    unroll(sch, tx)
    sch.set_scope(part, 0, "local")
    sch.decompose_reduction(part, serial)
    sch.reverse_compute_at(block, bx, preserve_unit_loops=True)
    _, tx, *spatial = sch.get_loops(block)
    row, group = _row_of(sch, access, spatial)
    sch.reorder(row, tx, *group)
    sch.bind(tx, "threadIdx.x")
    if epilogue is None:
        return
    sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
    if is_broadcast(sch, block, epilogue):
        sch.set_scope(block, 0, "shared")
        _, tx = sch.split(sch.fuse(*sch.get_loops(epilogue)[1:]), [None, threads])
        sch.bind(tx, "threadIdx.x")
    else:
        sch.set_scope(block, 0, "local")


def _across_memory(
    sch: Schedule, block: BlockRV, access: MemoryOrder, epilogue: BlockRV | None
) -> None:
    """One block of threads for some elements, which are neighbors in memory, in two dimensions."""
    spatial_loop, reduced, _ = sch.get_loops(block)
    width = largest_divisor(loop_extent(sch, spatial_loop.key), _TILE)
    sch.split(spatial_loop, [None, width])
    _, ty = sch.split(reduced, [None, _TILE])
    part = sch.rfactor(ty, 0)
    bx, tx, serial, ty, _ = sch.get_loops(part)
    sch.reorder(bx, tx, ty, serial)
    sch.bind(tx, "threadIdx.x")
    sch.bind(ty, "threadIdx.y")
    sch.bind(bx, "blockIdx.x")
    sch.set_scope(part, 0, "local")
    sch.decompose_reduction(part, serial)
    sch.reverse_compute_at(block, bx, preserve_unit_loops=True)
    _, ty, *spatial = sch.get_loops(block)
    row, group = _row_of(sch, access, spatial)
    sch.reorder(row, *group, ty)
    sch.bind(row, "threadIdx.x")
    sch.bind(ty, "threadIdx.y")
    if epilogue is None:
        return
    sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
    loops = sch.get_loops(epilogue)[1:]
    if is_broadcast(sch, block, epilogue):
        sch.set_scope(block, 0, "shared")
        _, tx, ty = sch.split(sch.fuse(*loops), [None, width, _TILE])
        sch.bind(tx, "threadIdx.x")
        sch.bind(ty, "threadIdx.y")
    else:
        sch.set_scope(block, 0, "local")
        tx, _ = sch.split(sch.fuse(*loops), [width, None])
        sch.bind(tx, "threadIdx.x")


def _row_of(
    sch: Schedule, access: MemoryOrder, spatial: list[LoopRV]
) -> tuple[LoopRV, list[LoopRV]]:
    """The loops of a row as one, and the loop of a group of neighbors, if it is of the row."""
    if access.grouped is None or access.grouped.kind != "S":
        return sch.fuse(*spatial), []
    order = [axis for axis in access.order if axis.kind == "S"]
    position = sorted(order, key=lambda axis: axis.place).index(access.grouped)
    outer, group = sch.split(spatial[position], [None, access.group])
    others = [outer if at == position else loop for at, loop in enumerate(spatial)]
    sch.reorder(*others, group)
    return sch.fuse(*others), [group]
