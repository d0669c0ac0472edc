"""The sizes of the memory that a program allocates.

Allocations of symbolic size count 0. Memory that is in use at the same time is added up: of
statements in a sequence, the largest sum counts. Must not know targets.
"""

from __future__ import annotations

from te_sched.ir.blocks import AllocateConst
from te_sched.ir.expr import IntImm
from te_sched.ir.kernel import bytes_of, memory_scope
from te_sched.ir.stmt import Allocate, Stmt
from te_sched.ir.visitor import parts_of, walk


def allocated_bytes(root: Stmt) -> dict[str, int]:
    """The bytes that a statement allocates at the same time, by storage scope."""
    most: dict[str, int] = {}
    for part in parts_of(root):
        for scope, size in allocated_bytes(part).items():
            most[scope] = max(most.get(scope, 0), size)
    if isinstance(root, Allocate):
        scope = memory_scope(root.buffer_var)
        most[scope] = most.get(scope, 0) + _size(root)
    return most


def workspace_bytes(root: Stmt, alignment: int) -> int:
    """The bytes that a statement allocates at the same time in all scopes, each allocation rounded
    up to a multiple of `alignment`.
    """
    inner = max((workspace_bytes(part, alignment) for part in parts_of(root)), default=0)
    return inner + (_aligned(_size(root), alignment) if isinstance(root, Allocate) else 0)


def constant_bytes(root: Stmt, alignment: int) -> int:
    """The bytes of the constant arrays of a statement, each rounded up to a multiple of
    `alignment`.
    """
    constants = [node for node in walk(root) if type(node) is AllocateConst]
    return sum(_aligned(node.data.nbytes, alignment) for node in constants)


def _size(node: Allocate) -> int:
    size = bytes_of(node)
    return size.value if isinstance(size, IntImm) else 0


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
