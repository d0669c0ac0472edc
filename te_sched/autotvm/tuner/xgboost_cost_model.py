"""A cost model of gradient-boosted trees (xgboost): it predicts the speed of configurations.

The library is optional, and loaded when a model is made. Must not know how configurations are
chosen.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm import feature
from te_sched.autotvm.task.space import ConfigEntity
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner.callback import speed
from te_sched.autotvm.tuner.model_based_tuner import ConfigCostModel
from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError, TeSchedError, did_you_mean, repr_of
from te_sched.signatures import checked

logger = logging.getLogger("autotvm")

_ROUNDS = 100  # trees
_DISCOUNT = 1.0  # of a base model's predictions at first, then less with each training
_CURVE_SAMPLES = 20
_LOSSES = {
    "reg": {"max_depth": 3, "gamma": 1e-4, "min_child_weight": 1, "eta": 0.3, "alpha": 0},
    "rank": {"max_depth": 3, "gamma": 1.0, "min_child_weight": 1, "eta": 0.3, "alpha": 0},
    "rank-binary": {"max_depth": 3, "gamma": 1.0, "min_child_weight": 1, "eta": 0.3, "alpha": 0},
}
_OBJECTIVES = {"reg": "reg:squarederror", "rank": "rank:pairwise", "rank-binary": "rank:pairwise"}


def _itervar(task: Task, config: ConfigEntity) -> Any:
    s, args = _instance(task, config)
    return feature.get_itervar_feature_flatten(s, args, take_log=True)


def _curve(task: Task, config: ConfigEntity) -> Any:
    s, args = _instance(task, config)
    return feature.get_buffer_curve_sample_flatten(s, args, sample_n=_CURVE_SAMPLES)


def _knob(task: Task, config: ConfigEntity) -> Any:
    return config.get_flatten_feature()


_FEATURES: dict[str, Callable[[Task, ConfigEntity], Any]] = {
    "itervar": _itervar,
    "curve": _curve,
    "knob": _knob,
}


def _instance(task: Task, config: ConfigEntity) -> Any:
    with task.target or Target("llvm"):
        return task.instantiate(config)


class XGBoostCostModel(ConfigCostModel):
    """Gradient-boosted trees over features of configurations.

    Parameters
    ----------
    feature_type : "itervar" describes the loops of the schedule (see autotvm.feature), "curve" how
        accesses reuse memory, "knob" only the choices of knobs, which is the fastest.
    loss_type : "reg" predicts speeds, "rank" their order, "rank-binary" which are the fastest.
    num_threads : threads of xgboost, by default one: starting more takes longer than they save.
    upper_model : the model whose features this one shares.

    Raises
    ------
    TeSchedError if xgboost is not installed.
    """

    @checked
    def __init__(
        self,
        task: Task,
        feature_type: str,
        loss_type: str = "reg",
        num_threads: int | None = None,
        log_interval: int = 25,
        upper_model: XGBoostCostModel | None = None,
    ) -> None:
        _check("feature_type", feature_type, _FEATURES)
        _check("loss_type", loss_type, _LOSSES)
        self._library = _xgboost()
        self.task, self.feature_type, self.loss_type = task, feature_type, loss_type
        self.num_threads, self.log_interval = num_threads, log_interval
        self.base_model: XGBoostCostModel | None = None
        self._model: Any = None
        self._width = 0
        self._trainings = 0
        self._cache: dict[int, Any] = {} if upper_model is None else upper_model._cache

    def fit(self, xs: Sequence[int], ys: Sequence[float], plan_size: int) -> None:
        """Train with speeds `ys` of configurations of indices `xs`."""
        speeds = np.asarray(ys, float)
        best = max(float(speeds.max(initial=0.0)), 1e-8)
        margin = self._margin(xs)
        self._trainings += 1
        self._train([self._feature(int(index)) for index in xs], speeds / best, plan_size, margin)

    def fit_log(self, records: Sequence[Any], plan_size: int, min_seed_records: int = 500) -> bool:
        """Train with records, also of other tasks; False if there are too few."""
        rows: list[Any] = []
        groups: dict[Any, list[tuple[int, float]]] = {}
        for inp, result in records:
            try:
                numbers = _FEATURES[self.feature_type](inp.task, inp.config)
            except Exception as error:
                logger.warning("A record of %s is left out: %s", inp.task.name, error)
                continue
            groups.setdefault(inp.task.workload, []).append((len(rows), speed(inp, result)))
            rows.append(numbers)
        if len(rows) < min_seed_records or not rows:
            return False
        labels = np.zeros(len(rows))
        for group in groups.values():
            best = max(max(rate for _, rate in group), 1e-8)
            for number, flops in group:
                labels[number] = flops / best
        self._train(rows, labels, plan_size, None)
        return True

    def predict(self, xs: Sequence[int], output_margin: bool = False) -> Any:
        """Scores of configurations; the fastest has the highest."""
        if self._model is None and self.base_model is None:
            return np.zeros(len(xs))
        rows = [self._feature(int(index)) for index in xs]
        margin = self._margin(xs)
        if self._model is None:
            return margin
        data = self._library.DMatrix(self._matrix(rows))
        if margin is not None:
            data.set_base_margin(margin)
        return self._model.predict(data, output_margin=output_margin)

    def load_basemodel(self, base_model: Any) -> None:
        """Begin from a model that was trained with records."""
        self.base_model = base_model
        base_model._cache = self._cache
        base_model.task = self.task

    def spawn_base_model(self) -> XGBoostCostModel:
        """A new model with the same options, to train with records."""
        options = (self.feature_type, self.loss_type, self.num_threads, self.log_interval)
        return XGBoostCostModel(self.task, *options, self)

    def _margin(self, xs: Sequence[int]) -> Any:
        """The predictions of the base model, which count less after each training."""
        if self.base_model is None:
            return None
        scores = self.base_model.predict(xs, output_margin=True)
        return scores * (_DISCOUNT / (2**self._trainings))

    def _feature(self, index: int) -> Any:
        """The features of a configuration; none of one that the template refuses."""
        if index not in self._cache:
            space: Any = self.task.config_space
            try:
                features = _FEATURES[self.feature_type](self.task, space.get(index))
            except TeSchedError:
                features = np.zeros(0)
            self._cache[index] = np.asarray(features, "float32")
        return self._cache[index]

    def _matrix(self, rows: Sequence[Any]) -> Any:
        """Rows as a matrix as wide as the one of the training: with zeros, or without the rest."""
        matrix = np.zeros((len(rows), self._width), "float32")
        for row, numbers in zip(matrix, rows, strict=True):
            count = min(len(numbers), self._width)
            row[:count] = numbers[:count]
        return matrix

    def _train(self, rows: Sequence[Any], labels: Any, plan_size: int, margin: Any) -> None:
        self._width = max(map(len, rows), default=0)
        if self.loss_type == "rank-binary":
            threshold = np.sort(labels)[-min(plan_size, len(labels))]
            labels = (labels >= threshold).astype(float)
        data = self._library.DMatrix(self._matrix(rows), label=labels)
        if self.loss_type != "reg":
            data.set_group([len(rows)])
        if margin is not None:
            data.set_base_margin(margin)
        options = {
            **_LOSSES[self.loss_type],
            "objective": _OBJECTIVES[self.loss_type],
            "nthread": self.num_threads or 1,
            "verbosity": 0,
            "seed": 0,
        }
        self._model = self._library.train(options, data, num_boost_round=_ROUNDS)


def _check(name: str, value: object, legal: dict[str, Any]) -> None:
    if value not in legal:
        raise DeclarationError(
            f"invalid {name} {repr_of(value)} of a cost model",
            "",
            f"use one of {', '.join(map(repr, legal))}{did_you_mean(value, legal)}",
        )


def _xgboost() -> Any:
    try:
        return importlib.import_module("xgboost")
    except ImportError as error:
        raise TeSchedError(
            "a tuner with a cost model needs xgboost",
            str(error),
            "pip install xgboost-cpu, or use autotvm.tuner.GATuner",
        ) from error


_tell_of_absent_names(__name__)
