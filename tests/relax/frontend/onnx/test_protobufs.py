"""What the importer reads of ONNX's messages is there."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from te_sched.relax.frontend.onnx import protobufs

onnx = pytest.importorskip("onnx")

MESSAGES: dict[str, Any] = {
    "OnnxAttribute": onnx.AttributeProto,
    "OnnxNode": onnx.NodeProto,
    "OnnxDim": onnx.TensorShapeProto.Dimension,
    "OnnxShape": onnx.TensorShapeProto,
    "OnnxTensorType": onnx.TypeProto.Tensor,
    "OnnxTypeOf": onnx.TypeProto.Sequence,
    "OnnxType": onnx.TypeProto,
    "OnnxNamed": onnx.ValueInfoProto,
    "OnnxGraph": onnx.GraphProto,
    "OnnxVersion": onnx.OperatorSetIdProto,
    "OnnxFunction": onnx.FunctionProto,
}
_KINDS = {"int": ("INT32", "INT64", "ENUM"), "float": ("FLOAT",), "str": ("STRING",)}
PROTOCOLS = dict(inspect.getmembers(protobufs, inspect.isclass))


def test_all_protocols_are_of_a_message() -> None:
    own = {name for name in PROTOCOLS if name.startswith("Onnx")}
    assert own == MESSAGES.keys()


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_have_the_fields_that_are_read(name: str) -> None:
    fields = {field.name: field for field in MESSAGES[name].DESCRIPTOR.fields}
    for field, annotation in PROTOCOLS[name].__annotations__.items():
        assert field in fields, f"{name} has no {field}"
        kinds = _KINDS.get(annotation.removeprefix("Sequence[").removesuffix("]"), ("MESSAGE",))
        assert fields[field].type in [getattr(fields[field], f"TYPE_{kind}") for kind in kinds]


def test_an_optional_value_has_a_type_as_a_sequence_has() -> None:
    for message in (onnx.TypeProto.Sequence, onnx.TypeProto.Optional):
        field = message.DESCRIPTOR.fields_by_name["elem_type"]
        assert field.message_type is onnx.TypeProto.DESCRIPTOR
