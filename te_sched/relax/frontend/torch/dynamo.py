"""`torch.compile` with graphs: a backend that builds them, and one that collects them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from te_sched import nd
from te_sched.errors import GraphError, Subject
from te_sched.ir.expr import Var
from te_sched.ir.graph import GraphVar
from te_sched.ir.stmt import BaseFunc, IRModule
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax.frontend.common import PARAMS
from te_sched.relax.frontend.torch.exported_program_translator import size_expr
from te_sched.relax.frontend.torch.fx_translator import (
    refuse_changed_views,
    refuse_unknown_nodes,
    translate,
)
from te_sched.relax.frontend.torch.importer import Importer
from te_sched.relax.frontend.torch.memory import changed_arguments, changed_value, owners
from te_sched.relax.frontend.torch.nodes import display_name, place_of
from te_sched.relax.frontend.torch.values import (
    FxGraphModule,
    FxNode,
    TorchLayer,
    TorchTensor,
    array_of,
    dtype_of,
)
from te_sched.relax.vm.build import build
from te_sched.relax.vm.machine import VirtualMachine


def relax_dynamo(pipeline: object = "default_build") -> Callable[..., object]:
    """A backend of `torch.compile` that builds each graph.

    Parameters
    ----------
    pipeline : the passes: a name of `relax.get_pipeline`, or a pass.
    """

    def backend(
        graph_module: FxGraphModule, example_inputs: Sequence[TorchTensor]
    ) -> Callable[..., object]:
        function, is_given, changed = _function_of(graph_module, example_inputs, "main", False)
        machine = VirtualMachine(build(function, "llvm", pipeline=pipeline), nd.cpu())

        def run(*args: TorchTensor) -> list[TorchTensor]:
            given = [array_of(one) for one, used in zip(args, is_given, strict=True) if used]
            found = [_tensor(one) for one in machine["main"](*given)]
            results = found[: len(found) - len(changed)]
            for place, value in zip(changed, found[len(results) :], strict=True):
                args[place].detach().copy_(value)
            return results

        return run

    return backend


def dynamo_capture_subgraphs(model: object, *params: object, **kwargs: object) -> IRModule:
    """The graphs of a call of a model, as functions subgraph_0, subgraph_1, ...

    Parameters
    ----------
    model : a module or function of torch.
    params : what it is called with.
    kwargs : `keep_params_as_input`, whether parameters are inputs; others are passed to the model.
    """
    import torch

    is_kept = bool(kwargs.pop("keep_params_as_input", False))
    functions: dict[str, BaseFunc] = {}

    def backend(graph_module: FxGraphModule, example_inputs: Sequence[TorchTensor]) -> object:
        name = f"subgraph_{len(functions)}"
        module, *_ = _function_of(graph_module, example_inputs, name, is_kept, unwrap=True)
        functions[name] = module[name]
        return graph_module.forward

    torch.compiler.reset()
    torch.compile(model, backend=backend)(*params, **kwargs)
    return IRModule(functions)


def _function_of(
    graph_module: FxGraphModule,
    examples: Sequence[TorchTensor],
    name: str,
    is_kept: bool,
    unwrap: bool = False,
) -> tuple[IRModule, list[bool], list[int]]:
    """A module with the function of a graph, the inputs of the graph that it is given, and the
    places of those that the graph changes, whose new values follow its results.
    """
    modules = dict(graph_module.named_modules())
    nodes = list(graph_module.graph.nodes)
    refuse_unknown_nodes(nodes, modules)
    importer = Importer(modules)
    sizes: dict[str, Var] = {}
    inputs: list[GraphVar] = []
    params: list[GraphVar] = []
    values: list[nd.NDArray] = []
    is_given: list[bool] = []
    placeholders = [node for node in nodes if node.op == "placeholder"]
    changed = _changed_inputs(nodes, modules)
    for node, one in zip(placeholders, examples, strict=True):
        is_param = type(one).__name__ == "Parameter"
        is_given.append(hasattr(one, "shape") and (not is_param or not unwrap))
        if not hasattr(one, "shape"):
            importer.values[node] = size_expr(one, sizes)
            continue
        shape = [size_expr(size, sizes) for size in one.shape]
        info = TensorStructInfo(tuple(shape), dtype_of(one.dtype))
        if is_param and unwrap and not is_kept:
            importer.values[node] = importer.param(one)
            continue
        into = params if is_param and unwrap else inputs
        prefix = "param" if is_param and unwrap else "inp"
        into.append(GraphVar(f"{prefix}_{len(into)}", info))
        importer.values[node] = into[-1]
        values += [array_of(one)] if is_param and unwrap else []
    builder = importer.builder
    attrs = {"num_input": len(inputs), PARAMS: values} if is_kept else {}
    with builder.function(name, [*inputs, *params], attrs):
        with builder.dataflow():
            result = importer.run(
                nodes, lambda node: translate(importer, node, modules, graph_module)
            )
            if changed and not unwrap:
                result = (*result, *[importer.values[node] for node in changed])
            output = importer.output(result, unwrap_unit=unwrap, no_bind=False)
        builder.emit_func_output(output)
    return builder.finalize(), is_given, [placeholders.index(node) for node in changed]


def _changed_inputs(nodes: Sequence[FxNode], modules: Mapping[str, TorchLayer]) -> list[FxNode]:
    """The inputs that a graph changes in place; GraphError if it does so through a view."""
    refuse_changed_views(nodes, modules)
    memory = owners(nodes, modules)
    found: dict[FxNode, None] = {}
    for node in nodes:
        for one in changed_arguments(node, modules):
            owner = memory[one]
            if owner.op != "placeholder":
                continue
            if changed_value(one, modules) is not owner:
                raise GraphError(
                    f"cannot import {display_name(node)}: it changes a part of {owner.name}",
                    f"{one.name} shares the memory of {owner.name}",
                    "compute a new value of all of it, and copy that: x.copy_(value)",
                    where=Subject("node", f"{node.name}{place_of(node)}"),
                )
            found[owner] = None
    return list(found)


def _tensor(value: object) -> TorchTensor:
    import torch

    tensor: TorchTensor = torch.from_dlpack(value)
    return tensor
