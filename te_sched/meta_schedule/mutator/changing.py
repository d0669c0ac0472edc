"""The mutators of default spaces: each changes one decision of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from te_sched.errors import DeclarationError, TeSchedError
from te_sched.ir.stmt import For, IRModule
from te_sched.meta_schedule.mutator.base import Mutator
from te_sched.meta_schedule.schedule_rule.targets import cores_of
from te_sched.tensorir.random_numbers import RandomNumbers
from te_sched.tir.schedule import BlockRV, Instruction, Schedule, Trace

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext

_TRIES = 20  # draws until one differs from the present decision


class _OfOneDecision(Mutator):
    """A mutator of one decision, which is drawn among those that it can change."""

    _numbers: RandomNumbers | None = None
    _mod: IRModule | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._mod = context.mod
        self._numbers = RandomNumbers(context.fork_seed())

    def apply(self, trace: Trace, rand_state: RandomNumbers | None = None) -> Trace | None:
        """A trace with one changed decision; None if it has none that can be changed."""
        numbers = rand_state or self._numbers or RandomNumbers()
        choices = list(self.choices(trace))
        if not choices:
            return None
        inst, change = choices[numbers.below(len(choices))]
        decision = change(numbers)
        return None if decision is None else trace.with_decision(inst, decision, True)

    def choices(self, trace: Trace) -> Iterator[tuple[Instruction, Callable[[RandomNumbers], Any]]]:
        """Instructions, each with a function that draws another decision for it."""
        raise NotImplementedError


class MutateTileSize(_OfOneDecision):
    """Moves a factor of a tile into another one of the same loop, or changes a vector length of
    cooperative fetching.

    >>> MutateTileSize().apply(tir.schedule.Trace()) is None
    True
    """

    def choices(self, trace: Trace) -> Iterator[tuple[Instruction, Callable[[RandomNumbers], Any]]]:
        for inst, decision in trace.decisions.items():
            if inst.kind.name == "SamplePerfectTile":
                factors = [int(factor) for factor in decision]
                if len(factors) > 1 and prod(factors) > 1:
                    most = int(inst.attrs[1])
                    yield inst, partial(_other_tile, factors, most)
        yield from _categories(trace, ("meta_schedule.cooperative_fetch",))


class MutateUnroll(_OfOneDecision):
    """Changes the largest number of unrolled steps.

    >>> MutateUnroll().apply(tir.schedule.Trace()) is None
    True
    """

    def choices(self, trace: Trace) -> Iterator[tuple[Instruction, Callable[[RandomNumbers], Any]]]:
        return _categories(
            trace, ("meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit")
        )


class MutateThreadBinding(_OfOneDecision):
    """Changes the number of threads that a loop is bound to.

    >>> MutateThreadBinding().apply(tir.schedule.Trace()) is None
    True
    """

    def choices(self, trace: Trace) -> Iterator[tuple[Instruction, Callable[[RandomNumbers], Any]]]:
        insts = trace.insts
        threads = {
            inst.inputs[0]
            for inst in insts
            if inst.kind.name == "Bind" and str(inst.attrs[0]).startswith("threadIdx")
        }
        extents = {
            extent
            for inst in insts
            if inst.kind.name == "Split" and not threads.isdisjoint(inst.outputs)
            for extent in _hashable(inst.inputs[1:])
        }
        return _drawn(trace, extents)


class MutateComputeLocation(_OfOneDecision):
    """Changes the place of a block.

    >>> MutateComputeLocation().apply(tir.schedule.Trace()) is None
    True
    """

    def choices(self, trace: Trace) -> Iterator[tuple[Instruction, Callable[[RandomNumbers], Any]]]:
        for inst, decision in trace.decisions.items():
            if inst.kind.name == "SampleComputeLocation":
                yield inst, partial(self._place, trace, inst, int(decision))

    def _place(
        self, trace: Trace, inst: Instruction, present: int, numbers: RandomNumbers
    ) -> int | None:
        """Another place, as the instruction draws it where it stands."""
        if self._mod is None:
            raise DeclarationError(
                "the mutator has no module", "", "give it to the space of a TuneContext"
            )
        insts = trace.insts
        before = insts[: insts.index(inst)]
        sch = Schedule(self._mod, seed=numbers.fork())
        try:
            Trace(
                [*before, inst], {earlier: trace.decisions.get(earlier) for earlier in before}
            ).apply_to_schedule(sch, remove_postproc=False)
            for _ in range(_TRIES):
                location = int(sch.trace.decisions[sch.trace.insts[-1]])
                if location != present:
                    return location
                sch.sample_compute_location(sch.trace.insts[-1].inputs[0])
        except TeSchedError:
            return None
        return None


class MutateParallel(Mutator):
    """Changes the largest number of parallel iterations to another one that makes a difference.

    Parameters
    ----------
    max_jobs_per_core : iterations for each core of the target.
    """

    def __init__(self, max_jobs_per_core: int) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self._most = max_jobs_per_core
        self._mod: IRModule | None = None
        self._numbers: RandomNumbers | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._mod = context.mod
        self._numbers = RandomNumbers(context.fork_seed())
        self._most = self.max_jobs_per_core * cores_of(context.target)

    def apply(self, trace: Trace, rand_state: RandomNumbers | None = None) -> Trace | None:
        """A trace with another limit; None if it has no limit, or no other makes a difference."""
        numbers = rand_state or self._numbers or RandomNumbers()
        insts = trace.insts
        places = [
            n
            for n, inst in enumerate(insts)
            if inst.kind.name == "Annotate" and inst.attrs[0] == "meta_schedule.parallel"
        ]
        if not places or self._mod is None:
            return None
        position = places[numbers.below(len(places))]
        present = int(insts[position].inputs[1])
        limits = self._limits(trace)
        if not limits:
            return None
        same = min((limit for limit in limits if limit >= present), default=max(limits))
        others = [limit for limit in limits if limit != same]
        if not others:
            return None
        value = others[numbers.below(len(others))]
        old = insts[position]
        changed = Instruction(old.kind, [old.inputs[0], value], old.attrs, old.outputs)
        decisions = trace.decisions
        return Trace([*insts[:position], changed, *insts[position + 1 :]], decisions)

    def _limits(self, trace: Trace) -> list[int]:
        """The products of the outer parallel loops of blocks, up to the limit."""
        assert self._mod is not None
        sch = Schedule(self._mod)
        try:
            trace.apply_to_schedule(sch, remove_postproc=True)
            limits: set[int] = set()
            for name in sch.mod.functions:
                for block in sch.get_child_blocks(sch.get_block("root", name)):
                    limits.update(self._products(sch, block))
        except TeSchedError:
            return []
        return sorted(limits)

    def _products(self, sch: Schedule, block: BlockRV) -> Iterator[int]:
        extent = 1
        for loop in sch.get_loops(block):
            node = sch.get(loop)
            assert isinstance(node, For)
            if node.kind != "serial" or not hasattr(node.extent, "value"):
                return
            extent *= node.extent.value
            if extent > self._most:
                return
            yield extent


def _hashable(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _hashable(value)
        elif value is not None:
            yield value


def _categories(
    trace: Trace, keys: tuple[str, ...]
) -> Iterator[tuple[Instruction, Callable[[RandomNumbers], Any]]]:
    """The choices of values of annotations."""
    values = {
        inst.inputs[1]
        for inst in trace.insts
        if inst.kind.name == "Annotate" and inst.attrs[0] in keys
    }
    return _drawn(trace, values)


def _drawn(
    trace: Trace, results: set[Any]
) -> Iterator[tuple[Instruction, Callable[[RandomNumbers], Any]]]:
    """The choices of categories whose results are used somewhere."""
    for inst, decision in trace.decisions.items():
        if inst.kind.name != "SampleCategorical" or results.isdisjoint(inst.outputs):
            continue
        count = len(inst.attrs[0])
        if count > 1:
            yield inst, partial(_other_number, count, int(decision))


def _other_number(count: int, present: int, numbers: RandomNumbers) -> int:
    drawn = numbers.below(count - 1)
    return drawn + (drawn >= present)


def _other_tile(factors: list[int], most: int, numbers: RandomNumbers) -> list[int] | None:
    """A tile with a divisor of one factor in another factor; the last is at most `most`."""
    moves = [
        (source, target, divisor)
        for source, factor in enumerate(factors)
        for divisor in range(2, factor + 1)
        if factor % divisor == 0
        for target in range(len(factors))
        if target != source and (target < len(factors) - 1 or factors[target] * divisor <= most)
    ]
    if not moves:
        return None
    source, target, divisor = moves[numbers.below(len(moves))]
    tile = list(factors)
    tile[source] //= divisor
    tile[target] *= divisor
    return tile
