"""Variables that a function uses and does not define, and the error that names them.

A missing input is such a variable: the memory of a buffer. Must not know targets.
"""

from __future__ import annotations

from collections.abc import Collection

from te_sched.errors import BuildError
from te_sched.ir.expr import BufferLoad, Let, Var
from te_sched.ir.stmt import Allocate, AttrStmt, BufferStore, For, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import walk

_THREADS = ("threadIdx", "blockIdx", "vthread", "cthread")


def free_variables(statement: Stmt) -> set[Var]:
    """Variables that a statement uses and does not define."""
    used: set[Var] = set()
    own: set[Var] = set()
    for node in walk(statement):
        kind = type(node)
        if kind is Var:
            used.add(node)
        elif kind is BufferLoad or kind is BufferStore:
            used.add(node.buffer.data)
        elif kind is AttrStmt and node.key == "thread_extent":
            own.add(node.node.var)
        elif kind is For:
            own.add(node.loop_var)
        elif kind is LetStmt or kind is Let:
            own.add(node.var)
        elif kind is Allocate:
            own.add(node.buffer_var)
    return used - own


def arguments_of(func: PrimFunc) -> dict[Var, None]:
    """The parameters, or the memory of their buffers, then the variables of shapes and strides."""
    buffers = func.buffer_map
    variables = dict.fromkeys(
        buffers[param].data if param in buffers else param for param in func.params
    )
    for buffer in buffers.values():
        for dimension in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            variables |= dict.fromkeys(part for part in walk(dimension) if type(part) is Var)
    return variables


def missing_arguments(func: PrimFunc, name: str) -> BuildError | None:
    """The error about buffers that a function accesses and does not receive; None without any."""
    free = free_variables(func.body) - arguments_of(func).keys()
    missing = sorted(var.name for var in free if var.pointer is not None)
    if not missing:
        return None
    same = {buffer.name for buffer in func.buffer_map.values()}.intersection(missing)
    names = ", ".join(missing)
    return BuildError(
        f"function {name!r} accesses {names}, which {'are' if missing[1:] else 'is'} not among "
        "its arguments",
        f"its argument {min(same)} is another tensor of the same name" if same else "",
        f"add {names} to the arguments",
    )


def unbound_error(func: PrimFunc, name: str, unbound: Collection[Var]) -> BuildError:
    """The error about variables without a value: about missing buffers if there are any, whose
    shapes may define the variables.
    """
    error = missing_arguments(func, name)
    if error is not None:
        return error
    names = ", ".join(sorted(var.name for var in unbound))
    if names.startswith(_THREADS):
        help = "bind an axis to this thread and build for a device; a CPU has no such threads"
    else:
        help = f"add {names} to the arguments; the variable of a loop has values inside of it only"
    fault = f"variable {names} has no value where function {name!r} uses it"
    if len(unbound) > 1:
        fault = f"variables {names} have no value where function {name!r} uses them"
    return BuildError(fault, help=help)
