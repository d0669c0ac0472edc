"""The tuner with gradient-boosted trees as its cost model."""

from __future__ import annotations

from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner.model_based_tuner import ModelBasedTuner, ModelOptimizer
from te_sched.autotvm.tuner.sa_model_optimizer import SimulatedAnnealingOptimizer
from te_sched.autotvm.tuner.xgboost_cost_model import XGBoostCostModel
from te_sched.errors import DeclarationError, repr_of
from te_sched.signatures import checked

_STEPS: dict[str, Any] = {"n_iter": 500, "parallel_size": 128, "early_stop": 50}
_STEPS_OF_PROGRAMS: dict[str, Any] = {
    "n_iter": 40,
    "parallel_size": 32,
    "early_stop": 10,
}  # of slow features


class XGBTuner(ModelBasedTuner):
    """Measures configurations that a cost model predicts to be fast; it needs xgboost.

    Parameters
    ----------
    plan_size : measurements between trainings.
    feature_type, loss_type, num_threads : see XGBoostCostModel.
    optimizer : "sa" is simulated annealing; or a ModelOptimizer.
    diversity_filter_ratio : if given, configurations for that many plans are found, of which those
        that differ make one plan; at least 1.
    """

    @checked
    def __init__(
        self,
        task: Task,
        plan_size: int = 64,
        feature_type: str = "itervar",
        loss_type: str = "reg",
        num_threads: int | None = None,
        optimizer: str | ModelOptimizer = "sa",
        diversity_filter_ratio: float | None = None,
        log_interval: int = 50,
    ) -> None:
        if optimizer != "sa" and not isinstance(optimizer, ModelOptimizer):
            raise DeclarationError(
                f"invalid optimizer {repr_of(optimizer)}", "", "use 'sa', or a ModelOptimizer"
            )
        if diversity_filter_ratio is not None and not diversity_filter_ratio >= 1:
            raise DeclarationError(
                f"diversity_filter_ratio is {repr_of(diversity_filter_ratio)}, expected at least 1",
                "it is a number of plans",
                "use 2, or leave it out",
            )
        model = XGBoostCostModel(task, feature_type, loss_type, num_threads, log_interval)
        if not isinstance(optimizer, ModelOptimizer):
            steps = _STEPS if feature_type == "knob" else _STEPS_OF_PROGRAMS
            optimizer = SimulatedAnnealingOptimizer(task, **steps)
        super().__init__(task, model, optimizer, plan_size, diversity_filter_ratio)


_tell_of_absent_names(__name__)
