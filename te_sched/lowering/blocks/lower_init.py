"""Lower the initializations of blocks to conditions on their reduction iterators.

    with T.block("C"):                           with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])          vi, vk = T.axis.remap("SR", [i, k])
        with T.init():                      ->       if vk == 0:
            C[vi] = 0                                    C[vi] = 0
        C[vi] = C[vi] + A[vi, vk]                    C[vi] = C[vi] + A[vi, vk]

(TVM's name: LowerInitBlock.)
"""

from __future__ import annotations

from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.stmt import IfThenElse, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, replace
from te_sched.lowering.statements import sequence
from te_sched.tensorir.facts.axes import REDUCTION


def lower_init(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with blocks that initialize under a condition."""
    return func.with_body(_Initializations().visit(func.body))


class _Initializations(StatementMapper):
    """Puts initializations before the bodies of blocks."""

    def visit_Block(self, node: Block) -> Stmt:
        block: Block = self.generic(node)
        if block.init is None:
            return block
        conditions = [
            ops.equal(axis.var, axis.dom.min)
            for axis in block.iter_vars
            if axis.kind == REDUCTION and axis.dom is not None
        ]
        init = block.init
        if conditions:
            condition = conditions[0]
            for conjunct in conditions[1:]:
                condition = ops.logical_and(condition, conjunct)
            init = IfThenElse(condition, init)
        return replace(block, init=None, body=sequence([init, block.body]))
