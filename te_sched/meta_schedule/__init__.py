"""Search for schedules of functions of blocks, with TVM's names.

A space generator yields schedules with decisions to change, a strategy picks candidates, a builder
and a runner measure them in other processes, a database keeps what was measured. Each part is
loaded at its first use: a worker that builds or measures needs few of them.
"""

import sys
import typing

from te_sched.errors import DeclarationError as _DeclarationError
from te_sched.lazy_loading import set_lazy_names
from te_sched.public_names import list_names
from te_sched.signatures import checked_value

if typing.TYPE_CHECKING:
    from te_sched.meta_schedule import arg_info as arg_info
    from te_sched.meta_schedule import builder as builder
    from te_sched.meta_schedule import cost_model as cost_model
    from te_sched.meta_schedule import database as database
    from te_sched.meta_schedule import feature_extractor as feature_extractor
    from te_sched.meta_schedule import measure_callback as measure_callback
    from te_sched.meta_schedule import mutator as mutator
    from te_sched.meta_schedule import postproc as postproc
    from te_sched.meta_schedule import profiler as profiler
    from te_sched.meta_schedule import relax_integration as relax_integration
    from te_sched.meta_schedule import runner as runner
    from te_sched.meta_schedule import schedule_rule as schedule_rule
    from te_sched.meta_schedule import search_strategy as search_strategy
    from te_sched.meta_schedule import space_generator as space_generator
    from te_sched.meta_schedule import task_scheduler as task_scheduler
    from te_sched.meta_schedule import tir_integration as tir_integration
    from te_sched.meta_schedule import tune as tune
    from te_sched.meta_schedule import tune_context as tune_context
    from te_sched.meta_schedule import utils as utils
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
    from te_sched.meta_schedule.relax_integration import ExtractedTask as ExtractedTask
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

_LATE = {
    "ArgInfo": "te_sched.meta_schedule.arg_info:ArgInfo",
    "Builder": "te_sched.meta_schedule.builder:Builder",
    "CostModel": "te_sched.meta_schedule.cost_model:CostModel",
    "Database": "te_sched.meta_schedule.database:Database",
    "ExtractedTask": "te_sched.meta_schedule.relax_integration:ExtractedTask",
    "FeatureExtractor": "te_sched.meta_schedule.feature_extractor:FeatureExtractor",
    "MeasureCallback": "te_sched.meta_schedule.measure_callback:MeasureCallback",
    "MeasureCandidate": "te_sched.meta_schedule.search_strategy:MeasureCandidate",
    "Mutator": "te_sched.meta_schedule.mutator:Mutator",
    "Postproc": "te_sched.meta_schedule.postproc:Postproc",
    "Profiler": "te_sched.meta_schedule.profiler:Profiler",
    "Runner": "te_sched.meta_schedule.runner:Runner",
    "ScheduleRule": "te_sched.meta_schedule.schedule_rule:ScheduleRule",
    "SearchStrategy": "te_sched.meta_schedule.search_strategy:SearchStrategy",
    "SpaceGenerator": "te_sched.meta_schedule.space_generator:SpaceGenerator",
    "TaskScheduler": "te_sched.meta_schedule.task_scheduler:TaskScheduler",
    "TensorInfo": "te_sched.meta_schedule.arg_info:TensorInfo",
    "TuneConfig": "te_sched.meta_schedule.tir_integration:TuneConfig",
    "TuneContext": "te_sched.meta_schedule.tune_context:TuneContext",
    "arg_info": "te_sched.meta_schedule.arg_info",
    "builder": "te_sched.meta_schedule.builder",
    "cost_model": "te_sched.meta_schedule.cost_model",
    "database": "te_sched.meta_schedule.database",
    "derived_object": "te_sched.meta_schedule.utils:derived_object",
    "feature_extractor": "te_sched.meta_schedule.feature_extractor",
    "measure_callback": "te_sched.meta_schedule.measure_callback",
    "mutator": "te_sched.meta_schedule.mutator",
    "postproc": "te_sched.meta_schedule.postproc",
    "profiler": "te_sched.meta_schedule.profiler",
    "relax_integration": "te_sched.meta_schedule.relax_integration",
    "runner": "te_sched.meta_schedule.runner",
    "schedule_rule": "te_sched.meta_schedule.schedule_rule",
    "search_strategy": "te_sched.meta_schedule.search_strategy",
    "space_generator": "te_sched.meta_schedule.space_generator",
    "task_scheduler": "te_sched.meta_schedule.task_scheduler",
    "tir_integration": "te_sched.meta_schedule.tir_integration",
    "tune": "te_sched.meta_schedule.tune",
    "tune_context": "te_sched.meta_schedule.tune_context",
    "tune_tasks": "te_sched.meta_schedule.tune:tune_tasks",
    "tune_tir": "te_sched.meta_schedule.tir_integration:tune_tir",
    "utils": "te_sched.meta_schedule.utils",
}


def _checked(value: typing.Any) -> typing.Any:
    return checked_value(value, _DeclarationError, "meta_schedule.")


set_lazy_names(sys.modules[__name__], _LATE, _checked)
_GRAPHS = ("relax_integration", "ExtractedTask")  # for which all of graphs is loaded
_NAMES = [name for name in _LATE if name not in _GRAPHS]
list_names(sys.modules[__name__], *_NAMES, late=_LATE, home=__name__)
sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
