"""Check that a program writes its results and temporaries before it reads them.

Proof: an earlier statement, in the same iteration of the loops around both, writes the elements
that are read (`cover`). Refutation: executed for small sizes (`uninitialized_reads`), the program
reads an element that is not written, or is written only in private memory of other threads
(`private_memory`). Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from te_sched.analysis.findings import (
    INITIALIZED,
    PROVED,
    REFUTED,
    UNPROVED,
    Finding,
    broken_rule,
)
from te_sched.analysis.programs.accesses import Access, ProgramAccesses, by_memory
from te_sched.analysis.programs.cover import FormInterval, covers_region
from te_sched.analysis.programs.private_memory import MemoryOwners
from te_sched.analysis.programs.uninitialized_reads import Missing, find_missing
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.detect import detect_linear_equation
from te_sched.arith.forms import constant, plus
from te_sched.arith.interval import Interval
from te_sched.ir import ops
from te_sched.ir.device_limits import WARP
from te_sched.ir.expr import EQ, Expr, IntImm, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.scopes import Loop, Memory, is_shared_by
from te_sched.ir.term_keys import all_same
from te_sched.ir.visitor import substitute, variables_of
from te_sched.wording import wording


def judge_initialized(program: ProgramAccesses, proved: Collection[str] = ()) -> list[Finding]:
    """Findings on whether results and temporaries are written before they are read. What is
    `proved` of a program from which passes of te_sched made this one is not searched for long.
    """
    findings = []
    for data, accesses in by_memory(program.accesses).items():
        memory = program.memory.get(data)
        reads = [access for access in accesses if not access.writes]
        if memory is not None and reads and _is_own(memory, accesses):
            findings.append(_finding(program, memory, accesses, memory.name in proved))
    return findings


def _is_own(memory: Memory, accesses: Sequence[Access]) -> bool:
    """Whether the program initializes the memory. Bodies of the user may update arguments."""
    if not memory.is_argument:
        return True
    return any(access.writes for access in accesses) and not any(
        access.by_user for access in accesses
    )


def proved_memory(findings: Iterable[Finding]) -> frozenset[str]:
    """The names of the memory that findings prove to be written before it is read."""
    return frozenset(
        finding.buffer
        for finding in findings
        if finding.kind == INITIALIZED and finding.verdict == PROVED
    )


def _finding(
    program: ProgramAccesses, memory: Memory, accesses: list[Access], is_brief: bool
) -> Finding:
    name = memory.name
    owners = MemoryOwners(memory, accesses)
    written = _written(program, memory, accesses, is_brief)
    if isinstance(written, Missing):
        element = written.text(name)
        if owners.have_parts and _is_written_by_others(program, memory, accesses):
            return _of_others(name, owners, f"a thread reads {element} and has not written it")
        return Finding(
            INITIALIZED,
            REFUTED,
            f"{wording().memory} {name} is read before it is written",
            name,
            stage=name,
            why=f"the program reads {element}, and nothing writes it before that",
            help=_advice(memory),
        )
    if owners.axes:
        written = _written(program, *owners.with_axes(memory, accesses), is_brief)
        if isinstance(written, Missing):
            which, element = owners.text(written.element), written.text(name, len(owners.axes))
            return _of_others(name, owners, f"{which} reads {element} and has not written it")
    if written:
        what = f"{name} is written before it is read"
        return Finding(INITIALIZED, PROVED, what, name, stage=name)
    if written is None and owners.have_parts and (read := _elsewhere(memory, accesses)) is not None:
        index = ", ".join(map(spelled, read.index or ()))
        why = f"it is not known which thread wrote the element that is read at [{index}]"
        return _of_others(name, owners, why)
    what = f"{name} may be read before it is written"
    why = "it is not known which elements have been written where it is read"
    return Finding(INITIALIZED, UNPROVED, what, name, stage=name, why=why)


def _advice(memory: Memory) -> str:
    advice = f"compute all of {memory.name} that is read, and before it is read"
    if memory.scope == "local" and any(loop.kind == "thread" for loop in memory.loops):
        advice += (
            f"; threads to which {wording().a_loop} of it is bound compute one element each, for "
            'themselves: with the scope "shared" they have it in common'
        )
    return advice


def _is_written_by_others(program: ProgramAccesses, memory: Memory, accesses: list[Access]) -> bool:
    """Whether an element missing in a thread would be initialized if the memory were shared."""
    loops = tuple(loop for loop in memory.loops if loop.kind != "thread")
    common = replace(memory, loops=loops, scope="shared")
    return not isinstance(find_missing(program, common, accesses), Missing)


def _elsewhere(memory: Memory, accesses: list[Access]) -> Access | None:
    """A read of an element other than the written one, if each thread writes another one."""
    written = [access.index for access in accesses if access.writes and access.index is not None]
    if not any(access.writes and _is_of_thread(memory, access) for access in accesses):
        return None
    for access in accesses:
        if access.writes:
            continue
        index = access.index
        if index is None or not any(all_same(index, other) for other in written):
            return access
    return None


def _is_of_thread(memory: Memory, write: Access) -> bool:
    """Whether the element depends on the thread that writes it."""
    analyzer = Analyzer()
    places = [
        analyzer.simplify(ops.sub(index, begin))
        for index, (begin, _) in zip(write.index or (), memory.region, strict=False)
    ]
    variables = variables_of(*places)
    return any(loop.kind == "thread" and loop.var in variables for loop in write.loops)


def _of_others(name: str, owners: MemoryOwners, why: str) -> Finding:
    whose = f"one warp of {WARP} threads" if owners.are_warps else "one thread"
    owner = "warp" if owners.are_warps else "thread"
    return broken_rule(
        name,
        f"{wording().memory} {name} is written by one {owner} and read by another",
        f"{why}: memory of this scope belongs to {whose}",
        f'give {name} the scope "shared", which all threads of a block share',
    )


def _written(
    program: ProgramAccesses, memory: Memory, accesses: Sequence[Access], is_brief: bool
) -> Missing | bool | None:
    """True if all reads are proved to follow their writes; else the result of `find_missing`."""
    filled: dict[Any, bool] = {}
    for index in _unique_reads(accesses):
        read, before = accesses[index], accesses[max(0, index - _NEAR) : index]
        if not (
            _is_filled(program, memory, accesses, read, filled)
            or _is_initialized(program, memory, before, read)
            or _is_initialized(program, memory, accesses, read)
        ):
            return find_missing(program, memory, accesses, is_brief)
    return True


_NEAR = 8  # accesses right before a read, which usually write what it reads


def _unique_reads(accesses: Sequence[Access]) -> list[int]:
    """The numbers of the reads, without duplicates."""
    kept: dict[Any, int] = {}
    for number, access in enumerate(accesses):
        if not access.writes:
            position = access.order[:-1]
            kept.setdefault((access.index, access.conditions, tuple(map(id, position))), number)
    return list(kept.values())


def _is_filled(
    program: ProgramAccesses,
    memory: Memory,
    accesses: Sequence[Access],
    read: Access,
    cache: dict[Any, bool],
) -> bool:
    """Whether all of the memory is written before a read, by the outermost writes in `cache`: those
    of most reads are the same.
    """
    groups = _earlier_writes(memory, accesses, read)
    if not groups or len(memory.shape) != len(read.index or ()):
        return False
    fixed = min(groups, key=len)
    key = fixed, tuple(groups[fixed])
    if key not in cache:
        forms = program.forms(read)
        lasts = [plus(forms.of(extent), constant(-1)) for extent in memory.shape]
        cache[key] = covers_region(
            program, groups[fixed], [Interval(({},), (last,)) for last in lasts], fixed
        )
    return cache[key]


def _is_initialized(
    program: ProgramAccesses, memory: Memory, accesses: Sequence[Access], read: Access
) -> bool:
    """Whether a read is covered by earlier writes in the same iteration of the enclosing loops."""
    conditions = [part for condition in read.conditions for part in conjuncts(condition)]
    return any(
        _writes_what_is_read(program, memory, writes, read, fixed, conditions)
        for fixed, writes in _earlier_writes(memory, accesses, read).items()
    )


def _earlier_writes(
    memory: Memory, accesses: Sequence[Access], read: Access
) -> dict[tuple[Var, ...], list[Access]]:
    """The writes before a read in the same iteration of loops around both, by these loops."""
    groups: dict[tuple[Var, ...], list[Access]] = {}
    for write in accesses:
        if write.writes and write.index is not None and len(write.index) == len(read.index or ()):
            common = _common_loops(write, read)
            if common is not None and all(loop in common for loop in memory.loops):
                write, common = _before_loops(write, common, memory)
                held_loops = [loop.var for loop in common if not is_shared_by(loop, memory)]
                groups.setdefault(tuple(held_loops), []).append(write)
    return groups


def _common_loops(write: Access, read: Access) -> tuple[Loop, ...] | None:
    """The common loops of both; None if the write does not come first in them."""
    common: list[Loop] = []
    for first, second in zip(write.order, read.order, strict=False):
        if first is second or (type(first) is int and first == second):
            if type(first) is Loop:
                common.append(first)
            continue
        if type(first) is int and type(second) is int:
            return tuple(common) if first < second else None
        return None
    return None


def _before_loops(
    write: Access, common: tuple[Loop, ...], memory: Memory
) -> tuple[Access, tuple[Loop, ...]]:
    """A write in the first iteration of some loops as one before these loops.

    Whatever comes after it in the loops is executed later, in all iterations.
    """
    loops = [loop for loop in common if loop.kind in _IN_ORDER and loop not in memory.loops]
    parts = [part for condition in write.conditions for part in conjuncts(condition)]
    first: dict[Var, Expr] = {}
    kept = []
    for part in parts:
        bindings = _first_iteration(part, loops)
        first |= bindings
        if not bindings:
            kept.append(part)
    if not first:
        return write, common
    assert write.index is not None
    moved = replace(
        write,
        index=tuple([substitute(index, first) for index in write.index]),
        sizes=tuple([substitute(size, first) for size in write.sizes]),
        conditions=tuple([substitute(condition, first) for condition in kept]),
        loops=tuple([loop for loop in write.loops if loop.var not in first]),
    )
    return moved, tuple([loop for loop in common if loop.var not in first])


_IN_ORDER = ("serial", "unrolled")


def _first_iteration(condition: Expr, loops: Sequence[Loop]) -> dict[Var, Expr]:
    """The first values of loop variables, if a condition holds for these alone: i * 4 + j == 0."""
    if type(condition) is not EQ or not isinstance(condition.b, IntImm):
        return {}
    used = variables_of(condition.a)
    inside = [loop for loop in loops if loop.var in used and isinstance(loop.min, IntImm)]
    equation = detect_linear_equation(condition.a, [loop.var for loop in inside])
    if equation is None or len(inside) != len(used) or not inside:
        return {}
    *scales, base = equation
    value = base
    for scale, loop in zip(scales, inside, strict=True):
        if not isinstance(scale, IntImm) or scale.value < 1:
            return {}
        value = ops.add(value, ops.mul(scale, loop.min))
    if not ops.is_const(ops.sub(value, condition.b), 0):
        return {}
    return {loop.var: loop.min for loop in inside}


def _writes_what_is_read(
    program: ProgramAccesses,
    memory: Memory,
    writes: Sequence[Access],
    read: Access,
    fixed: Sequence[Var],
    conditions: Sequence[Expr],
) -> bool:
    assert read.index is not None
    forms = program.forms(read)
    region: list[FormInterval] = []
    is_declared = len(memory.shape) == len(read.index)
    for dim, (index, size) in enumerate(zip(read.index, read.sizes, strict=True)):
        low, high = forms.bounds(forms.of(index), fixed)
        if low is None or high is None:
            return False
        lows, highs = [low], [plus(plus(high, forms.of(size)), constant(-1))]
        if is_declared:  # reads are within the declared shape, as checked elsewhere
            lows.append({})
            highs.append(plus(forms.of(memory.shape[dim]), constant(-1)))
        region.append(Interval(tuple(lows), tuple(highs)))
    return covers_region(program, writes, region, fixed, conditions)
