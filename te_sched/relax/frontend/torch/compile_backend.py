"""The backend "te_sched" of `torch.compile`.

    torch.compile(model, backend="te_sched")

torch's AOTAutograd makes graphs without changes in place, of the forward and, where gradients are
needed, of the backward computation. Each is split into subgraphs that are built, and operators that
torch runs. Must not know which operators have a translation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial

from te_sched.codegen.target import Target, as_target
from te_sched.errors import (
    GraphError,
    Subject,
    TeSchedError,
    counted,
    did_you_mean,
    kind_of,
    repr_of,
    warn,
)
from te_sched.ir.stmt import IRModule
from te_sched.relax.frontend.torch.importer import operators_and_places, refuse_unknown
from te_sched.relax.frontend.torch.nodes import display_name
from te_sched.relax.frontend.torch.subgraph_calls import subgraph_call
from te_sched.relax.frontend.torch.subgraphs import (
    NAME,
    NO_TRANSLATION,
    PREFIX,
    SubgraphImporter,
    decompositions,
    gives_tensors,
    is_size,
    reason_against,
    split,
)
from te_sched.relax.frontend.torch.values import FxGraphModule, FxNode, TorchTensor
from te_sched.relax.vm.build import build
from te_sched.relax.vm.executable import Executable

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_WITHOUT_STRICT = "leave out the option strict, so that torch runs them"
_FALLBACKS = ("operators", "graph")


@dataclass(frozen=True)
class CompileOptions:
    """The options of `torch.compile(model, backend="te_sched", options={...})`.

    Parameters
    ----------
    target : what to compile for, "llvm" or a Target of that kind.
    pipeline : the passes: a name of `relax.get_pipeline`, or a pass.
    fallback : what torch runs if some operators cannot be built: these "operators", or the "graph".
    strict : whether such operators are an error.
    """

    target: str | Target = "llvm"
    pipeline: object = "default_build"
    fallback: str = "operators"
    strict: bool = False


def compile_graph(
    graph_module: FxGraphModule,
    example_inputs: Sequence[TorchTensor],
    *,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Callable[..., object]:
    """The compiled function of a graph of `torch.compile`; torch calls this.

    Parameters
    ----------
    graph_module : the graph, a `torch.fx.GraphModule`.
    example_inputs : its inputs.
    mode : a mode of torch.compile; all of them compile the same.
    options : see `CompileOptions`.

    Raises
    ------
    GraphError for unknown options and, with `strict`, for operators that cannot be built.
    """
    import torch
    from torch._dynamo.backends.common import aot_autograd

    compiler = partial(_compiled, read_options(mode, options))
    is_training = torch.is_grad_enabled() and any(
        getattr(value, "requires_grad", False) for value in example_inputs
    )
    backend = aot_autograd(fw_compiler=compiler, decompositions=decompositions(is_training))
    compiled: Callable[..., object] = backend(graph_module, example_inputs)
    return compiled


def read_options(mode: str | None, options: Mapping[str, object] | None) -> CompileOptions:
    """The options of a call of torch.compile; GraphError for others.

    >>> read_options("max-autotune", {"strict": True}).strict
    True
    """
    if mode is not None and mode not in _MODES:
        raise GraphError(
            f"torch.compile has no mode {repr_of(mode)}", "", f"use one of {', '.join(_MODES)}"
        )
    names = [field.name for field in fields(CompileOptions)]
    for name in options or {}:
        if name not in names:
            raise GraphError(
                f"backend te_sched has no option {repr_of(name)}",
                "",
                f"use one of {', '.join(names)}{did_you_mean(str(name), names)}",
            )
    settings = {**asdict(CompileOptions()), **(options or {})}
    target, fallback, strict = settings["target"], settings["fallback"], settings["strict"]
    if as_target(target).kind != "llvm":
        raise GraphError(
            f"backend te_sched cannot compile for target {target}",
            "its functions work on tensors in the processor's memory",
            'use target "llvm"',
        )
    if fallback not in _FALLBACKS:
        raise GraphError(
            f"option fallback is {repr_of(fallback)}",
            "",
            f"use one of {', '.join(map(repr, _FALLBACKS))}",
        )
    if not isinstance(strict, bool):
        raise GraphError(
            f"option strict is {repr_of(strict)}, expected a bool",
            f"it is {kind_of(strict)}",
            "pass True or False",
        )
    return CompileOptions(target, settings["pipeline"], fallback, strict)


def _compiled(
    options: CompileOptions, graph_module: FxGraphModule, example_inputs: Sequence[TorchTensor]
) -> Callable[..., object]:
    """The function of a graph of AOTAutograd, which takes its arguments as a list."""
    from torch._functorch.aot_autograd import make_boxed_func

    del example_inputs
    nodes = [node for node in graph_module.graph.nodes if gives_tensors(node)]
    reasons = {node: reason_against(node) for node in nodes}
    refused = {node: reason for node, reason in reasons.items() if reason is not None}
    parts: FxGraphModule | None = None
    while parts is None:
        if refused and options.strict:
            _refuse(refused)
        if refused and options.fallback == "graph":
            parts = graph_module
            break
        names = {node.name: node for node in nodes if node not in refused}
        parts = split(graph_module, names)
        failed = _build_parts(options, parts)
        if failed:
            refused |= {names[name]: reason for name, reason in failed.items() if name in names}
            parts = None
    if refused:
        _warn(refused, options)
    compiled: Callable[..., object] = make_boxed_func(parts.forward)
    return compiled


def _build_parts(options: CompileOptions, parts: FxGraphModule) -> dict[str, str]:
    """Put calls in the place of the subgraphs; if some cannot be built, gives their nodes that
    cannot, and the reasons.
    """
    modules_by_name = dict(parts.named_modules())
    sizes = [node for node in parts.graph.nodes if node.op == "placeholder" and is_size(node)]
    subgraphs = [
        (node, SubgraphImporter(modules_by_name[str(node.target)].graph.nodes, sizes))
        for node in parts.graph.nodes
        if node.op == "call_module" and str(node.target).startswith(PREFIX)
    ]
    modules: list[IRModule] = []
    for _, importer in subgraphs:
        try:
            modules.append(importer.import_nodes())
        except TeSchedError as error:
            return {node.meta[NAME]: error.fault for node in importer.calls_at_fault()}
    for (node, importer), module in zip(subgraphs, modules, strict=True):
        try:
            executable = build(module, options.target, pipeline=options.pipeline)
        except TeSchedError as error:
            return {part.meta[NAME]: error.fault for part in importer.calls}
        node.args = (*node.args, *importer.sizes_of_graph)
        node.op, node.target = "call_function", _function(executable, importer)
    parts.recompile()
    return {}


def _function(executable: Executable, importer: SubgraphImporter) -> Callable[..., object]:
    """What the graph calls: it gives a tensor, or a list of several."""
    call = subgraph_call(executable, importer.inputs, importer.results)
    if importer.is_single:
        return lambda *args: call(*args)[0]
    return lambda *args: call(*args)


def _refuse(refused: Mapping[FxNode, str]) -> None:
    """GraphError for operators that cannot be built."""
    reasons = set(refused.values())
    if reasons == {NO_TRANSLATION}:
        refuse_unknown([(display_name(node), node) for node in refused], _WITHOUT_STRICT)
    raise GraphError(
        f"{counted(len(refused), 'operator')} of the model cannot be built",
        "",
        _WITHOUT_STRICT,
        where=[Subject("operator", line) for line in _lines(refused)],
    )


def _warn(refused: Mapping[FxNode, str], options: CompileOptions) -> None:
    """Warn of operators that torch runs."""
    what = "this graph" if options.fallback == "graph" else "some operators of a graph"
    warn(f"torch runs {what}, because te_sched does not build: {'; '.join(_lines(refused))}")


def _lines(refused: Mapping[FxNode, str]) -> list[str]:
    """The operators that cannot be built: their names, places and reasons."""
    return [
        f"{line}: {reason}"
        for reason in dict.fromkeys(refused.values())
        for line in operators_and_places(
            [(display_name(node), node) for node, other in refused.items() if other == reason]
        )
    ]
