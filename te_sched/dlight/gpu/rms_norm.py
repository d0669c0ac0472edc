"""The rule for rows divided by their root mean square: a row stays in registers between its sum and
its result.
"""

from __future__ import annotations

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.base import GPURule
from te_sched.dlight.structure import blocks_of, node_of
from te_sched.ir.expr import Mul
from te_sched.ir.stmt import BufferStore
from te_sched.ir.structural import structural_equal
from te_sched.tensorir.facts.computations import is_injective, is_reduction, summand_of
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule

_THREADS = {"cuda": 512, "opencl": 256}
_FEW_THREADS = 64
_LANES = 8


class GPURMSNorm(GPURule):
    """The squares of rows, their sum, a factor made of it, and its product with the rows; each of
    these is a block. One block of threads for each row.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> A, weight = te.placeholder((8, 4096), name="A"), te.placeholder((4096,), name="W")
    >>> func = te.create_prim_func([A, weight, topi.nn.rms_norm(A, weight, [1])])
    >>> sch = dlight.gpu.RMSNorm().apply(func, te_sched.target.Target("cuda"), False)
    >>> [sch.get(loop).extent for loop in sch.get_loops("A_local")]
    [8, 512, 1, 8]
    """

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None for other functions."""
        blocks = blocks_of(sch)
        steps = _steps_of(sch, blocks)
        if steps is None:
            return None
        square, total, factor, product = steps
        copy = sch.cache_read(blocks[0], 0, "local")
        result = sch.cache_write(blocks[-1], 0, "local")
        kept = [step.key for step in steps]
        for block in [at for at in blocks if at.key not in kept]:
            sch.compute_inline(block)
        for block in (copy, *steps, result):
            *rows, _ = sch.get_loops(block)
            if rows:
                sch.fuse(*rows)
        if len(sch.get_loops(copy)) != 2:
            return None
        threads = _THREADS.get(target.kind, _FEW_THREADS)
        row, elements = sch.get_loops(copy)
        sch.bind(row, "blockIdx.x")
        tx, lanes = _on_threads(sch, elements, threads)
        sch.vectorize(lanes)
        sch.reverse_compute_at(square, tx)
        sch.reverse_compute_at(total, tx)
        sch.reverse_compute_at(factor, row)
        sch.reverse_compute_at(product, row)
        tx, _ = _on_threads(sch, sch.get_loops(product)[-1], threads)
        sch.reverse_compute_at(result, tx)
        sch.vectorize(sch.get_loops(result)[-1])
        for block, scope in zip(steps, ("local", "local", "shared", "local"), strict=True):
            sch.set_scope(block, 0, scope)
        return sch


def _steps_of(sch: Schedule, blocks: list[BlockRV]) -> list[BlockRV] | None:
    """The blocks of squares, of their sum, of the factor and of the product, if a function has
    them.
    """
    sums = [block for block in blocks if is_reduction(node_of(sch, block))]
    if len(sums) != 1 or summand_of(node_of(sch, sums[0])) is None:
        return None
    steps = [*sch.get_producers(sums[0]), *sums]
    for _ in range(2):
        steps += sch.get_consumers(steps[-1])
    if len(steps) != 4 or not _is_square(sch, steps[0]):
        return None
    return (
        steps
        if all(
            is_injective(node_of(sch, block)) for block in blocks if block.key is not sums[0].key
        )
        else None
    )


def _is_square(sch: Schedule, block: BlockRV) -> bool:
    store = node_of(sch, block).body
    value = store.value if isinstance(store, BufferStore) else None
    return isinstance(value, Mul) and structural_equal(value.a, value.b)


def _on_threads(sch: Schedule, loop: LoopRV, threads: int) -> tuple[LoopRV, LoopRV]:
    """Divide the elements of a row among threads: the loop over threads, and that over lanes."""
    tx, _, lanes = sch.split(loop, [threads, None, _LANES])
    sch.bind(tx, "threadIdx.x")
    return tx, lanes
