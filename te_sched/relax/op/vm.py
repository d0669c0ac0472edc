"""Operators of the virtual machine: what the passes of the build pipeline end with."""

from te_sched.relax.operators.machine import alloc_storage as alloc_storage
from te_sched.relax.operators.machine import alloc_tensor as alloc_tensor
from te_sched.relax.operators.machine import call_tir_dyn as call_tir_dyn
from te_sched.relax.operators.machine import kill_object as kill_object
