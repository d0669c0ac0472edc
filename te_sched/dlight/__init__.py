"""Schedules without a search (TVM's dlight): rules by kinds of functions, for each target.

with te_sched.target.Target("llvm"):
    module = dlight.ApplyDefaultSchedule(dlight.cpu.Default())(module)
"""

import sys
import typing

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.dlight import cpu as cpu
from te_sched.dlight.base import ApplyDefaultSchedule as ApplyDefaultSchedule
from te_sched.dlight.base import DefaultRule as DefaultRule

if typing.TYPE_CHECKING:  # loaded at its first use
    from te_sched.dlight import gpu as gpu

ScheduleRule = DefaultRule

public_names.list_names(sys.modules[__name__], "cpu", "gpu")
signatures.check_arguments(sys.modules[__name__])
_tell_of_absent_names(__name__)
