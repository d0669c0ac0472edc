"""Primitives that sample: their results are drawn at random, or given as decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from te_sched.errors import ScheduleError, repr_of
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.ops import is_const
from te_sched.tensorir.base import ScheduleBase, integer, listed, of_loop
from te_sched.tensorir.blocks import (
    consumers,
    why_not_complete,
    why_not_reduction,
    written_results,
)
from te_sched.tensorir.facts.axes import are_spatial, bound_axes
from te_sched.tensorir.handles import ATTRIBUTE, INLINE, NUMBERS, ROOT, BlockRV, LoopRV, instruction
from te_sched.tensorir.state import BlockKey

_MOST_TILES = 64
_MOST_DRAWS = 10_000
_MOST_PRIME = 2**16  # enough for extents of 32 bits


class SamplingPrimitives(ScheduleBase):
    """Primitives that sample."""

    __slots__ = ()

    @instruction(n=ATTRIBUTE, max_innermost_factor=ATTRIBUTE)
    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Any = None
    ) -> list[Var | None]:
        """Factors whose product is the extent of a loop, each choice with the same probability.

        Parameters
        ----------
        n : the number of factors, at least 2.
        max_innermost_factor : the largest value of the last factor; 0 for any.
        decision : the factors, instead of random ones; where they do not divide the extent, they
            are changed.

        Returns
        -------
        The factors, outermost first. Those of a loop of symbolic extent are None, which `split`
        infers, and 1.

        >>> sch = tir.Schedule(matmul_relu, seed=1)
        >>> factors = sch.sample_perfect_tile(sch.get_loops("C")[0], n=2, decision=[2, 4])
        >>> [sch.get(one) for one in factors]
        [2, 4]
        """
        extent = self.loop(self.loop_key(loop, "sample_perfect_tile")).extent
        count = _count(loop, n)
        most = integer(max_innermost_factor, "max_innermost_factor")
        factors: list[Var | None] = [*_tile(self, extent, count, most, decision, 0, 1)]
        return factors if isinstance(extent, IntImm) else [None, *factors[1:]]

    @instruction(n=ATTRIBUTE, partition_pos=ATTRIBUTE, innerpart_factor=ATTRIBUTE)
    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: Any = None,
    ) -> list[Var]:
        """Factors whose product is the extent of a loop; the product of those from `partition_pos`
        on is a multiple of `innerpart_factor`. If there are none, they are -1, which
        `split` infers, and 1.

        >>> sch = tir.Schedule(matmul_relu, seed=1)
        >>> factors = sch.sample_partitioned_tile(sch.get_loops("C")[0], 2, 1, 4)
        >>> sch.get(factors[1]) % 4
        0
        """
        extent = self.loop(self.loop_key(loop, "sample_partitioned_tile")).extent
        count = _count(loop, n)
        position = integer(partition_pos, "partition_pos")
        factor = integer(innerpart_factor, "innerpart_factor")
        if not 0 <= position <= count or factor < 1:
            raise ScheduleError(
                f"cannot partition {count} factors of loop {loop.name}",
                f"partition_pos is {position} and innerpart_factor {factor}",
                f"give a partition_pos from 0 to {count} and a positive innerpart_factor",
                of_loop(loop.name),
            )
        return _tile(self, extent, count, 0, decision, position, factor)

    @instruction(candidates=NUMBERS, probs=NUMBERS)
    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: Any = None
    ) -> Var:
        """One of several integers.

        Parameters
        ----------
        probs : the probability of each.
        decision : the place of the integer, instead of a random one.

        >>> sch = tir.Schedule(matmul_relu, seed=1)
        >>> sch.get(sch.sample_categorical([16, 64], [0.5, 0.5], decision=1))
        64
        """
        values, weights = listed(candidates, "candidates"), listed(probs, "probs")
        if not values or len(values) != len(weights):
            raise ScheduleError(
                f"{len(values)} candidates have {len(weights)} probabilities",
                "",
                "give a probability for each candidate",
            )
        numbers = [integer(value, "a candidate") for value in values]
        try:
            shares = [float(weight) for weight in weights]
        except (TypeError, ValueError):
            shares = [-1.0]
        if not all(0 <= share < math.inf for share in shares) or not sum(shares):
            raise ScheduleError(
                f"the probabilities {repr_of(weights)} are not those of a choice",
                "they must be numbers, not negative, and not all 0",
                "give weights, such as [0.5, 0.5]",
            )
        if decision is None:
            choice = self.random.weighted(shares)
        else:
            choice = integer(decision, "a decision")
            if not 0 <= choice < len(numbers):
                raise ScheduleError(
                    f"there is no candidate {choice}",
                    f"the decision is the place of one of {len(numbers)} candidates",
                    f"give a number from 0 to {len(numbers) - 1}",
                )
        assert self.changes is not None
        self.changes.decision = choice
        return self.sampled([numbers[choice]])[0]

    @instruction()
    def sample_compute_location(self, block: BlockRV | str, decision: Any = None) -> LoopRV:
        """A place for a block, as `compute_at` takes it: in a loop of its consumers, where it is,
        or inlined into them.

        Parameters
        ----------
        decision : the number of the loop from outside, among those that all consumers share; -1
            for the place where the block is, -2 for inlining. The numbers of loops around the
            block, of loops of one iteration, and of those inside of the reduction loops that come
            first, mean the place before. A block that writes a parameter stays where it is.

        >>> sch = tir.Schedule(matmul_relu, seed=1)
        >>> place = sch.sample_compute_location("C", decision=0)
        >>> sch.compute_at("C", place)
        >>> [loop.name for loop in sch.get_loops("C")]
        ['i', 'ax0', 'ax1']
        """
        key = self.block_key(block, "sample_compute_location")
        is_complete = not why_not_complete(self, key)
        is_movable = is_complete or not why_not_reduction(self, key)
        readers = consumers(self, key) if is_movable and not written_results(self, key) else []
        shared = _shared_loops(self, readers)
        choices = [-2] if readers and is_complete else []
        places, own = _places(self, readers, shared), self.loops_above(key)
        choices += [-1, *[number for number in places if shared[number] not in own]]
        if decision is None:
            location = choices[self.random.below(len(choices))]
        else:
            wanted = integer(decision, "a decision")
            before = [number for number in choices if number <= wanted]
            location = -1 if wanted < -2 else max(before, default=-1)
        assert self.changes is not None
        self.changes.decision = location
        return LoopRV(INLINE if location == -2 else ROOT if location == -1 else shared[location])

    @instruction("Begin the postprocessing")
    def enter_postproc(self) -> None:
        """Mark the place in the trace after which primitives postprocess.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.enter_postproc()
        >>> sch.trace.entries[-1].method
        'enter_postproc'
        """


def _shared_loops(schedule: ScheduleBase, readers: Sequence[BlockKey]) -> list[Var]:
    """The loops around all of some blocks, outermost first."""
    above = [schedule.loops_above(reader) for reader in readers]
    return [loop for loop in above[0] if all(loop in rest for rest in above)] if above else []


def _places(
    schedule: ScheduleBase, readers: Sequence[BlockKey], shared: Sequence[Var]
) -> list[int]:
    """The numbers of the loops that are worth while for a producer: those before a reduction loop
    that nothing parallel follows, or up to the last of the first reduction loops, between which
    there may be parallel loops of one iteration.
    """
    is_reducing = {
        number: any(not are_spatial(bound_axes(schedule.realize(key), loop)) for key in readers)
        for number, loop in enumerate(shared)
    }
    units = {
        number for number, loop in enumerate(shared) if is_const(schedule.loop(loop).extent, 1)
    }
    numbers = [number for number in is_reducing if not (is_reducing[number] and number in units)]
    end = next((number for number in numbers if is_reducing[number]), len(shared))
    for before, after in pairwise([number for number in numbers if number >= end]):
        if is_reducing[before] and not is_reducing[after]:
            end = after
        if not is_reducing[after] and after not in units:
            break
    return [number for number in numbers if number < end and number not in units]


def _count(loop: Any, n: Any) -> int:
    count = integer(n, "the number of factors")
    if not 2 <= count <= _MOST_TILES:
        raise ScheduleError(
            f"cannot tile loop {loop.name} into {count} loops",
            "",
            f"give a number of factors from 2 to {_MOST_TILES}",
            of_loop(loop.name),
        )
    return count


def _tile(
    schedule: ScheduleBase,
    extent: Any,
    count: int,
    most: int,
    decision: Any,
    position: int,
    factor: int,
) -> list[Var]:
    """Factors of an extent; those from a place on have a product that is a multiple of a factor."""
    is_possible = factor == 1 or position < count
    if (
        not isinstance(extent, IntImm)
        or extent.value < 1
        or extent.value % factor
        or not is_possible
    ):
        chosen = [-1] + [1] * (count - 1)
    elif decision is not None:
        chosen = _mended(
            [integer(number, "a decision") for number in listed(decision, "a decision")],
            extent.value,
        )
    else:
        chosen = _drawn(schedule, extent.value, count, most, position, factor)
    assert schedule.changes is not None
    schedule.changes.decision = chosen
    return schedule.sampled(chosen)


def _mended(decision: list[int], extent: int) -> list[int]:
    """Factors of an extent that are the given ones from the innermost on, as far as they divide."""
    rest, factors = extent, []
    for factor in reversed(decision[1:]):
        now = factor if factor > 0 and rest % factor == 0 else rest
        factors.append(now)
        rest //= now
    return [rest, *reversed(factors)]


def _drawn(
    schedule: ScheduleBase, extent: int, count: int, most: int, position: int, factor: int
) -> list[int]:
    """Factors of an extent, all choices being equally likely. The last is at most `most`, if that
    is positive, and the product of those from a place on is a multiple of a factor.
    """
    exponents = _exponents(extent)
    for _ in range(_MOST_DRAWS):
        factors = schedule.random.factors(exponents, count)
        if not 0 < most < factors[-1] and math.prod(factors[position:]) % factor == 0:
            return factors
    rest = [1] * (count - 1)
    return [extent, *rest] if factor == 1 else [*rest, extent]  # choices that need no luck


def _exponents(number: int) -> dict[int, int]:
    """The prime factors of a number, with their exponents; large ones are not found."""
    exponents: dict[int, int] = {}
    prime = 2
    while prime * prime <= number and prime < _MOST_PRIME:
        while number % prime == 0:
            exponents[prime] = exponents.get(prime, 0) + 1
            number //= prime
        prime += 1
    if number > 1:
        exponents[number] = 1
    return exponents
