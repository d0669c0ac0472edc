"""Rows of operators of ONNX that make and read sequences and optional values."""

from __future__ import annotations

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir.graph import TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.frontend.onnx.importer import OnnxImporter, dtype_of
from te_sched.relax.frontend.onnx.nodes import translate_graph
from te_sched.relax.frontend.onnx.operators.shapes import concatenate, unsqueeze
from te_sched.relax.frontend.onnx.protobufs import OnnxGraph
from te_sched.relax.frontend.onnx.registry import Result, row
from te_sched.relax.frontend.onnx.sequences import (
    ABSENT,
    OnnxAbsent,
    OnnxSequence,
    position_in,
)
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size, fixed_size


@row("SequenceConstruct")
def _construct(imp: OnnxImporter, *elements: Value) -> Value:
    return OnnxSequence(elements, imp.dtype(elements[0]))


@row("SequenceEmpty")
def _empty(imp: OnnxImporter, *, dtype: int = 1) -> Value:
    return OnnxSequence((), dtype_of(dtype))


@row("SequenceLength")
def _length(imp: OnnxImporter, sequence: Value) -> Value:
    return np.array(len(imp.sequence(sequence)), "int64")


@row("SequenceAt")
def _at(imp: OnnxImporter, sequence: Value, position: Value) -> Value:
    whole = imp.sequence(sequence)
    (index,) = imp.ints(position, 1)
    return whole.elements[position_in(whole, index)]


@row("SequenceInsert")
def _insert(
    imp: OnnxImporter, sequence: Value, element: Value, position: Value | None = None
) -> Value:
    whole = imp.sequence(sequence)
    (index,) = [len(whole)] if position is None else imp.ints(position, 2)
    at = position_in(whole, index, is_insertion=True)
    elements = (*whole.elements[:at], element, *whole.elements[at:])
    return OnnxSequence(elements, imp.dtype(element))


@row("SequenceErase")
def _erase(imp: OnnxImporter, sequence: Value, position: Value | None = None) -> Value:
    whole = imp.sequence(sequence)
    (index,) = [-1] if position is None else imp.ints(position, 1)
    at = position_in(whole, index)
    return OnnxSequence((*whole.elements[:at], *whole.elements[at + 1 :]), whole.dtype)


@row("SplitToSequence")
def _split(
    imp: OnnxImporter, x: Value, split: Value | None = None, *, axis: int = 0, keepdims: int = 1
) -> Value:
    tensor = imp.tensor(x)
    sizes = _parts(imp, imp.shape(tensor)[axis], split)
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes) - 1)]
    parts = imp.emit(R.split(tensor, ends, axis))
    elements = [imp.emit(TupleGetItem(parts, n)) for n in range(len(sizes))]
    if split is None and not keepdims:
        elements = [imp.emit(R.squeeze(element, [axis])) for element in elements]
    return OnnxSequence(elements, imp.dtype(tensor))


def _parts(imp: OnnxImporter, extent: Size, split: Value | None) -> list[Size]:
    """The sizes of the parts of an axis: one size for all of them is one without dimensions."""
    if split is not None and imp.rank(split):
        return imp.sizes(split, 1)
    (each,) = [1] if split is None else imp.ints(split, 1)
    whole = fixed_size(extent, "split")
    return [min(each, whole - begin) for begin in range(0, whole, each)]


@row("ConcatFromSequence")
def _concat(imp: OnnxImporter, sequence: Value, *, axis: int, new_axis: int = 0) -> Value:
    elements = imp.sequence(sequence).elements
    if not elements:
        raise GraphError(
            "a sequence without elements is joined",
            "the shape of the result is that of its elements",
            "give it an element: SequenceInsert",
        )
    if new_axis:
        elements = tuple([unsqueeze(imp, element, axes=[axis]) for element in elements])
    return concatenate(imp, *elements, axis=axis)


@row("SequenceMap")
def _map(imp: OnnxImporter, sequence: Value, *more: Value, body: OnnxGraph) -> Result:
    whole = imp.sequence(sequence)
    parts = [
        translate_graph(imp, body, [element, *[_element(value, n) for value in more]])
        for n, element in enumerate(whole.elements)
    ]
    columns = [[part[n] for part in parts] for n in range(len(body.output))]
    return tuple(
        [
            OnnxSequence(column, imp.dtype(column[0]) if column else whole.dtype)
            for column in columns
        ]
    )


def _element(value: Value, number: int) -> Value:
    """What a step of SequenceMap is given: an element of a sequence, or a tensor as it is."""
    return value.elements[number] if isinstance(value, OnnxSequence) else value


@row("Optional")
def _optional(imp: OnnxImporter, value: Value = ABSENT, *, type: object = None) -> Value:
    return value


@row("OptionalHasElement")
def _has_element(imp: OnnxImporter, value: Value | None = None) -> Value:
    return np.array(value is not None and not isinstance(value, OnnxAbsent))


@row("OptionalGetElement")
def _get_element(imp: OnnxImporter, value: Value) -> Value:
    if isinstance(value, OnnxAbsent):
        imp.tensor(value)  # which refuses it
    return value
