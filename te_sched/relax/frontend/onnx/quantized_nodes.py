"""Operators of integers in place of those of reals between DequantizeLinear and QuantizeLinear.

A convolution or a product of numbers that were dequantized, whose result is quantized, becomes the
operator of integers: results differ by at most one step. Must not know rows of operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from te_sched.relax.frontend.onnx.protobufs import OnnxNode
from te_sched.relax.frontend.onnx.sizes import Array

_BYTES = ("int8", "uint8")
_GRAPHS = (5, 10)  # the types of attributes that are graphs


@dataclass(frozen=True)
class _Operand:
    """The inputs of a DequantizeLinear whose scale and zero point are known."""

    names: tuple[str, ...]
    scale: Array
    zero: Array
    axis: int


class _Graph:
    """Nodes by the names of what they compute, how often names are used, and known arrays."""

    def __init__(
        self, nodes: Sequence[OnnxNode], outputs: Sequence[str], initializers: Mapping[str, Array]
    ) -> None:
        self.producers = {name: node for node in nodes for name in node.output}
        self.uses = Counter([name for node in nodes for name in node.input] + list(outputs))
        self.known = initializers

    def producer(self, name: str, *operators: str) -> OnnxNode | None:
        """The node that computes a value, if it is one of these operators."""
        node = self.producers.get(name)
        return node if node is not None and node.op_type in operators else None

    def operand(self, name: str, dtypes: Sequence[str]) -> _Operand | None:
        """What a value is dequantized from, if that has one of these dtypes."""
        node = self.producer(name, "DequantizeLinear")
        if node is None or len(node.input) < 3:
            return None
        scale, zero = (self.known.get(part) for part in node.input[1:3])
        if scale is None or zero is None or str(zero.dtype) not in dtypes:
            return None
        attrs = _numbers(node)
        if attrs.get("block_size", 0) or scale.ndim > 1 or str(scale.dtype) != "float32":
            return None
        return _Operand(tuple(node.input), scale, zero, attrs.get("axis", 1))


def _numbers(node: OnnxNode) -> dict[str, int]:
    """The attributes of a node that are integers."""
    return {attribute.name: attribute.i for attribute in node.attribute}


def integer_nodes(
    nodes: Sequence[OnnxNode], outputs: Sequence[str], initializers: Mapping[str, Array]
) -> list[OnnxNode]:
    """The nodes with operators of integers where reals are computed of integers, for integers.

    Parameters
    ----------
    outputs : the names of the results of the graph.
    initializers : the arrays of initializers by name.
    """
    if any(attribute.type in _GRAPHS for node in nodes for attribute in node.attribute):
        return list(nodes)  # which may use values of this graph
    graph, left_out = _Graph(nodes, outputs, initializers), set[str]()
    replaced: dict[str, OnnxNode] = {}
    for node in nodes:
        if node.op_type == "QuantizeLinear" and len(node.input) == 3:
            real = _real_of(graph, node)
            integer = None if real is None else _integer_node(graph, real, node)
            if integer is not None:
                replaced[node.output[0]] = integer
                left_out |= _names_before(graph, node)
    kept = [replaced.get(node.output[0], node) for node in nodes]
    kept = [node for node in kept if node.output[0] not in left_out]
    used = {*outputs, *[name for node in kept for name in node.input]}
    return [  # without conversions that are not used any more
        node for node in kept if node.op_type != "DequantizeLinear" or node.output[0] in used
    ]


def _real_of(graph: _Graph, node: OnnxNode) -> OnnxNode | None:
    """The operator whose result is quantized, also after a Relu that the range of bytes implies."""
    scale, zero = (graph.known.get(name) for name in node.input[1:3])
    if scale is None or zero is None or scale.size != 1 or str(zero.dtype) not in _BYTES:
        return None
    name = node.input[0]
    relu = graph.producer(name, "Relu")
    if relu is not None:
        if graph.uses[name] != 1 or zero.item() != np.iinfo(str(zero.dtype)).min:
            return None
        name = relu.input[0]
    return graph.producer(name, "Conv", "MatMul", "Gemm") if graph.uses[name] == 1 else None


def _names_before(graph: _Graph, node: OnnxNode) -> set[str]:
    """The names of the values between an operator and its quantization."""
    name = node.input[0]
    relu = graph.producer(name, "Relu")
    return {name} if relu is None else {name, relu.input[0]}


def _integer_node(graph: _Graph, real: OnnxNode, node: OnnxNode) -> OnnxNode | None:
    """The operator of integers for one of reals; None if its operands are not dequantized bytes."""
    x = graph.operand(real.input[0], _BYTES)
    weight = graph.operand(real.input[1], _BYTES)
    if x is None or weight is None or x.scale.size != 1:
        return None
    attrs = _numbers(real)
    is_transposed = real.op_type == "Conv" or attrs.get("transB", 0)
    shape = graph.known[weight.names[0]].shape if weight.names[0] in graph.known else ()
    axis = weight.axis + len(shape) if weight.axis < 0 else weight.axis
    if weight.scale.size > 1 and (not shape or axis != (0 if is_transposed else len(shape) - 1)):
        return None
    bias: list[str] = []
    if len(real.input) > 2 and real.input[2]:
        term = graph.operand(real.input[2], ["int32"])
        if term is None or not _is_bias(term, x, weight):
            return None
        bias = [term.names[0]]
    return _made(real, node, [*x.names, *weight.names], bias)


def _is_bias(term: _Operand, x: _Operand, weight: _Operand) -> bool:
    """Whether the integers of a bias have the scale of the products."""
    expected = np.multiply(x.scale.ravel(), weight.scale.ravel())
    scale = term.scale.ravel()
    if term.zero.any() or len({1, expected.size, scale.size}) > 2:
        return False
    return bool(np.allclose(scale, expected, rtol=1e-4, atol=0))


def _made(real: OnnxNode, node: OnnxNode, operands: list[str], bias: list[str]) -> OnnxNode | None:
    from onnx import helper

    result = list(node.input[1:3])
    if real.op_type == "Gemm":
        floats = {attribute.name: attribute.f for attribute in real.attribute}
        if floats.get("alpha", 1.0) != 1.0 or (bias and floats.get("beta", 1.0) != 1.0):
            return None
        inputs, domain = [*operands, *(bias or [""]), *result], "com.microsoft"
        new_node = helper.make_node("QGemm", inputs, node.output, real.name, domain=domain)
    elif real.op_type == "Conv":
        inputs = [*operands, *result, *bias]
        new_node = helper.make_node("QLinearConv", inputs, node.output, real.name)
    else:
        inputs = [*operands, *result]
        new_node = helper.make_node("QLinearMatMul", inputs, node.output, real.name)
    new_node.attribute.extend(
        [attribute for attribute in real.attribute if attribute.name not in ("alpha", "beta")]
    )
    integer_node: OnnxNode = new_node
    return integer_node
