"""What is in force at a place of a program: loops, threads, conditions, lets, memory and views.

Owns what each class of statements puts in force for the statements of which it consists
(`_OPENERS`), and the walk that keeps it (`scoped`). A new kind of scope is one more row of that
table. What expressions put in force, as the condition of a Select does, `ir.occurrences` says of
each access. Must not know what is asked of a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
from te_sched.ir.views import Views
from te_sched.ir.visitor import PART_FIELDS

OF_BLOCK = ("shared", "warp", "wmma")  # scopes of memory that threads have in common
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
        """What messages call it."""
        return self.tag or self.var.name

    @property
    def range(self) -> Range:
        """The values of its variable."""
        return Range(self.min, self.extent)

    @property
    def is_launched(self) -> bool:
        """Whether it is an axis of the blocks or threads of a kernel."""
        return self.kind in ("block", "thread")


def loop_of(node: Any) -> Loop | None:
    """The loop or the axis of threads that a statement opens, if it is one that does."""
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
    """What a pointer points to. Each iteration of `loops` has its own; `region` is what there is of
    it, as begin and extent by dimension; `shape` what it is declared to be.
    """

    name: str
    region: Region
    shape: tuple[Expr, ...]
    dtype: str
    loops: tuple[Loop, ...] = ()
    scope: str = "global"
    is_argument: bool = False
    is_in_kernel: bool = False


def whole(shape: Iterable[Expr]) -> Region:
    """The region that is all of a shape."""
    return tuple([(_ZERO, extent) for extent in shape])


def default_scope(thread: str) -> str:
    """Where a stage lives that has no storage scope, by the innermost enclosing thread axis:
    threads share what is outside of them.
    """
    if not thread:
        return "global"
    return "shared" if thread.startswith("blockIdx") else "local"


@dataclass(slots=True)
class Definitions:
    """What the variables of a function stand for, as far as a walk has come.

    A function defines each of them once, so what was noted stays when its scope is left.
    """

    memory: dict[Var, Memory] = field(default_factory=dict)
    values: dict[Var, Expr] = field(default_factory=dict)
    views: Views = field(default_factory=Views)


class Scope(NamedTuple):
    """What is in scope at a position. Immutable: `inside` returns the scope of a nested part.

    `order` is the position in the program: numbers of statements, and loops. `is_sure` is whether
    the loops and conditions determine exactly when it is reached, `extern` the attribute of the
    operation whose body is user-written.
    """

    defined: Definitions
    loops: tuple[Loop, ...] = ()
    conditions: tuple[Expr, ...] = ()
    order: tuple[Any, ...] = ()
    is_sure: bool = True
    extern: AttrStmt | None = None

    def inside(self, node: Stmt, part: str = "body") -> Scope:
        """The scope of the statements in a field of a statement."""
        opener = _OPENERS.get(type(node))
        return self if opener is None else opener(self, node, part)

    def within(self, loop: Loop) -> Scope:
        """The scope of a loop's body; the same one where its variable is in force already."""
        defined, loops, conditions, order, is_sure, extern = self
        for outer in loops:
            if outer.var is loop.var:
                return self
        return Scope(defined, (*loops, loop), conditions, (*order, loop), is_sure, extern)

    def under(self, condition: Expr) -> Scope:
        """The scope in which a condition holds."""
        defined, loops, conditions, order, is_sure, extern = self
        return Scope(defined, loops, (*conditions, condition), order, is_sure, extern)

    def numbered(self, number: int) -> Scope:
        """The scope of one of several statements."""
        defined, loops, conditions, order, is_sure, extern = self
        return Scope(defined, loops, conditions, (*order, number), is_sure, extern)

    def allocated(
        self, name: str, region: Region, shape: tuple[Expr, ...], dtype: str, scope: str
    ) -> Memory:
        """Memory that is allocated here; threads of a block may have it in common."""
        launched = [loop for loop in self.loops if loop.is_launched]
        scope = scope or default_scope(launched[-1].tag if launched else "")
        owners = self.loops
        if scope.startswith(OF_BLOCK):
            owners = tuple([loop for loop in owners if loop.kind != "thread"])
        return Memory(name, region, shape, dtype, owners, scope, is_in_kernel=bool(launched))


def scope_of(func: PrimFunc) -> Scope:
    """The scope of a function's body: it knows the memory of the arguments."""
    scope = Scope(Definitions())
    for buffer in func.buffer_map.values():
        scope.defined.memory[buffer.data] = Memory(
            buffer.name, whole(buffer.shape), buffer.shape, buffer.dtype, is_argument=True
        )
    return scope


def scoped(root: Stmt, scope: Scope | None = None) -> Iterator[tuple[Any, Scope]]:
    """The statement and those below it, each with the scope in which it stands, parents first, in
    program order. What a statement defines is noted when the next one is asked for.
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
    if buffer.data not in memory:  # arguments are there anyway
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


_OPENERS: dict[type, Callable[[Scope, Any, str], Scope]] = {
    For: _open_loop,
    While: lambda scope, node, part: scope._replace(is_sure=False),
    IfThenElse: _open_branch,
    AssertStmt: lambda scope, node, part: scope.under(node.condition),
    LetStmt: _open_let,
    Allocate: _open_allocation,
    BufferRealize: _open_realization,
    AttrStmt: _open_attribute,
}
