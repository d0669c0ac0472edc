"""Schedules of TensorIR, with TVM's names: `tir.Schedule`, its handles and traces. A face."""

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import ScheduleError as ScheduleError
from te_sched.tensorir.handles import BlockRV as BlockRV
from te_sched.tensorir.handles import ExprRV as ExprRV
from te_sched.tensorir.handles import LoopRV as LoopRV
from te_sched.tensorir.handles import StmtSRef as StmtSRef
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.tensorir.schedule import ScheduleDebugMask as ScheduleDebugMask
from te_sched.tensorir.traces import BlockTrace
from te_sched.tensorir.traces import Instruction as Instruction
from te_sched.tensorir.traces import InstructionKind as InstructionKind

Schedule = BlockSchedule
Trace = BlockTrace

public_names.list_names(sys.modules[__name__])
_tell_of_absent_names(__name__)
