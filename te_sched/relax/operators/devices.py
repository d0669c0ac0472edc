"""Devices of tensors."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphCall, OpAttrs
from te_sched.ir.op import Op
from te_sched.ir.struct_info import StructInfo, TensorStructInfo, VDevice
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.calls import call_packed
from te_sched.relax.operators.inference import as_number, tensor_of
from te_sched.relax.operators.registry import declare
from te_sched.runtime.device import Device, device


def to_vdevice(data: Value, dst_vdevice: Any) -> GraphCall:
    """A tensor on another device."""
    attrs = OpAttrs(dst_vdevice=dst_vdevice)
    return GraphCall(Op.get("relax.to_vdevice"), (data,), attrs)


def _infer_to_vdevice(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    return TensorStructInfo(info.shape, info.dtype, call.attrs.dst_vdevice, info.ndim)


def _lower_to_vdevice(call: GraphCall) -> GraphCall:
    destination = call.attrs.dst_vdevice
    where = (
        device(destination.kind, max(destination.vdevice_id, 0))
        if isinstance(destination, VDevice)
        else destination
    )
    numbers = [as_number(where.device_type), as_number(where.device_id)]
    return call_packed("vm.builtin.to_device", call.args[0], *numbers, sinfo_args=call.struct_info)


declare("relax.to_vdevice", _infer_to_vdevice, lower=_lower_to_vdevice)


def hint_on_device(data: Value, dst_vdevice: Any) -> GraphCall:
    """A tensor that is meant to be on a device: one of `te_sched.device`, or of a module."""
    where = dst_vdevice
    if isinstance(dst_vdevice, VDevice):
        where = device(dst_vdevice.kind, max(dst_vdevice.vdevice_id, 0))
    elif not isinstance(dst_vdevice, Device):
        where = device(dst_vdevice)
    attrs = OpAttrs(dev_type=where.device_type, dev_id=where.device_id)
    return GraphCall(Op.get("relax.hint_on_device"), (data,), attrs)


def _infer_hint(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return tensor_of(call, 0)


declare("relax.hint_on_device", _infer_hint)
