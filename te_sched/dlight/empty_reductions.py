"""Reductions over ranges that may be empty: their results are initialised before the loops.

`T.init` is executed in the first iteration, so that a sum of 0 elements would never be written. A
block whose reduction is not known to have an iteration is decomposed. Must not know rules.
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.dlight.base import named_as
from te_sched.dlight.structure import REDUCTION
from te_sched.ir import ops
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.visitor import variables_of, walk
from te_sched.tir.schedule import Schedule


def initialise_empty_reductions(mod: IRModule) -> IRModule:
    """The module in which each such reduction writes its initial value in any case.

    >>> import numpy, te_sched
    >>> from te_sched import te, topi
    >>> A = te.placeholder((0, 2), name="A")
    >>> module = te_sched.IRModule({"main": te.create_prim_func([A, topi.sum(A, axis=0)])})
    >>> built = te_sched.build(initialise_empty_reductions(module), target="llvm")
    >>> result = te_sched.nd.array(numpy.full(2, 7, "float32"))
    >>> built(te_sched.nd.empty((0, 2), "float32"), result)
    >>> result.numpy()
    array([0., 0.], dtype=float32)
    """
    made = {
        name: new
        for name, func in mod.functions.items()
        if isinstance(func, PrimFunc) and (new := _initialised(func)) is not func
    }
    return mod.with_functions(made)


def _initialised(func: PrimFunc) -> PrimFunc:
    found = [one for one in walk(func.body) if isinstance(one, BlockRealize) and _may_be_empty(one)]
    if not found:
        return func
    sch: Any = Schedule(func)
    for realize in found:
        block = sch.get_block(realize.block.name_hint)
        own = set(_reduced(realize))
        loops = [one for one in sch.get_loops(block) if sch.get(one).loop_var in own]
        if loops:
            sch.decompose_reduction(block, loops[0])
    return named_as(sch.mod["main"], func)


def _may_be_empty(realize: BlockRealize) -> bool:
    """Whether a block with an initial value may have no iteration."""
    analyzer = Analyzer()
    return realize.block.init is not None and any(
        one.kind == REDUCTION
        and one.dom is not None
        and not analyzer.can_prove(ops.greater(one.dom.extent, ops.const(0, one.var.dtype)))
        for one in realize.block.iter_vars
    )


def _reduced(realize: BlockRealize) -> list[Any]:
    """The variables of the loops of a reduction."""
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return [var for one, value in pairs if one.kind == REDUCTION for var in variables_of(value)]
