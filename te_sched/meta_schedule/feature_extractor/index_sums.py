"""Indices as sums of loop variables with integer factors, for features of programs.

    (i_0 * 8 + i_1) // 4   ->   2 * i_0 + 1 * (i_1 // 4)

Quotients, remainders and other functions that are not linear are parts of a sum. Must not know
statements or buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from te_sched.ir.storage_scopes import StorageScope

UNKNOWN = 1 << 40  # the bound of a value of which none is known


class LoopLevel:
    """A loop around stores.

    Parameters
    ----------
    extent : its number of iterations, 1 if it is not constant.
    depth : the number of loops around it.
    kind : "serial", "parallel", "vectorized", "unrolled" or "thread_binding".
    tag : of threads, such as "threadIdx.x".
    """

    __slots__ = ("depth", "extent", "kind", "tag", "touched", "touches")

    def __init__(self, extent: int, depth: int, kind: str, tag: str = "") -> None:
        self.extent, self.depth, self.kind, self.tag = extent, depth, kind, tag
        # What the stores so far touch in all iterations: bytes, and how many touch a buffer.
        self.touched = 0
        self.touches: dict[Any, int] = {}

    def varies(self, depth: int, scope: StorageScope | None) -> bool:
        """Whether it is among the loops from a depth inwards and the threads that have memory of a
        scope in common.
        """
        if self.depth >= depth:
            return True
        return scope is not None and bool(self.tag) and scope.is_common(self.tag)


class NonlinearTerm(NamedTuple):
    """A function of sums: "//" or "%" (by `divisor`), "min", "max", or "?" (unknown)."""

    kind: str
    operands: tuple[IndexSum, ...]
    divisor: int
    key: object  # equal parts have equal keys

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NonlinearTerm) and self.key == other.key


class IndexSum(NamedTuple):
    """The sum of a number and of scaled loop variables and parts."""

    base: int
    terms: dict[LoopLevel | NonlinearTerm, int]


def constant(value: int) -> IndexSum:
    """The form of a number."""
    return IndexSum(value, {})


def variable(loop: LoopLevel) -> IndexSum:
    """The form of a loop variable that begins at 0."""
    return IndexSum(0, {loop: 1})


def plus(a: IndexSum, b: IndexSum, factor: int = 1) -> IndexSum:
    """a + factor * b"""
    if not b.terms:
        return IndexSum(a.base + factor * b.base, a.terms)
    terms = dict(a.terms)
    for term, scale in b.terms.items():
        new = terms.get(term, 0) + factor * scale
        if new:
            terms[term] = new
        else:
            terms.pop(term, None)
    return IndexSum(a.base + factor * b.base, terms)


def times(a: IndexSum, factor: int) -> IndexSum:
    """a * factor"""
    if factor == 0:
        return constant(0)
    return IndexSum(a.base * factor, {term: scale * factor for term, scale in a.terms.items()})


def part(
    kind: str, operands: tuple[IndexSum, ...], divisor: int = 0, key: object = None
) -> IndexSum:
    """The form of a part; unknown ones are told apart by `key`."""
    keys = tuple([(operand.base, frozenset(operand.terms.items())) for operand in operands])
    return IndexSum(0, {NonlinearTerm(kind, operands, divisor, (kind, keys, divisor, key)): 1})


def floor_divided(a: IndexSum, divisor: int) -> IndexSum:
    """a // divisor"""
    whole, rest = _split(a, divisor)
    low, last = bounds(rest)
    if low >= 0 and last < divisor:
        return whole
    digit = _digit(rest, divisor)
    if digit is None:
        return plus(whole, part("//", (rest,), divisor))
    return plus(whole, floor_divided(digit[1], divisor // digit[0]))


def remainder(a: IndexSum, divisor: int) -> IndexSum:
    """a % divisor"""
    _, rest = _split(a, divisor)
    low, last = bounds(rest)
    if low >= 0 and last < divisor:
        return rest
    digit = _digit(rest, divisor)
    if digit is None:
        return part("%", (rest,), divisor)
    scale, high, below = digit
    return plus(below, remainder(high, divisor // scale), scale)


def _split(a: IndexSum, divisor: int) -> tuple[IndexSum, IndexSum]:
    """The multiple of a divisor in a sum, divided, and the rest."""
    whole = {term: scale // divisor for term, scale in a.terms.items() if scale % divisor == 0}
    rest = {term: scale for term, scale in a.terms.items() if scale % divisor}
    return IndexSum(a.base // divisor, whole), IndexSum(a.base % divisor, rest)


def _digit(a: IndexSum, divisor: int) -> tuple[int, IndexSum, IndexSum] | None:
    """A sum as scale * high + low with a low from 0 to scale - 1 and a scale of the divisor."""
    for scale in sorted({abs(factor) for factor in a.terms.values()}, reverse=True):
        if scale > 1 and divisor % scale == 0:
            high, below = _split(a, scale)
            low, last = bounds(below)
            if high.terms and low >= 0 and last < scale:
                return scale, high, below
    return None


def bounds(a: IndexSum, depth: int = 0, scope: StorageScope | None = None) -> tuple[int, int]:
    """The least and the largest value over the loops from a depth inwards, and threads that have
    memory of a scope in common; the other loops are in their first iteration."""
    low = last = a.base
    for term, scale in a.terms.items():
        if type(term) is NonlinearTerm:
            ends = [scale * end for end in _part_bounds(term, depth, scope)]
            low, last = low + min(ends), last + max(ends)
        elif term.varies(depth, scope):  # type: ignore[union-attr]
            span = scale * (term.extent - 1)  # type: ignore[union-attr]
            low, last = (low, last + span) if scale > 0 else (low + span, last)
    return low, last


def _part_bounds(term: NonlinearTerm, depth: int, scope: StorageScope | None) -> tuple[int, int]:
    inside = [bounds(operand, depth, scope) for operand in term.operands]
    if term.kind == "//":
        return inside[0][0] // term.divisor, inside[0][1] // term.divisor
    if term.kind == "%":
        low, last = inside[0]
        if low // term.divisor == last // term.divisor:
            return low % term.divisor, last % term.divisor
        return 0, term.divisor - 1
    if term.kind in ("min", "max"):
        choose = min if term.kind == "min" else max
        return choose(low for low, _ in inside), choose(last for _, last in inside)
    return 0, UNKNOWN


def bounds_by_depth(a: IndexSum, loops: tuple[LoopLevel, ...]) -> list[tuple[int, int]]:
    """`bounds` for each depth from 0 to the number of loops."""
    if any([type(term) is NonlinearTerm for term in a.terms]):
        return [bounds(a, depth) for depth in range(len(loops) + 1)]
    low = last = a.base
    intervals = [(low, last)]
    terms: Any = a.terms
    for loop in reversed(loops):
        scale = terms.get(loop)
        if scale is not None:
            span = scale * (loop.extent - 1)
            low, last = (low, last + span) if scale > 0 else (low + span, last)
        intervals.append((low, last))
    intervals.reverse()
    return intervals


def loops_of(a: IndexSum) -> Iterator[LoopLevel]:
    """The loops whose variables a sum has."""
    for term in a.terms:
        if type(term) is NonlinearTerm:
            for operand in term.operands:
                yield from loops_of(operand)
        else:
            yield term  # type: ignore[misc]


def stride(a: IndexSum, loop: LoopLevel) -> int:
    """By how much a sum grows from the first iteration of a loop to the second."""
    step = 0
    for term, scale in a.terms.items():
        if term is loop:
            step += scale
        elif type(term) is NonlinearTerm and any(
            level is loop for level in loops_of(IndexSum(0, {term: 1}))
        ):
            step += scale * (_value(term, loop) - _value(term, None))
    return step


def _value(part_term: NonlinearTerm, loop: LoopLevel | None) -> int:
    """The value of a part where a loop is in its second iteration, the others in their first."""
    inside = []
    for operand in part_term.operands:
        value = operand.base
        for term, scale in operand.terms.items():
            value += scale * (
                _value(term, loop) if type(term) is NonlinearTerm else int(term is loop)
            )
        inside.append(value)
    if part_term.kind == "//":
        return inside[0] // part_term.divisor
    if part_term.kind == "%":
        return inside[0] % part_term.divisor
    if part_term.kind in ("min", "max"):
        return min(inside) if part_term.kind == "min" else max(inside)
    return sum(inside)


def moved(a: IndexSum, low: int, depth: int, scope: StorageScope | None) -> IndexSum:
    """A sum in which the loops that `bounds` holds fixed are in their first iteration, less a
    number."""
    base, terms = a.base - low, {}
    for term, scale in a.terms.items():
        if any([loop.varies(depth, scope) for loop in loops_of(IndexSum(0, {term: 1}))]):
            terms[term] = scale
        elif type(term) is NonlinearTerm:
            base += scale * _value(term, None)
    return IndexSum(base, terms)


def operations(a: IndexSum) -> tuple[int, int, int]:
    """Additions, multiplications and divisions of a sum."""
    adds = max(0, len(a.terms) + (a.base != 0) - 1)
    products, quotients = 0, 0
    for term, scale in a.terms.items():
        products += scale not in (1, -1)
        if type(term) is NonlinearTerm:
            quotients += term.kind in ("//", "%")
            for operand in term.operands:
                more = operations(operand)
                adds, products, quotients = adds + more[0], products + more[1], quotients + more[2]
    return adds, products, quotients
