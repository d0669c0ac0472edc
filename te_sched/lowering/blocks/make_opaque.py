"""Replace the iterators of blocks by their values: blocks become opaque.

(TVM's name: ConvertBlocksToOpaque.)
"""

from __future__ import annotations

from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError, Subject
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Expr, Var
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import ReferenceMapper, replace, variables_of


def make_opaque(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with blocks that have no iterators."""
    return func.with_body(_Values().visit(func.body))


class _Values(ReferenceMapper):
    """Substitutes iterators; their values are mapped first."""

    def __init__(self) -> None:
        self.values: dict[Var, Expr] = {}

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def visit_BlockRealize(self, node: BlockRealize) -> BlockRealize:
        block, values = node.block, [self.visit(value) for value in node.iter_values]
        if {axis.var for axis in block.iter_vars} & variables_of(node.predicate):
            raise LoweringError(
                f"the predicate of block {block.name_hint} uses iterators of the block",
                f"{node.predicate} is evaluated before the iterators have values",
                "write the predicate with loop variables",
                Subject("block", block.name_hint),
            )
        predicate = self.visit(node.predicate)
        self.values |= {
            axis.var: value for axis, value in zip(block.iter_vars, values, strict=True)
        }
        inside = self.visit(replace(block, iter_vars=()))
        assert isinstance(inside, Block)
        return BlockRealize((), predicate, inside)
