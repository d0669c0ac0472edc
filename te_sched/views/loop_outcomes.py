"""Outcomes of loops: those that a schedule vectorizes or parallelizes, but that are serial in the
program that runs, with the reason and a remedy.

Must not know lines or pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from te_sched import config
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import TeSchedError
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.expr import Call, Expr
from te_sched.ir.scopes import scoped
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import statements, variables_of
from te_sched.lowering.pipeline import run_passes
from te_sched.lowering.statements import binds_threads, nodes_of
from te_sched.lowering.vectorize_loops import (
    Obstacle,
    VectorizedLoop,
    has_vector_form,
    vectorized_loops,
)

Text = Callable[[Expr], str]

# Statements of bodies that always have a vector form, if their expressions do.
_PLAIN = (S.BufferStore, S.SeqStmt, S.BufferRealize, S.LetStmt)
_CALLS = frozenset((Call,))
_OTHER_LOOP = "vectorize a loop that it does not depend on"
# Of each kind of obstacle the reason, and a remedy.
_TEXTS = {
    "condition": (
        "the condition {part} differs between its iterations",
        f"use a factor that divides the extent, so that there is no condition, or {_OTHER_LOOP}",
    ),
    "choice": (
        "if_then_else chooses by {part}, which differs between its iterations",
        f"{_OTHER_LOOP}, or use tir.Select where both values may be computed",
    ),
    "call": ("{part} takes no vectors", "vectorize a loop without the call"),
    "extent": (
        "{part}, an extent inside of it, differs between its iterations",
        "vectorize the innermost loop",
    ),
    "index": (
        "{part} is the index of an outer dimension",
        "vectorize the loop of the last dimension",
    ),
    "loop": (
        "its iterations leave a while loop at different times",
        "vectorize a loop inside of the while loop",
    ),
    "vectors": ("its statements are vectors of another loop", "vectorize one of the loops"),
}
_SWITCHED_OFF = "vectorization is switched off", "leave out tir.disable_vectorize"
_INSIDE_PARALLEL = (
    "the parallel loop {part} around it has all threads",
    "fuse the loops, or parallelize one of them",
)
_INSIDE_THREADS = "a thread of the GPU runs it alone", "bind it to threads"


class LoopOutcome(NamedTuple):
    """A loop that is serial, or `is_partial`, serial in some of its iterations or statements."""

    is_partial: bool
    why: str
    help: str


@walks_deeply("show loops")
def serial_loops(func: PrimFunc, text: Text) -> dict[S.Stmt, LoopOutcome]:
    """The vectorized and parallel loops of a function that are serial when it runs; `text` shows an
    expression.
    """
    outcomes = dict(_inside_parallel(func, text))
    loops = [
        node for node in statements(func.body) if type(node) is S.For and node.kind == "vectorized"
    ]
    if not any(map(_may_be_serial, loops)):
        return outcomes
    switches = config.current()
    if not switches.lowering.vectorize:
        return outcomes | {loop: LoopOutcome(False, *_SWITCHED_OFF) for loop in loops}
    try:
        results = _vectorized(func)
    except TeSchedError:  # which lowering or building reports
        return outcomes
    for loop in loops:
        outcome = _outcome(loop, [copy for copy in results if _is_copy(copy.loop, loop)], text)
        if outcome is not None:
            outcomes[loop] = outcome
    return outcomes


def _inside_parallel(func: PrimFunc, text: Text) -> Iterator[tuple[S.Stmt, LoopOutcome]]:
    """The parallel loops inside of others, or of threads of a GPU."""
    for node, scope in scoped(func.body):
        if type(node) is not S.For or node.kind != "parallel":
            continue
        outer = next((loop for loop in scope.loops if loop.kind == "parallel"), None)
        if outer is not None:
            why, remedy = _INSIDE_PARALLEL
            yield node, LoopOutcome(False, why.format(part=text(outer.var)), remedy)
        elif any(loop.is_launched for loop in scope.loops):
            yield node, LoopOutcome(False, *_INSIDE_THREADS)


def _may_be_serial(loop: S.For) -> bool:
    """Whether the body has something that may have no vector form."""
    for node in statements(loop.body):
        if type(node) is BlockRealize:
            if not ops.is_const(node.predicate, 1):
                return True
        elif type(node) not in _PLAIN:
            return True
    return any(not has_vector_form(call, True) for call in nodes_of(loop.body, _CALLS))


def _vectorized(func: PrimFunc) -> list[VectorizedLoop]:
    """What becomes of the vectorized loops when the function is built: their copies, if loops are
    cut at guards.
    """
    switches = config.current()
    is_cut = not binds_threads(func.body)
    to_run = replace(switches.lowering, partition_for_speed=is_cut, to_run=True)
    cut = run_passes(func, replace(switches, lowering=to_run), "partition_loops")
    return vectorized_loops(cut, to_run)


def _is_copy(copy: S.For, loop: S.For) -> bool:
    """Whether a loop of the cut program is a part of a loop: passes keep names."""
    stored, others = _stored(copy), _stored(loop)
    is_same = bool(stored & others) or not (stored or others)
    return copy.loop_var.name == loop.loop_var.name and is_same


def _stored(loop: S.For) -> set[str]:
    return {node.buffer.data.name for node in statements(loop.body) if type(node) is S.BufferStore}


def _outcome(loop: S.For, copies: list[VectorizedLoop], text: Text) -> LoopOutcome | None:
    obstacles = [obstacle for copy in copies for obstacle in copy.obstacles]
    if not obstacles:
        return None
    first = obstacles[0]
    why, remedy = _TEXTS[first.kind]
    part = _original(first, loop)
    shown = "" if part is None else text(part)
    is_partial = not all(copy.is_serial for copy in copies)
    return LoopOutcome(is_partial, why.format(part=shown), remedy)


def _original(obstacle: Obstacle, loop: S.For) -> Expr | None:
    """The expression of an obstacle as scheduled, if it is a condition that passes rewrote."""
    if obstacle.kind == "condition":
        for node in statements(loop.body):
            if type(node) is S.IfThenElse and loop.loop_var in variables_of(node.condition):
                return node.condition
    return obstacle.part
