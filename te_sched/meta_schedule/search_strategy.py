"""Strategies: which schedules of a space are measured next.

`ReplayTrace` and `ReplayFunc` draw decisions at random. `EvolutionarySearch` changes decisions of
the best schedules so far and lets a cost model choose (Zheng et al., Ansor, OSDI 2020, section 5;
Shao et al., Tensor Program Optimization with Probabilistic Programs, NeurIPS 2022).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, TeSchedError
from te_sched.meta_schedule.arg_info import ArgInfo
from te_sched.meta_schedule.candidates import completed, decisions_of, replayed
from te_sched.meta_schedule.component import Component, made, not_written
from te_sched.signatures import check_arguments, scores_of
from te_sched.tensorir.random_numbers import RandomNumbers
from te_sched.tir.schedule import Schedule, Trace

if TYPE_CHECKING:
    from te_sched.meta_schedule.cost_model.base import CostModel
    from te_sched.meta_schedule.database.base import Database
    from te_sched.meta_schedule.mutator.base import Mutator
    from te_sched.meta_schedule.postproc.base import Postproc
    from te_sched.meta_schedule.tune_context import TuneContext

_MOST_REFUSED = 100  # candidates of a function, one after the other, after which a search ends
_MOST_EMPTY = 5  # batches without a new candidate, after which a space is exhausted


class MeasureCandidate:
    """A schedule to measure, with the arguments that its function takes."""

    def __init__(self, sch: Schedule, args_info: Sequence[ArgInfo] | None) -> None:
        self.sch = sch
        self.args_info = list(args_info or ())


class SearchStrategy(Component):
    """A strategy: `pre_tuning`, then candidates and their results in turn, then `post_tuning`."""

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: list[Schedule],
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin a search of at most `max_trials` candidates, `num_trials_per_iter` at once."""
        raise not_written(self, "PySearchStrategy", "pre_tuning")

    def post_tuning(self) -> None:
        """End the search."""
        raise not_written(self, "PySearchStrategy", "post_tuning")

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next candidates; None if there are no more."""
        raise not_written(self, "PySearchStrategy", "generate_measure_candidates")

    def notify_runner_results(
        self, measure_candidates: list[MeasureCandidate], results: list[Any]
    ) -> None:
        """Take the results of the last candidates."""
        raise not_written(self, "PySearchStrategy", "notify_runner_results")

    @staticmethod
    def create(kind: Any = "evolutionary", *args: Any, **kwargs: Any) -> SearchStrategy:
        """A strategy by its name; a strategy is returned as it is.

        >>> type(SearchStrategy.create("replay-trace")).__name__
        'ReplayTrace'
        """
        return made(SearchStrategy, "search strategy", _STRATEGIES, kind, args, kwargs)


class _Batches(SearchStrategy):
    """A strategy that gives batches until the number of trials is reached."""

    _context: TuneContext | None = None
    _spaces: list[Schedule] | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._context = context

    def clone(self) -> Any:
        twin = super().clone()
        twin._context = twin._spaces = None
        return twin

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: list[Schedule],
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        if self._context is None or self._context.mod is None:
            raise DeclarationError(
                "the strategy has no task", "", "give it to a TuneContext with a module"
            )
        if self._spaces is not None:
            raise DeclarationError(
                "the search has begun already",
                "",
                "call post_tuning() first, or clone the strategy",
            )
        if not design_spaces:
            raise DeclarationError(
                f"the space of task {self._context.task_name!r} has no schedules",
                "the space generator returned an empty list",
                "return at least the schedule without changes",
            )
        self._database, self._cost_model = database, cost_model
        self._left, self._batch = max_trials, num_trials_per_iter
        self._numbers = RandomNumbers(self._context.fork_seed())
        self._begin()
        self._spaces = list(design_spaces)

    def post_tuning(self) -> None:
        self._started()
        self._spaces = None

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        self._started()
        count = min(self._batch, self._left)
        if count <= 0:
            return None
        schedules = self._next(count)
        if schedules is None:
            return None
        return [MeasureCandidate(sch, ArgInfo.from_entry_func(sch.mod)) for sch in schedules]

    def notify_runner_results(
        self, measure_candidates: list[MeasureCandidate], results: list[Any]
    ) -> None:
        self._started()
        self._left -= len(results)

    def _begin(self) -> None:
        """Prepare a search: decisions that were measured already are not given again."""
        self._tried: set[str] = set()
        self._repeats = False  # all schedules of the space were given, as far as draws tell
        if self._database is not None and self._task.mod is not None:
            self._workload = self._database.commit_workload(self._task.mod)
            for record in self._database.get_all_tuning_records():
                if record.workload is self._workload and record.is_of(self._task.target):
                    self._tried.add(decisions_of(record.trace_json()))

    def _filled(
        self, draw: Callable[[], Schedule | None], count: int, most: int
    ) -> list[Schedule] | None:
        """Schedules that were not given before; others if there are no new ones.

        The draws end after `most` in a row without a valid schedule. None if there is none at all.
        """
        schedules: list[Schedule] = []
        useless, has_valid = 0, False
        while len(schedules) < count and useless < most:
            sch = draw()
            has_valid |= sch is not None
            if sch is not None and (self._repeats or self._is_new(sch)):
                schedules.append(sch)
                useless = 0
                continue
            useless += 1
            if useless == most and has_valid and not self._repeats:
                self._repeats, useless = True, 0
        return schedules or None

    def _is_new(self, sch: Schedule) -> bool:
        """Whether the decisions of a schedule are asked for the first time."""
        key = decisions_of(sch.trace.as_json())
        is_new = key not in self._tried
        self._tried.add(key)
        return is_new

    def _next(self, count: int) -> list[Schedule] | None:
        """The next schedules, at most `count`; None if there are no more."""
        raise NotImplementedError

    def _started(self) -> list[Schedule]:
        if self._spaces is None:
            raise DeclarationError("the search has not begun", "", "call pre_tuning() first")
        return self._spaces

    @property
    def _task(self) -> TuneContext:
        assert self._context is not None
        return self._context

    def _postprocs(self) -> list[Postproc]:
        space = self._task.space_generator
        return list(getattr(space, "postprocs", None) or ())

    def _drawn(self) -> Schedule | None:
        """A space with all decisions drawn anew, and completed; None if that fails."""
        spaces = self._started()
        space = spaces[self._numbers.below(len(spaces))]
        return self._candidate(Trace(space.trace.insts, {}))

    def _candidate(self, trace: Trace) -> Schedule | None:
        assert self._task.mod is not None
        sch = replayed(self._task.mod, trace, self._numbers.fork())
        return None if sch is None else completed(sch, self._postprocs())


class ReplayTrace(_Batches):
    """Candidates with random decisions; a candidate that a postprocessor rejects, or that was
    measured already, is drawn again. If there are no new ones, candidates are measured again.

    Parameters
    ----------
    max_fail_count : how many candidates in a row may be rejected before a batch stays smaller; if
        it would be empty, the search ends.
    """

    def __init__(self, max_fail_count: int = 100) -> None:
        self.max_fail_count = max_fail_count

    def _next(self, count: int) -> list[Schedule] | None:
        return self._filled(self._drawn, count, self.max_fail_count)


class ReplayFunc(_Batches):
    """Candidates of the space generator, which is run again for each.

    What it or a postprocessor refuses, and what was measured already, is drawn again; the search
    ends if 100 in a row are refused. If there are no new ones, candidates are measured again.
    """

    def _next(self, count: int) -> list[Schedule] | None:
        return self._filled(self._generated, count, _MOST_REFUSED)

    def _generated(self) -> Schedule | None:
        generator = self._task.space_generator
        assert generator is not None
        assert self._task.mod is not None
        try:
            spaces = generator.generate_design_space(self._task.mod)
        except TeSchedError:  # a primitive refuses what was drawn
            return None
        if not spaces:
            return None
        return completed(spaces[self._numbers.below(len(spaces))], self._postprocs())


class EvolutionarySearch(_Batches):
    """Candidates whose decisions come from measured ones by mutation, chosen by a cost model.

    A batch begins with a population: the best measured schedules and random ones. For some
    generations, parents are drawn by their scores and mutated. The batch has the best that were
    seen and not measured yet, and some random ones. Without a cost model that can rank, the batch
    is random.

    Parameters
    ----------
    population_size : the most schedules of a generation.
    init_measured_ratio : the share of the first population that was measured.
    init_min_unmeasured : how many random schedules the first population has at least, if the space
        has as many.
    max_fail_count : rounds of random draws without a new schedule, after which a batch is empty.
    genetic_num_iters : generations.
    genetic_mutate_prob : the share of a generation that is mutated.
    genetic_max_fail_count : how many mutations of one schedule are tried until one is valid.
    eps_greedy : the share of a batch that is random.
    """

    def __init__(
        self,
        *,
        population_size: int = 512,
        init_measured_ratio: float = 0.2,
        init_min_unmeasured: int = 50,
        max_fail_count: int = 5,
        genetic_num_iters: int = 4,
        genetic_mutate_prob: float = 0.85,
        genetic_max_fail_count: int = 10,
        eps_greedy: float = 0.05,
    ) -> None:
        for name, share in [
            ("init_measured_ratio", init_measured_ratio),
            ("genetic_mutate_prob", genetic_mutate_prob),
            ("eps_greedy", eps_greedy),
        ]:
            if not 0.0 <= share <= 1.0:
                raise DeclarationError(
                    f"{name} is {share}, expected a share", "", "give a number from 0 to 1"
                )
        self.population_size = population_size
        self.init_measured_ratio = init_measured_ratio
        self.init_min_unmeasured = init_min_unmeasured
        self.max_fail_count = max_fail_count
        self.genetic_num_iters = genetic_num_iters
        self.genetic_mutate_prob = genetic_mutate_prob
        self.genetic_max_fail_count = genetic_max_fail_count
        self.eps_greedy = eps_greedy

    def _begin(self) -> None:
        super()._begin()
        self._empty = 0

    def _next(self, count: int) -> list[Schedule] | None:
        random = self._unmeasured(count)
        if random is None:
            return None
        model = self._cost_model
        picked: dict[str, Schedule] = {}
        if model is not None and model.can_rank:
            best = self._evolved([*self._measured(count), *random.values()], model, 2 * count)
            greedy = count - round(self.eps_greedy * count)
            picked.update(list(best.items())[:greedy])
        for key in self._shuffled(random):
            if len(picked) >= count:
                break
            picked.setdefault(key, random[key])
        self._tried.update(picked)
        self._empty = 0 if picked else self._empty + 1
        return None if self._empty == _MOST_EMPTY else list(picked.values())

    def _unmeasured(self, count: int) -> dict[str, Schedule] | None:
        """New random schedules by their decisions; None if no valid one was found at all.

        Draws are made in rounds, until there are `count`, or a round finds no new ones.
        """
        wanted = max(count, min(self.population_size, self.init_min_unmeasured))
        schedules: dict[str, Schedule] = {}
        valid, fails = False, 0
        while len(schedules) < count and fails < self.max_fail_count:
            before = len(schedules)
            for _ in range(max(1, self.init_min_unmeasured)):
                sch = self._drawn()
                if sch is None:
                    continue
                valid = True
                key = decisions_of(sch.trace.as_json())
                if key not in self._tried:
                    schedules.setdefault(key, sch)
                if len(schedules) >= wanted:
                    return schedules
            if len(schedules) == before:
                fails = self.max_fail_count if schedules else fails + 1
        return schedules if valid else None

    def _measured(self, count: int) -> list[Schedule]:
        """The best measured schedules, for parents."""
        if self._database is None:
            return []
        most = min(2 * count, int(self.init_measured_ratio * self.population_size))
        records = self._database.get_top_k(self._workload, most)
        schedules = [self._candidate(record.trace) for record in records]
        return [sch for sch in schedules if sch is not None]

    def _evolved(
        self, population: list[Schedule], model: CostModel, most: int
    ) -> dict[str, Schedule]:
        """The new schedules with the best scores of all generations, best first."""
        size = min(self.population_size, max(len(population), most))
        best: dict[str, tuple[float, Schedule]] = {}
        for generation in range(self.genetic_num_iters + 1):
            scores = self._scores(population, model)
            for score, sch in zip(scores, population, strict=True):
                key = decisions_of(sch.trace.as_json())
                if key not in self._tried:
                    best[key] = (float(score), sch)
            if generation == self.genetic_num_iters:
                break
            population = list(self._offspring(population, scores, size))
        ranked = sorted(best.items(), key=lambda pair: -pair[1][0])
        return {key: schedule for key, (_, schedule) in ranked}

    def _scores(self, population: list[Schedule], model: CostModel) -> Any:
        candidates = [MeasureCandidate(sch, None) for sch in population]
        return scores_of(model, lambda: model.predict(self._task, candidates), len(candidates))

    def _offspring(self, population: list[Schedule], scores: Any, size: int) -> Iterator[Schedule]:
        """The next generation: parents drawn by their scores, most of them mutated."""
        order = np.argsort(np.argsort(scores))  # ranks, since scores have no unit
        weights = (1.0 + order).tolist()
        mutators, chances = self._mutators()
        for _ in range(size):
            parent = population[self._numbers.weighted(weights)]
            is_mutated = self._numbers.below(1000) < 1000 * self.genetic_mutate_prob
            yield (self._mutant(parent, mutators, chances) if is_mutated else None) or parent

    def _mutators(self) -> tuple[list[Mutator], list[float]]:
        chosen = getattr(self._task.space_generator, "mutator_probs", None) or {}
        pairs = [(mutator, chance) for mutator, chance in chosen.items() if chance > 0]
        return [mutator for mutator, _ in pairs], [chance for _, chance in pairs]

    def _mutant(
        self, parent: Schedule, mutators: list[Mutator], chances: list[float]
    ) -> Schedule | None:
        """A valid mutation of a schedule; None if there is none."""
        if not mutators:
            return self._drawn()
        for _ in range(self.genetic_max_fail_count):
            mutator = mutators[self._numbers.weighted(chances)]
            trace = mutator.apply(parent.trace, self._numbers)
            if trace is None:
                continue
            sch = self._candidate(trace)
            if sch is not None:
                return sch
        return None

    def _shuffled(self, keys: Iterable[str]) -> list[str]:
        key_list = list(keys)
        return [
            key_list[position] for position in self._numbers.places(len(key_list), len(key_list))
        ]


PySearchStrategy = SearchStrategy
_STRATEGIES: dict[str, type[SearchStrategy]] = {
    "evolutionary": EvolutionarySearch,
    "replay-trace": ReplayTrace,
    "replay-func": ReplayFunc,
}
create = SearchStrategy.create

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
