"""Operators of planned memory: storages, tensors in them, views, and the end of their lives."""

from te_sched.relax.operators.memory import alloc_storage as alloc_storage
from te_sched.relax.operators.memory import alloc_tensor as alloc_tensor
from te_sched.relax.operators.memory import ensure_zero_offset as ensure_zero_offset
from te_sched.relax.operators.memory import kill_storage as kill_storage
from te_sched.relax.operators.memory import kill_tensor as kill_tensor
from te_sched.relax.operators.memory import view as view
