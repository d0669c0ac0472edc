"""Sequences of passes with a name: `relax.get_pipeline("zero")`.

    zero                 legalize, fold constants, and fuse, without tuning
    default_build        from a graph of calls of functions to what the virtual machine runs
    default              both
    static_shape_tuning  inference, zero, and schedules that are searched for
    processor            inference, zero, and a schedule for each function without one (dlight)
    gpu                  the same for GPUs

A pipeline is a function that returns a pass. Those here are sequences of the public passes, with
the options `to_run` and `only_constants` where graphs that are built need them: who applies
`relax.get_pipeline("processor").passes` one by one does what `relax.build` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from inspect import signature
from typing import Any

from te_sched import dlight
from te_sched.codegen.target import Target, as_target
from te_sched.config import TO_RUN
from te_sched.errors import GraphError, TeSchedError, did_you_mean, repr_of
from te_sched.ir.graph import Constant, GraphCall, GraphFunction, GraphVar, Tuple, VarBinding
from te_sched.ir.op import Op
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.blocks.lower_cross_thread import lower_cross_thread
from te_sched.lowering.blocks.split_concatenations import split_concatenations
from te_sched.lowering.blocks.widen_halves import widen_halves
from te_sched.passes import ModulePass, Pass, PassInfo, PrimFuncPass
from te_sched.relax import transform
from te_sched.relax.core.values import is_call_of
from te_sched.relax.expr_functor import PyExprVisitor
from te_sched.relax.transform.fuse_packing import FusePacking, values_of_constants
from te_sched.relax.transform.measure_schedules import MeasureSchedules
from te_sched.relax.transform.name_kernel_sizes import NameKernelSizes
from te_sched.transform import Sequential


class Pipeline(ModulePass):
    """A sequence of passes with a name, which may have a target around it: `passes` are the objects
    that `relax.build` applies.

    >>> [transform.info.name for transform in get_pipeline("zero").passes]
    ['LegalizeOps', 'AnnotateTIROpPattern', 'FoldConstant', 'FuseOps', 'FuseTIR']
    """

    def __init__(self, name: str, passes: Sequence[Pass], target: Target | None = None) -> None:
        self.info, self.passes, self.target = PassInfo(0, name), list(passes), target

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module after all passes, with the target as the current one."""
        with self.target or nullcontext():
            return Sequential(self.passes)(mod)


def _fusing(to_run: bool, enable_warning: bool = False, leaves_large: bool = False) -> list[Pass]:
    """The passes that legalize, fold constants, and fuse, without tuning."""
    return [
        transform.LegalizeOps(enable_warning=enable_warning, to_run=to_run),
        transform.AnnotateTIROpPattern(),
        transform.FoldConstant(to_run=to_run, leaves_large=leaves_large),
        transform.FuseOps(),
        transform.FuseTIR(to_run=to_run),
    ]


def _lowering(enable_warning: bool = False, has_arena: bool = False) -> list[Pass]:
    """The passes from calls of functions to what the virtual machine runs."""
    return [
        transform.LegalizeOps(enable_warning=enable_warning, to_run=True),
        transform.RewriteDataflowReshape(),
        transform.ToNonDataflow(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        transform.StaticPlanBlockMemory(leaves_static=has_arena),
        transform.LowerAllocTensor(),
        transform.KillAfterLastUse(),
        transform.LowerRuntimeBuiltin(),
        transform.ComputePrimValue(),
        transform.VMShapeLower(),
        transform.AttachGlobalSymbol(),
    ]


def zero(*, enable_warning: bool = False) -> Pipeline:
    """The pipeline "zero", with TVM's text of operators."""
    return Pipeline("f_zero_pipeline", _fusing(False, enable_warning))


def default_build(*, enable_warning: bool = False, has_arena: bool = False) -> Pipeline:
    """The pipeline "default_build". If functions of constant shapes will be native code, the arena
    of each (`has_arena`) is the plan of their memory.
    """
    return Pipeline("_pipeline", _lowering(enable_warning, has_arena))


def default(*, enable_warning: bool = False) -> Pipeline:
    """The pipeline "default"."""
    passes = [*_fusing(True, enable_warning), *_lowering(enable_warning)[1:]]
    return Pipeline("f_default_pipeline", passes)


def processor(*, measure: float = 0.0) -> Pipeline:
    """The pipeline "processor", which needs a target around it.

    Default schedules are measured beside each other for up to `measure` seconds.

    Operators that differ between training and inference (batch_norm, dropout) are those of
    inference, unless DecomposeOpsForTraining has treated them.
    """
    return Pipeline(
        "processor",
        [
            transform.FoldBatchnormToConv2D(only_constants=True),
            # A normalization that is left becomes a tuple, whose parts are used directly.
            transform.DecomposeOpsForInference(to_run=True),
            transform.CanonicalizeBindings(),
            transform.FuseTransposeMatmul(to_run=True),
            *_fusing(True, leaves_large=True),
            NameKernelSizes(),
            WidenHalves(),
            SplitConcatenations(),
            MarkConstants(),
            *([MeasureSchedules(measure)] if measure else []),
            dlight.ApplyDefaultSchedule(dlight.cpu.Default()),
            transform.SplitLayoutRewritePreproc(to_run=True),
            FusePacking(),
            transform.FoldConstant(to_run=True),
            transform.DeadCodeElimination(to_run=True),
        ],
    )


def gpu() -> Pipeline:
    """The pipeline "gpu", which needs a target around it."""
    rules = (
        *("Matmul", "GEMV", "Transpose", "Reduction", "GeneralReduction", "Fallback"),
        "SingleThread",
    )
    return Pipeline(
        "gpu",
        [
            transform.DecomposeOpsForInference(),
            transform.FuseTransposeMatmul(),
            *_fusing(True),
            WidenHalves(),
            dlight.ApplyDefaultSchedule(
                *[_lowerable(getattr(dlight.gpu, rule)()) for rule in rules]
            ),
        ],
    )


def _lowerable(rule: dlight.base.DefaultRule) -> Callable[..., Any]:
    """A rule without the schedules whose reductions over threads cannot be lowered."""

    def apply(func: PrimFunc, target: Target, tunable: bool) -> Any:
        schedule = rule.apply(func, target, tunable)
        try:
            if schedule is not None:
                lower_cross_thread(schedule.mod["main"], TO_RUN)
        except TeSchedError:
            return None
        return schedule

    return apply


class WidenHalves(PrimFuncPass):
    """The pass that computes 16-bit floats in float32, in functions without a schedule."""

    def transform_function(self, func: PrimFunc, *_: object) -> PrimFunc:
        """The rewritten function."""
        return func if func.attrs.get("tir.is_scheduled") else widen_halves(func)


class SplitConcatenations(PrimFuncPass):
    """The pass that writes each part of a concatenation by a block of its own, in functions that no
    schedule has treated.
    """

    def transform_function(self, func: PrimFunc, *_: object) -> PrimFunc:
        """The rewritten function."""
        return func if func.attrs.get("tir.is_scheduled") else split_concatenations(func)


class MarkConstants(ModulePass):
    """The pass that gives PrimFuncs the attribute "layout_free_buffers": the parameters that are
    constants in all calls, or computed of constants alone, which schedules may pack. Functions that
    only compute such values run once, and get no schedule. `AttachAttrLayoutFreeBuffers`, TVM's
    pass, also marks weights, and makes a function for each call.
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module whose functions say which parameters are constants."""
        calls = _Constants()
        for func in mod.functions.values():
            if isinstance(func, GraphFunction) and func.body is not None:
                calls.values = set(values_of_constants(func))
                calls.visit_expr(func)
        changed = {}
        for name, func in mod.functions_of_loops.items():
            marked = func.without_attr("layout_free_buffers")
            places = sorted(calls.places.get(name, ()))
            if name in calls.computed and name not in calls.others:
                marked = marked.with_attr(dlight.base.IS_SCHEDULED, 1)
            elif places:
                marked = marked.with_attr("layout_free_buffers", places)
            changed[name] = marked
        return mod.with_functions(changed)


class _Constants(PyExprVisitor):
    """The places of the arguments of functions that are constants in all calls, and the functions
    that compute values of constants, or others.
    """

    def __init__(self) -> None:
        self.places: dict[str, set[int]] = {}
        self.values: set[GraphVar] = set()  # that are computed of constants alone
        self.computed: set[str] = set()
        self.others: set[str] = set()

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """A binding, which may call a function."""
        value = binding.value
        if is_call_of(value, "relax.call_tir"):
            called = self.computed if binding.var in self.values else self.others
            called.add(str(value.args[0]))
        super().visit_var_binding_(binding)

    def visit_call_(self, op: GraphCall) -> None:
        """A call of a function."""
        if isinstance(op.op, Op) and op.op == "relax.call_tir":
            fields = op.args[1].fields if isinstance(op.args[1], Tuple) else ()
            places = {
                place
                for place, field in enumerate(fields)
                if isinstance(field, Constant) or field in self.values
            }
            name = str(op.args[0])
            self.places[name] = self.places.get(name, places) & places
        super().visit_call_(op)


def static_shape_tuning(
    total_trials: int,
    target: Target | str,
    work_dir: str | os.PathLike[str] = "tuning_logs",
    cpu_weight_prepack: bool = False,
) -> Pipeline:
    """The pipeline that measures candidates for each function, and takes the fastest ones.

    Parameters
    ----------
    total_trials : how many candidates are measured in all; 0 takes what the folder has.
    work_dir : the folder of the database; the same call continues there.
    cpu_weight_prepack : whether weights are packed into the layouts that schedules ask for, by the
        function "main_transform_params".
    """
    packing = [
        transform.SplitLayoutRewritePreproc(to_run=True),
        transform.LiftTransformParams(),
        transform.FoldConstant(to_run=True),
    ]
    return Pipeline(
        "_pipeline",
        [
            transform.DecomposeOpsForInference(),
            transform.CanonicalizeBindings(),
            *_fusing(True),
            *([transform.AttachAttrLayoutFreeBuffers()] if cpu_weight_prepack else ()),
            transform.MetaScheduleTuneIRMod({}, work_dir, total_trials),
            transform.MetaScheduleApplyDatabase(work_dir),
            *(packing if cpu_weight_prepack else ()),
        ],
        as_target(target),
    )


PIPELINES: dict[str, Callable[..., Any]] = {
    "zero": zero,
    "default": default,
    "default_build": default_build,
    "static_shape_tuning": static_shape_tuning,
    "processor": processor,
    "gpu": gpu,
}
_OF_LIBRARY = dict(PIPELINES)


def is_of_library(pipeline: object) -> bool:
    """Whether a pipeline is one of those above, by its name; None is the empty one."""
    if not isinstance(pipeline, str):
        return pipeline is None
    return pipeline in _OF_LIBRARY and PIPELINES.get(pipeline) is _OF_LIBRARY[pipeline]


def get_pipeline(name: str = "zero", **kwargs: Any) -> Any:
    """The pass of a pipeline; keywords are passed to the function that makes it.

    >>> get_pipeline("zero")
    Run Module pass: f_zero_pipeline at the optimization level 0
    """
    factory = PIPELINES.get(name) if isinstance(name, str) else None
    if factory is None:
        raise GraphError(
            f"there is no pipeline {repr_of(name)}",
            "",
            f"use one of {', '.join(PIPELINES)}{did_you_mean(str(repr_of(name)), PIPELINES)}",
        )
    try:
        return factory(**kwargs)
    except TypeError:
        _check_options(name, factory, kwargs)
        raise


def _check_options(name: str, maker: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that a pipeline does not take."""
    try:
        signature(maker).bind(**options)
    except TypeError as error:
        takes = ", ".join(signature(maker).parameters) or "no options"
        raise GraphError(
            f"the pipeline {name!r} does not take these options", str(error), f"it takes {takes}"
        ) from None


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
