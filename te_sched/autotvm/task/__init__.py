"""Tasks of tuning: templates, spaces of configurations, dispatch contexts."""

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.task import dispatcher as dispatcher
from te_sched.autotvm.task import space as space
from te_sched.autotvm.task import task as task
from te_sched.autotvm.task import topi_integration as topi_integration
from te_sched.autotvm.task.dispatcher import (
    ApplyConfig,
    DispatchContext,
    FallbackContext,
    clear_fallback_cache,
)
from te_sched.autotvm.task.space import ConfigEntity, ConfigSpace
from te_sched.autotvm.task.task import (
    Task,
    args_to_workload,
    create,
    deserialize_args,
    get_config,
    serialize_args,
    template,
)
from te_sched.autotvm.task.topi_integration import (
    get_workload,
    register_topi_compute,
    register_topi_schedule,
)

__all__ = [
    "ApplyConfig",
    "ConfigEntity",
    "ConfigSpace",
    "DispatchContext",
    "FallbackContext",
    "Task",
    "args_to_workload",
    "clear_fallback_cache",
    "create",
    "deserialize_args",
    "get_config",
    "get_workload",
    "register_topi_compute",
    "register_topi_schedule",
    "serialize_args",
    "template",
]

_tell_of_absent_names(__name__)
