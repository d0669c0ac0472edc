"""`relax.build`: from a module of graphs to an executable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from te_sched import driver
from te_sched.codegen.target import Target, as_target
from te_sched.deep_recursion import walks_deeply
from te_sched.dlight.base import IS_SCHEDULED, has_threads
from te_sched.errors import GraphError, GraphTypeError, Subject, kind_of, repr_of
from te_sched.garbage import garbage_kept
from te_sched.ir.graph import GraphFunction
from te_sched.ir.source_lines import lines_of
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.passes import Pass
from te_sched.relax import transform
from te_sched.relax.analysis.well_formed import check_calls
from te_sched.relax.pipeline import get_pipeline
from te_sched.relax.transform.collect_size_relations import collect_size_relations
from te_sched.relax.transform.library_functions import CODEGEN
from te_sched.relax.transform.update_state_in_place import update_state_in_place
from te_sched.relax.transform.use_size_relations import use_size_relations
from te_sched.relax.vm.built_graphs import (
    find_graphs,
    keep_graphs,
    kernels_name,
    name_graphs,
)
from te_sched.relax.vm.codegen import write_functions
from te_sched.relax.vm.exec_builder import ExecBuilder
from te_sched.relax.vm.executable import Executable
from te_sched.relax.vm.native import NativePlan, native_functions
from te_sched.signatures import checked_as
from te_sched.tensorir.schedule import advice_on_program

MODES = ("bytecode", "compiled")
_SCHEDULED = {"llvm": "processor", "cuda": "gpu"}  # the pipeline that schedules for a target


@walks_deeply("build a graph", GraphError)
@checked_as(GraphTypeError, but=("mod", "target"))
def build(
    mod: object,
    target: str | Target | None = None,
    params: Mapping[str, object] | None = None,
    pipeline: object = "default_build",
    exec_mode: str = "bytecode",
    *,
    system_lib: bool | None = None,
    measure: float = 0.0,
) -> Executable:
    """Build a module of graphs.

    Parameters
    ----------
    mod : an IRModule, or a function of a graph.
    target : what to compile for: "llvm" by default, or "cuda".
    params : arrays of parameters by name, as constants of the function "main".
    pipeline : the passes that lower it: a name, a pass, or None for a module that is lowered. The
        default fuses and schedules functions for the target first (pipelines "processor", "gpu").
    exec_mode : "bytecode" or "compiled", which are the same here: what can be is native code.
    system_lib : accepted as TVM does.
    measure : seconds that may be spent on measuring kernels on this machine: of the schedules that
        may be the fastest each is timed with arbitrary data, the kernels that compute most first.
        By default a model of the processor chooses. For "llvm" and kernels of constant shapes.

    Raises
    ------
    GraphError for modules that cannot be built.
    """
    del system_lib
    if not isinstance(exec_mode, str) or exec_mode not in MODES:
        raise GraphError(
            f"the execution mode is {repr_of(exec_mode)}", "", f"use one of {', '.join(MODES)}"
        )
    module = _as_module(mod)
    wanted = as_target(target)
    if not 0 <= measure < math.inf or (measure and wanted.kind != "llvm"):
        raise GraphError(
            f"build is to measure for {measure} seconds on target {wanted.kind}",
            "",
            'give a number of seconds, and the target "llvm"',
        )
    name = name_graphs(module, params, pipeline, wanted, measure)
    hit = find_graphs(name, wanted) if name is not None else None
    lines = lines_of(module.functions.values())
    if hit is not None:
        hit.add_lines(lines)
        return hit
    with garbage_kept():
        lowered = _lowered(module, params, pipeline, wanted, measure)
        builder = ExecBuilder()
        rest = write_instructions(builder, lowered)
        executable = link(builder, wanted, rest, name=name)
    executable.add_lines(lines)
    if name is not None:
        keep_graphs(name, executable)
    return executable


def compile_module(
    mod: Any,
    target: str | Target | None = None,
    *,
    relax_pipeline: object = "default",
    tir_pipeline: object = "default",
    **options: Any,
) -> Any:
    """Build a module: one of graphs by `build`, others by `te_sched.build`.

    Parameters
    ----------
    relax_pipeline : what `build` takes as `pipeline`; "default" is the one of `build`.
    tir_pipeline : "default" or None.
    options : other arguments of `build`.
    """
    if tir_pipeline is not None and not (
        isinstance(tir_pipeline, str) and tir_pipeline == "default"
    ):
        raise GraphError(
            f"a module is compiled with tir_pipeline={repr_of(tir_pipeline)}",
            "functions of loops are lowered by the passes of te_sched.lower",
            "apply passes to the module before, and leave tir_pipeline out",
        )
    functions = mod.functions.values() if isinstance(mod, IRModule) else [mod]
    if not any(isinstance(func, GraphFunction) for func in functions):
        return driver.build(mod, target=target)
    if not isinstance(relax_pipeline, str) or relax_pipeline != "default":
        options["pipeline"] = relax_pipeline
    return build(mod, target, **options)


def write_instructions(
    builder: ExecBuilder, module: IRModule, exec_mode: str = "bytecode"
) -> IRModule:
    """Write the graph functions of a lowered module; the module of the others. Both modes of
    execution have the same instructions.
    """
    del exec_mode
    return write_functions(builder, module)


def link(
    builder: ExecBuilder,
    target: str | Target,
    module: IRModule | None = None,
    *,
    name: str | None = None,
) -> Executable:
    """The executable of instructions, and of the functions of loops that they call.

    `name` is that of the executable in the cache (`built_graphs`).
    """
    wanted = as_target(target)
    kernels = {
        str(func.attrs.get("global_symbol", name)): func
        for name, func in (module.functions.items() if module is not None else ())
        if isinstance(func, PrimFunc)
    }
    bytecode = builder.bytecode()
    if not kernels or wanted.kind != "llvm":
        code = driver.build(IRModule(kernels), target=wanted) if kernels else None
        return Executable(bytecode, code, {})
    plans: dict[str, NativePlan] = {}
    callers: dict[str, PrimFunc] = {}
    for owner in builder.modules:
        for planned in native_functions(owner, kernels, builder.number_of):
            plans[planned.plan.name] = planned.plan
            callers[planned.plan.name] = planned.function
            kernels.update(planned.kernels)
    program = kernels_name(name) if name is not None else None
    code = driver.build_with_callers(IRModule(kernels), callers, wanted, program)
    return Executable(bytecode, code, plans)


def _as_module(mod: object) -> IRModule:
    if isinstance(mod, IRModule):
        return mod
    if isinstance(mod, GraphFunction):
        return IRModule({str(mod.attrs.get("global_symbol", "main")): mod})
    raise GraphError(
        f"relax.build cannot build {repr_of(mod)}, expected an IRModule",
        f"it is {kind_of(mod)}",
        _way_to_a_module(mod),
    )


def _way_to_a_module(program: object) -> str:
    """The advice for what is built in place of a module."""
    if hasattr(program, "export_tvm"):
        return "export it first: module, params = model.export_tvm(spec)"
    origin = type(program).__module__
    if origin.startswith("torch.") or any(
        base.__module__.startswith("torch.") for base in type(program).__mro__
    ):
        return (
            "import it first: relax.frontend.torch.from_exported_program("
            "torch.export.export(model, inputs))"
        )
    if origin.startswith("onnx"):
        return "import it first: relax.frontend.onnx.from_onnx(model)"
    if isinstance(program, tuple) and program and isinstance(program[0], IRModule):
        return "give the module alone: module, params = model.export_tvm(spec)"
    if isinstance(program, PrimFunc):
        return "build a function of loops with te_sched.build(function, target)"
    return advice_on_program(program, "give a module of graphs")


def _check_libraries(module: IRModule) -> None:
    for name, func in module.functions.items():
        if isinstance(func, GraphFunction) and CODEGEN in func.attrs:
            raise GraphError(
                f"function {name} is not compiled by its library, {func.attrs[CODEGEN]}",
                f'it has the attribute "{CODEGEN}"',
                "run relax.transform.RunCodegen() before relax.build",
            )


def _refuse_schedules_of_processors(module: IRModule) -> None:
    for name, func in module.functions_of_loops.items():
        if func.attrs.get(IS_SCHEDULED) and not has_threads(func):
            raise GraphError(
                f"function {name} is scheduled for processors, the target is cuda",
                f'it has the attribute "{IS_SCHEDULED}", and no loops that are bound to threads',
                'build for "llvm"; or leave out the attribute, and relax.build schedules it',
                [Subject("function", str(name))],
            )


def _lowered(
    module: IRModule,
    params: Mapping[str, object] | None,
    pipeline: object,
    target: Target,
    measure: float,
) -> IRModule:
    if params:
        module = transform.BindParams("main", dict(params))(module)
    if pipeline is None:
        return module
    check_calls(module)
    _check_libraries(module)
    module = update_state_in_place(use_size_relations(collect_size_relations(module)))
    chosen = get_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    if isinstance(pipeline, str) and pipeline == "default_build" and target.kind in _SCHEDULED:
        if target.kind == "cuda":
            _refuse_schedules_of_processors(module)
        with target:
            options = {"measure": measure} if measure else {}
            module = get_pipeline(_SCHEDULED[str(target.kind)], **options)(module)
        chosen = get_pipeline(pipeline, has_arena=target.kind == "llvm")
    if not isinstance(chosen, Pass):
        raise GraphError(
            f"the pipeline is {repr_of(pipeline)}, expected a pass or a name",
            f"it is {kind_of(pipeline)}",
            "give the name of a pipeline, or a pass",
        )
    lowered: IRModule = chosen(module)
    return lowered
