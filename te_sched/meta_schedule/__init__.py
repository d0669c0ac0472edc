"""Search for schedules of functions of blocks, with TVM's names.

A space generator yields schedules with decisions to change, a strategy picks candidates, a builder
and a runner measure them in other processes, a database keeps what was measured.
"""

import sys

from te_sched.lazy_loading import set_lazy_names
from te_sched.meta_schedule import arg_info as arg_info
from te_sched.meta_schedule import builder as builder
from te_sched.meta_schedule import cost_model as cost_model
from te_sched.meta_schedule import database as database
from te_sched.meta_schedule import feature_extractor as feature_extractor
from te_sched.meta_schedule import measure_callback as measure_callback
from te_sched.meta_schedule import mutator as mutator
from te_sched.meta_schedule import postproc as postproc
from te_sched.meta_schedule import profiler as profiler
from te_sched.meta_schedule import runner as runner
from te_sched.meta_schedule import schedule_rule as schedule_rule
from te_sched.meta_schedule import search_strategy as search_strategy
from te_sched.meta_schedule import space_generator as space_generator
from te_sched.meta_schedule import task_scheduler as task_scheduler
from te_sched.meta_schedule import tir_integration as tir_integration
from te_sched.meta_schedule import tune as tune
from te_sched.meta_schedule.arg_info import ArgInfo as ArgInfo
from te_sched.meta_schedule.arg_info import TensorInfo as TensorInfo
from te_sched.meta_schedule.builder import Builder as Builder
from te_sched.meta_schedule.cost_model import CostModel as CostModel
from te_sched.meta_schedule.database import Database as Database
from te_sched.meta_schedule.feature_extractor import FeatureExtractor as FeatureExtractor
from te_sched.meta_schedule.measure_callback import MeasureCallback as MeasureCallback
from te_sched.meta_schedule.mutator import Mutator as Mutator
from te_sched.meta_schedule.postproc import Postproc as Postproc
from te_sched.meta_schedule.profiler import Profiler as Profiler
from te_sched.meta_schedule.runner import Runner as Runner
from te_sched.meta_schedule.schedule_rule import ScheduleRule as ScheduleRule
from te_sched.meta_schedule.search_strategy import MeasureCandidate as MeasureCandidate
from te_sched.meta_schedule.search_strategy import SearchStrategy as SearchStrategy
from te_sched.meta_schedule.space_generator import SpaceGenerator as SpaceGenerator
from te_sched.meta_schedule.task_scheduler import TaskScheduler as TaskScheduler
from te_sched.meta_schedule.tir_integration import TuneConfig as TuneConfig
from te_sched.meta_schedule.tir_integration import tune_tir as tune_tir
from te_sched.meta_schedule.tune import tune_tasks as tune_tasks
from te_sched.meta_schedule.tune_context import TuneContext as TuneContext
from te_sched.meta_schedule.utils import derived_object as derived_object
from te_sched.public_names import list_names
from te_sched.signatures import check_arguments

for _part in (sys.modules[__name__], arg_info, search_strategy, space_generator, task_scheduler):
    check_arguments(_part)


# The module that needs graphs, which workers that measure do without.
_GRAPHS = "te_sched.meta_schedule.relax_integration"
_LATE = {"relax_integration": _GRAPHS, "ExtractedTask": f"{_GRAPHS}:ExtractedTask"}
set_lazy_names(sys.modules[__name__], _LATE)
_PARTS = (
    *("arg_info", "builder", "cost_model", "database", "feature_extractor", "measure_callback"),
    *("mutator", "postproc", "profiler", "runner", "schedule_rule", "search_strategy"),
    *("space_generator", "task_scheduler", "tir_integration", "tune", "tune_context", "utils"),
)
list_names(sys.modules[__name__], *_PARTS, late=_LATE, home=__name__)
sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
