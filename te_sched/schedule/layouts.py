"""Layouts: one-to-one mappings of the indices of a tensor that split, fuse and permute dimensions.

Must not know stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from te_sched.arith.index_map import bijection, substituted
from te_sched.errors import DeclarationError, ScheduleError, Where
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Range, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.visitor import substitute


@dataclass(frozen=True, slots=True, eq=False)
class LayoutMap:
    """The map of old to new indices, which have `extents`, and its inverse.

    `separators` has the number of new dimensions before each AXIS_SEPARATOR.
    """

    index_map: IndexMap
    inverse: IndexMap
    extents: tuple[IntImm, ...]
    separators: tuple[int, ...]

    def forward(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """New indices from old ones."""
        mapping = dict(zip(self.index_map.initial_indices, indices, strict=True))
        return tuple([substitute(index, mapping) for index in self.index_map.final_indices])

    def backward(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """Old indices from new ones."""
        return substituted(self.inverse, indices)


def layout_map(
    variables: tuple[Var, ...],
    extents: Sequence[Expr],
    results: tuple[Expr, ...],
    separators: tuple[int, ...],
    where: Where,
) -> LayoutMap:
    """The layout that new indices define.

    Raises
    ------
    ScheduleError if they are not a one-to-one mapping of the old indices.
    """
    for variable, extent in zip(variables, extents, strict=True):
        if not isinstance(extent, IntImm):
            raise _error(
                f"transform_layout needs constant extents, got {extent} of dimension "
                f"{variable.name}",
                "a layout gives each element one new place",
                where,
            )
    index_map = IndexMap(variables, results)
    try:
        inverse, ranges = bijection(
            index_map, [Range(IntImm(0, extent.dtype), extent) for extent in extents]
        )
    except DeclarationError as error:
        raise _error(
            "new indices of transform_layout do not map the old indices one to one",
            error.why,
            where,
        ) from None
    sizes = []
    for domain, result in zip(ranges, results, strict=True):
        if not ops.is_const(domain.min, 0) or not isinstance(domain.extent, IntImm):
            raise _error(
                f"new index {result} of transform_layout must begin at 0, begins at {domain.min}",
                "a layout gives each element one new place",
                where,
            )
        sizes.append(domain.extent)
    return LayoutMap(index_map, inverse, tuple(sizes), separators)


def _error(fault: str, why: str, where: Where) -> ScheduleError:
    return ScheduleError(
        fault,
        why,
        "split dimensions by constants that divide their extents (i // 4, i % 4), fuse them "
        "(i * 8 + j), or change their order",
        where,
    )
