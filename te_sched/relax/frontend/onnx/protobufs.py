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


class OnnxDim(Protocol):
    """What is read of a size in an `onnx.TensorShapeProto`: a number or a name."""

    dim_value: int
    dim_param: str

    def HasField(self, name: str, /) -> bool:
        """Whether a field is set."""


class OnnxShape(Protocol):
    """What is read of an `onnx.TensorShapeProto`."""

    dim: Sequence[OnnxDim]


class OnnxTensorType(Protocol):
    """What is read of the type of a tensor."""

    elem_type: int
    shape: OnnxShape


class OnnxTypeOf(Protocol):
    """What is read of the type of a sequence or of an optional value."""

    elem_type: OnnxType


class OnnxType(Protocol):
    """What is read of an `onnx.TypeProto`."""

    tensor_type: OnnxTensorType
    sequence_type: OnnxTypeOf
    optional_type: OnnxTypeOf

    def WhichOneof(self, name: str, /) -> str | None:
        """The name of the field that is set."""


class OnnxNamed(Protocol):
    """What is read of an `onnx.TensorProto` or an `onnx.ValueInfoProto`."""

    name: str
    type: OnnxType  # of the latter alone


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
