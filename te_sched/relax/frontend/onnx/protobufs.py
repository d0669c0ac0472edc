"""What the importer reads of ONNX's messages, which are classes without types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class OnnxAttribute(Protocol):
    """What is read of an `onnx.AttributeProto`."""

    name: str
    type: int
    ref_attr_name: str
    i: int
    f: float
    g: OnnxGraph


class OnnxNode(Protocol):
    """What is read of an `onnx.NodeProto`."""

    op_type: str
    domain: str
    name: str
    input: Sequence[str]
    output: Sequence[str]
    attribute: Sequence[OnnxAttribute]


class OnnxNamed(Protocol):
    """What is read of the name of an `onnx.TensorProto` or an `onnx.ValueInfoProto`."""

    name: str


class OnnxGraph(Protocol):
    """What is read of an `onnx.GraphProto`, inside of a node."""

    node: Sequence[OnnxNode]
    input: Sequence[OnnxNamed]
    output: Sequence[OnnxNamed]
    initializer: Sequence[OnnxNamed]


class OnnxVersion(Protocol):
    """What is read of an `onnx.OperatorSetIdProto`."""

    domain: str
    version: int


class OnnxFunction(Protocol):
    """What is read of an `onnx.FunctionProto`."""

    domain: str
    name: str
    input: Sequence[str]
    output: Sequence[str]
    node: Sequence[OnnxNode]
    attribute_proto: Sequence[OnnxAttribute]
    opset_import: Sequence[OnnxVersion]
