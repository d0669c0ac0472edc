"""ConvertToDataflow: bindings without effects and control flow become dataflow blocks."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    DataflowBlock,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    If,
    SeqExpr,
    joined_blocks,
)
from te_sched.relax.analysis.purity import is_impure_call
from te_sched.relax.expr_functor import PyExprMutator, map_sequence
from te_sched.relax.transform.base import FunctionPass
from te_sched.relax.transform.canonicalize_bindings import CanonicalizeBindings
from te_sched.transform import Sequential


class ConvertToDataflow(Sequential):
    """The pass that makes dataflow blocks of bindings that stand together.

    Parameters
    ----------
    min_size : the least number of bindings of a new block; single ones join a block beside them.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     y = builder.emit(relax.op.add(x, x))
    ...     name = builder.emit_func_output(builder.emit(relax.op.add(y, x)))
    >>> block = ConvertToDataflow()(builder.get())["main"].body.blocks[0]
    >>> [type(one.var).__name__ for one in block.bindings]
    ['DataflowVar', 'GraphVar']
    """

    def __init__(self, min_size: int = 2) -> None:
        super().__init__([_ExtractDataflowBlocks(min_size), CanonicalizeBindings()])


class _ExtractDataflowBlocks(FunctionPass, name="ExtractDataflowBlocks"):
    def __init__(self, min_size: int) -> None:
        self.min_size = min_size

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Extractor(self.min_size).visit_expr(func)


class _Extractor(PyExprMutator):
    def __init__(self, min_size: int) -> None:
        super().__init__()
        self._min_size = min_size

    def visit_seq_expr_(self, op: SeqExpr) -> GraphExpr:
        """The sequence with its bindings in other blocks."""
        new = map_sequence(self, op)
        blocks = self._blocks(new.blocks)
        is_kept = len(blocks) == len(new.blocks) and all(
            type(a) is type(b) and len(a.bindings) == len(b.bindings)
            for a, b in zip(blocks, new.blocks, strict=True)
        )
        return new if is_kept else SeqExpr(tuple(blocks), new.body)

    def _blocks(self, blocks: Sequence[BindingBlock]) -> list[BindingBlock]:
        new_blocks: list[BindingBlock] = []
        run: list[Binding] = []
        has_block = False  # the run contains a dataflow block

        def finish() -> None:
            nonlocal run, has_block
            if run:
                is_large = has_block or len(run) >= self._min_size
                new_blocks.append((DataflowBlock if is_large else BindingBlock)(tuple(run)))
            run, has_block = [], False

        for block in blocks:
            if isinstance(block, DataflowBlock):
                run += block.bindings
                has_block = True
                continue
            for binding in block.bindings:
                if _may_flow(binding.value):
                    run.append(binding)
                else:
                    finish()
                    new_blocks.append(BindingBlock((binding,)))
        finish()
        return joined_blocks(new_blocks)


def _may_flow(value: GraphValue) -> bool:
    """Whether a value may stand in a dataflow block."""
    if isinstance(value, GraphCall):
        return not is_impure_call(value)
    return not isinstance(value, If)
