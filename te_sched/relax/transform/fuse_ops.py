"""The pass `FuseOps`: calls of functions of blocks are grouped by their pattern kinds."""

from __future__ import annotations

from te_sched.ir.graph import (
    Binding,
    DataflowBlock,
    GraphCall,
    GraphFunction,
    GraphVar,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import TupleStructInfo
from te_sched.pass_context import PassContext
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import sources_of
from te_sched.relax.transform.annotate_tir_op_pattern import OpPatternKind, annotated_kind
from te_sched.relax.transform.fusion_graph import FusionNode, groups_of, partition
from te_sched.relax.transform.grouping import (
    Group,
    Grouping,
    dataflow_blocks,
    fuse_groups,
    outputs_of,
)

MAX_SIZE = 256  # the number of bindings in a function
_CALLS = ("relax.call_tir", "relax.call_tir_inplace")


class FuseOps(ModulePass):
    """The pass that puts calls into functions with the attribute "Primitive", by the pattern kinds
    that `AnnotateTIROpPattern` has written; `FuseTIR` makes one function of blocks of each.

    Parameters
    ----------
    fuse_opt_level : 0 fuses nothing; by default the level of the pass context.

    >>> from te_sched import relax, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         y = builder.emit_te(topi.exp, x)
    ...         y = builder.emit_output(builder.call_te(topi.tanh, y))
    ...     gv = builder.emit_func_output(y)
    >>> module = relax.transform.AnnotateTIROpPattern()(builder.get())
    >>> [str(name) for name in relax.transform.FuseOps()(module).functions]
    ['exp', 'tanh', 'main', 'fused_exp_tanh']
    """

    def __init__(self, fuse_opt_level: int = -1) -> None:
        self.fuse_opt_level = fuse_opt_level

    def transform_module(self, module: IRModule, context: PassContext, /) -> IRModule:
        level = context.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        if level == 0:
            return module
        size = int(context.config.get("relax.FuseOps.max_depth", MAX_SIZE))
        return fuse_groups(module, lambda func: _groups(func, module, size))


def _groups(func: GraphFunction, module: IRModule, max_size: int) -> Grouping:
    """The groups of two or more bindings of a function."""
    if func.attrs.get("Primitive"):
        return {}
    group_of: dict[GraphVar, Group] = {}
    for block in dataflow_blocks(func):
        nodes = _nodes(func, block, module)
        partition(list(nodes.values()), max_size)
        vars_of = {node: var for var, node in nodes.items()}
        for members in groups_of(nodes.values()).values():
            if len(members) > 1:
                group = Group({"Primitive": 1})
                group_of.update({vars_of[member]: group for member in members})
    return group_of


def _nodes(
    func: GraphFunction, block: DataflowBlock, module: IRModule
) -> dict[GraphVar, FusionNode]:
    """The nodes of the bindings of a block, by variable."""
    outputs = outputs_of(func, block)
    weights = _packed_weights(func)
    node_of: dict[GraphVar, FusionNode] = {}
    sources = sources_of(block)
    for binding in block.bindings:
        kind = _kind_of(binding, module)
        if any(var in weights for var in sources[binding.var]):
            kind = OpPatternKind.OPAQUE
        node = FusionNode(kind, is_external=binding.var in outputs)
        for var in sources[binding.var]:
            if var in node_of:
                node_of[var].uses.append((node, kind))
        node_of[binding.var] = node
    return node_of


def _packed_weights(func: GraphFunction) -> set[GraphVar]:
    """The parameters that hold the weights of a model as tuples: their elements stay arguments."""
    count = func.attrs.get("num_input")
    if count is None:
        return set()
    weights = func.params[int(count) :]
    return {weight for weight in weights if isinstance(weight.struct_info, TupleStructInfo)}


def _kind_of(binding: Binding, module: IRModule) -> OpPatternKind:
    value = binding.value
    if not isinstance(binding, VarBinding):
        return OpPatternKind.OPAQUE
    if isinstance(value, TupleGetItem):
        return OpPatternKind.INJECTIVE
    if not isinstance(value, GraphCall) or value.op not in _CALLS:
        return OpPatternKind.OPAQUE
    return annotated_kind(value.args[0], module)
