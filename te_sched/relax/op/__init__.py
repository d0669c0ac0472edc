"""Operators of graphs: functions that make calls of them, with the inference of struct infos."""

from te_sched.relax.op import builtin as builtin
from te_sched.relax.op import calls as calls
from te_sched.relax.op import memory as memory
from te_sched.relax.op import vm as vm
from te_sched.relax.op.binary import add as add
from te_sched.relax.op.calls import call_builtin_with_ctx as call_builtin_with_ctx
from te_sched.relax.op.calls import call_dps_packed as call_dps_packed
from te_sched.relax.op.calls import call_inplace_packed as call_inplace_packed
from te_sched.relax.op.calls import call_packed as call_packed
from te_sched.relax.op.calls import call_pure_packed as call_pure_packed
from te_sched.relax.op.calls import call_tir as call_tir
from te_sched.relax.op.calls import call_tir_inplace as call_tir_inplace
from te_sched.relax.op.calls import call_tir_with_grad as call_tir_with_grad
from te_sched.relax.op.calls import hint_on_device as hint_on_device
from te_sched.relax.op.calls import invoke_closure as invoke_closure
from te_sched.relax.op.calls import invoke_pure_closure as invoke_pure_closure
from te_sched.relax.op.calls import make_closure as make_closure
from te_sched.relax.op.calls import null_value as null_value
from te_sched.relax.op.calls import shape_of as shape_of
from te_sched.relax.op.calls import shape_to_tensor as shape_to_tensor
from te_sched.relax.op.calls import tensor_to_shape as tensor_to_shape
from te_sched.relax.op.calls import to_vdevice as to_vdevice
