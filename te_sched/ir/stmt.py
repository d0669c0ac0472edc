"""Statements, functions and modules: the grammar of programs.

The same contract as `ir.expr`: immutable nodes, identity equality, annotated fields are the
grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from dataclasses import replace as replace_fields
from typing import TYPE_CHECKING, Any

from te_sched.errors import DeclarationError, kind_of, repr_of
from te_sched.ir.expr import Buffer, Expr, IterVar, Node, Range, Var, node
from te_sched.signatures import check_fields, checked


class Stmt(Node):
    """Something that is done."""

    __slots__ = ()


# How the iterations of a loop run, in the order of their printed numbers.
FOR_KINDS = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")


@node
class For(Stmt):
    """for loop_var in min .. min + extent - 1: body. `kind` is one of FOR_KINDS.

    `is_scalarized` says that it was vectorized and became serial, as it had no vector form.
    """

    loop_var: Var
    min: Expr
    extent: Expr
    kind: str
    body: Stmt
    thread_binding: IterVar | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    is_scalarized: bool = False


@node
class While(Stmt):
    """while condition: body"""

    condition: Expr
    body: Stmt


@node
class LetStmt(Stmt):
    """body, where var stands for value."""

    var: Var
    value: Expr
    body: Stmt


@node
class AttrStmt(Stmt):
    """body, with a fact about it: attribute `key` of `node` is `value` (thread_extent, pragma_...,
    ...).
    """

    node: Any
    key: str
    value: Expr
    body: Stmt


@node
class AssertStmt(Stmt):
    """Stop with message unless condition holds; then body."""

    condition: Expr
    message: Expr
    body: Stmt


@node
class BufferStore(Stmt):
    """buffer[indices] = value"""

    buffer: Buffer
    value: Expr
    indices: tuple[Expr, ...]


@node
class BufferRealize(Stmt):
    """body, during which the region `bounds` of a buffer exists, if condition holds."""

    buffer: Buffer
    bounds: tuple[Range, ...]
    condition: Expr
    body: Stmt


@node
class Allocate(Stmt):
    """body, during which buffer_var points to room for prod(extents) elements of dtype."""

    buffer_var: Var
    dtype: str
    extents: tuple[Expr, ...]
    condition: Expr
    body: Stmt
    annotations: Mapping[str, Any] = field(default_factory=dict)


@node
class Prefetch(Stmt):
    """Bring a region of a buffer towards the processor."""

    buffer: Buffer
    bounds: tuple[Range, ...]


@node
class SeqStmt(Stmt):
    """One statement after the other; never nested, never of one statement (`seq` builds it)."""

    seq: tuple[Stmt, ...]


@node
class IfThenElse(Stmt):
    """then_case where condition holds, else else_case.

    `owner_guard` marks the guard by which one thread stores the result of a cross-thread reduction.
    """

    condition: Expr
    then_case: Stmt
    else_case: Stmt | None = None
    owner_guard: bool = False


@node
class Evaluate(Stmt):
    """Evaluate an expression for its effect; Evaluate(0) does nothing."""

    value: Expr


@node
class PrimFunc(Node):
    """A function: parameters, a body, and the buffers behind handle parameters (in their declared
    shapes).

    `attrs` holds "global_symbol", "tir.noalias", "from_legacy_te_schedule", ...
    """

    params: tuple[Var, ...]
    body: Stmt
    buffer_map: Mapping[Var, Buffer]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    ret_type: str = "void"

    def __post_init__(self) -> None:
        check_fields(self)

    @checked
    def with_body(self, body: Stmt) -> PrimFunc:
        """The function with another body."""
        return replace_fields(self, body=body)

    def with_attr(self, attr_key_or_dict: Any, attr_value: Any = None) -> PrimFunc:
        """The function with an attribute, or a mapping of them, added."""
        is_several = isinstance(attr_key_or_dict, Mapping)
        added = dict(attr_key_or_dict) if is_several else {attr_key_or_dict: attr_value}
        for key in added:
            if not isinstance(key, str):
                raise DeclarationError(
                    f"an attribute called {repr_of(key)}",
                    f"it is {kind_of(key)}",
                    "give a name and a value, or a dictionary",
                )
        return replace_fields(self, attrs={**self.attrs, **added})

    with_attrs = with_attr

    @checked
    def without_attr(self, attr_key: str) -> PrimFunc:
        """The function without an attribute."""
        kept = {key: value for key, value in self.attrs.items() if key != attr_key}
        return replace_fields(self, attrs=kept)

    if TYPE_CHECKING:  # given by ir.printer and te_sched.views

        def script(self) -> str: ...
        def astext(self) -> str: ...
        def show(self) -> None: ...


@node
class IRModule(Node):
    """Functions by name."""

    functions: Mapping[str, PrimFunc] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)

    def __getitem__(self, name: Any) -> PrimFunc:
        found = self.functions.get(name) if isinstance(name, str) else None
        if found is None:
            raise DeclarationError(
                f"take the function {repr_of(name)} of a module",
                "it has no function of this name",
                f"use one of {', '.join(self.functions) or 'none: it is empty'}",
            )
        return found

    def __contains__(self, name: Any) -> bool:
        return isinstance(name, str) and name in self.functions

    def functions_items(self) -> list[tuple[str, PrimFunc]]:
        """Names and functions."""
        return list(self.functions.items())

    def get_global_vars(self) -> list[str]:
        """The names of the functions."""
        return list(self.functions)

    def get_global_var(self, name: str) -> str:
        """The name of a function, if there is one of this name."""
        self[name]
        return name

    @staticmethod
    @checked
    def from_expr(func: PrimFunc) -> IRModule:
        """A module with one function, under its global symbol or "main"."""
        return IRModule({str(func.attrs.get("global_symbol", "main")): func})

    if TYPE_CHECKING:  # given by ir.printer and te_sched.views

        def script(self) -> str: ...
        def astext(self) -> str: ...
        def show(self) -> None: ...
