"""Search for schedules of functions of blocks: so far, the description of their arguments."""

from te_sched.meta_schedule import arg_info as arg_info
from te_sched.meta_schedule.arg_info import ArgInfo as ArgInfo
from te_sched.meta_schedule.arg_info import TensorInfo as TensorInfo

__all__ = ["ArgInfo", "TensorInfo", "arg_info"]
