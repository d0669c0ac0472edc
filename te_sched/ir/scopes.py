"""Scopes: the loops, threads, conditions, lets, memory and views at a position of a program.

Owns the table of the scopes that statements open for their parts (`_OPENERS`), and the traversal
with scopes (`scoped`). The conditions inside expressions, such as that of a Select, are in
`ir.occurrences`. Must not know analyses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from te_sched.ir.blocks import BlockRealize
from te_sched.ir.expr import Expr, IntImm, IterVar, Not, Range, Var, node
from te_sched.ir.stmt import (
    THREAD_KEYS,
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
    While,
)
from te_sched.ir.storage_scopes import StorageScope, default_scope, storage_scope
from te_sched.ir.views import Views
from te_sched.ir.visitor import PART_FIELDS

_ZERO = IntImm(0)
Region = tuple[tuple[Expr, Expr], ...]  # begin and extent by dimension


@node
class Loop:
    """A loop, or an axis of threads. `kind` is one of For's, "block", "thread" or "virtual"."""

    var: Var
    min: Expr
    extent: Expr
    kind: str
    tag: str = ""

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.tag or self.var.name

    @property
    def range(self) -> Range:
        """The range of its variable."""
        return Range(self.min, self.extent)

    @property
    def is_launched(self) -> bool:
        """Whether it is a block or thread axis of a kernel."""
        return self.kind in ("block", "thread")


def loop_of(node: object) -> Loop | None:
    """The loop or thread axis that a statement opens, or None."""
    if type(node) is For:
        tag = node.thread_binding.thread_tag if node.thread_binding is not None else ""
        return Loop(node.loop_var, node.min, node.extent, _kind(tag) if tag else node.kind, tag)
    if type(node) is not AttrStmt or node.key not in THREAD_KEYS or type(node.node) is not IterVar:
        return None
    axis = node.node
    tag = axis.thread_tag
    kind = "virtual" if node.key == "virtual_thread" else _kind(tag)
    return Loop(axis.var, IntImm(0, axis.var.dtype), node.value, kind, tag)


def _kind(tag: str) -> str:
    if tag.startswith("blockIdx"):
        return "block"
    return "virtual" if tag.startswith(("vthread", "cthread")) else "thread"


@node
class Memory:
    """Memory that a pointer refers to. Each iteration of `loops` has its own; `region` is the
    allocated region (begin and extent per dimension), `shape` the declared shape.
    """

    name: str
    region: Region
    shape: tuple[Expr, ...]
    dtype: str
    loops: tuple[Loop, ...] = ()
    scope: str = "global"
    is_argument: bool = False
    is_in_kernel: bool = False

    @property
    def storage(self) -> StorageScope:
        """The properties of its storage scope."""
        return storage_scope(self.scope)


OF_THREADS = frozenset(("thread", "virtual"))


def is_shared_by(loop: Loop, memory: Memory) -> bool:
    """Whether the threads of a loop share the memory, and synchronize its accesses."""
    return loop.kind in OF_THREADS and loop not in memory.loops and memory.storage.is_of_team


def whole(shape: Iterable[Expr]) -> Region:
    """The region of a whole shape."""
    return tuple([(_ZERO, extent) for extent in shape])


@dataclass(slots=True)
class Definitions:
    """The values of the variables of a function, up to the current position of a traversal.

    A function defines each variable once, so a definition is kept when its scope ends.
    """

    memory: dict[Var, Memory] = field(default_factory=dict)
    values: dict[Var, Expr] = field(default_factory=dict)
    views: Views = field(default_factory=Views)


class Scope(NamedTuple):
    """The scope at a position. Immutable: `inside` returns the scope of a nested part.

    `order` is the position in the program: numbers of statements, and loops. `is_sure` is whether
    the loops and conditions determine exactly when it is reached, `extern` the attribute of the
    operation whose body is user-written.
    """

    defined: Definitions
    loops: tuple[Loop, ...] = ()
    conditions: tuple[Expr, ...] = ()
    order: tuple[int | Loop, ...] = ()
    is_sure: bool = True
    extern: AttrStmt | None = None

    def inside(self, node: Stmt, part: str = "body") -> Scope:
        """The scope of the statements in a field of a statement."""
        opener = _OPENERS.get(type(node))
        return self if opener is None else opener(self, node, part)

    def within(self, loop: Loop) -> Scope:
        """The scope of a loop's body; unchanged if its variable is already in scope."""
        defined, loops, conditions, order, is_sure, extern = self
        for outer in loops:
            if outer.var is loop.var:
                return self
        return Scope(defined, (*loops, loop), conditions, (*order, loop), is_sure, extern)

    def under(self, condition: Expr) -> Scope:
        """The scope with a further condition."""
        defined, loops, conditions, order, is_sure, extern = self
        return Scope(defined, loops, (*conditions, condition), order, is_sure, extern)

    def numbered(self, number: int) -> Scope:
        """The scope of a statement of a sequence."""
        defined, loops, conditions, order, is_sure, extern = self
        return Scope(defined, loops, conditions, (*order, number), is_sure, extern)

    def allocated(
        self, name: str, region: Region, shape: tuple[Expr, ...], dtype: str, scope: str
    ) -> Memory:
        """Memory that is allocated here, possibly shared by the threads of a block."""
        launched = [loop for loop in self.loops if loop.is_launched]
        scope = scope or default_scope(launched[-1].tag if launched else "")
        owners = self.loops
        if storage_scope(scope).is_of_team:
            owners = tuple([loop for loop in owners if loop.kind != "thread"])
        return Memory(name, region, shape, dtype, owners, scope, is_in_kernel=bool(launched))


def scope_of(func: PrimFunc) -> Scope:
    """The scope of a function's body, with the memory of its arguments."""
    scope = Scope(Definitions())
    for buffer in func.buffer_map.values():
        scope.defined.memory[buffer.data] = Memory(
            buffer.name, whole(buffer.shape), buffer.shape, buffer.dtype, is_argument=True
        )
    return scope


def scoped(root: Stmt, scope: Scope | None = None) -> Iterator[tuple[Any, Scope]]:
    """A statement and those nested in it, each with its scope, parents first, in program order.
    The definitions of a statement are recorded when the next one is requested.
    """
    stack: list[tuple[Any, Scope]] = [(root, scope or Scope(Definitions()))]
    while stack:
        node, scope = stack.pop()
        yield node, scope
        if type(node) is SeqStmt:
            parts = [(part, scope.numbered(number)) for number, part in enumerate(node.seq)]
            stack += reversed(parts)
            continue
        opener = _OPENERS.get(type(node))
        for name in reversed(PART_FIELDS[type(node)]):
            part = getattr(node, name)
            if part is not None:
                stack.append((part, scope if opener is None else opener(scope, node, name)))


def _open_loop(scope: Scope, node: For | AttrStmt, part: str) -> Scope:
    loop = loop_of(node)
    return scope if loop is None else scope.within(loop)


def _open_branch(scope: Scope, node: IfThenElse, part: str) -> Scope:
    if part == "then_case":
        return scope.under(node.condition)
    return scope.under(Not(node.condition)).numbered(1)


def _open_let(scope: Scope, node: LetStmt, part: str) -> Scope:
    scope.defined.values[node.var] = node.value
    return scope


def _open_allocation(scope: Scope, node: Allocate, part: str) -> Scope:
    data, shape = node.buffer_var, tuple(node.extents)
    scope.defined.memory[data] = scope.allocated(
        data.name, whole(shape), shape, node.dtype, data.scope or "global"
    )
    return scope


def _open_realization(scope: Scope, node: BufferRealize, part: str) -> Scope:
    buffer, memory = node.buffer, scope.defined.memory
    if buffer.data not in memory:  # not an argument
        region = tuple([(bound.min, bound.extent) for bound in node.bounds])
        memory[buffer.data] = scope.allocated(
            buffer.name, region, buffer.shape, buffer.dtype, buffer.data.scope
        )
    return scope


def _open_attribute(scope: Scope, node: AttrStmt, part: str) -> Scope:
    if node.key == "buffer_bind_scope":
        scope.defined.views.bind(node)
    elif node.key == "extern_scope":
        return scope._replace(extern=node)
    return _open_loop(scope, node, part)


def _open_instance(scope: Scope, node: BlockRealize, part: str) -> Scope:
    axes = node.block.iter_vars
    for axis, value in zip(axes, node.iter_values, strict=True):
        scope.defined.values[axis.var] = value
    return scope.under(node.predicate)


_OPENERS: dict[type, Callable[[Scope, Any, str], Scope]] = {
    BlockRealize: _open_instance,
    For: _open_loop,
    While: lambda scope, node, part: scope._replace(is_sure=False),
    IfThenElse: _open_branch,
    AssertStmt: lambda scope, node, part: scope.under(node.condition),
    LetStmt: _open_let,
    Allocate: _open_allocation,
    BufferRealize: _open_realization,
    AttrStmt: _open_attribute,
}
