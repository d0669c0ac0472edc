"""`from_fx`: a traced module of PyTorch (`torch.fx.symbolic_trace`) becomes a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from te_sched.errors import GraphError, Subject, kind_of, repr_of, warn
from te_sched.ir.graph import GraphVar
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax.frontend.common import PARAMS
from te_sched.relax.frontend.torch.importer import (
    MODULES,
    ROWS,
    Importer,
    refuse_unknown,
)
from te_sched.relax.frontend.torch.memory import (
    changed_arguments,
    owners,
    refuse_changed_attributes,
)
from te_sched.relax.frontend.torch.nodes import base_name, display_name, place_of
from te_sched.relax.frontend.torch.values import FxNode, TorchLayer, Value, array_of, dtype_of


def from_fx(
    model: Any,
    input_info: Sequence[object],
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
) -> IRModule:
    """The module of graphs of a traced module of PyTorch; its function is `main`.

    Parameters
    ----------
    model : a `torch.fx.GraphModule`.
    input_info : the shape and dtype of each input; sizes are ints, or variables for dynamic ones.
    keep_params_as_input : whether parameters are inputs of the function, with the values in its
        attribute "params" (`detach_params`); else they are constants.
    unwrap_unit_return_tuple : whether a result of one value is returned as that value.
    no_bind_return_tuple : whether the elements of a result are bound one by one.

    Raises
    ------
    GraphError that lists all operators of the model that are not supported, and for models that
    are not traced.
    """
    if not hasattr(model, "graph") or not hasattr(model, "named_modules"):
        raise GraphError(
            f"the model is {kind_of(model)}, expected a torch.fx.GraphModule",
            "its operators are known after it is traced",
            "trace it first: from_fx(torch.fx.symbolic_trace(model), input_info)",
        )
    nodes = list(model.graph.nodes)
    modules = dict(model.named_modules())
    refuse_unknown_nodes(nodes, modules)
    refuse_changed_attributes(nodes, modules)
    refuse_changed_views(nodes, modules)
    _warn_of_training(nodes, modules)
    importer = Importer(modules)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    inputs = _inputs(importer, placeholders, input_info)
    params: list[GraphVar] = []
    attrs: dict[str, object] = {}
    if keep_params_as_input:
        named = sorted(model.named_parameters(), key=lambda pair: pair[0])
        for name, tensor in named:
            info = TensorStructInfo(tuple(tensor.shape), dtype_of(tensor.dtype))
            var = GraphVar(name.replace(".", "_"), info)
            importer.params[id(tensor)] = var
            params.append(var)
        attrs = {"num_input": len(inputs), PARAMS: [array_of(param) for _, param in named]}
    builder = importer.builder
    with builder.function("main", [*inputs, *params], attrs):
        with builder.dataflow():
            result = importer.run(nodes, lambda node: translate(importer, node, modules, model))
            output = importer.output(
                result, unwrap_unit=unwrap_unit_return_tuple, no_bind=no_bind_return_tuple
            )
        builder.emit_func_output(output)
    return builder.finalize()


def refuse_changed_views(nodes: Sequence[FxNode], modules: Mapping[str, TorchLayer]) -> None:
    """GraphError if a tensor is used after an operator has changed another one of its memory."""
    memory = owners(nodes, modules)
    changed: dict[
        FxNode, tuple[FxNode, FxNode]
    ] = {}  # of each memory: what changed it, through which node
    for node in nodes:
        for argument in node.all_input_nodes:
            by, through = changed.get(memory[argument], (argument, argument))
            if through is not argument and argument is not by:
                raise GraphError(
                    f"{argument.name} is used after {by.name} has changed its memory",
                    f"{by.name} changes {through.name}, and they share elements",
                    "export the model: from_exported_program(torch.export.export(model, inputs))",
                    where=Subject("node", f"{node.name}{place_of(node)}"),
                )
        for argument in changed_arguments(node, modules):
            changed[memory[argument]] = (node, argument)


def _warn_of_training(nodes: Sequence[FxNode], modules: Mapping[str, TorchLayer]) -> None:
    """Warn of normalizations that would use and change statistics if torch ran the model now."""
    names = [
        str(node.target)
        for node in nodes
        if node.op == "call_module"
        and modules[str(node.target)].training
        and getattr(modules[str(node.target)], "track_running_stats", False)
    ]
    if names:
        warn(
            f"{', '.join(names)} of the model: in training mode, imported for inference with the "
            "running statistics; call model.eval() first"
        )


def _inputs(
    importer: Importer, placeholders: Sequence[FxNode], input_info: Sequence[object]
) -> list[GraphVar]:
    """A variable for each input of the model."""
    used = [node for node in placeholders if node.users or not node.args]
    if len(input_info) not in (len(placeholders), len(used)):
        raise GraphError(
            f"the model has {len(placeholders)} inputs, got shapes of {len(input_info)}",
            f"its inputs are {', '.join(str(node.target) for node in placeholders)}",
            "give the shape and dtype of each input",
        )
    nodes = placeholders if len(input_info) == len(placeholders) else used
    variables: list[GraphVar] = []
    for number, (node, spec) in enumerate(zip(nodes, input_info, strict=True)):
        if not isinstance(spec, tuple | list) or len(spec) != 2 or isinstance(spec[0], int):
            raise GraphError(
                f"input {number} is {repr_of(spec)}, expected a shape and a dtype",
                f"it is {kind_of(spec)}",
                'give its shape and dtype: ((1, 784), "float32")',
            )
        info = TensorStructInfo(tuple(spec[0]), dtype_of(spec[1]))
        variables.append(GraphVar(f"inp_{number}", info))
        importer.values[node] = variables[-1]
    for node in placeholders:
        if node not in importer.values:
            importer.values[node] = importer.value(node.args[0]) if node.args else None
    return variables


def refuse_unknown_nodes(nodes: Sequence[FxNode], modules: Mapping[str, TorchLayer]) -> None:
    """GraphError that lists the operators that have no row."""
    refuse_unknown(
        [
            (_name_of(node, modules), node)
            for node in nodes
            if node.op.startswith("call_") and not _is_known(node, modules)
        ],
        "write the model with other operators, or let torch decompose them: "
        "from_exported_program(torch.export.export(model, inputs))",
    )


def _is_known(node: FxNode, modules: Mapping[str, TorchLayer]) -> bool:
    if node.op == "call_module":
        return type(modules[str(node.target)]).__name__ in MODULES
    return base_name(node) in ROWS


def _name_of(node: FxNode, modules: Mapping[str, TorchLayer]) -> str:
    if node.op == "call_module":
        return f"torch.nn.{type(modules[str(node.target)]).__name__}"
    return display_name(node)


def translate(
    importer: Importer, node: FxNode, modules: Mapping[str, TorchLayer], model: Any
) -> Value:
    """The value of a node."""
    if node.op == "get_attr":
        attribute = model
        for name in str(node.target).split("."):
            attribute = getattr(attribute, name)
        return importer.param(attribute) if hasattr(attribute, "detach") else attribute
    if node.op == "call_module":
        module = modules[str(node.target)]
        return importer.call(node, MODULES[type(module).__name__], module)
    return importer.call(node, ROWS[base_name(node)].rule)
