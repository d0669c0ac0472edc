"""Rows of operators of ONNX that make and read sequences and optional values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphExpr, TupleGetItem
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.core.sizes import tensor_sizes
from te_sched.relax.frontend.loops import (
    empty_list,
    extended,
    item,
    joined,
    length,
    moved_axis,
    stacked,
)
from te_sched.relax.frontend.onnx.importer import OnnxImporter, dtype_of
from te_sched.relax.frontend.onnx.nodes import translate_graph
from te_sched.relax.frontend.onnx.operators.shapes import concatenate, unsqueeze
from te_sched.relax.frontend.onnx.protobufs import OnnxGraph
from te_sched.relax.frontend.onnx.registry import Result, row
from te_sched.relax.frontend.onnx.sequences import (
    ABSENT,
    OnnxAbsent,
    OnnxList,
    OnnxSequence,
    position_in,
)
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size, tensor_info


def list_of(
    imp: OnnxImporter, sequence: OnnxSequence | OnnxList
) -> tuple[GraphExpr, list[TensorStructInfo]]:
    """A list of the virtual machine with the elements of a sequence, and what is known of them."""
    if isinstance(sequence, OnnxSequence):
        elements: GraphExpr = empty_list(imp.builder)
        infos, more = list[TensorStructInfo](), sequence.elements
    elif sequence.elements is None:
        raise GraphError(
            "a step of a loop reads a sequence to which it adds elements",
            "the number of steps is computed, so that the length of the sequence is not known",
            "read the sequence after the loop, or keep what is read in another state",
        )
    else:
        elements, more = sequence.elements, sequence.tail
        infos = [] if sequence.info is None else [sequence.info]
    tensors = [imp.tensor(value) for value in more]
    infos += [tensor_info(tensor) for tensor in tensors]
    return extended(imp.builder, elements, tensors), infos


def joined_info(imp: OnnxImporter, infos: Sequence[TensorStructInfo]) -> TensorStructInfo:
    """What is known of all elements of a list: sizes in which they differ have other variables."""
    if not infos:
        raise GraphError(
            "the elements of a sequence are not known",
            "no step of a loop adds one",
            "give the sequence an element",
        )
    first, *others = infos
    for other in others:
        if (first.dtype, first.ndim) != (other.dtype, other.ndim):
            raise GraphError(
                "a sequence has elements of different ranks or dtypes",
                f"they are {first} and {other}, and their number is not known",
                "give all elements one rank and one dtype",
            )
    prove, shapes = imp.builder.analyzer.can_prove_equal, [tensor_sizes(info) for info in infos]
    sizes: list[Expr] = []
    for axis in range(first.ndim):
        column = [shape[axis] for shape in shapes if shape]
        is_same = len(column) == len(infos) and all(prove(column[0], size) for size in column)
        sizes.append(column[0] if is_same else Var("size", "int64"))
    return TensorStructInfo(tuple(sizes), first.dtype)


@row("SequenceConstruct")
def _construct(imp: OnnxImporter, *elements: Value) -> Value:
    return OnnxSequence(elements, imp.dtype(elements[0]))


@row("SequenceEmpty")
def _empty(imp: OnnxImporter, *, dtype: int = 1) -> Value:
    return OnnxSequence((), dtype_of(dtype))


@row("SequenceLength")
def _length(imp: OnnxImporter, sequence: Value) -> Value:
    if isinstance(sequence, OnnxList):
        return length(imp.builder, list_of(imp, sequence)[0])
    return np.array(len(imp.sequence(sequence)), "int64")


@row("SequenceAt")
def _at(imp: OnnxImporter, sequence: Value, position: Value) -> Value:
    if isinstance(sequence, OnnxList):
        elements, infos = list_of(imp, sequence)
        return item(imp.builder, elements, joined_info(imp, infos), imp.tensor(position))
    whole = imp.sequence(sequence)
    (index,) = imp.ints(position, 1)
    return whole.elements[position_in(whole, index)]


@row("SequenceInsert")
def _insert(
    imp: OnnxImporter, sequence: Value, element: Value, position: Value | None = None
) -> Value:
    if isinstance(sequence, OnnxList) and position is None:
        return sequence.with_tail([*sequence.tail, element])
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
    whole = imp.fixed_size(extent, "split")
    return [min(each, whole - begin) for begin in range(0, whole, each)]


@row("ConcatFromSequence")
def _concat(imp: OnnxImporter, sequence: Value, *, axis: int, new_axis: int = 0) -> Value:
    if isinstance(sequence, OnnxList):
        whole, infos = list_of(imp, sequence)
        info, like = joined_info(imp, infos), const(0, "int64")
        if not new_axis:
            return joined(imp.builder, whole, info, like, axis)
        return moved_axis(imp.builder, stacked(imp.builder, whole, info, like), axis)
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
