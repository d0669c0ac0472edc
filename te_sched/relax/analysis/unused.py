"""Removes bindings that nothing uses.

A binding is kept if its variable is used later or its value may have effects; casts that are
checked when they run (MatchCast) are kept. One walk from the end to the begin finds all.
"""

from __future__ import annotations

from operator import is_
from typing import overload

from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    DataflowBlock,
    GraphFunction,
    GraphValue,
    GraphVar,
    If,
    MatchCast,
    SeqExpr,
    VarBinding,
    joined_blocks,
)
from te_sched.ir.visitor import replace
from te_sched.relax.analysis.purity import calls_program, contains_impure_call
from te_sched.relax.analysis.variables import used_vars


@overload
def remove_all_unused(func: GraphFunction, keeps_program_calls: bool = ...) -> GraphFunction: ...
@overload
def remove_all_unused(func: SeqExpr, keeps_program_calls: bool = ...) -> SeqExpr: ...
@overload
def remove_all_unused(func: BindingBlock, keeps_program_calls: bool = ...) -> BindingBlock: ...
def remove_all_unused(func: object, keeps_program_calls: bool = False) -> object:
    """A function, sequence or block without the bindings that it does not use.

    The variables of a block that are visible outside of it count as used.

    Parameters
    ----------
    keeps_program_calls : whether calls that may run functions of the program stay: those of Python
        may have effects, which they do not declare.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     unused = builder.emit(relax.op.add(x, x))
    ...     name = builder.emit_func_output(x)
    >>> remove_all_unused(builder.get()["main"]).body.blocks
    ()
    """
    cleaner = _Cleaner(keeps_program_calls)
    if isinstance(func, GraphFunction):
        return cleaner.function(func)
    if isinstance(func, SeqExpr):
        return cleaner.sequence(func)
    if isinstance(func, BindingBlock):
        outputs = {binding.var for binding in func.bindings if type(binding.var) is GraphVar}
        return cleaner.block(func, outputs)
    return func


class _Cleaner:
    """Removes bindings."""

    def __init__(self, keeps_program_calls: bool) -> None:
        self._keeps_program_calls = keeps_program_calls

    def function(self, func: GraphFunction) -> GraphFunction:
        """The function without unused bindings."""
        return func if func.body is None else replace(func, body=self.sequence(func.body))

    def sequence(self, seq: SeqExpr) -> SeqExpr:
        """The sequence without unused bindings and empty blocks."""
        used = set(used_vars(seq.body))
        blocks: list[BindingBlock] = []
        for block in reversed(seq.blocks):
            kept = self.block(block, used)
            if kept.bindings:
                blocks.append(kept)
        blocks.reverse()
        if len(blocks) < len(seq.blocks):
            blocks = joined_blocks(blocks)
        if len(blocks) == len(seq.blocks) and all(map(is_, blocks, seq.blocks)):
            return seq
        return SeqExpr(tuple(blocks), seq.body, seq.struct_info_)

    def block(self, block: BindingBlock, used: set[GraphVar]) -> BindingBlock:
        """The block without unused bindings; adds the variables that it uses to `used`."""
        kept: list[Binding] = []
        is_dataflow = isinstance(block, DataflowBlock)
        for binding in reversed(block.bindings):
            if isinstance(binding, VarBinding):
                if binding.var not in used and not self._has_effects(binding.value, is_dataflow):
                    continue
                value = self._value(binding.value)
                used |= set(used_vars(value))
                if value is not binding.value:
                    binding = VarBinding(binding.var, value)
            elif isinstance(binding, MatchCast):
                used |= {*used_vars(binding.value), *used_vars(binding.struct_info)}
            info = binding.var.struct_info_
            if info is not None:
                used |= set(used_vars(info))
            kept.append(binding)
        if len(kept) == len(block.bindings) and all(map(is_, reversed(kept), block.bindings)):
            return block
        return type(block)(tuple(reversed(kept)))

    def _has_effects(self, value: GraphValue, is_dataflow: bool) -> bool:
        if self._keeps_program_calls and calls_program(value):
            return True
        return not is_dataflow and contains_impure_call(value)

    def _value(self, value: GraphValue) -> GraphValue:
        if isinstance(value, GraphFunction):
            return self.function(value)
        if isinstance(value, If):
            branches = [self.sequence(branch) for branch in value.branches]
            return replace(value, true_branch=branches[0], false_branch=branches[1])
        return self.sequence(value) if isinstance(value, SeqExpr) else value
