"""Rules of operators that move elements."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from te_sched import te, topi
from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import GraphCall, Tuple, TupleGetItem
from te_sched.ir.op import Op
from te_sched.ir.struct_info import TupleStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.emit_te import gen_call_tir_inputs
from te_sched.relax.op.manipulate import clamped_place, extents_between
from te_sched.relax.transform.legalize_ops.common import LegalizeFunc, TEFunc, library_rule
from te_sched.tir import Schedule


def _reshape(te_func: TEFunc, name: str, is_collapse: bool = False) -> LegalizeFunc:
    """The rule of an operator of a tensor and a shape, which may be that of another tensor."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        shape = call.struct_info.shape.values  # type: ignore[attr-defined]
        if is_collapse:
            shape = [one.value if isinstance(one, IntImm) else one for one in shape]
        return builder.call_te(te_func, call.args[0], shape, primfunc_name_hint=name)

    return legalize


library_rule("relax.broadcast_to", _reshape(topi.broadcast_to, "broadcast_to"))
library_rule("relax.reshape", _reshape(topi.reshape, "reshape"))
library_rule("relax.flatten", _reshape(topi.reshape, "reshape"))
library_rule("relax.collapse_sum_like", _reshape(topi.collapse_sum, "collapse_sum", True))
library_rule("relax.collapse_sum_to", _reshape(topi.collapse_sum, "collapse_sum", True))


@library_rule("relax.concat")
def _concat(builder: BlockBuilder, call: GraphCall) -> Any:
    tensors = call.args[0]
    info = tensors.struct_info
    if isinstance(tensors, Tuple):
        fields = list(tensors.fields)
    else:
        assert isinstance(info, TupleStructInfo)
        fields = [builder.emit(TupleGetItem(tensors, at)) for at in range(len(info.fields))]
    axis = 0 if call.attrs.axis is None else call.attrs.axis
    return builder.call_te(topi.concatenate, fields, axis)


@library_rule("relax.expand_dims")
def _expand_dims(builder: BlockBuilder, call: GraphCall) -> Any:
    ndim = call.struct_info.ndim  # type: ignore[attr-defined]

    places = {int(one) % ndim for one in call.attrs.axis}

    def te_expand_dims(data: Any) -> Any:
        left = iter(data.shape)
        shape = [1 if at in places else next(left) for at in range(ndim)]
        return te.compute(
            shape,
            lambda *i: data(*[one for at, one in enumerate(i) if at not in places]),
            name="expand_dims",
        )

    return builder.call_te(te_expand_dims, call.args[0], primfunc_name_hint="expand_dims")


@library_rule("relax.permute_dims")
def _permute_dims(builder: BlockBuilder, call: GraphCall) -> Any:
    axes = call.attrs.axes
    return builder.call_te(topi.transpose, call.args[0], None if axes is None else list(axes))


@library_rule("relax.split")
def _split(builder: BlockBuilder, call: GraphCall) -> Any:
    parts = call.attrs.indices_or_sections
    data = call.args[0].struct_info
    count = len(call.struct_info.fields)  # type: ignore[attr-defined]
    size = data.shape.values[call.attrs.axis]
    is_even = isinstance(parts, IntImm) and builder.analyzer.can_prove_equal(
        ops.floormod(size, parts), ops.const(0, "int64")
    )
    is_inside = isinstance(parts, tuple) and isinstance(size, IntImm)
    is_inside = is_inside and all(0 <= one.value <= size.value for one in parts)
    if not is_inside and not (is_even and isinstance(size, IntImm)):
        made = _unequal_parts(builder, call, is_even)
        return Tuple((builder.emit(made),)) if count == 1 else made
    places = [one.value for one in parts] if isinstance(parts, tuple) else parts.value
    made = builder.call_te(topi.split, call.args[0], places, call.attrs.axis)
    return Tuple((builder.emit(made),)) if count == 1 else made


def _unequal_parts(builder: BlockBuilder, call: GraphCall, is_even: bool) -> Any:
    """Parts of an axis of a symbolic size, or of which the last one is smaller."""
    parts = call.attrs.indices_or_sections

    def split(data: Any, axis: int) -> Any:
        size, at = data.shape[axis], axis % data.ndim
        if isinstance(parts, IntImm):
            step = (ops.floordiv if is_even else ops.ceildiv)(size, parts)
            begins = [ops.multiply(step, ops.const(k, "int64")) for k in range(parts.value)]
            extents = [ops.subtract(end, begin) for begin, end in pairwise([*begins, size])]
        else:
            begins = [ops.const(0, "int64"), *[clamped_place(one, size) for one in parts]]
            extents = extents_between(size, parts)

        def part(begin: Any, extent: Any) -> Any:
            return te.compute(
                [*data.shape[:at], extent, *data.shape[at + 1 :]],
                lambda *i: data(*i[:at], begin + i[at], *i[at + 1 :]),
                name="T_split_sections",
            )

        return [part(*one) for one in zip(begins, extents, strict=True)]

    return builder.call_te(split, call.args[0], call.attrs.axis)


@library_rule("relax.squeeze")
def _squeeze(builder: BlockBuilder, call: GraphCall) -> Any:
    axes = call.attrs.axis
    return builder.call_te(topi.squeeze, call.args[0], None if axes is None else list(axes))


@library_rule("relax.repeat")
def _repeat(builder: BlockBuilder, call: GraphCall) -> Any:
    def te_repeat(data: Any, repeats: int, axis: int | None) -> Any:
        if axis is None:  # of the flattened tensor
            size = topi.utils.prod(data.shape)
            return topi.repeat(topi.reshape(data, [size]), repeats, 0)
        return topi.repeat(data, repeats, axis)

    attrs = call.attrs
    return builder.call_te(
        te_repeat, call.args[0], attrs.repeats, attrs.axis, primfunc_name_hint="repeat"
    )


@library_rule("relax.tile")
def _tile(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(topi.tile, call.args[0], list(call.attrs.repeats))


@library_rule("relax.flip")
def _flip(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(topi.flip, call.args[0], call.attrs.axis)


@library_rule("relax.gather_elements")
def _gather_elements(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(topi.gather, call.args[0], call.attrs.axis, call.args[1])


@library_rule("relax.gather_nd")
def _gather_nd(builder: BlockBuilder, call: GraphCall) -> Any:
    def te_gather_nd(data: Any, indices: Any, batch_dims: int) -> Any:
        return topi.gather_nd(data, _last_axis_first(indices), batch_dims)

    return builder.call_te(te_gather_nd, *call.args, call.attrs.batch_dims)


def _last_axis_first(indices: Any) -> Any:
    """Indices with the axis of their coordinates in front, as topi takes them."""
    axes = range(indices.ndim)
    return topi.transpose(indices, [axes[-1], *axes[:-1]])


@library_rule("relax.scatter_elements")
def _scatter_elements(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    return builder.call_te(topi.scatter_elements, *call.args, attrs.axis, attrs.reduction)


@library_rule("relax.scatter_nd")
def _scatter_nd(builder: BlockBuilder, call: GraphCall) -> Any:
    def scatter_nd(data: Any, indices: Any, updates: Any, reduction: str) -> Any:
        return topi.scatter_nd(data, _last_axis_first(indices), updates, reduction)

    return builder.call_te(scatter_nd, *call.args, call.attrs.reduction)


@library_rule("relax.one_hot")
def _one_hot(builder: BlockBuilder, call: GraphCall) -> Any:
    indices, on_value, off_value = call.args
    attrs, dtype = call.attrs, on_value.value.dtype
    return builder.call_te(
        topi.one_hot, indices, on_value.value, off_value.value, attrs.depth, attrs.axis, dtype
    )


@library_rule("relax.layout_transform")
def _layout_transform(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs, data = call.attrs, call.args[0]
    value = ops.const(0, data.struct_info.dtype)
    if attrs.pad_value is not None:
        value = attrs.pad_value.value
    _, is_padding = attrs.index_map.non_surjective_inverse(data.struct_info.shape.values)
    is_exact = Analyzer().can_prove(ops.logical_not(is_padding))
    name = "te_layout_transform"
    name += "" if is_exact else "_with_pad"
    name += "_axis_separator" if attrs.axis_separators else ""

    def copied(tensor: Any) -> Any:
        return te.compute(tensor.shape, lambda *i: tensor(*i), name=name)

    func, inputs, _, _ = gen_call_tir_inputs(copied, data)
    schedule: Any = Schedule(func)
    padding = None if is_exact else value
    schedule.transform_layout(name, ("write", 0), attrs.index_map, padding)
    if attrs.axis_separators:
        schedule.set_axis_separator(name, ("write", 0), list(attrs.axis_separators))
    if attrs.input_axis_separators:
        schedule.set_axis_separator(name, ("read", 0), list(attrs.input_axis_separators))
    made = schedule.mod["main"].without_attr("global_symbol")
    return GraphCall(
        Op.get("relax.call_tir"),
        (builder.add_func(made, name), Tuple(tuple(inputs))),
        None,
        (call.struct_info,),
    )
