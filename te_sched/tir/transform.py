"""te_sched.tir.transform: passes over programs, with TVM's names.

A pass is called on an IRModule and gives another: `transform.Simplify()(module)`. They are the
functions of te_sched.lower; `prim_func_pass` makes one of a function of the user's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from te_sched import config
from te_sched.errors import LoweringError, kind_of
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lower.eliminate_common_subexpressions import eliminate_common_subexpressions
from te_sched.lower.flatten_storage import flatten_storage
from te_sched.lower.hoist_conditions import hoist_conditions
from te_sched.lower.inject_double_buffer import inject_double_buffer
from te_sched.lower.inject_prefetch import inject_prefetch
from te_sched.lower.inject_virtual_threads import inject_virtual_threads
from te_sched.lower.narrow_index_types import narrow_index_types
from te_sched.lower.partition_loops import partition_loops
from te_sched.lower.remove_no_op import remove_no_op
from te_sched.lower.rewrite_storage import rewrite_storage
from te_sched.lower.rewrite_unsafe_select import rewrite_unsafe_select
from te_sched.lower.simplify import simplify
from te_sched.lower.unroll_loops import unroll_loops
from te_sched.lower.vectorize_loops import vectorize_loops
from te_sched.signatures import checked

__all__ = [
    "Apply",
    "CommonSubexprElimTIR",
    "Filter",
    "HoistIfThenElse",
    "InjectDoubleBuffer",
    "InjectPrefetch",
    "InjectVirtualThread",
    "LoopPartition",
    "NarrowDataType",
    "PassInfo",
    "PrimFuncPass",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "Simplify",
    "StorageFlatten",
    "StorageRewrite",
    "UnrollLoop",
    "VectorizeLoop",
    "prim_func_pass",
]

# TVM's names of the passes that te_sched has.
PASS_NAMES: Mapping[str, Callable[[PrimFunc, config.Lowering], PrimFunc]] = {
    "tir.InjectPrefetch": inject_prefetch,
    "tir.StorageFlatten": flatten_storage,
    "tir.NarrowDataType": narrow_index_types,
    "tir.Simplify": simplify,
    "tir.LoopPartition": partition_loops,
    "tir.VectorizeLoop": vectorize_loops,
    "tir.InjectVirtualThread": inject_virtual_threads,
    "tir.InjectDoubleBuffer": inject_double_buffer,
    "tir.StorageRewrite": rewrite_storage,
    "tir.HoistIfThenElse": hoist_conditions,
    "tir.UnrollLoop": unroll_loops,
    "tir.RemoveNoOp": remove_no_op,
    "tir.RewriteUnsafeSelect": rewrite_unsafe_select,
    "tir.CommonSubexprElimTIR": eliminate_common_subexpressions,
}


@dataclass(frozen=True)
class PassInfo:
    """What a pass is called and when it is meant to run."""

    opt_level: int = 0
    name: str = ""
    required: tuple[str, ...] = ()
    traceable: bool = False


@dataclass(frozen=True)
class PrimFuncPass:
    """A pass that maps the functions of a module one by one."""

    transform: Callable[[PrimFunc], PrimFunc]
    info: PassInfo = field(default_factory=PassInfo)

    def __call__(self, mod: IRModule) -> IRModule:
        """The module with every function mapped."""
        if not isinstance(mod, IRModule):
            raise LoweringError(
                f"pass {self.info.name} expects a module, got {kind_of(mod)}",
                help="pass what te_sched.lower returned",
            )
        return IRModule({name: self.transform(func) for name, func in mod.functions.items()})


@checked
def prim_func_pass(
    pass_func: Callable[..., Any] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass of a function (func, module, context) -> func, or of a class with a method
    `transform_function` of this form. A decorator, with or without arguments.
    """
    if pass_func is None:
        return lambda decorated: prim_func_pass(decorated, opt_level, name, required, traceable)
    info = PassInfo(
        opt_level,
        name or str(getattr(pass_func, "__name__", "pass")),
        tuple(() if required is None else required),
        traceable,
    )
    if not inspect.isclass(pass_func):
        return PrimFuncPass(_with_context(pass_func), info)

    @functools.wraps(pass_func, updated=())
    def make(*args: Any, **kwargs: Any) -> PrimFuncPass:
        made: Any = pass_func(*args, **kwargs)
        return PrimFuncPass(_with_context(made.transform_function), info)

    return make


def _with_context(function: Callable[..., PrimFunc]) -> Callable[[PrimFunc], PrimFunc]:
    def transform(func: PrimFunc) -> PrimFunc:
        from_alone = IRModule({str(func.attrs.get("global_symbol", "main")): func})
        return function(func, from_alone, config.current().lowering)

    return transform


def _named(name: str, choose: Callable[[PrimFunc], PrimFunc] | None = None) -> PrimFuncPass:
    run = PASS_NAMES[name]
    as_chosen = choose or (lambda func: run(func, config.current().lowering))
    return PrimFuncPass(as_chosen, PassInfo(name=name))


@checked
def Apply(ftransform: Callable[[PrimFunc], PrimFunc]) -> PrimFuncPass:
    """The pass that maps every function by `ftransform`."""
    return PrimFuncPass(ftransform, PassInfo(name="tir.Apply"))


@checked
def Filter(fcond: Callable[[PrimFunc], bool]) -> Callable[[IRModule], IRModule]:
    """The pass that keeps the functions for which a condition holds."""

    def keep(mod: IRModule) -> IRModule:
        return IRModule({name: func for name, func in mod.functions.items() if fcond(func)})

    return keep


@checked
def VectorizeLoop(enable_vectorize: bool = True) -> PrimFuncPass:
    """Turn vectorized loops into vectors, or into serial loops."""

    settings = config.Lowering(vectorize=enable_vectorize)
    return _named("tir.VectorizeLoop", lambda func: vectorize_loops(func, settings))


def StorageFlatten(cache_line_size: int = 64, create_bound_attribute: bool = False) -> PrimFuncPass:
    """Make memory one-dimensional; both parameters are for TVM's sake."""
    del cache_line_size, create_bound_attribute
    return _named("tir.StorageFlatten")


@checked
def NarrowDataType(target_bits: int = 32) -> PrimFuncPass:
    """Compute indices in int32 where that is enough."""
    if target_bits != 32:
        raise LoweringError(
            f"target_bits of NarrowDataType must be 32, got {target_bits}",
            help="use NarrowDataType(32)",
        )
    return _named("tir.NarrowDataType")


def InjectPrefetch() -> PrimFuncPass:
    """Turn prefetched regions into loops of prefetches."""
    return _named("tir.InjectPrefetch")


def Simplify() -> PrimFuncPass:
    """Simplify expressions and conditions."""
    return _named("tir.Simplify")


def LoopPartition() -> PrimFuncPass:
    """Cut loops where their guards change."""
    return _named("tir.LoopPartition")


def InjectVirtualThread() -> PrimFuncPass:
    """Interleave virtual threads."""
    return _named("tir.InjectVirtualThread")


def InjectDoubleBuffer() -> PrimFuncPass:
    """Fetch into the other half of double buffers."""
    return _named("tir.InjectDoubleBuffer")


def StorageRewrite() -> PrimFuncPass:
    """Let allocations share memory."""
    return _named("tir.StorageRewrite")


def HoistIfThenElse(variant: str | None = None) -> PrimFuncPass:
    """Move conditions out of loops; `variant` is for TVM's sake."""
    del variant
    return _named("tir.HoistIfThenElse")


def UnrollLoop() -> PrimFuncPass:
    """Repeat the bodies of unrolled loops."""
    return _named("tir.UnrollLoop")


def RemoveNoOp() -> PrimFuncPass:
    """Remove statements that do nothing."""
    return _named("tir.RemoveNoOp")


def RewriteUnsafeSelect() -> PrimFuncPass:
    """Turn selects whose values may not be evaluated into if_then_else."""
    return _named("tir.RewriteUnsafeSelect")


@checked
def CommonSubexprElimTIR(
    enable_cse_tir: bool = True, identify_equiv_terms: bool = False
) -> PrimFuncPass:
    """Compute common sub-expressions once; `identify_equiv_terms` is for TVM's sake."""
    del identify_equiv_terms
    identity: Callable[[PrimFunc], PrimFunc] = lambda func: func  # noqa: E731
    return _named("tir.CommonSubexprElimTIR", None if enable_cse_tir else identity)
