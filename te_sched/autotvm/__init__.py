"""AutoTVM: templates of TE schedules with knobs, tuned by measuring, with TVM's names.

A template asks `get_config()` for its configuration, defines knobs in it and applies them. A tuner
measures configurations of a task, a template with arguments; `apply_history_best` gives the
template the best of a log.
"""

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm import database as database
from te_sched.autotvm import env as env
from te_sched.autotvm import feature as feature
from te_sched.autotvm import measure as measure
from te_sched.autotvm import record as record
from te_sched.autotvm import task as task
from te_sched.autotvm import tuner as tuner
from te_sched.autotvm import utils as utils
from te_sched.autotvm.env import GLOBAL_SCOPE
from te_sched.autotvm.measure import (
    LocalBuilder,
    LocalRunner,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    measure_option,
)
from te_sched.autotvm.record import ApplyHistoryBest as apply_history_best
from te_sched.autotvm.task import (
    ConfigEntity,
    ConfigSpace,
    DispatchContext,
    FallbackContext,
    create,
    get_config,
    register_topi_compute,
    register_topi_schedule,
    template,
)
from te_sched.autotvm.tuner import callback as callback

__all__ = [
    "GLOBAL_SCOPE",
    "ConfigEntity",
    "ConfigSpace",
    "DispatchContext",
    "FallbackContext",
    "LocalBuilder",
    "LocalRunner",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "apply_history_best",
    "create",
    "get_config",
    "measure_option",
    "register_topi_compute",
    "register_topi_schedule",
    "template",
]
_tell_of_absent_names(
    __name__,
    *("callback", "database", "env", "feature", "measure", "record", "task", "tuner", "utils"),
)
