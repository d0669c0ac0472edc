"""A task of a search: a module, a target, the space that is searched and the strategy that does.

Must not know builders, runners or databases.
"""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError, kind_of
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.search_strategy import MeasureCandidate, SearchStrategy
from te_sched.meta_schedule.space_generator import SpaceGenerator
from te_sched.meta_schedule.utils import cpu_count
from te_sched.public_members import PublicObject
from te_sched.signatures import checked_as
from te_sched.tensorir.random_numbers import MODULUS, RandomNumbers
from te_sched.tensorir.schedule import advice_on_program

if TYPE_CHECKING:
    from te_sched.tir.schedule import Schedule


def normalized_module(mod: IRModule | PrimFunc) -> IRModule:
    """A module of a function, which is named "main" there if it has no name of its own."""
    if isinstance(mod, PrimFunc):
        if not (mod.attrs and "global_symbol" in mod.attrs):
            mod = mod.with_attr("global_symbol", "main")
        return IRModule({"main": mod.with_attr("tir.noalias", True)})
    if not isinstance(mod, IRModule):
        raise DeclarationError(
            f"cannot search for schedules of {kind_of(mod)}",
            "",
            advice_on_program(mod, "give an IRModule or a PrimFunc"),
        )
    return mod


class TuneContext(PublicObject):
    """A task of a search.

    Parameters
    ----------
    mod : the module whose schedules are searched; a PrimFunc becomes the function "main" of one.
    target : where they run, a Target or a target string; if None, the current one or "llvm".
    space_generator : what yields the space: a generator, its name or a function of a schedule.
    search_strategy : what picks candidates: a strategy or its name.
    task_name : shown in tables.
    rand_state : the seed of all decisions, -1 to draw one.
    num_threads : how many processors the search itself may use; "physical" and "logical" mean all.
    logger : where messages go.
    """

    @checked_as(DeclarationError, but=("mod", "target"))
    def __init__(
        self,
        mod: IRModule | PrimFunc | None = None,
        *,
        target: Target | str | None = None,
        space_generator: Any = None,
        search_strategy: Any = None,
        task_name: str = "main",
        rand_state: int | None = -1,
        num_threads: int | str = "physical",
        logger: logging.Logger | None = None,
    ) -> None:
        self.mod = None if mod is None else normalized_module(mod)
        self.target = Target(target or Target.current() or "llvm")
        self.task_name = task_name
        drawn = RandomNumbers(None if rand_state in (-1, None) else rand_state)
        self.rand_state = drawn.state % MODULUS
        self.num_threads = num_threads if isinstance(num_threads, int) else cpu_count()
        self.logger = logger or logging.getLogger(__name__)
        self.space_generator = (
            None if space_generator is None else SpaceGenerator.create(space_generator)
        )
        self.search_strategy = (
            None if search_strategy is None else SearchStrategy.create(search_strategy)
        )
        self._initialize()

    def _initialize(self) -> None:
        """Tell the parts about the task."""
        if self.space_generator is not None:
            self.space_generator._initialize_with_tune_context(self)
        if self.search_strategy is not None:
            self.search_strategy._initialize_with_tune_context(self)

    def fork_seed(self) -> int:
        """A seed for a generator of random numbers of its own; each call gives another one."""
        numbers = RandomNumbers(self.rand_state)
        seed = numbers.fork()
        self.rand_state = numbers.state
        return seed

    def generate_design_space(self) -> list[Schedule]:
        """The schedules, with decisions to change, that the space generator finds."""
        if self.mod is None:
            raise self._without("module", "mod")
        return self._space().generate_design_space(self.mod)

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int = 64,
        design_spaces: list[Schedule] | None = None,
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Prepare the strategy; by default the design space is generated here."""
        if design_spaces is None:
            design_spaces = self.generate_design_space()
        self._strategy().pre_tuning(
            max_trials, num_trials_per_iter, design_spaces, database, cost_model
        )

    def post_tuning(self) -> None:
        """Release what the strategy holds."""
        self._strategy().post_tuning()

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next candidates to measure; None if there are no more."""
        return self._strategy().generate_measure_candidates()

    def notify_runner_results(
        self, measure_candidates: list[MeasureCandidate], results: list[Any]
    ) -> None:
        """Tell the strategy what was measured."""
        self._strategy().notify_runner_results(measure_candidates, results)

    def clone(self) -> TuneContext:
        """A context with copies of the parts, for another run of the same task."""
        clone = copy.copy(self)
        if self.space_generator is not None:
            clone.space_generator = self.space_generator.clone()
        if self.search_strategy is not None:
            clone.search_strategy = self.search_strategy.clone()
        clone._initialize()
        return clone

    def _space(self) -> SpaceGenerator:
        if self.space_generator is None:
            raise self._without("space generator", "space_generator")
        return self.space_generator

    def _strategy(self) -> SearchStrategy:
        if self.search_strategy is None:
            raise self._without("search strategy", "search_strategy")
        return self.search_strategy

    def _without(self, part: str, name: str) -> DeclarationError:
        return DeclarationError(
            f"task {self.task_name!r} has no {part}", "", f"give TuneContext({name}=...)"
        )


_normalize_mod = normalized_module  # by which TVM's own tools import it

_tell_of_absent_names(__name__)
