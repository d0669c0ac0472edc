"""The words of messages for the kind of program that they are about.

A schedule of tensor expressions has stages and axes, and is written with `te.`; a program of
TensorIR has buffers, blocks and loops, and is written with `T.`. What is common to both, such as a
check of races, asks `wording()`. Must not know programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from te_sched.errors import Subject


class Wording(NamedTuple):
    """The words for one kind of program.

    `memory` is what holds elements and is named in messages, `computation` what computes them,
    `loop` a loop, `module` the module of functions. The others are advice, some about a `{}`.
    """

    memory: str
    computation: str
    loop: str
    a_loop: str
    loops: str
    module: str
    loops_of: str
    guard: str
    guard_write: str
    wide_sizes: str
    bind: str
    grain: str
    conditions: str
    iteration: str
    power: str
    operands: str
    elements: str
    without_threads: str

    def subject(self, name: str) -> Subject:
        """What holds elements, as the subject of an error.

        >>> str(BLOCKS.subject("C"))
        'buffer C'
        """
        return Subject(self.memory, name)

    def computing(self, name: str) -> Subject:
        """The computation of what holds elements, as the subject of an error.

        >>> str(STAGES.computing("C")), str(BLOCKS.computing("C"))
        ('stage C', 'the computation of buffer C')
        """
        is_same = self.memory == self.computation
        return Subject(self.memory, name, "" if is_same else f"the computation of buffer {name}")


STAGES = Wording(
    memory="stage",
    computation="stage",
    loop="axis",
    a_loop="an axis",
    loops="axes",
    module="te",
    loops_of="the loops of stage {}",
    guard="te.if_then_else(te.all(...), {}[...], 0.0)",
    guard_write="te.if_then_else(te.all(...), {}[...], 0.0)",
    wide_sizes="te.var(name, dtype='int64')",
    bind='bind axes of stage {} to te.thread_axis("blockIdx.x") and "threadIdx.x", or attach it to '
    "a stage that is bound (compute_at, compute_inline)",
    grain="s[C].pragma(axis, 'parallel_grain', 64)",
    conditions="use te.if_then_else, te.all, te.any, te.not_, te.min or te.max; for statements of "
    "an ir_builder, `with ib.if_scope(condition):`",
    iteration="use te.reduce_axis with te.sum, te.max or te.min for a loop",
    power="te.power",
    operands="numbers, axes, variables and elements of tensors",
    elements="for elements, te_sched.topi for whole tensors",
    without_threads="use parallel() or vectorize() in place of bind() for llvm",
)
BLOCKS = Wording(
    memory="buffer",
    computation="block",
    loop="loop",
    a_loop="a loop",
    loops="loops",
    module="T",
    loops_of="the loops around the block of {}",
    guard="T.if_then_else(condition, {}[...], T.float32(0))",
    guard_write="if condition: {}[...] = ...",
    wide_sizes="n = T.int64()",
    bind='bind the loops around its block with sch.bind(loop, "blockIdx.x") and "threadIdx.x", or '
    'T.thread_binding(n, thread="blockIdx.x"); or move the block into loops that are bound '
    "(compute_at, compute_inline)",
    grain='sch.annotate(loop, "pragma_parallel_grain", 64)',
    conditions="use `and`, `or` and `not` in the script itself, T.if_then_else, T.min or T.max",
    iteration="write a loop of the program: for i in range(n)",
    power="T.pow",
    operands="numbers, variables and elements of buffers",
    elements="for elements of buffers",
    without_threads="use T.parallel or T.vectorized in place of T.thread_binding (sch.parallel, "
    'sch.vectorize in place of sch.bind), or build for target "cuda"',
)
_CURRENT: ContextVar[Wording] = ContextVar("wording", default=STAGES)


def wording() -> Wording:
    """The words for the program in question.

    >>> wording().memory
    'stage'
    """
    return _CURRENT.get()


@contextmanager
def worded(words: Wording) -> Iterator[None]:
    """Use these words in messages.

    >>> with worded(BLOCKS):
    ...     wording().module
    'T'
    """
    token = _CURRENT.set(words)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def by_name(name: str) -> Subject:
    """A computation by its name, as the subject of an error."""
    return wording().computing(name)


def words_for(functions: Iterable[Any]) -> Wording:
    """The words for functions: those of stages where a schedule of tensors has made them all."""
    origins = {getattr(func, "origin", "") for func in functions}
    return STAGES if origins <= {"schedule", "kernel"} else BLOCKS
