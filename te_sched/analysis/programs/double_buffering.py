"""Check that loops with double buffers run serially.

Applies to lowered programs, where prefetches are marked `double_buffer_write`. The loop of a double
buffer is only known after vectorized loops and loops of one iteration are lowered. Must not know
schedules.
"""

from __future__ import annotations

from te_sched.errors import BuildError
from te_sched.ir.stmt import AttrStmt, For, PrimFunc, Stmt
from te_sched.ir.visitor import parts_of
from te_sched.wording import wording

_IN_ORDER = frozenset(("serial", "unrolled"))


def check_turns(func: PrimFunc) -> None:
    """Refuse a double buffer that several iterations would fill concurrently.

    Raises
    ------
    BuildError for the first prefetch whose innermost loop runs in parallel.
    """
    _check(func.body, None)


def _check(node: Stmt, loop: For | None) -> None:
    if type(node) is For:
        loop = node
    elif type(node) is AttrStmt and node.key == "double_buffer_write":
        if loop is not None and loop.kind not in _IN_ORDER:
            raise BuildError(
                f"cannot double-buffer {wording().memory} {node.node.name} in the {loop.kind} loop "
                f"{loop.loop_var.name}",
                "an iteration fetches the data of the next one, but the iterations run at once",
                "compute it at a serial loop of more than one iteration inside of that loop",
                where=wording().subject(node.node.name),
            )
        return
    for part in parts_of(node):
        _check(part, loop)
