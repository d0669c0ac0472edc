"""What a reduction block computes: its stores, its reducer, and the values that it combines.

Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from te_sched.arith.reducers import find_reducer
from te_sched.ir import dtypes
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Add, Buffer, BufferLoad, CommReducer, Expr, IntImm, Max, Min, Mul, Var
from te_sched.ir.stmt import BufferStore, LetStmt, SeqStmt, Stmt
from te_sched.ir.structural import plain_of, structural_equal
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Mapper, substitute, walk
from te_sched.tensorir.blocks import buffers_of
from te_sched.tensorir.facts.axes import REDUCTION
from te_sched.tensorir.state import sequence

# Makes the error of a fault, a reason and help.
Refusal = Callable[[str, str, str], Exception]


class Update(NamedTuple):
    """The update of a block: stores in the order of its writes, its reducer, and its sources."""

    stores: list[BufferStore]
    reducer: CommReducer
    sources: tuple[Expr, ...]

    def combined(self, results: Sequence[BufferLoad], sources: Sequence[Expr]) -> Stmt:
        """Store results combined with sources, which may be others than those of the block."""
        pairs: dict[Var, Expr] = {
            **dict(zip(self.reducer.lhs, results, strict=True)),
            **dict(zip(self.reducer.rhs, sources, strict=True)),
        }
        values = [substitute(result, pairs) for result in self.reducer.result]
        if len(values) == 1:
            return stores_to(results, values)
        names = [Var(f"v_{load.buffer.name}", load.dtype) for load in results]
        body = stores_to(results, names)
        for name, value in zip(reversed(names), reversed(values), strict=True):
            body = LetStmt(name, value, body)
        return body


def stores_to(places: Sequence[BufferLoad], values: Sequence[Expr]) -> Stmt:
    """Stores of values to the places of elements."""
    pairs = zip(places, values, strict=True)
    return sequence(*[BufferStore(store.buffer, value, store.indices) for store, value in pairs])


def update_of(block: Block, refused: Refusal) -> Update:
    """The update of a block with `T.init()`, which begins with a value that changes no result;
    `refused` makes the error where there is none.
    """
    update = any_update_of(block, refused)
    reducer = update.reducer
    for result, identity in zip(reducer.result, reducer.identity, strict=True):
        neutral = NEUTRAL.get(type(result))
        start = plain_of(identity)
        if neutral is not None and (isinstance(start, Expr) or start != neutral):
            raise refused(
                f"its initial value is {identity}",
                "each partial result would begin with it",
                f"initialize with {neutral}, and add or multiply afterwards",
            )
    return update


def known_update_of(block: Block) -> Update | None:
    """The update of a block; None where `update_of` refuses it."""
    try:
        return update_of(block, _UnknownStepError)
    except _UnknownStepError:
        return None


def any_update_of(block: Block, refused: Refusal) -> Update:
    """The update of a block with `T.init()`, which may begin with any value."""
    stores, starts, values = _parts(block, refused)
    results = [BufferLoad(store.buffer, store.indices) for store in stores]
    reduction = find_reducer(results, starts, values)
    if reduction is None:
        raise refused(
            "its update is not a known commutative reduction",
            "partial results are combined in any order",
            "use a sum, product, minimum or maximum, or a choice by a comparison",
        )
    return Update(stores, *reduction)


def step_of(block: Block) -> CommReducer | None:
    """One instance of a block with `T.init()`: of its results so far, and of everything that it
    reads, whether or not the two commute. None if its body is not a store for each result.
    """

    try:
        stores, starts, values = _parts(block, _UnknownStepError)
    except _UnknownStepError:
        return None
    results = [BufferLoad(store.buffer, store.indices) for store in stores]
    reduced = {axis.var for axis in block.iter_vars if axis.kind == REDUCTION}
    step = _AccumulationStep(results, reduced)
    combined = tuple([step.visit(value) for value in values])
    return CommReducer(tuple(step.totals), tuple(step.inputs), combined, tuple(starts))


def may_be_repeated(block: Block) -> bool:
    """Whether a second execution of an instance changes nothing: one without `T.init()` reads
    nothing of what it writes, or has the maximum or minimum of its result and of other values.
    """
    if block.init is not None:
        return False
    written = {*buffers_of(block.writes)}
    if not written & {*buffers_of(block.reads)}:
        return True
    store = block.body
    if type(store) is not BufferStore:
        return False
    value, own = store.value, BufferLoad(store.buffer, store.indices)
    if type(value) not in (Max, Min):
        return False
    first, second = (value.a, value.b) if same(value.a, own) else (value.b, value.a)  # type: ignore[attr-defined]
    loads = [node for node in walk(second) if type(node) is BufferLoad]
    return same(first, own) and all(load.buffer not in written for load in loads)


class _UnknownStepError(Exception):
    pass


class _AccumulationStep(Mapper):
    """Replaces results by totals, and other elements and reduction iterators by inputs."""

    def __init__(self, results: Sequence[BufferLoad], reduced: set[Var]) -> None:
        self.results, self.reduced = results, reduced
        self.totals = [Var("total", load.dtype) for load in results]
        self.sources: list[Expr] = []
        self.inputs: list[Var] = []

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        for result, total in zip(self.results, self.totals, strict=True):
            if same(node, result):
                return total
        return self._input(node)

    def visit_Var(self, node: Var) -> Expr:
        if node in self.reduced:
            return self._input(node)
        return IntImm(1, node.dtype) if dtypes.counts(node.dtype) else node

    def _input(self, node: Expr) -> Var:
        for source, variable in zip(self.sources, self.inputs, strict=True):
            if same(node, source):
                return variable
        self.sources.append(node)
        self.inputs.append(Var("input", node.dtype))
        return self.inputs[-1]


def _parts(block: Block, refused: Refusal) -> tuple[list[BufferStore], list[Expr], list[Expr]]:
    """The stores of an update in the order of the block's writes, the initial values, and the
    updated ones.
    """
    assert block.init is not None
    starts = {assignment.buffer: assignment for assignment in _stores(block.init, refused)}
    lets: dict[Var, Expr] = {}
    body = block.body
    while type(body) is LetStmt:
        lets[body.var] = substitute(body.value, lets)
        body = body.body
    updates = {assignment.buffer: assignment for assignment in _stores(body, refused)}
    _check_bound(updates, lets, refused)
    order = [region.buffer for region in block.writes if region.buffer in updates]
    stores = [updates[buffer] for buffer in order]
    if updates.keys() != starts.keys() or len(order) != len(updates):
        raise refused(
            "it does not update the elements that it initializes", "",
            "store to the same buffers in `T.init()` and after it",
        )  # fmt: skip
    indices = stores[0].indices
    for store in (*stores, *starts.values()):
        if len(store.indices) != len(indices) or not all(
            same(a, b) for a, b in zip(store.indices, indices, strict=True)
        ):
            raise refused(
                "it initializes and updates different elements", "",
                "use the same indices in `T.init()` and after it",
            )  # fmt: skip
    values = [substitute(assignment.value, lets) for assignment in stores]
    return stores, [starts[buffer].value for buffer in order], values


def _check_bound(
    updates: Mapping[Buffer, BufferStore], lets: Mapping[Var, Expr], refused: Refusal
) -> None:
    """Refuse several results that are not computed before the first of them is stored, or that have
    different shapes.
    """
    if len(updates) < 2:
        return
    for store in updates.values():
        if type(store.value) is not Var or store.value not in lets:
            raise refused(
                f"{store.buffer.name} is stored without a variable for its value",
                "the values of several results must be known before the first is stored",
                "bind each to a variable: v: T.float32 = T.max(B[vi], A[vi, vk])",
            )
    first, *others = updates
    for other in others:
        if not structural_equal(other.shape, first.shape):
            raise refused(
                f"its results {first.name} and {other.name} have different shapes", "",
                "use buffers of one shape for the results of a reduction",
            )  # fmt: skip


# What changes no result; minima, maxima and choices may begin with any value several times.
NEUTRAL: dict[type, int] = {Add: 0, Mul: 1}


def _stores(statement: Stmt, refused: Refusal) -> Sequence[BufferStore]:
    parts = statement.seq if type(statement) is SeqStmt else (statement,)
    stores = [
        statement
        for statement in parts
        if type(statement) is BufferStore and statement.predicate is None
    ]
    if len(stores) != len(parts) or len({store.buffer for store in stores}) != len(stores):
        raise refused(
            "its body is not a store for each result",
            "the values that are combined must be known",
            "store each result once, and use blocks of their own for other statements",
        )
    return stores
