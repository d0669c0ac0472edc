"""The rule for reductions of the same rows with what is computed from them: softmax, norms."""

from __future__ import annotations

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.base import GPURule, unroll
from te_sched.dlight.gpu.normal_form import inline_spatial, iterators_of, kinds_of, normalize
from te_sched.dlight.structure import node_of
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.structural import structural_equal
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule


class GeneralReduction(GPURule):
    """Reductions of rows and a last block that uses them: one block of threads for each row.

    All threads reduce a row together, into shared memory.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> A = te.placeholder((8, 512), name="A")
    >>> func = te.create_prim_func([A, topi.nn.softmax(A)])
    >>> sch = dlight.gpu.GeneralReduction().apply(func, te_sched.target.Target("cuda"), False)
    >>> [sch.get(loop).extent for loop in sch.get_loops("T_softmax_norm")]
    [8, 256, 2]
    """

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None without such reductions."""
        blocks = normalize(sch)
        if blocks is None or not all(sch.get_loops(block) for block in blocks):
            return None
        *reductions, last = inline_spatial(sch, blocks)
        kinds = {kinds_of(sch, block) for block in reductions}
        if len(kinds) != 1 or not set(kinds_of(sch, last)) <= {"S"}:
            return None
        (kind,) = kinds
        rows, reduced = kind.count("S"), kind.count("R")
        if not reduced or kind != "S" * rows + "R" * reduced:
            return None
        if not _has_as_many_loops(sch, last, reductions[0], rows, reduced):
            return None
        threads = min(target.max_threads_per_block, 256)
        loops = sch.get_loops(last)
        row = sch.fuse(*loops[:rows])
        self._on_threads(sch, [loops[-1]], threads, row)
        for block in reversed(reductions):
            for buffer_index in range(len(node_of(sch, block).writes)):
                sch.set_scope(block, buffer_index, "shared")
            sch.compute_at(block, row, preserve_unit_loops=True)
            self._on_threads(sch, sch.get_loops(block)[-reduced:], threads)
        return sch

    @staticmethod
    def _on_threads(
        sch: Schedule, loops: list[LoopRV], threads: int, row: LoopRV | None = None
    ) -> None:
        """Divide loops among the threads of a block; bind the loop over rows, if it is given."""
        whole = sch.fuse(*loops) if row is None else loops[0]
        serial, tx = sch.split(whole, [None, threads])
        sch.reorder(tx, serial)
        if row is not None:
            sch.bind(row, "blockIdx.x")
        sch.bind(tx, "threadIdx.x")
        unroll(sch, serial)


def _has_as_many_loops(
    sch: Schedule, last: BlockRV, reduction: BlockRV, rows: int, reduced: int
) -> bool:
    """Give the last block as many loops as a reduction has, where it has fewer: loops of one
    iteration follow its own if these are the rows, otherwise they are its rows.
    """
    own = iterators_of(sch, last)
    missing = rows + reduced - len(own)
    if missing <= 0:
        return missing == 0
    of_rows = iterators_of(sch, reduction)[:rows]
    is_rows = len(own) >= rows and all(
        structural_equal(a.extent, b.extent) for a, b in zip(own, of_rows, strict=False)
    )
    initials = tuple([Var(f"iters_{number}", axis.var.dtype) for number, axis in enumerate(own)])
    units: tuple[Expr, ...] = (IntImm(0, "int64"),) * missing
    finals = (*initials, *units) if is_rows else (*units, *initials)
    sch.transform_block_layout(last, IndexMap(initials, finals))
    return True
