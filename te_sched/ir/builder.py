"""A builder of statements in program order: `tir.ir_builder.create()`.

ib = tir.ir_builder.create()
a = ib.buffer_ptr(buffer)
with ib.for_range(0, n, name="i") as i:
    a[i] = a[i] * 2
body = ib.get()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, Subject, counted, kind_of, repr_of
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    Expr,
    ExprLike,
    Indices,
    IntImm,
    Node,
    Operand,
    PointerType,
    Range,
    Shape,
    StringImm,
    Var,
)  # fmt: skip
from te_sched.ir.stmt import (
    FOR_KINDS,
    Allocate,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    check_attribute,
)  # fmt: skip
from te_sched.public_members import PublicObject
from te_sched.signatures import checked

_LOOP_KINDS = {
    **{kind: kind for kind in FOR_KINDS},
    "vectorize": "vectorized",
    "unroll": "unrolled",
}
_AUTOMATIC_NAMES = "ijk"


class BufferVar(Operand, PublicObject):
    """A buffer that statements of a builder read by `b[i]` and write by `b[i] = value`.

    A single index counts elements in row-major order; otherwise there is one per dimension.
    """

    __slots__ = ("_builder", "buffer")

    def __init__(self, builder: IRBuilder, buffer: Buffer) -> None:
        self._builder, self.buffer = builder, buffer

    @property
    def dtype(self) -> str:
        """The type of an element."""
        return self.buffer.dtype

    def _te_expr_(self) -> Expr:
        """The pointer to the data, as an argument of a call."""
        return self.buffer.data

    def asobject(self) -> Buffer:
        """The buffer."""
        return self.buffer

    def __iter__(self) -> Iterator[BufferLoad]:  # prevents endless iteration by __getitem__
        return iter(self.buffer)

    def __getitem__(self, index: Indices) -> BufferLoad:
        return BufferLoad(self.buffer, self._indices(index))

    def __setitem__(self, index: Indices, value: ExprLike) -> None:
        indices = self._indices(index)
        stored = ops.convert(value)
        expected = BufferLoad(self.buffer, indices).dtype
        if stored.dtype != expected:
            raise DeclarationError(
                f"cannot store {stored.dtype} into buffer {self.buffer.name} of {expected}",
                "",
                f'cast the value, for example with .astype("{expected}") or tir.const',
                Subject("buffer", self.buffer.name),
            )
        self._builder.emit(BufferStore(self.buffer, stored, indices))

    def _indices(self, index: Indices) -> tuple[Expr, ...]:
        index_tuple: tuple[Any, ...] = tuple(index) if isinstance(index, list | tuple) else (index,)
        shape = self.buffer.shape
        indices = [ops.convert(part) for part in index_tuple]
        for position in indices:
            if not dtypes.is_integral(dtypes.element(position.dtype)):
                raise DeclarationError(
                    f"an index of buffer {self.buffer.name} has dtype {position.dtype}, "
                    "expected an integer",
                    "",
                    'cast it, for example with .astype("int32")',
                )
        if len(indices) == 1 and len(shape) > 1:
            return _unravelled(indices[0], shape)
        if len(indices) != len(shape):
            raise DeclarationError(
                f"buffer {self.buffer.name} has {counted(len(shape), 'dimension')} but "
                f"{counted(len(indices), 'index', 'indices')} given",
                "",
                "give one index for each dimension, or a single one that counts elements",
                Subject("buffer", self.buffer.name),
            )
        return tuple(indices)


def _unravelled(index: Expr, shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    reversed_indices: list[Expr] = []
    for extent in reversed(shape[1:]):
        reversed_indices.append(ops.floormod(index, extent))
        index = ops.floordiv(index, extent)
    return (index, *reversed(reversed_indices))


class IRBuilder(PublicObject):
    """Collects statements; `get()` returns them as one. Scopes are context managers."""

    def __init__(self) -> None:
        self._scopes: list[list[_Item]] = [[]]
        self._unnamed_loops = 0

    @checked
    def emit(self, stmt: ExprLike | Stmt | _Wrapper) -> None:
        """Add a statement, or an expression with side effects."""
        if isinstance(stmt, _Wrapper):
            self._scopes[-1].append(stmt)
            return
        if not isinstance(stmt, Stmt):
            stmt = Evaluate(ops.convert(stmt))
        self._scopes[-1].append(stmt)

    def get(self) -> Stmt:
        """The emitted statements as one statement."""
        if len(self._scopes) != 1:
            raise DeclarationError(
                "get() of an ir_builder is called inside one of its scopes",
                "the statement is not complete there",
                "call it after the `with` blocks",
            )
        items, self._scopes = self._scopes[0], [[]]
        return _sequence(items)

    @contextmanager
    def _scope(self, finish: Callable[[Stmt], Stmt]) -> Iterator[None]:
        self._scopes.append([])
        try:
            yield
        except BaseException:
            self._scopes.pop()
            raise
        self.emit(finish(_sequence(self._scopes.pop())))

    def new_scope(self) -> AbstractContextManager[None]:
        """A scope of attributes and allocations."""
        return self._scope(lambda body: body)

    @checked
    @contextmanager
    def for_range(
        self,
        begin: ExprLike,
        end: ExprLike,
        name: str = "i",
        dtype: str | None = None,
        kind: str = "serial",
    ) -> Iterator[Var]:
        """A loop from begin to end - 1; the context manager returns its variable.

        `kind` is serial, parallel, vectorize or unroll.
        """
        _check_loop_kind(kind)
        if name == "i":
            name = self._automatic_name()
        low, high = ops.operands(begin, end)
        dtype = dtype or low.dtype
        low, high = ops.cast(dtype, low), ops.cast(dtype, high)
        if not dtypes.is_integral(dtype):
            raise DeclarationError(
                f"the bounds of a loop have dtype {dtype}, expected an integer",
                "",
                "give ints or integer expressions",
            )
        variable, extent = Var(name, dtype), ops.sub(high, low)
        with self._scope(lambda body: For(variable, low, extent, _LOOP_KINDS[kind], body)):
            yield variable

    def _automatic_name(self) -> str:
        count = self._unnamed_loops
        self._unnamed_loops += 1
        return _AUTOMATIC_NAMES[count] if count < 3 else f"i_{count - 3}"

    def while_loop(self, condition: ExprLike) -> AbstractContextManager[None]:
        """A loop that runs while a condition holds."""
        held = ops.convert(condition)
        return self._scope(lambda body: While(held, body))

    def if_scope(self, cond: ExprLike) -> AbstractContextManager[None]:
        """The scope that is executed if the condition holds."""
        condition = ops.convert(cond)
        return self._scope(lambda body: IfThenElse(condition, body))

    def else_scope(self) -> AbstractContextManager[None]:
        """The scope that is executed if the condition of the preceding if_scope does not hold."""
        scope = self._scopes[-1]
        previous = scope[-1] if scope else None
        if not isinstance(previous, IfThenElse) or previous.else_case is not None:
            raise DeclarationError(
                "else_scope does not follow an if_scope",
                "",
                "write `with ib.if_scope(...): ...` before it",
            )
        scope.pop()
        return self._scope(lambda body: IfThenElse(previous.condition, previous.then_case, body))

    @checked
    def let(self, var_name: str | Var, value: ExprLike) -> Var:
        """Define a variable for the rest of this scope."""
        bound = ops.convert(value)
        variable = var_name if isinstance(var_name, Var) else Var(var_name, bound.dtype)
        self.emit(_Wrapper(lambda body: LetStmt(variable, bound, body)))
        return variable

    @checked
    def scope_attr(self, node: Any, attr_key: str, value: ExprLike) -> None:
        """Set an attribute of a node for the rest of this scope (`thread_extent`, `pragma_...`)."""
        if isinstance(node, str):
            node = StringImm(node)
        if isinstance(node, BufferVar):
            node = node.buffer
        if not isinstance(node, Node):
            raise DeclarationError(
                f"the node of an attribute is {repr_of(node)}, expected an axis or a variable",
                "",
                "give a thread axis, a variable or a buffer",
            )
        check_attribute(node, attr_key)
        fact = ops.convert(value)
        self.emit(_Wrapper(lambda body: AttrStmt(node, attr_key, fact, body)))

    @checked
    def allocate(
        self,
        dtype: str,
        shape: Shape,
        name: str = "buf",
        axis_separators: Any = None,
        scope: str = "",
    ) -> BufferVar:
        """Allocate a buffer for the rest of this scope."""
        buffer = decl_buffer(shape, dtype, name, scope=scope, axis_separators=axis_separators)
        if scope == "":
            data = Var(name, "handle", PointerType(buffer.data.pointer.element, ""))  # type: ignore[union-attr]
            buffer = decl_buffer(shape, dtype, name, data=data, axis_separators=axis_separators)
        self.emit(_Wrapper(lambda body: Allocate(buffer.data, dtype, buffer.shape, ops.TRUE, body)))
        return BufferVar(self, buffer)

    @checked
    def loop(
        self, variable: Var, extent: Expr, kind: str = "serial"
    ) -> AbstractContextManager[None]:
        """A loop over a variable from 0; its name is not changed."""
        _check_loop_kind(kind)
        low = IntImm(0, variable.dtype)
        return self._scope(lambda body: For(variable, low, extent, _LOOP_KINDS[kind], body))

    @checked
    def realize(
        self, dtype: str, shape: Shape, name: str, scope: str = "global", outside: int = 0
    ) -> BufferVar:
        """Realize a buffer for this scope, in the statement of a stage.

        The buffer belongs to the scope that is `outside` levels above this one.
        """
        if not 0 <= outside < len(self._scopes):
            raise DeclarationError(
                f"cannot allocate {outside} scopes outwards: there are {len(self._scopes)}",
                "",
                "give a smaller number",
            )
        buffer = decl_buffer(shape, dtype, name, scope=scope)
        whole = tuple([Range(IntImm(0, extent.dtype), extent) for extent in buffer.shape])
        exists = _Wrapper(lambda body: BufferRealize(buffer, whole, ops.TRUE, body))
        self._scopes[-1 - outside].insert(0, exists)
        return BufferVar(self, buffer)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """A pointer from outside of the statement, with elements of a type."""
        return BufferVar(self, decl_buffer((1,), content_type, name, scope=scope))

    def buffer_ptr(self, buf: Buffer) -> BufferVar:
        """A buffer whose elements can be read and written."""
        if not isinstance(buf, Buffer):
            raise DeclarationError(
                f"buffer_ptr needs a buffer, got {kind_of(buf)}", "", "use tir.decl_buffer"
            )
        return BufferVar(self, buf)

    def likely(self, expr: ExprLike) -> Expr:
        """The condition, marked as almost always true."""
        return intrinsics.likely(expr)


class _Wrapper:
    """A statement that encloses the rest of its scope: a variable, an attribute, an allocation."""

    def __init__(self, wrap: Callable[[Stmt], Stmt]) -> None:
        self.wrap = wrap


_Item = Stmt | _Wrapper


def _sequence(items: list[_Item]) -> Stmt:
    done: list[Stmt] = []
    for item in reversed(items):
        if isinstance(item, _Wrapper):
            done = [item.wrap(_joined(done))]
        elif isinstance(item, SeqStmt):
            done[:0] = item.seq
        else:
            done.insert(0, item)
    return _joined(done)


def _joined(stmts: list[Stmt]) -> Stmt:
    if not stmts:
        return Evaluate(IntImm(0))
    return stmts[0] if len(stmts) == 1 else SeqStmt(tuple(stmts))


def _check_loop_kind(kind: str) -> None:
    if kind not in _LOOP_KINDS:
        raise DeclarationError(
            f"unknown kind of loop {kind!r}",
            "",
            f"use one of {', '.join(_LOOP_KINDS)}",
        )


def create() -> IRBuilder:
    """A new builder."""
    return IRBuilder()


_tell_of_absent_names(__name__)
