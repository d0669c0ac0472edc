"""The translation of nodes: by the row of an operator, or by its body of other operators.

A body is a function of the model, or the one that ONNX has in the definition of the operator. Must
not know rows of operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from te_sched.errors import GraphError, SourceLocation
from te_sched.relax.frontend.common import errors_of_rules
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.protobufs import (
    OnnxAttribute,
    OnnxFunction,
    OnnxGraph,
    OnnxNode,
    OnnxVersion,
)
from te_sched.relax.frontend.onnx.registry import OWN, Result, full_name
from te_sched.relax.frontend.onnx.sequences import OnnxSequence
from te_sched.relax.frontend.onnx.sizes import OnnxSizes, Value


class Schema(Protocol):
    """What is read of an `onnx.defs.OpSchema`."""

    attributes: Mapping[str, _Default]
    has_function: bool
    has_context_dependent_function: bool
    function_opset_versions: Sequence[int]
    context_dependent_function_opset_versions: Sequence[int]

    def get_function_with_opset_version(self, version: int, /) -> bytes:
        """The message of a body."""

    def get_context_dependent_function_with_opset_version(
        self, version: int, node: bytes, types: Sequence[bytes], /
    ) -> bytes:
        """The message of a body for a node, and for types of its inputs."""


class _Default(Protocol):
    """What is read of the definition of an attribute."""

    default_value: OnnxAttribute


def versions_of(imports: Iterable[OnnxVersion]) -> dict[str, int]:
    """The versions of operators by domain."""
    versions: dict[str, int] = {}
    for operators_of in imports:
        domain = OWN[0] if operators_of.domain in OWN else operators_of.domain
        versions[domain] = max(operators_of.version, versions.get(domain, 0))
    return versions


def translate(importer: OnnxImporter, node: OnnxNode) -> None:
    """Add the values of a node."""
    label = node.name or next(iter(node.output), node.op_type)
    missing = [name for name in node.input if name and name not in importer.values]
    if missing:
        raise GraphError(
            f"node {label} uses {missing[0]}, which does not exist",
            "the model of ONNX is damaged",
            "export it again",
        )
    importer.builder.location = SourceLocation(f"node {label}")
    with errors_of_rules(full_name(node.domain, node.op_type), lambda: label):
        results = _results_of(importer, node)
        for name, value in zip(node.output, results, strict=False):
            if name and value is not None:
                importer.values[name] = value


def translate_graph(
    importer: OnnxImporter, graph: OnnxGraph, inputs: Sequence[Value] = ()
) -> list[Value]:
    """The values of the outputs of a graph inside of a node, for values of its inputs."""
    import onnx

    with importer.inner_scope():
        names = [value.name for value in graph.input]
        importer.values.update(zip(names, inputs, strict=True))
        for tensor in graph.initializer:
            array = onnx.numpy_helper.to_array(tensor)
            importer.values[tensor.name] = importer.known[tensor.name] = array
        for node in graph.node:
            translate(importer, node)
        return [importer.values[output.name] for output in graph.output]


def all_nodes(nodes: Iterable[OnnxNode]) -> Iterator[OnnxNode]:
    """Nodes and those of the graphs inside of them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from all_nodes(attribute.g.node)


def _results_of(importer: OnnxImporter, node: OnnxNode) -> tuple[Value | None, ...]:
    """The values of the outputs of a node; None of those that it leaves out."""
    attrs = _attributes(importer, node)
    rule = importer.rule_of(node.domain, node.op_type)
    if rule is None:
        return _of_body(importer, node, attrs)
    importer.inputs = list(node.input)
    importer.count = len(node.output)
    inputs = [importer.values[name] if name else None for name in node.input]
    return _outputs(rule(importer, *inputs, **{key: _value_of(attrs[key]) for key in attrs}))


def _outputs(result: Result) -> tuple[Value, ...]:
    """The values of the outputs of a node."""
    if isinstance(result, tuple) and not isinstance(result, OnnxSizes):
        return result
    return (result,)


def _attributes(importer: OnnxImporter, node: OnnxNode) -> dict[str, OnnxAttribute]:
    """The attributes of a node; in a function some are those of its call."""
    attrs: dict[str, OnnxAttribute] = {}
    for attribute in node.attribute:
        value: OnnxAttribute | None = attribute
        if attribute.ref_attr_name:
            value = importer.attributes.get(attribute.ref_attr_name)
        if value is not None:
            attrs[attribute.name] = value
    return attrs


def _value_of(attribute: OnnxAttribute) -> object:
    """The value of an attribute: bytes are strings, tensors arrays."""
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [text.decode() for text in value]
    return list(value) if attribute.type in (6, 7) else value


# Bodies


def has_body(importer: OnnxImporter, node: OnnxNode) -> bool:
    """Whether an operator is a function of the model, or has a body in ONNX."""
    if (node.domain, node.op_type) in importer.functions:
        return True
    return _schema_of(importer, node) is not None


def _schema_of(importer: OnnxImporter, node: OnnxNode) -> Schema | None:
    """The definition of an operator that has a body in ONNX; None of others."""
    import onnx

    domain = OWN[0] if node.domain in OWN else node.domain
    version = importer.versions.get(domain, 1)
    if not onnx.defs.has(node.op_type, domain):
        return None
    try:
        schema = onnx.defs.get_schema(node.op_type, version, domain)
    except onnx.defs.SchemaError:  # of a later version
        return None
    op_schema: Schema = schema
    has_one = op_schema.has_function or op_schema.has_context_dependent_function
    return op_schema if has_one else None


def _of_body(
    importer: OnnxImporter, node: OnnxNode, attrs: Mapping[str, OnnxAttribute]
) -> tuple[Value | None, ...]:
    """The results of a node as those of its body, in a scope of names of its own."""
    function = importer.functions.get((node.domain, node.op_type))
    schema = _schema_of(importer, node) if function is None else None
    defaults: Iterable[OnnxAttribute] = () if function is None else function.attribute_proto
    if schema is not None:
        function = _body_of(importer, schema, node, attrs)
        values = [attribute.default_value for attribute in schema.attributes.values()]
        defaults = [value for value in values if value.type]
    if function is None:
        raise GraphError(
            f"operator {full_name(node.domain, node.op_type)} is not supported",
            "the importer has no translation for it",
            "export the model with other operators",
        )
    inputs = dict(zip(function.input, node.input, strict=False))
    attributes = {**{value.name: value for value in defaults}, **attrs}
    with importer.scope(inputs, attributes, versions_of(function.opset_import)):
        for inner in function.node:
            translate(importer, inner)
        pairs = zip(function.output, node.output, strict=False)
        return tuple([importer.values[name] if wanted else None for name, wanted in pairs])


def _body_of(
    importer: OnnxImporter, schema: Schema, node: OnnxNode, attrs: Mapping[str, OnnxAttribute]
) -> OnnxFunction:
    """The body that ONNX defines; some depend on the types of the inputs of a node."""
    import onnx

    if schema.has_context_dependent_function:
        whole = onnx.NodeProto(op_type=node.op_type, domain=node.domain)
        whole.input.extend(node.input)
        whole.output.extend(node.output)
        whole.attribute.extend(attrs.values())
        types = [_type_of(importer, name) for name in node.input]
        data = _latest(
            schema.context_dependent_function_opset_versions,
            importer,
            node,
            lambda version: schema.get_context_dependent_function_with_opset_version(
                version, whole.SerializeToString(), types
            ),
        )
    else:
        data = _latest(
            schema.function_opset_versions,
            importer,
            node,
            schema.get_function_with_opset_version,
        )
    body: OnnxFunction = onnx.FunctionProto.FromString(data)
    return body


def _latest(
    versions: Sequence[int], importer: OnnxImporter, node: OnnxNode, get: Callable[[int], bytes]
) -> bytes:
    """The body for the greatest version that is not above that of the model."""
    limit = importer.versions.get(OWN[0] if node.domain in OWN else node.domain, 1)
    return get(max([version for version in versions if version <= limit], default=max(versions)))


def _type_of(importer: OnnxImporter, name: str) -> bytes:
    """The type of an input, as a message of ONNX."""
    import onnx

    if not name:
        return b""
    value = importer.values[name]
    is_sequence = isinstance(value, OnnxSequence)
    dtype = value.dtype if isinstance(value, OnnxSequence) else importer.dtype(value)
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype_named(dtype))
    sizes = [] if is_sequence else importer.shape(value)
    shape = None if is_sequence else [s if isinstance(s, int) else str(s) for s in sizes]
    proto = onnx.helper.make_tensor_type_proto(kind, shape)
    whole = onnx.helper.make_sequence_type_proto(proto) if is_sequence else proto
    message: bytes = whole.SerializeToString()
    return message


def dtype_named(name: str) -> np.dtype[np.generic]:
    """numpy's dtype of a name, also of those that the package ml_dtypes adds."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))
