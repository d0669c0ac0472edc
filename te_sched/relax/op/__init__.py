"""Operators of graphs: functions that make calls of them, with the inference of struct infos."""

from te_sched.relax.op import calls as calls
from te_sched.relax.op.binary import add as add
