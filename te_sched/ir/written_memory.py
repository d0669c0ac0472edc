"""The memory that kernels, and functions that launch them, may write.

Must not know its clients: the checked mode, the printer of CUDA and calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from te_sched.ir.expr import BufferLoad, Call, Expr, IntImm, Let, StringImm, Var
from te_sched.ir.kernel import LAUNCH
from te_sched.ir.stmt import BufferStore, IRModule, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import children, walk

# Calls that write nothing themselves: pointers, what only reads, and launches (see the kernel).
_NOT_WRITING = frozenset(
    (
        *("tir.address_of", "tir.tvm_access_ptr"),
        *("tir.prefetch", "tir.ptx_ldmatrix", "tir.tvm_load_matrix_sync"),
        LAUNCH,
    )
)


def written_memory(body: Stmt) -> frozenset[Var]:
    """The pointers through which a body may write: by stores, and by calls that it gives them to.

    Registers that `ptx_ldmatrix` loads do not count.
    """
    return frozenset(_writes(body))


def memory_written_by(host: PrimFunc, program: IRModule) -> tuple[Var, ...]:
    """The pointers through which a function and the kernels that it launches may write."""
    written = list(_writes(host.body))
    for node in walk(host.body):
        if type(node) is Call and node.op == LAUNCH and isinstance(node.args[0], StringImm):
            kernel = program[node.args[0].value]
            inside = written_memory(kernel.body)
            arguments = zip(kernel.params, node.args[1:], strict=False)
            written += [
                argument
                for param, argument in arguments
                if param in inside and isinstance(argument, Var)
            ]
    return tuple(dict.fromkeys(written))


def _writes(body: Stmt) -> Iterator[Var]:
    for node in walk(body):
        kind = type(node)
        if kind is BufferStore:
            yield node.buffer.data
        elif kind is Call and node.op not in _NOT_WRITING:
            for argument in node.args:
                yield from _pointers(argument)
        elif (kind is Let or kind is LetStmt) and type(node.value) is Var:
            yield node.value  # another name of it, which may be written


def _pointers(e: Expr) -> Iterator[Var]:
    """The memory that a pointer gives access to, unless it says that it is only read."""
    if e.dtype != "handle":
        return
    op = e.op if isinstance(e, Call) else ""
    if isinstance(e, Var):
        yield e
    elif op == "tir.address_of":
        load = e.args[0]  # type: ignore[attr-defined]
        if isinstance(load, BufferLoad):
            yield load.buffer.data
    elif op == "tir.tvm_access_ptr":
        data, mode = e.args[1], e.args[4]  # type: ignore[attr-defined]
        if isinstance(data, Var) and (not isinstance(mode, IntImm) or mode.value & 2):
            yield data
    else:
        for part in children(e):
            if isinstance(part, Expr):
                yield from _pointers(part)
