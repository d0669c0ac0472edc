"""`torch.compile` with graphs: a backend that builds them, and one that collects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from te_sched import nd
from te_sched.ir.graph import GraphVar
from te_sched.ir.stmt import BaseFunc, IRModule
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax.frontend.common import PARAMS
from te_sched.relax.frontend.torch.compile_backend import compile_graph
from te_sched.relax.frontend.torch.fx_translator import (
    refuse_changed_views,
    refuse_unknown_nodes,
    translate,
)
from te_sched.relax.frontend.torch.importer import Importer
from te_sched.relax.frontend.torch.sizes import Sizes, size_expr
from te_sched.relax.frontend.torch.values import (
    FxGraphModule,
    TorchTensor,
    array_of,
    dtype_of,
)


def relax_dynamo(pipeline: object = "default_build") -> Callable[..., object]:
    """A backend of `torch.compile` that builds each graph, and refuses operators that it cannot.

    The backend "te_sched" lets torch run these: `torch.compile(model, backend="te_sched")`.

    Parameters
    ----------
    pipeline : the passes: a name of `relax.get_pipeline`, or a pass.
    """
    return partial(compile_graph, options={"pipeline": pipeline, "strict": True})


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
        functions[name] = _function_of(graph_module, example_inputs, name, is_kept)[name]
        return graph_module.forward

    torch.compiler.reset()
    torch.compile(model, backend=backend)(*params, **kwargs)
    return IRModule(functions)


def _function_of(
    graph_module: FxGraphModule, examples: Sequence[TorchTensor], name: str, is_kept: bool
) -> IRModule:
    """A module with the function of a graph; parameters are constants, or follow its inputs."""
    modules = dict(graph_module.named_modules())
    nodes = list(graph_module.graph.nodes)
    refuse_unknown_nodes(nodes, modules)
    refuse_changed_views(nodes, modules)
    importer = Importer(modules)
    sizes: Sizes = {}
    inputs: list[GraphVar] = []
    params: list[GraphVar] = []
    values: list[nd.NDArray] = []
    placeholders = [node for node in nodes if node.op == "placeholder"]
    for node, example in zip(placeholders, examples, strict=True):
        is_param = type(example).__name__ == "Parameter"
        if not hasattr(example, "shape"):
            importer.values[node] = size_expr(example, sizes)
            continue
        if is_param and not is_kept:
            importer.values[node] = importer.param(example)
            continue
        shape = [size_expr(size, sizes) for size in example.shape]
        info = TensorStructInfo(tuple(shape), dtype_of(example.dtype))
        group, prefix = (params, "param") if is_param else (inputs, "inp")
        group.append(GraphVar(f"{prefix}_{len(group)}", info))
        importer.values[node] = group[-1]
        values += [array_of(example)] if is_param else []
    builder = importer.builder
    attrs = {"num_input": len(inputs), PARAMS: values} if is_kept else {}
    with builder.function(name, [*inputs, *params], attrs):
        with builder.dataflow():
            result = importer.run(
                nodes, lambda node: translate(importer, node, modules, graph_module)
            )
            output = importer.output(result, unwrap_unit=True, no_bind=False)
        builder.emit_func_output(output)
    return builder.finalize()
