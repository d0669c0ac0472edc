"""The rule for transposed copies: a tile goes through shared memory, so that both sides are read in
order.
"""

from __future__ import annotations

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.access import access_of
from te_sched.dlight.gpu.base import GPURule, unroll
from te_sched.dlight.gpu.normal_form import iterators_of, kinds_of, normalize
from te_sched.dlight.structure import inline_all, node_of
from te_sched.ir.expr import BufferLoad
from te_sched.ir.stmt import BufferStore
from te_sched.tensorir.facts.computations import is_copy
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule

_HEIGHT, _WIDTH = 8, 16  # threads of a block


class Transpose(GPURule):
    """A copy of a matrix whose rows become columns; blocks before it are inlined.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> A = te.placeholder((64, 32), name="A")
    >>> func = te.create_prim_func([A, topi.transpose(A)])
    >>> sch = dlight.gpu.Transpose().apply(func, te_sched.target.Target("cuda"), False)
    >>> [one.name for one in sch.mod["main"].body.block.alloc_buffers]
    ['A_shared']
    """

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None if it is not a transpose."""
        blocks = normalize(sch)
        if blocks is None:
            return None
        *before, last = blocks
        if not sch.get_loops(last) or not _is_transpose(sch, last):
            return None
        group = max([_group_of(sch, block) for block in before], default=1)
        rows, columns = sch.get_loops(last)
        rows, inner = sch.split(rows, [None, group])
        by, ty = sch.split(rows, [None, _HEIGHT])
        bx, tx = sch.split(columns, [None, _WIDTH])
        sch.reorder(by, bx, ty, tx, inner)
        tags = "blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"
        for loop, tag in zip((by, bx, ty, tx), tags, strict=True):
            sch.bind(loop, tag)
        lanes = min(group, 4)
        _, vector = sch.split(inner, [None, lanes])
        if lanes > 1:
            sch.vectorize(vector)
        copy = sch.cache_read(last, 0, "shared")
        sch.compute_at(copy, bx)
        elements = sch.fuse(*sch.get_loops(copy)[2:])
        _, ty, tx, inner = sch.split(elements, [None, _HEIGHT, _WIDTH, group])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.unroll(inner)
        sch.storage_align(copy, 0, axis=0, factor=32, offset=1)
        unroll(sch, by)
        return None if inline_all(sch, before, sch.compute_inline) else sch


def _is_transpose(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block copies a matrix with its two indices exchanged."""
    node = node_of(sch, block)
    if kinds_of(sch, block) != "SS" or not is_copy(node) or not isinstance(node.body, BufferStore):
        return False
    row, column = (axis.var for axis in node.iter_vars)
    load = node.body.value
    assert isinstance(load, BufferLoad)
    own = [index for index in node.body.indices if index is row or index is column]
    read = [index for index in load.indices if index is row or index is column]
    return own == [row, column] and read == [column, row]


def _group_of(sch: Schedule, block: BlockRV) -> int:
    """How many neighbors a block reads from one element, as packed numbers."""
    if not sch.get_loops(block) or not iterators_of(sch, block):
        return 1
    access = access_of(sch, block)
    return 1 if access is None else access.group
