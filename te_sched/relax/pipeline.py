"""Sequences of passes with a name: `relax.get_pipeline("zero")`.

    zero                 legalize, fold constants, and fuse, without tuning
    default_build        from a graph of calls of functions to what the virtual machine runs
    default              both
    static_shape_tuning  inference, zero, and schedules that are searched for
    processor            inference, zero, and a schedule for each function without one (dlight)
    gpu                  the same for GPUs

A pipeline is a function that returns a pass on modules.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from te_sched import dlight
from te_sched.codegen.target import Target, as_target
from te_sched.errors import GraphError, TeSchedError, did_you_mean, repr_of
from te_sched.ir.graph import Constant, GraphCall, GraphFunction, Tuple
from te_sched.ir.op import Op
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.blocks.lower_cross_thread import lower_cross_thread
from te_sched.lowering.blocks.split_concatenations import split_concatenations
from te_sched.lowering.blocks.widen_halves import widen_halves
from te_sched.passes import ModuleTransform, Pass, PassInfo
from te_sched.relax import transform
from te_sched.relax.expr_functor import PyExprVisitor
from te_sched.relax.transform.fold_constant import folding
from te_sched.relax.transform.fuse_tir import fuse_if_primitive
from te_sched.relax.transform.fuse_transpose_matmul import fused
from te_sched.relax.transform.legalize_ops import legalize_exactly
from te_sched.relax.transform.split_layout_rewrite_preproc import split_functions
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


# Passes of builds: special values are those of torch and ONNX, and calls whose results are not used
# stay, which may be of Python.
_OF_BUILDS: dict[str, Callable[[IRModule], IRModule]] = {
    "LegalizeOps": legalize_exactly,
    "FoldConstant": folding(),
    "FuseTIR": fuse_if_primitive,
}


def processor_passes() -> list[tuple[str, Pass]]:
    """The passes of the pipeline "processor" with their names; they need a target around them."""
    # A normalization that is left is decomposed into a tuple, whose parts are used directly.
    names = ("DecomposeOpsForInference", "CanonicalizeBindings", *_ZERO)
    schedule = dlight.ApplyDefaultSchedule(dlight.cpu.Default())
    return _as_passes(
        ("FoldBatchnormToConv2D", transform.FoldBatchnormToConv2D(only_constants=True)),
        ("FuseTransposeMatmul", lambda mod: fused(mod, only_parameters=True)),
        *[(name, _pass(name)) for name in names],
        ("WidenHalves", partial(_with_unscheduled, widen_halves)),
        ("SplitConcatenations", partial(_with_unscheduled, split_concatenations)),
        ("ApplyDefaultSchedule", lambda mod: schedule(with_free_layouts(mod))),
        ("SplitLayoutRewritePreproc", split_functions),
        ("FoldConstant", _OF_BUILDS["FoldConstant"]),
        ("DeadCodeElimination", _without_packing),
    )


def gpu_passes() -> list[tuple[str, Pass]]:
    """The passes of the pipeline "gpu" with their names; they need a target around them."""
    names = ("DecomposeOpsForInference", "FuseTransposeMatmul", *_ZERO)
    rules = (
        *("Matmul", "GEMV", "Transpose", "Reduction", "GeneralReduction", "Fallback"),
        "SingleThread",
    )
    schedule = dlight.ApplyDefaultSchedule(
        *[_lowerable(getattr(dlight.gpu, one)()) for one in rules]
    )
    return _as_passes(
        *[(name, _pass(name)) for name in names],
        ("ApplyDefaultSchedule", schedule),
    )


def _lowerable(rule: dlight.base.DefaultRule) -> Callable[..., Any]:
    """A rule without the schedules whose reductions over threads cannot be lowered."""

    def apply(func: PrimFunc, target: Target, tunable: bool) -> Any:
        found = rule.apply(func, target, tunable)
        try:
            if found is not None:
                lower_cross_thread(found.mod["main"])
        except TeSchedError:
            return None
        return found

    return apply


def _as_passes(*named: tuple[str, Callable[[IRModule], IRModule]]) -> list[tuple[str, Pass]]:
    """The passes, also of functions on modules, for which instruments are called by these names."""
    return [(name, one if isinstance(one, Pass) else _pass_of(name, one)) for name, one in named]


def _pass_of(name: str, function: Callable[[IRModule], IRModule]) -> Pass:
    return ModuleTransform(lambda mod, _: function(mod), PassInfo(0, name))


def _pass(name: str) -> Callable[[IRModule], IRModule]:
    """A pass of relax.transform, which keeps calls whose result is not used."""
    if name in _OF_BUILDS:
        return _OF_BUILDS[name]
    made: Callable[[IRModule], IRModule] = getattr(transform, name)()
    return made


def _without_packing(mod: IRModule) -> IRModule:
    """The module without functions that packed constants; without any, calls whose result is not
    used stay: they may be of Python.
    """
    is_packed = any(str(name).endswith("_weight_prepack") for name in mod.functions)
    return transform.DeadCodeElimination()(mod) if is_packed else mod


Passes = Callable[[], list[tuple[str, Pass]]]


def _scheduled(name: str, passes: Passes) -> Callable[[], Pass]:
    """A pipeline that fuses what can be, and schedules it; it needs a target around it.

    Operators that differ between training and inference (batch_norm, dropout) are those of
    inference, unless DecomposeOpsForTraining has treated them.
    """

    def pipeline() -> Pass:
        def run(mod: IRModule, *_: object) -> IRModule:
            for _name, one in passes():
                mod = one(mod)
            return mod

        return ModuleTransform(run, PassInfo(0, name))

    return pipeline


class _Constants(PyExprVisitor):
    """The places of the arguments of functions that are constants in all calls."""

    def __init__(self) -> None:
        self.places: dict[str, set[int]] = {}

    def visit_call_(self, op: GraphCall) -> None:
        """A call of a function."""
        if isinstance(op.op, Op) and op.op == "relax.call_tir":
            fields = op.args[1].fields if isinstance(op.args[1], Tuple) else ()
            found = {k for k, one in enumerate(fields) if isinstance(one, Constant)}
            name = str(op.args[0])
            self.places[name] = self.places.get(name, found) & found
        super().visit_call_(op)


def with_free_layouts(mod: IRModule) -> IRModule:
    """The module whose functions say which parameters are constants ("layout_free_buffers")."""
    calls = _Constants()
    for func in mod.functions.values():
        if isinstance(func, GraphFunction) and func.body is not None:
            calls.visit_expr(func)
    changed = {}
    for name, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            made = func.without_attr("layout_free_buffers")
            places = sorted(calls.places.get(str(name), ()))
            if places:
                made = made.with_attr("layout_free_buffers", places)
            changed[name] = made
    return mod.with_functions(changed)


def _with_unscheduled(rewrite: Callable[[PrimFunc], PrimFunc], mod: IRModule) -> IRModule:
    """The module with the functions rewritten that are not scheduled."""
    return mod.with_functions(
        {
            name: rewrite(func)
            for name, func in mod.functions.items()
            if isinstance(func, PrimFunc) and not func.attrs.get("tir.is_scheduled")
        }
    )


def _legalize(warns: bool = False) -> Pass:
    """The pass of builds in place of LegalizeOps."""
    info = PassInfo(0, "LegalizeOps")
    return ModuleTransform(lambda mod, context: legalize_exactly(mod, warns), info)


def _of(name: str, passes: tuple[str, ...], is_exact: bool = True) -> Callable[..., Pass]:
    """A pipeline; without `is_exact` it has TVM's text of operators."""

    def pipeline(*, enable_warning: bool = False) -> Pass:
        def run(mod: IRModule, *_: object) -> IRModule:
            options = {"LegalizeOps": {"enable_warning": enable_warning}}
            made = [getattr(transform, one)(**options.get(one, {})) for one in passes]
            if is_exact:
                made[passes.index("LegalizeOps")] = _legalize(enable_warning)
            return Sequential(made)(mod)

        return ModuleTransform(run, PassInfo(0, name))

    return pipeline


def _static_shape_tuning(
    total_trials: int,
    target: Target | str,
    work_dir: str | os.PathLike[str] = "tuning_logs",
    cpu_weight_prepack: bool = False,
) -> Pass:
    """The pipeline that measures candidates for each function, and takes the fastest ones.

    Parameters
    ----------
    total_trials : how many candidates are measured in all; 0 takes what the folder has.
    work_dir : the folder of the database; the same call continues there.
    cpu_weight_prepack : whether weights are packed into the layouts that schedules ask for, by the
        function "main_transform_params".
    """
    wanted = as_target(target)
    names = ["DecomposeOpsForInference", "CanonicalizeBindings", *_ZERO]
    packing = ["SplitLayoutRewritePreproc", "LiftTransformParams", "FoldConstant"]
    if cpu_weight_prepack:
        names.append("AttachAttrLayoutFreeBuffers")
    passes = [
        *[_legalize() if one == "LegalizeOps" else getattr(transform, one)() for one in names],
        transform.MetaScheduleTuneIRMod({}, work_dir, total_trials),
        transform.MetaScheduleApplyDatabase(work_dir),
        *[getattr(transform, one)() for one in packing if cpu_weight_prepack],
    ]

    def run(mod: IRModule, *_: object) -> IRModule:
        with wanted:
            return Sequential(passes)(mod)

    return ModuleTransform(run, PassInfo(0, "_pipeline"))


PIPELINES: dict[str, Callable[..., Any]] = {
    "zero": _of("f_zero_pipeline", _ZERO, is_exact=False),
    "default": _of("f_default_pipeline", (*_ZERO, *_DEFAULT_BUILD)),
    "default_build": _of("_pipeline", _DEFAULT_BUILD),
    "static_shape_tuning": _static_shape_tuning,
    "processor": _scheduled("processor", processor_passes),
    "gpu": _scheduled("gpu", gpu_passes),
}
_OF_LIBRARY = dict(PIPELINES)


def is_of_library(pipeline: Any) -> bool:
    """Whether a pipeline is one of those above, by its name; None is the empty one."""
    if not isinstance(pipeline, str):
        return pipeline is None
    return pipeline in _OF_LIBRARY and PIPELINES.get(pipeline) is _OF_LIBRARY[pipeline]


def get_pipeline(name: str = "zero", **kwargs: Any) -> Any:
    """The pass of a pipeline; keywords are passed to the function that makes it.

    >>> get_pipeline("zero")
    Run Module pass: f_zero_pipeline at the optimization level 0
    """
    found = PIPELINES.get(name) if isinstance(name, str) else None
    if found is None:
        raise GraphError(
            f"there is no pipeline {repr_of(name)}",
            "",
            f"use one of {', '.join(PIPELINES)}{did_you_mean(str(repr_of(name)), PIPELINES)}",
        )
    try:
        signature(found).bind(**kwargs)
    except TypeError as error:
        takes = ", ".join(signature(found).parameters) or "no options"
        raise GraphError(
            f"the pipeline {name!r} does not take these options", str(error), f"it takes {takes}"
        ) from None
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
    if not isinstance(name, str) or name in PIPELINES:
        raise GraphError(
            f"the name of a pipeline is {repr_of(name)}", "it is not new", "give it another name"
        )

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PIPELINES[name] = function
        return function

    return register
