"""FusePacking: calls of constants alone become one function where one result has one use.

    w = R.call_tir(multiply, (c, scale))                    v = R.call_tir(fused, (c, scale))
    v = R.call_tir(conv2d_weight_prepack, (w,))     ->      z = R.call_tir(conv2d_prepacked, (x, v))
    z = R.call_tir(conv2d_prepacked, (x, v))

`FoldConstant` then computes a packed weight of the constants of the model: there is no array of the
weight in its first layout. Must not know what the functions compute.
"""

from __future__ import annotations

from collections import Counter

from te_sched.errors import ScheduleError
from te_sched.ir.blocks import Block
from te_sched.ir.graph import (
    Constant,
    DataflowVar,
    GraphFunction,
    GraphVar,
    Tuple,
    VarBinding,
)
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.visitor import walk
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import bindings_of, uses_of, written_in_place
from te_sched.relax.core.values import is_call_of, static_shape
from te_sched.relax.transform.fuse_tir import fuse_functions
from te_sched.relax.transform.grouping import Group, Grouping, dataflow_blocks, fuse_groups
from te_sched.tir.schedule import Schedule


class FusePacking(ModulePass):
    """The pass that makes one function of calls of constants alone, if nothing else uses the
    results between them; what it no longer calls stays in the module.

    >>> from te_sched import IRModule
    >>> FusePacking()(IRModule({})).get_global_vars()
    []
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with the new functions, and calls of them."""
        fused = fuse_functions(fuse_groups(mod, _groups))
        made = {
            name: _inlined(func)
            for name, func in fused.functions_of_loops.items()
            if name not in mod.functions
        }
        return fused.with_functions(made) if made else mod


def values_of_constants(func: GraphFunction) -> dict[GraphVar, list[GraphVar]]:
    """The variables of tensors of constant shapes that calls of functions compute of constants
    alone, each with those of them that it is computed of.
    """
    computed: dict[GraphVar, list[GraphVar]] = {}
    written = written_in_place(func)
    for binding in bindings_of(func):
        value = binding.value if isinstance(binding, VarBinding) else None
        if not is_call_of(value, "relax.call_tir") or len(value.args) != 2:
            continue
        fields = value.args[1].fields if isinstance(value.args[1], Tuple) else (value.args[1],)
        is_computed = all(isinstance(field, Constant) or field in computed for field in fields)
        if is_computed and binding.var not in written and static_shape(value.sinfo_args[0]):
            computed[binding.var] = [field for field in fields if field in computed]
    return computed


def _groups(func: GraphFunction) -> Grouping:
    """The groups of two or more calls of constants."""
    values, counts = values_of_constants(func), Counter(uses_of(func))
    groups: dict[GraphVar, Group] = {}
    for block in dataflow_blocks(func):
        inside = {binding.var for binding in block.bindings}
        for binding in reversed(block.bindings):
            for source in values.get(binding.var, ()):
                if source in inside and isinstance(source, DataflowVar) and counts[source] == 1:
                    group = groups.setdefault(binding.var, Group({"Primitive": 1}))
                    groups[source] = group
    return groups


def _inlined(func: PrimFunc) -> PrimFunc:
    """The function without buffers between its blocks, where blocks can be inlined."""
    schedule = Schedule(func)
    blocks = [node for node in walk(func.body) if isinstance(node, Block) and node.iter_vars]
    for block in blocks[:-1]:
        try:
            schedule.compute_inline(schedule.get_block(block.name_hint))
        except ScheduleError:  # the value stays in a buffer
            continue
    result: PrimFunc = schedule.mod["main"]
    return result.without_attr("global_symbol")
