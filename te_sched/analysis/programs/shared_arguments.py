"""Arguments that may not share memory, of functions that do not promise it (`tir.noalias`).

    for i in T.vectorized(16): B[i] = A[i] + 1      A and B: the same array, or apart
    for i in T.parallel(15):   B[i] = A[i + 1]      A and B: apart
    for i in range(16):        B[i] = A[i] + 1      any arrays

Where iterations run at the same time, an element that one writes must not be an element that
another one accesses through another argument. Calls check it (`codegen.llvm.overlap`). Must not
know calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from te_sched.analysis.programs.accesses import Access, ProgramAccesses, accesses_of, by_memory
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer
from te_sched.ir.scopes import Loop, loop_of
from te_sched.ir.shared_arguments import SharedArguments
from te_sched.ir.stmt import AttrStmt, For, PrimFunc
from te_sched.ir.term_keys import all_same
from te_sched.ir.visitor import statements

_IN_ORDER = ("serial", "unrolled")
# Annotations and attributes by which loads move before the stores of earlier iterations.
_AHEAD = ("software_pipeline_stage", "double_buffer_scope")


def shared_arguments(func: PrimFunc, source: PrimFunc) -> tuple[SharedArguments, ...]:
    """The pairs of arguments of a function that must not overlap, which calls have to check.

    `source` is the function before its blocks were lowered.
    """
    buffers = {
        func.buffer_map[param].data: (number, func.buffer_map[param])
        for number, param in enumerate(func.params)
        if param in func.buffer_map
    }
    moves = _loads_ahead(source)
    if len(buffers) < 2 or not (
        moves or any(map(_is_at_once, map(loop_of, statements(func.body))))
    ):
        return ()
    program = accesses_of(func)
    touched = {data: of for data, of in by_memory(program.accesses).items() if data in buffers}
    pairs = []
    for (first, of_first), (second, of_second) in combinations(touched.items(), 2):
        conflicts = list(_conflicts(of_first, of_second, moves))
        if conflicts:
            (a, buffer), (b, other) = buffers[first], buffers[second]
            is_written = any(access.writes for access in of_first)
            may_be_same = not moves and _is_alike(buffer, other) and _are_apart(program, conflicts)
            pairs.append(SharedArguments(*((a, b) if is_written else (b, a)), may_be_same))
    return tuple(pairs)


def _loads_ahead(func: PrimFunc) -> bool:
    """Whether iterations of serial loops overlap in time."""
    return any(
        (isinstance(node, For | Block) and any(key in node.annotations for key in _AHEAD))
        or (type(node) is AttrStmt and node.key in _AHEAD)
        for node in statements(func.body)
    )


def _is_at_once(loop: Loop | None) -> bool:
    return loop is not None and loop.kind not in _IN_ORDER


def _conflicts(
    of_first: Iterable[Access], of_second: Iterable[Access], moves: bool
) -> Iterator[tuple[Access, Access, tuple[Loop, ...]]]:
    """Accesses to two arguments, one of which writes, and the loops around both whose iterations
    run at the same time.
    """
    for a in of_first:
        for b in of_second:
            if a.writes or b.writes:
                common = tuple([loop for loop in a.loops if _is_at_once(loop) and loop in b.loops])
                if common or moves:
                    yield a, b, common


def _is_alike(a: Buffer, b: Buffer) -> bool:
    """Whether equal indices are equal places, where both begin at one address."""
    return (
        a.dtype == b.dtype
        and len(a.shape) == len(b.shape)
        and len(a.strides) == len(b.strides)
        and all_same((*a.shape, *a.strides), (*b.shape, *b.strides))
    )


def _are_apart(
    program: ProgramAccesses, conflicts: Iterable[tuple[Access, Access, tuple[Loop, ...]]]
) -> bool:
    """Whether no iteration is proved to access what another one writes, if both arguments are one
    array.
    """
    for a, b, common in conflicts:
        launched = tuple([loop for loop in common if loop.is_launched])
        groups = [(loop,) for loop in common if not loop.is_launched]
        for group in [launched, *groups] if launched else groups:
            outside = a.loops[: a.loops.index(group[0])]
            if not program.are_apart(a, b, group, outside):
                return False
    return True
