"""Which inner loops of a block go through memory in steps of one size. Must not know any
postprocessor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Add, BufferRegion, Expr, IntImm, Mul, Var
from te_sched.ir.visitor import substitute
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.relaxation import binding_of
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule


def contiguous_loops(sch: Schedule, key: BlockKey) -> int:
    """The number of inner loops around a block that could be one loop, with one step for each
    access; loops on which an access does not depend do not matter.
    """
    loops, block = sch.loops_above(key), sch.block(key)
    extents = [loop_extent(sch, loop) for loop in loops]
    strides = _Strides(binding_of(sch.realize(key)))
    counts = [
        _contiguous(strides.of(region), loops, extents) for region in (*block.reads, *block.writes)
    ]
    return min(counts, default=len(loops))


def _contiguous(
    strides: Mapping[Var, int], loops: Sequence[Var], extents: Sequence[int | None]
) -> int:
    """The number of inner loops over which an access goes in steps of one size. A step that is not
    one element must be that of the innermost loop.
    """
    expected: int | None = None
    for depth in reversed(range(len(loops))):
        stride, extent = strides.get(loops[depth], 0), extents[depth]
        if not stride:
            continue
        is_first_step = expected is None and (stride == 1 or depth == len(loops) - 1)
        if extent is None or not (is_first_step or stride == expected):
            return len(loops) - 1 - depth
        expected = stride * extent
    return len(loops)


def copies_neighbors(sch: Schedule, key: BlockKey, loops: Sequence[Var]) -> bool:
    """Whether some inner loops around a block, in their order, go through neighboring elements of
    each access.
    """
    block, strides = sch.block(key), _Strides(binding_of(sch.realize(key)))
    for region in (*block.reads, *block.writes):
        expected, steps = 1, strides.of(region)
        for loop in reversed(loops):
            extent = loop_extent(sch, loop)
            if extent == 1:
                continue
            if extent is None or steps.get(loop, 0) != expected:
                return False
            expected *= extent
    return True


class _Strides:
    """The steps of accesses of a block.

    Parameters
    ----------
    values : the values of the iterators of the block.
    """

    def __init__(self, values: Mapping[Var, Expr]) -> None:
        self._values = values
        self._analyzer = Analyzer()
        self._known: dict[Expr, dict[Var, int]] = {}

    def of(self, region: BufferRegion) -> dict[Var, int]:
        """The number of elements between two iterations of each loop, as far as the first index of
        a region is a sum of multiples of loops.
        """
        strides: dict[Var, int] = {}
        elements = 1
        dimensions = zip(region.region, region.buffer.shape, strict=True)
        for bound, size in reversed([*dimensions]):
            for loop, factor in self._factors(bound.min).items():
                strides.setdefault(loop, factor * elements)
            if not isinstance(size, IntImm):
                break
            elements *= size.value
        return strides

    def _factors(self, index: Expr) -> dict[Var, int]:
        """The factors of loops in an index."""
        factors = self._known.get(index)
        if factors is None:
            factors = {}
            value = self._values[index] if type(index) is Var and index in self._values else None
            whole = substitute(index, dict(self._values)) if value is None else value
            for loop, factor in terms(self._analyzer.simplify(whole), 1):
                factors[loop] = factors.get(loop, 0) + factor
            self._known[index] = factors
        return factors


def terms(value: Expr, factor: int) -> Iterable[tuple[Var, int]]:
    """The variables in a sum with their factors; other parts, differences too, are left out."""
    match value:
        case Var():
            yield value, factor
        case Add():
            yield from terms(value.a, factor)
            yield from terms(value.b, factor)
        case Mul():
            for part, other in ((value.a, value.b), (value.b, value.a)):
                if isinstance(other, IntImm):
                    yield from terms(part, factor * other.value)
                    break
