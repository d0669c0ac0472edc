"""Sequences of passes with a name: `relax.get_pipeline("zero")`.

    zero            legalize, fold constants, and fuse, without tuning
    default_build   from a graph of calls of functions to what the virtual machine runs
    default         both
    processor       inference, zero, and a schedule for each function that has none (dlight)

A pipeline is a function that returns a pass on modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched import dlight
from te_sched.errors import GraphError, did_you_mean
from te_sched.ir.stmt import IRModule
from te_sched.passes import ModulePass, ModuleTransform, PassInfo
from te_sched.relax import transform
from te_sched.transform import Sequential

# The passes of relax.transform, in order.
_ZERO = ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR")
_DEFAULT_BUILD = (
    "LegalizeOps",
    "RewriteDataflowReshape",
    "ToNonDataflow",
    "RemovePurityChecking",
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "ComputePrimValue",
    "VMShapeLower",
    "AttachGlobalSymbol",
)


def _processor() -> ModulePass:
    """Fuse what can be, and schedule it; needs a target around it.

    Operators that differ between training and inference (batch_norm, dropout) are those of
    inference, unless DecomposeOpsForTraining has treated them.
    """

    def run(mod: IRModule, context: Any) -> IRModule:
        del context
        module = PIPELINES["zero"]()(transform.DecomposeOpsForInference()(mod))
        return dlight.ApplyDefaultSchedule(dlight.cpu.Default())(module)

    return ModuleTransform(run, PassInfo(0, "processor"))


def _of(name: str, passes: tuple[str, ...]) -> Callable[[], ModulePass]:
    def pipeline() -> ModulePass:
        def run(mod: IRModule, context: Any) -> IRModule:
            del context
            present = [one for one in passes if one in transform.PASSES]
            return Sequential([getattr(transform, one)() for one in present])(mod)

        return ModuleTransform(run, PassInfo(0, name))

    return pipeline


PIPELINES: dict[str, Callable[..., Any]] = {
    "zero": _of("f_zero_pipeline", _ZERO),
    "default": _of("f_default_pipeline", (*_ZERO, *_DEFAULT_BUILD)),
    "default_build": _of("_pipeline", _DEFAULT_BUILD),
    "processor": _processor,
}


def get_pipeline(name: str = "zero", **kwargs: Any) -> Any:
    """The pass of a pipeline; keywords are passed to the function that makes it.

    >>> get_pipeline("zero")
    Run Module pass: f_zero_pipeline at the optimization level 0
    """
    found = PIPELINES.get(name)
    if found is None:
        raise GraphError(
            f"there is no pipeline {name!r}",
            "",
            f"use one of {', '.join(PIPELINES)}{did_you_mean(name, PIPELINES)}",
        )
    return found(**kwargs)


def register_pipeline(name: str) -> Any:
    """A decorator that gives a name to a function that returns a pass.

    >>> from te_sched.relax import transform
    >>> @register_pipeline("only_normalize")
    ... def only_normalize():
    ...     return transform.Normalize()
    >>> get_pipeline("only_normalize")
    Run Function pass: Normalize at the optimization level 1
    """
    if name in PIPELINES:
        raise GraphError(f"pipeline {name!r} exists already", "", "give it another name")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PIPELINES[name] = function
        return function

    return register
