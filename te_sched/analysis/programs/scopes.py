"""Check that the lifetime of memory in thread and block scopes covers its uses.

Shared memory belongs to a block, registers to a thread. Memory allocated outside of the blocks and
used in them violates this. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.analysis.findings import Finding, broken_rule
from te_sched.analysis.programs.accesses import Access, ProgramAccesses
from te_sched.ir.expr import Var
from te_sched.ir.kernel import launched
from te_sched.ir.scopes import Memory
from te_sched.ir.visitor import variables_of
from te_sched.wording import wording


def judge_scopes(program: ProgramAccesses) -> list[Finding]:
    """Findings about memory of a block or thread that is used by several of them."""
    findings: dict[Var, Finding] = {}
    launches = launched(program.func.body)
    threads = {var: tag for var, tag in launches.items() if tag.startswith("threadIdx")}
    for access in program.accesses:
        memory = program.memory.get(access.data)
        if memory is not None and access.data not in findings:
            finding = (
                _outliving(memory, access)
                or _too_early(program, memory, access)
                or _of_one_thread(memory, threads)
            )
            if finding is not None:
                findings[access.data] = finding
    return list(findings.values())


def _outliving(memory: Memory, access: Access) -> Finding | None:
    """A finding about memory that is allocated outside of the kernels that use it."""
    if memory.is_in_kernel or memory.storage.owner not in ("block", "warp", "thread"):
        return None
    axes = [loop.tag for loop in access.loops if loop.kind in ("block", "thread")]
    if not axes:
        return None
    name = memory.name
    whose = "a thread" if memory.storage.owner == "thread" else "a block"
    return broken_rule(
        name,
        f'{wording().memory} {name} in scope "{memory.scope}" is allocated outside of the kernels '
        "that use it",
        f"memory of this scope belongs to {whose} and ends with it, and {name} is allocated "
        f"outside of the loops over {' and '.join(axes)}",
        f"compute {name} inside of them: compute_at, below the {wording().loop} that is bound to "
        f'{axes[0]}; or leave it in scope "global"',
    )


def _too_early(program: ProgramAccesses, memory: Memory, access: Access) -> Finding | None:
    """A finding about memory of a virtual thread that is written outside of its loop."""
    if not access.writes or memory.storage.owner != "thread":
        return None
    value = () if access.store is None else (access.store.value,)
    extents = [loop.extent for loop in access.loops]
    exprs = (*(access.index or ()), *access.conditions, *extents, *value)
    used = variables_of(*exprs).difference(loop.var for loop in access.loops)
    tags = [loop.tag for loop in program.loops if loop.kind == "virtual" and loop.var in used]
    if not tags:
        return None
    name, tag = memory.name, tags[0]
    return broken_rule(
        name,
        f"{wording().memory} {name} depends on {tag} but is computed outside of the loop over it",
        f'memory of scope "{memory.scope}" belongs to one {tag}, which is not known there',
        f"compute {name} at the {wording().loop} that is bound to {tag} or inside of it; or leave "
        'it in scope "global"',
    )


def _of_one_thread(memory: Memory, threads: Mapping[Var, str]) -> Finding | None:
    """A finding about memory of a block of which each thread needs another region."""
    if memory.storage.owner != "block":
        return None
    parts = variables_of(*[end for bounds in memory.region for end in bounds])
    tags = sorted({threads[part] for part in parts if part in threads})
    if not tags:
        return None
    name = memory.name
    return broken_rule(
        name,
        f'{wording().memory} {name} in scope "{memory.scope}" depends on {tags[0]}, which is bound '
        "inside of it",
        f"memory of this scope belongs to a block, and {tags[0]} decides which part of {name} it "
        "holds",
        f"bind the {wording().loop} to {tags[0]} outside of where {name} is computed (reorder), or "
        f"compute {name} inside of it",
    )
