"""Schedule rules, by TVM's names."""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.meta_schedule.schedule_rule import defaults as defaults
from te_sched.meta_schedule.schedule_rule.add_rfactor import AddRFactor as AddRFactor
from te_sched.meta_schedule.schedule_rule.apply_custom_rule import (
    ApplyCustomRule as ApplyCustomRule,
)
from te_sched.meta_schedule.schedule_rule.auto_bind import AutoBind as AutoBind
from te_sched.meta_schedule.schedule_rule.auto_inline import AutoInline as AutoInline
from te_sched.meta_schedule.schedule_rule.auto_inline import (
    InlineConstantScalars as InlineConstantScalars,
)
from te_sched.meta_schedule.schedule_rule.base import PyScheduleRule as PyScheduleRule
from te_sched.meta_schedule.schedule_rule.base import ScheduleRule as ScheduleRule
from te_sched.meta_schedule.schedule_rule.cross_thread_reduction import (
    CrossThreadReduction as CrossThreadReduction,
)
from te_sched.meta_schedule.schedule_rule.multi_level_tiling import (
    MultiLevelTiling as MultiLevelTiling,
)
from te_sched.meta_schedule.schedule_rule.multi_level_tiling import ReuseType as ReuseType
from te_sched.meta_schedule.schedule_rule.multi_level_tiling_tensor_core import (
    MultiLevelTilingTensorCore as MultiLevelTilingTensorCore,
)
from te_sched.meta_schedule.schedule_rule.multi_level_tiling_variants import (
    MultiLevelTilingWideVector as MultiLevelTilingWideVector,
)
from te_sched.meta_schedule.schedule_rule.multi_level_tiling_variants import (
    MultiLevelTilingWithIntrin as MultiLevelTilingWithIntrin,
)
from te_sched.meta_schedule.schedule_rule.parallelize_vectorize_unroll import (
    ParallelizeVectorizeUnroll as ParallelizeVectorizeUnroll,
)
from te_sched.meta_schedule.schedule_rule.random_compute_location import (
    RandomComputeLocation as RandomComputeLocation,
)

public_names.list_names(sys.modules[__name__])
signatures.check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
