"""Quotients by the sums of a softmax as products with reciprocals, of which a row has one.

    M[i] = max(X[i, k])    E[i, k] = exp(X[i, k] - M[i])    S[i] += E[i, k]

    N[i, j] = E[i, j] / S[i]      ->      N[i, j] = E[i, j] * (1.0 / S[i])

Such a sum has 1 as a term and no negative ones: its reciprocal neither overflows nor loses bits,
and a product with it differs from the quotient by an ulp at most. Processors divide ten times as
slowly as they multiply. Must not know how blocks are scheduled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.dlight.cpu.windows import nests_of
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Add, Buffer, BufferLoad, Call, Div, Expr, IterVar, Max, Range, Sub
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import ReferenceMapper, replace
from te_sched.tensorir.facts.axes import REDUCTION
from te_sched.tensorir.facts.computations import is_injective, stored
from te_sched.tensorir.updates import known_update_of


def with_reciprocals(func: PrimFunc) -> PrimFunc:
    """The function with quotients by sums that are at least 1 as products."""
    makers = {region.buffer: nest.block for nest in nests_of(func) for region in nest.block.writes}
    sums = {buffer for buffer in makers if _is_at_least_one(buffer, makers)}
    return replace(func, body=_Reciprocals(sums).visit(func.body)) if sums else func


class _Rows(NamedTuple):
    """A reduction of all elements of rows: what it reads, the dimensions of that which count rows,
    in the order of its results, and those which it reduces, with their iterators.
    """

    load: BufferLoad
    kept: list[int]
    reduced: dict[int, IterVar]


def _is_at_least_one(buffer: Buffer, makers: Mapping[Buffer, Block]) -> bool:
    """Whether a buffer has sums of the exponentials of rows less their largest elements."""
    sums = _rows_of(buffer, makers, Add)
    maker = makers.get(sums.load.buffer) if sums is not None else None
    store = stored(maker) if maker is not None and is_injective(maker) else None
    if sums is None or store is None or store.value.dtype not in ("float32", "float64"):
        return False
    value = store.value
    difference = value.args[0] if isinstance(value, Call) and value.op == "tir.exp" else None
    if not isinstance(difference, Sub):
        return False
    element, largest = difference.a, difference.b
    if not isinstance(element, BufferLoad) or not isinstance(largest, BufferLoad):
        return False
    maxima = _rows_of(largest.buffer, makers, Max)
    return (
        maxima is not None
        and maxima.load.buffer is element.buffer
        and [*map(id, element.indices)] == [*map(id, store.indices)]
        and _places(largest.indices, store.indices) == maxima.kept
        and _have_equal_extents(sums.reduced, maxima.reduced)
    )


def _rows_of(buffer: Buffer, makers: Mapping[Buffer, Block], step: type[Expr]) -> _Rows | None:
    """How a buffer is a sum or maximum of the rows of another one; None if it is not."""
    maker = makers.get(buffer)
    update = known_update_of(maker) if maker is not None and maker.init is not None else None
    if maker is None or update is None or len(update.stores) != 1:
        return None
    (source,), (result,) = update.sources, update.reducer.result
    if type(result) is not step or not isinstance(source, BufferLoad):
        return None
    axes = {axis.var: axis for axis in maker.iter_vars}
    if len({*source.indices}) != len(source.indices) or not {*source.indices} <= axes.keys():
        return None
    read = [axes[index] for index in source.indices]  # type: ignore[index]
    reduced = {at: axis for at, axis in enumerate(read) if axis.kind == REDUCTION}
    return _Rows(source, _places(update.stores[0].indices, source.indices), reduced)


def _places(indices: Sequence[Expr], all_indices: Sequence[Expr]) -> list[int]:
    """Where some indices stand among others; -1 for one that does not."""
    order = {id(index): number for number, index in enumerate(all_indices)}
    return [order.get(id(index), -1) for index in indices]


def _have_equal_extents(first: Mapping[int, IterVar], second: Mapping[int, IterVar]) -> bool:
    """Whether two reductions have the same dimensions and steps."""
    domains = [(axis.dom, second[at].dom) for at, axis in first.items() if at in second]
    return first.keys() == second.keys() and all(
        a is not None and b is not None and _is_equal(a, b) for a, b in domains
    )


def _is_equal(a: Range, b: Range) -> bool:
    analyzer = Analyzer()
    return analyzer.can_prove_equal(a.min, b.min) and analyzer.can_prove_equal(a.extent, b.extent)


class _Reciprocals(ReferenceMapper):
    """Multiplies by the reciprocals of elements of some buffers."""

    def __init__(self, divisors: set[Buffer]) -> None:
        self.divisors = divisors

    def visit_Div(self, node: Div) -> Expr:
        new: Div = self.generic(node)
        if not isinstance(new.b, BufferLoad) or new.b.buffer not in self.divisors:
            return new
        return ops.mul(new.a, ops.div(ops.const(1.0, new.dtype), new.b))
