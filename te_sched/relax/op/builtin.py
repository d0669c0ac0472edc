"""Operators of memory before it is planned, and marks for passes."""

from te_sched.relax.operators.builtin import alloc_tensor as alloc_tensor
from te_sched.relax.operators.builtin import stop_lift_params as stop_lift_params
