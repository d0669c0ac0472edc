"""Generators of spaces: schedules whose sampled decisions a search may change."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, Subject, kind_of, repr_of
from te_sched.ir.blocks import Block
from te_sched.meta_schedule.component import Component, made, not_written
from te_sched.meta_schedule.mutator import Mutator
from te_sched.meta_schedule.postproc import Postproc
from te_sched.meta_schedule.schedule_rule import ApplyCustomRule, ScheduleRule
from te_sched.meta_schedule.schedule_rule.apply_custom_rule import CUSTOM_RULE
from te_sched.meta_schedule.schedule_rule.targets import kind_of_target, rules_of_target
from te_sched.public_members import is_function
from te_sched.signatures import check_arguments, check_function, is_sequence
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.handles import BlockRV
from te_sched.tensorir.random_numbers import RandomNumbers
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.ir.stmt import IRModule
    from te_sched.meta_schedule.tune_context import TuneContext

_FROM_TARGET = "from-target"


class SpaceGenerator(Component):
    """A generator of a space, with the rules, postprocessors and mutators of the search.

    Parameters
    ----------
    sch_rules, postprocs, mutator_probs : parts, or the kind of target whose defaults are used;
        "from-target" takes them from the target of the task.
    """

    sch_rules: Any = None
    postprocs: Any = None
    mutator_probs: Any = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        raise not_written(self, "PySpaceGenerator", "_initialize_with_tune_context")

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The schedules of the space."""
        raise not_written(self, "PySpaceGenerator", "generate_design_space")

    def clone(self) -> Self:
        """A copy with copies of the parts."""
        clone = super().clone()
        for name in ("sch_rules", "postprocs"):
            parts = getattr(self, name)
            if is_sequence(parts):
                setattr(clone, name, [part.clone() for part in parts])
        if isinstance(self.mutator_probs, Mapping):
            clone.mutator_probs = {mutator.clone(): p for mutator, p in self.mutator_probs.items()}
        return clone

    @staticmethod
    def create(kind: Any = "post-order-apply", *args: Any, **kwargs: Any) -> SpaceGenerator:
        """A generator by its name, or of a function of a schedule."""
        if is_function(kind) and not isinstance(kind, SpaceGenerator):
            return ScheduleFn(kind, *args, **kwargs)
        return made(SpaceGenerator, "space generator", _GENERATORS, kind, args, kwargs)


class _WithParts(SpaceGenerator):
    """A generator whose parts may be the defaults of a target."""

    def __init__(
        self,
        sch_rules: Any = _FROM_TARGET,
        postprocs: Any = _FROM_TARGET,
        mutator_probs: Any = _FROM_TARGET,
    ) -> None:
        self.sch_rules, self.postprocs, self.mutator_probs = sch_rules, postprocs, mutator_probs
        self._random = RandomNumbers()

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._random = RandomNumbers(context.fork_seed())
        self.sch_rules = _parts(self.sch_rules, ScheduleRule, context)
        self.postprocs = _parts(self.postprocs, Postproc, context)
        self.mutator_probs = _parts(self.mutator_probs, Mutator, context)
        for part in (*self.sch_rules, *self.postprocs, *self.mutator_probs):
            part._initialize_with_tune_context(context)

    def _schedule(self, mod: IRModule) -> Schedule:
        return Schedule(mod, seed=self._random.fork())


def _parts(parts: Any, kind: type[Any], context: TuneContext) -> Any:
    """The parts of a generator: the given ones, or the defaults of a kind of target."""
    if isinstance(parts, str):
        create = getattr(kind, "create", None)
        if create is None:
            return {} if kind is Mutator else []
        if parts == _FROM_TARGET:
            of_target = kind_of_target if kind is Mutator else rules_of_target
            parts = of_target(context.target)
        return create(parts)
    is_legal = isinstance(parts, Mapping) if kind is Mutator else is_sequence(parts)
    if parts is not None and not (is_legal and all(isinstance(part, kind) for part in parts)):
        raise DeclarationError(
            f"{repr_of(parts)} are not parts of a space generator",
            "",
            f"give {'a dictionary' if kind is Mutator else 'a list'} of {kind.__name__}s, or "
            '"from-target"',
        )
    return dict(parts or {}) if kind is Mutator else list(parts or ())


class ScheduleFn(_WithParts):
    """The space of a function that schedules: it returns None if it changed the schedule that it
    was given, a schedule, or several.

    >>> def split(sch):
    ...     loop, *_ = sch.get_loops("C")
    ...     sch.split(loop, sch.sample_perfect_tile(loop, n=2))
    >>> len(ScheduleFn(split).generate_design_space(te_sched.IRModule({"main": matmul_relu})))
    1
    """

    def __init__(
        self,
        sch_fn: Callable[[Schedule], Any],
        sch_rules: Any = _FROM_TARGET,
        postprocs: Any = _FROM_TARGET,
        mutator_probs: Any = _FROM_TARGET,
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        check_function(sch_fn, 1, "ScheduleFn", "lambda sch: ...")
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        sch = self._schedule(mod)
        result = self.sch_fn(sch)
        if result is None:
            return [sch]
        several = list(result) if is_sequence(result) else [result]
        if not all(isinstance(item, Schedule) for item in several):
            raise DeclarationError(
                f"the function of a space returned {kind_of(result)}",
                "",
                "return None after changing the schedule, a schedule, or a list of schedules",
            )
        return several


class SpaceGeneratorUnion(_WithParts):
    """The spaces of several generators together."""

    def __init__(
        self,
        space_generators: Sequence[Any],  # or their names
        sch_rules: Any = _FROM_TARGET,
        postprocs: Any = _FROM_TARGET,
        mutator_probs: Any = _FROM_TARGET,
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.space_generators = [SpaceGenerator.create(generator) for generator in space_generators]

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        super()._initialize_with_tune_context(context)
        for generator in self.space_generators:
            generator._initialize_with_tune_context(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        return [
            sch
            for generator in self.space_generators
            for sch in generator.generate_design_space(mod)
        ]

    def clone(self) -> Self:
        clone = super().clone()
        clone.space_generators = [generator.clone() for generator in self.space_generators]
        return clone


class PostOrderApply(_WithParts):
    """The space that rules generate: each is applied to all blocks, the later ones first and those
    in a block after it, to the schedules of the rule before it. Blocks that are never executed,
    since a loop has no iterations, are left.

    Parameters
    ----------
    f_block_filter : a function of a block that says whether rules may schedule it.
    """

    def __init__(
        self,
        f_block_filter: Callable[[Block], bool] | None = None,
        sch_rules: Any = _FROM_TARGET,
        postprocs: Any = _FROM_TARGET,
        mutator_probs: Any = _FROM_TARGET,
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.f_block_filter = f_block_filter

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        if not is_sequence(self.sch_rules):
            raise DeclarationError(
                "the space generator has no rules yet",
                "they depend on the target of a task",
                "give it to TuneContext(mod, target=..., space_generator=...)",
            )
        sch = self._schedule(mod)
        blocks = self._blocks(sch)
        schedules = [sch]
        for rule in self.sch_rules:
            schedules = _applied(rule, schedules, blocks)
        return schedules

    def _blocks(self, sch: Schedule) -> list[BlockRV]:
        """The blocks of all functions, inner ones before those around them."""
        blocks = []
        for name in sch.functions:
            keys = list(_inside_first(sch, name))
            _check_names(name, [key.name for key in keys])
            blocks += [
                sch.get_block(key.name, func_name=name)
                for key in keys
                if all(loop_extent(sch, loop) != 0 for loop in sch.loops_above(key))
                and (self.f_block_filter is None or self.f_block_filter(sch.block(key)))
            ]
        return blocks


def _check_names(function: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(
                f"several blocks of function {function} have the name {name}",
                "traces find blocks by name",
                "give each block a name of its own",
                Subject("block", name),
                in_tvm=f"Duplicated block name {name} in function {function} not supported!",
            )


def _inside_first(sch: Schedule, function: str) -> Iterator[BlockKey]:
    """The blocks of a function in post order."""

    def below(key: BlockKey) -> Iterator[BlockKey]:
        for inner_key in sch.blocks_of(key):
            yield from below(inner_key)
        yield key

    for root in sch.blocks_in(sch.functions[function].body):
        yield from below(root)


def _applied(
    rule: ScheduleRule, schedules: Sequence[Schedule], blocks: Sequence[BlockRV]
) -> list[Schedule]:
    """The schedules that a rule makes of some, applied to one block after the other."""
    results: list[Schedule] = []
    stack = [(sch, len(blocks)) for sch in schedules]
    while stack:
        sch, count = stack.pop()
        if count == 0:
            results.append(sch)
            continue
        block = blocks[count - 1]
        is_left = block.key not in sch.nodes or (
            CUSTOM_RULE in sch.block(block.key).annotations
            and not isinstance(rule, ApplyCustomRule)
        )
        new_schedules = [sch] if is_left else rule.apply(sch, block)
        stack += [(sch, count - 1) for sch in new_schedules]
    return results


PySpaceGenerator = SpaceGenerator
_GENERATORS: dict[str, Callable[..., SpaceGenerator]] = {
    "post-order-apply": PostOrderApply,
    "union": SpaceGeneratorUnion,
}
create = SpaceGenerator.create
__all__ = [
    "Mutator",
    "PostOrderApply",
    "Postproc",
    "PySpaceGenerator",
    "ScheduleFn",
    "ScheduleRule",
    "SpaceGenerator",
    "SpaceGeneratorUnion",
    "create",
]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
