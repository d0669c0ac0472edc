"""Removes bindings that nothing uses.

A binding is kept if its variable is used later or its value may have effects; casts that are
checked when they run (MatchCast) are kept. One walk from the end to the begin finds all.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import (
    BindingBlock,
    DataflowBlock,
    GraphFunction,
    GraphVar,
    If,
    MatchCast,
    SeqExpr,
    VarBinding,
    joined_blocks,
)
from te_sched.ir.visitor import replace
from te_sched.relax.analysis.purity import contains_impure_call
from te_sched.relax.analysis.variables import used_vars


def remove_all_unused(func: Any) -> Any:
    """A function, sequence or block without the bindings that it does not use.

    The variables of a block that are visible outside of it count as used.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     unused = builder.emit(relax.op.add(x, x))
    ...     name = builder.emit_func_output(x)
    >>> remove_all_unused(builder.get()["main"]).body.blocks
    ()
    """
    if isinstance(func, GraphFunction):
        return _of_function(func)
    if isinstance(func, SeqExpr):
        return _of_sequence(func)
    if isinstance(func, BindingBlock):
        outputs = {one.var for one in func.bindings if type(one.var) is GraphVar}
        return _of_block(func, outputs)
    return func


def _of_function(func: GraphFunction) -> GraphFunction:
    return func if func.body is None else replace(func, body=_of_sequence(func.body))


def _of_sequence(seq: SeqExpr) -> SeqExpr:
    used = set(used_vars(seq.body))
    blocks: list[BindingBlock] = []
    for block in reversed(seq.blocks):
        kept = _of_block(block, used)
        if kept.bindings:
            blocks.append(kept)
    blocks.reverse()
    if len(blocks) < len(seq.blocks):
        blocks = joined_blocks(blocks)
    if len(blocks) == len(seq.blocks) and all(map(_is, blocks, seq.blocks)):
        return seq
    return SeqExpr(tuple(blocks), seq.body, seq.struct_info_)


def _of_block(block: BindingBlock, used: set[GraphVar]) -> BindingBlock:
    """The block without unused bindings; adds the variables that it uses to `used`."""
    kept: list[Any] = []
    is_dataflow = isinstance(block, DataflowBlock)
    for binding in reversed(block.bindings):
        if isinstance(binding, VarBinding):
            has_effects = not is_dataflow and contains_impure_call(binding.value)
            if binding.var not in used and not has_effects:
                continue
            value = _of_value(binding.value)
            used |= set(used_vars(value))
            if value is not binding.value:
                binding = VarBinding(binding.var, value)
        elif isinstance(binding, MatchCast):
            used |= {*used_vars(binding.value), *used_vars(binding.struct_info)}
        info = binding.var.struct_info_
        if info is not None:
            used |= set(used_vars(info))
        kept.append(binding)
    if len(kept) == len(block.bindings) and all(map(_is, reversed(kept), block.bindings)):
        return block
    return type(block)(tuple(reversed(kept)))


def _of_value(value: Any) -> Any:
    if isinstance(value, GraphFunction):
        return _of_function(value)
    if isinstance(value, If):
        branches = (_of_sequence(value.true_branch), _of_sequence(value.false_branch))  # type: ignore[arg-type]
        return replace(value, true_branch=branches[0], false_branch=branches[1])
    return _of_sequence(value) if isinstance(value, SeqExpr) else value


def _is(a: Any, b: Any) -> bool:
    return a is b
