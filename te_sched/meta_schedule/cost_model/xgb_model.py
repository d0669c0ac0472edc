"""A cost model of gradient-boosted trees over the features of programs.

It learns the speed of candidates beside the best one of their task, from all tasks that it has
seen, and is trained again when there are new measurements. Must not know how candidates are chosen.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from te_sched import files
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.structural_hash import structural_hash
from te_sched.meta_schedule import feature_extractor
from te_sched.meta_schedule.cost_model.base import CostModel
from te_sched.meta_schedule.cost_model.pack_sum import PackSum as PackSum
from te_sched.meta_schedule.cost_model.pack_sum import custom_callback, xgboost
from te_sched.meta_schedule.search_strategy import MeasureCandidate
from te_sched.signatures import is_index

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext

_get_custom_call_back = custom_callback  # TVM's name
_DAMAGES = (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error)
_FAILED = 1e10  # the seconds of a candidate that could not be measured
_ROUNDS = 10000  # at most; training stops early


class XGBConfig(NamedTuple):
    """Parameters of the trees, with the library's names."""

    max_depth: int = 6
    gamma: float = 0.001
    min_child_weight: float = 0
    eta: float = 0.2
    seed: int = 43
    nthread: int | None = 1
    tree_method: str = "hist"
    subsample: float = 0.9
    colsample_bynode: float = 0.3

    def to_dict(self) -> dict[str, Any]:
        """The parameters for the library."""
        return {**self._asdict(), "base_score": 0.0, "verbosity": 0}


class FeatureGroup:
    """What was measured of one task: rows and seconds of its candidates."""

    def __init__(self, group_hash: str, features: list[Any], costs: Any) -> None:
        self.group_hash, self.features = group_hash, list(features)
        self.costs = np.asarray(costs, "float64")

    @property
    def min_cost(self) -> float:
        """The seconds of the best."""
        return float(self.costs.min())

    @property
    def scores(self) -> NDArray[np.float64]:
        """The speeds beside the best one; 0 of candidates that failed."""
        if self.min_cost >= _FAILED:
            return np.zeros(len(self.costs))
        return np.where(self.costs >= _FAILED, 0.0, self.min_cost / self.costs)

    def append(self, features: list[Any], costs: Any) -> None:
        """Add measurements."""
        self.features += features
        self.costs = np.append(self.costs, costs)


class XGBModel(CostModel):
    """Gradient-boosted trees (xgboost) that predict the speed of candidates.

    Parameters
    ----------
    extractor : of the features, or its name.
    config : parameters of the trees.
    num_warmup_samples : the measurements that the model needs before it ranks; scores are random
        until then.
    early_stopping_rounds : the number of new trees without a smaller error that ends training.
    verbose_eval : the number of trees between lines of the log (at level DEBUG).
    average_peak_n : the candidates that the logged score of a ranking is of.
    adaptive_training : train less often the more there are measurements.
    num_tuning_cores : threads of the library, instead of those of `config`.

    Raises
    ------
    TeSchedError if xgboost is not installed; DeclarationError for other options.
    """

    def __init__(
        self,
        *,
        extractor: Any = "per-store-feature",
        config: XGBConfig = XGBConfig(),  # noqa: B008
        num_warmup_samples: int = 16,
        early_stopping_rounds: int = 10,
        verbose_eval: int = 25,
        average_peak_n: int = 32,
        adaptive_training: bool = True,
        num_tuning_cores: int | None = None,
    ) -> None:
        for name, value in [
            ("num_warmup_samples", num_warmup_samples),
            ("early_stopping_rounds", early_stopping_rounds),
            ("verbose_eval", verbose_eval),
            ("average_peak_n", average_peak_n),
        ]:
            if not is_index(value) or value < 0:
                raise DeclarationError(
                    f"{name} is {repr_of(value)}, expected a number", "", "give 0 or more"
                )
        self._library = xgboost()
        self.extractor = feature_extractor.create(extractor)
        if num_tuning_cores is not None:
            config = config._replace(nthread=num_tuning_cores)
        self.config, self.num_warmup_samples = config, num_warmup_samples
        self.early_stopping_rounds, self.verbose_eval = early_stopping_rounds, verbose_eval
        self.average_peak_n, self.adaptive_training = average_peak_n, adaptive_training
        self.booster: Any = None
        self.data: dict[str, FeatureGroup] = {}
        self._trained_size = 0
        self._random = np.random.RandomState(config.seed)
        self._hashes: WeakKeyDictionary[TuneContext, tuple[Any, str]] = WeakKeyDictionary()

    @property
    def data_size(self) -> int:
        """The number of measurements."""
        return sum(len(group.costs) for group in self.data.values())

    @property
    def can_rank(self) -> bool:
        return self.booster is not None and self.data_size >= self.num_warmup_samples

    def update(
        self, context: TuneContext, candidates: list[MeasureCandidate], results: list[Any]
    ) -> None:
        if len(candidates) != len(results):
            raise DeclarationError(
                f"{len(candidates)} candidates have {len(results)} results",
                "",
                "give one result for each candidate",
            )
        if not candidates:
            return
        rows = self._features(context, candidates)
        costs = [_seconds(result) for result in results]
        key = self._key(context)
        if key in self.data:
            self.data[key].append(rows, costs)
        else:
            self.data[key] = FeatureGroup(key, rows, costs)
        size = self.data_size
        # Training takes as long as there are data: its cost in all stays proportional to them.
        is_due = not self.adaptive_training or size >= self._trained_size * 1.1
        if size >= self.num_warmup_samples and is_due:
            self._train()

    def predict(
        self, context: TuneContext, candidates: list[MeasureCandidate]
    ) -> NDArray[np.float64]:
        if not self.can_rank or not candidates:
            return self._random.rand(len(candidates))
        data = PackSum(self._features(context, candidates))
        return np.asarray(self.booster.predict(data.dmatrix), "float64")

    def load(self, path: str) -> None:
        help = "give a file that XGBModel.save wrote"
        content = files.read(path, "load", help, DeclarationError)
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as saved:
                data, booster = self._unpacked(dict(saved))
        except (*_DAMAGES, self._library.core.XGBoostError) as error:
            raise DeclarationError(
                f"cannot load {path}: it does not have the state of an XGBModel",
                f"{type(error).__name__}: {error}",
                help,
            ) from None
        self.data, self.booster, self._trained_size = data, booster, 0

    def save(self, path: str) -> None:
        file = io.BytesIO()
        raw = b"" if self.booster is None else bytes(self.booster.save_raw("ubj"))
        arrays: dict[str, Any] = {
            "booster": np.frombuffer(raw, "uint8"),
            "groups": np.array(list(self.data), "str"),
        }
        for number, group in enumerate(self.data.values()):
            arrays[f"costs{number}"] = group.costs
            arrays[f"counts{number}"] = np.array([len(features) for features in group.features])
            arrays[f"rows{number}"] = np.concatenate(group.features)
        np.savez_compressed(file, **arrays)
        files.write(path, file.getvalue(), "save", error=DeclarationError)

    def _unpacked(self, saved: dict[str, Any]) -> tuple[dict[str, FeatureGroup], Any]:
        data = {}
        for number, key in enumerate(saved["groups"].tolist()):
            counts, costs = saved[f"counts{number}"], saved[f"costs{number}"]
            rows = np.split(saved[f"rows{number}"], np.cumsum(counts)[:-1])
            if not len(rows) == len(costs) == len(counts):
                raise ValueError("arrays have different lengths")
            data[key] = FeatureGroup(key, rows, costs)
        raw = saved["booster"].tobytes()
        if not raw:
            return data, None
        booster = self._library.Booster(self.config.to_dict())
        booster.load_model(bytearray(raw))
        return data, booster

    def _train(self) -> None:
        """Train from the beginning with all measurements."""
        groups = self.data.values()
        data = PackSum(
            [features for group in groups for features in group.features],
            np.concatenate([group.scores for group in groups]),
        )
        self._trained_size = self.data_size
        self.booster = self._library.train(
            self.config.to_dict(),
            data.dmatrix,
            num_boost_round=_ROUNDS,
            obj=lambda ys_pred, _: data.obj_square_error(ys_pred),
            callbacks=[
                custom_callback(
                    early_stopping_rounds=self.early_stopping_rounds,
                    verbose_eval=self.verbose_eval,
                    fevals=[
                        lambda ys_pred, _: data.rmse(ys_pred),
                        lambda ys_pred, _: data.average_peak_score(ys_pred, self.average_peak_n),
                    ],
                    evals=[(data.dmatrix, "tr")],
                )
            ],
        )

    def _features(self, context: TuneContext, candidates: list[MeasureCandidate]) -> list[Any]:
        arrays = self.extractor.extract_from(context, candidates)
        rows = [
            np.asarray(array.numpy() if hasattr(array, "numpy") else array, "float32")
            for array in arrays
        ]
        widths = {row.shape[-1] for row in rows if row.ndim == 2} | self._widths()
        if len(rows) != len(candidates) or any(row.ndim != 2 for row in rows) or len(widths) > 1:
            shapes = sorted({row.shape for row in rows})
            raise DeclarationError(
                f"{type(self.extractor).__name__} gave features that the model cannot use",
                f"{len(rows)} arrays of shapes {', '.join(map(str, shapes))} for "
                f"{len(candidates)} candidates; all features have {max(widths, default=0)} numbers",
                "give an array for each candidate, a row for each store, always of one length",
            )
        return rows

    def _widths(self) -> set[int]:
        """The number of features of the measured candidates."""
        group = next(iter(self.data.values()), None)
        return set() if group is None else {group.features[0].shape[1]}

    def _key(self, context: TuneContext) -> str:
        """The name of a task: a hash of its module."""
        entry = self._hashes.get(context)
        if entry is None or entry[0] is not context.mod:
            text = "" if context.mod is None else f"{structural_hash(context.mod):x}"
            self._hashes[context] = entry = (context.mod, text)
        return entry[1]


def _seconds(result: Any) -> float:
    """The median of measured seconds; a large number if there are none."""
    return float(np.median(result.run_secs)) if result.run_secs else _FAILED
