"""`from_onnx`: a model of ONNX becomes a graph.

Values of a node are tensors of the graph, arrays that are known, or sizes; what computes shapes
(Shape, Gather, Concat, ... of sizes) is evaluated here. `operators` has a row for each operator;
all operators without a row are listed in one error, before anything is built.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from te_sched import nd
from te_sched.errors import GraphError, Subject, counted, did_you_mean, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.expr import Var
from te_sched.ir.graph import GraphExpr, GraphVar, Tuple, TupleGetItem
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import TensorStructInfo, TupleStructInfo
from te_sched.relax.frontend.common import PARAMS
from te_sched.relax.frontend.control_flow import bind_result, bindings, finished
from te_sched.relax.frontend.onnx.importer import OnnxImporter, dtype_of, stored_dtype
from te_sched.relax.frontend.onnx.nodes import all_nodes, has_body, translate, versions_of
from te_sched.relax.frontend.onnx.protobufs import OnnxDim, OnnxGraph, OnnxNamed, OnnxNode
from te_sched.relax.frontend.onnx.quantized_nodes import integer_nodes
from te_sched.relax.frontend.onnx.registry import OWN, full_name
from te_sched.relax.frontend.onnx.sequences import ABSENT, OnnxAbsent, OnnxSequence
from te_sched.relax.frontend.onnx.sizes import Numbers, Value
from te_sched.relax.frontend.tensors import Size, shape_expr, sizes_of_tensor
from te_sched.signatures import is_sequence

_LEAST_OPSET = 7

# A shape of an input, the shapes of the elements of a sequence, or None for an absent input.
InputShape = Sequence[Size] | Sequence[Sequence[Size]] | None


def from_onnx(
    model: Any,
    shape_dict: Mapping[str, InputShape] | None = None,
    dtype_dict: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
) -> IRModule:
    """The module of graphs of a model of ONNX; its function is `main`.

    Inputs and results that are integers of few bits are int8, and floats of few bits are float32.

    Parameters
    ----------
    model : an `onnx.ModelProto`.
    shape_dict : shapes of inputs by name, where the model has none, or others: a list of shapes
        for a sequence of tensors, None for an optional input that calls do not give.
    dtype_dict : dtypes of inputs whose dtype the model does not have.
    opset : the version of the operators; by default that of the model.
    keep_params_in_input : whether parameters are inputs of the function, with the values in its
        attribute "params" (`detach_params`); else they are constants, as are those of few bits.
    sanitize_input_names : whether names of inputs become names of Python.

    Raises
    ------
    GraphError that lists all operators of the model that are not supported, and for damaged models.
    """
    onnx = _onnx()
    _check(onnx, model)
    graph: OnnxGraph = model.graph
    importer = OnnxImporter(_versions(model, opset))
    importer.functions = {
        (function.domain, function.name): function for function in model.functions
    }
    _refuse_unknown(importer, all_nodes(graph.node))
    initializers = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    _check_names({**(shape_dict or {})}, graph, initializers, "shape_dict")
    _check_names(
        {} if isinstance(dtype_dict, str) else dtype_dict, graph, initializers, "dtype_dict"
    )
    for dtype in [dtype_dict] if isinstance(dtype_dict, str) else dtype_dict.values():
        dtypes.known(dtype)
    inputs, names = _inputs(graph, initializers, shape_dict, dtype_dict, sanitize_input_names)
    importer.values.update(names)
    importer.few_bits = _few_bits(graph, names)
    importer.shapes = {
        name: sizes_of_tensor(var, "")
        for name, var in names.items()
        if isinstance(var, GraphVar) and isinstance(var.struct_info, TensorStructInfo)
    }
    importer.known.update(initializers)
    importer.values.update(initializers)
    attrs: dict[str, object] = {"num_input": len(inputs)}
    if keep_params_in_input:
        params, attrs[PARAMS] = _kept_params(importer)
        inputs += params
    bodies = [node for function in model.functions for node in function.node]
    every = all_nodes([*graph.node, *bodies])
    has_conditions = any(node.op_type in _WITH_CONDITIONS for node in every)
    builder = importer.builder
    with builder.function("main", inputs, attrs):
        with bindings(builder, has_conditions):
            importer.values |= {name: _elements(importer, var) for name, var in names.items()}
            output = bind_result(builder, _translated(importer, graph))
        builder.emit_func_output(output)
    return finished(builder, has_conditions)


def _few_bits(graph: OnnxGraph, names: Mapping[str, GraphVar | OnnxAbsent]) -> dict[GraphExpr, str]:
    """The dtypes of few bits that inputs have in the model."""
    few_bit_dtypes: dict[GraphExpr, str] = {}
    for value in graph.input:
        number, var = value.type.tensor_type.elem_type, names.get(value.name)
        if (
            number
            and isinstance(var, GraphVar)
            and stored_dtype(dtype_of(number)) != dtype_of(number)
        ):
            few_bit_dtypes[var] = dtype_of(number)
    return few_bit_dtypes


def _versions(model: Any, opset: int | None) -> dict[str, int]:
    """The versions of operators by domain; GraphError for one that is too old."""
    versions = versions_of(model.opset_import)
    if opset:
        versions[OWN[0]] = opset
    version = versions.get(OWN[0], 0)
    if version < _LEAST_OPSET:
        raise GraphError(
            f"the model uses operators of version {version}",
            f"versions from {_LEAST_OPSET} on are supported",
            "convert it: onnx.version_converter.convert_version(model, 18)",
        )
    return versions


def _kept_params(importer: OnnxImporter) -> tuple[list[GraphVar], list[nd.NDArray]]:
    """Variables in place of the initializers, and their values."""
    params: list[GraphVar] = []
    values: list[nd.NDArray] = []
    for name, array in importer.known.items():
        dtype = str(array.dtype)
        if stored_dtype(dtype) == dtype:
            params.append(GraphVar(_as_name(name), TensorStructInfo(array.shape, dtype)))
            values.append(nd.array(array))
            importer.values[name] = params[-1]
    return params, values


def _translated(importer: OnnxImporter, graph: OnnxGraph) -> GraphExpr:
    """The output of a graph: a tuple of several."""
    outputs = [output.name for output in graph.output]
    for node in integer_nodes(graph.node, outputs, importer.known):
        translate(importer, node)
    results = [importer.result(_output(importer, name)) for name in outputs]
    return results[0] if len(results) == 1 else Tuple(tuple(results))


# Operators whose graphs are branches, or functions that call themselves.
_WITH_CONDITIONS = ("If", "Loop", "Scan")


def _elements(importer: OnnxImporter, value: GraphVar | OnnxAbsent) -> Value:
    """The value of an input: of a tuple, the sequence of its elements."""
    info = None if isinstance(value, OnnxAbsent) else value.struct_info
    if isinstance(value, OnnxAbsent) or not isinstance(info, TupleStructInfo):
        return value
    elements = [importer.emit(TupleGetItem(value, n)) for n in range(len(info.fields))]
    return OnnxSequence(elements, importer.dtype(elements[0]) if elements else "float32")


def _output(importer: OnnxImporter, name: str) -> Value:
    if name not in importer.values:
        raise GraphError(
            f"no node computes output {name}", "the model of ONNX is damaged", "export it again"
        )
    return importer.values[name]


def _onnx() -> ModuleType:
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise GraphError(
            "models of ONNX cannot be read", "the package onnx is not installed", "pip install onnx"
        ) from error
    return onnx


def _check(onnx: ModuleType, model: object) -> None:
    """GraphError for what is not a model, or is damaged."""
    if not hasattr(model, "graph"):
        raise GraphError(
            f"the model is {repr_of(model)}, expected an onnx.ModelProto",
            f"it is {kind_of(model)}",
            "read it: onnx.load(path), or onnx.load_from_string(data)",
        )
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        if any(message in str(error) for message in _TOLERATED):
            return
        raise GraphError(
            "the model of ONNX is damaged", str(error).strip().splitlines()[0], "export it again"
        ) from error


# Faults of models that can be imported, or of which another error tells more: unknown operators
# are listed, shapes of outputs are inferred.
_TOLERATED = ("No Op registered", "No opset import", "Field 'shape' of 'type'", "IR version")


def _refuse_unknown(importer: OnnxImporter, nodes: Iterable[OnnxNode]) -> None:
    """GraphError that lists all operators that have no row."""
    unknown = [
        node
        for node in nodes
        if importer.rule_of(node.domain, node.op_type) is None and not has_body(importer, node)
    ]
    if not unknown:
        return
    counts = Counter(full_name(node.domain, node.op_type) for node in unknown)
    plural = "operators are" if len(counts) > 1 else "operator is"
    places = [
        Subject("operator", f"{name}: node {node.name or node.output[0]}")
        for name in counts
        for node in [node for node in unknown if full_name(node.domain, node.op_type) == name][:3]
    ]
    raise GraphError(
        f"{len(counts)} {plural} not supported: {', '.join(counts)}",
        "the importer has no translation for them",
        "export the model with other operators",
        where=places,
    )


def _as_name(name: str) -> str:
    """A name as one of Python."""
    identifier = re.sub(r"\W", "_", name)
    return f"input_{identifier}" if not identifier or identifier[0].isdigit() else identifier


def _check_names(
    options: Mapping[str, object], graph: OnnxGraph, initializers: Mapping[str, Numbers], what: str
) -> None:
    """GraphError for a name that is not one of an input or of a weight."""
    names = [graph_input.name for graph_input in graph.input]
    for name in options:
        if name not in names and name not in initializers:
            raise GraphError(
                f"{what} has {repr_of(name)}, which is not an input of the model",
                f"its inputs are {', '.join(names)}",
                f"use their names{did_you_mean(name, names)}",
            )


def _given_shape(name: str, shape: InputShape, declared: Sequence[Size]) -> list[Size]:
    """The shape of an input that a user gives; GraphError if it does not fit the model."""
    if not is_sequence(shape):
        raise GraphError(
            f"the shape of input {name} is {repr_of(shape)}",
            f"it is {kind_of(shape)}",
            "give a list of sizes: shape_dict={name: [1, 3, 224, 224]}",
        )
    if declared and len(shape) != len(declared):
        raise GraphError(
            f"the shape of input {name} has {counted(len(shape), 'size')}, expected "
            f"{len(declared)}",
            f"it is {repr_of(shape)}; the model has {shape_expr(declared)}",
            "give a size for each dimension",
        )
    return list(shape)


def _inputs(
    graph: OnnxGraph,
    initializers: Mapping[str, Numbers],
    shapes: Mapping[str, InputShape] | None,
    default_dtypes: str | Mapping[str, str],
    is_sanitized: bool,
) -> tuple[list[GraphVar], dict[str, GraphVar | OnnxAbsent]]:
    """The variables of the inputs, also by their name in the model."""
    sizes: dict[str, Var] = {}
    inputs: list[GraphVar] = []
    names: dict[str, GraphVar | OnnxAbsent] = {}
    for graph_input in graph.input:
        if graph_input.name in initializers:
            continue
        if isinstance(default_dtypes, str):
            dtype = default_dtypes
        else:
            dtype = default_dtypes.get(graph_input.name, "float32")
        info = _input_info(graph_input, shapes or {}, dtype, sizes)
        if info is None:
            names[graph_input.name] = ABSENT
            continue
        inputs.append(
            GraphVar(_as_name(graph_input.name) if is_sanitized else graph_input.name, info)
        )
        names[graph_input.name] = inputs[-1]
    return inputs, names


def _input_info(
    value: OnnxNamed, shapes: Mapping[str, InputShape], dtype: str, sizes: dict[str, Var]
) -> TensorStructInfo | TupleStructInfo | None:
    """What is known of an input: a tensor, or a tuple for a sequence; None of an absent one."""
    name, kind = value.name, value.type
    if kind.WhichOneof("value") == "optional_type":
        if name in shapes and shapes[name] is None:
            return None
        kind = kind.optional_type.elem_type
    which = kind.WhichOneof("value")
    if which not in (None, "tensor_type", "sequence_type"):
        raise GraphError(
            f"input {name} is not a tensor",
            f"its type is {which}",
            "write the model with tensors as inputs",
        )
    if which != "sequence_type":
        own = kind.tensor_type
        declared = _declared_shape(name, own.shape.dim, sizes)
        shape = _given_shape(name, shapes[name], declared) if name in shapes else declared
        dtype = dtype_of(own.elem_type) if own.elem_type else dtype
        return TensorStructInfo(tuple(shape), stored_dtype(dtype))
    element, parts = kind.sequence_type.elem_type.tensor_type, shapes.get(name)
    if not is_sequence(parts) or not all(map(is_sequence, parts)):
        raise GraphError(
            f"input {name} is a sequence, whose length is not known",
            f"its shapes are {repr_of(parts)}" if name in shapes else "",
            f'give the shapes of its elements: from_onnx(model, shape_dict={{"{name}": [[3, 4]]}})',
        )
    dtype = dtype_of(element.elem_type) if element.elem_type else dtype
    return TupleStructInfo(tuple([TensorStructInfo(tuple(part), dtype) for part in parts]))


def _declared_shape(name: str, dims: Iterable[OnnxDim], sizes: dict[str, Var]) -> list[Size]:
    """The shape of an input in the model: sizes that are not given are variables."""
    shape: list[Size] = []
    for n, dim in enumerate(dims):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            shape.append(dim.dim_value)
        else:
            is_named = dim.dim_param not in ("", "?", "-1")
            variable = _as_name(dim.dim_param if is_named else f"{name}_dim_{n}")
            shape.append(sizes.setdefault(variable, Var(variable, "int64")))
    return shape
