"""Statements, functions and modules: the grammar of programs.

The same contract as `ir.expr`: immutable nodes, identity equality, fields with their roles are the
grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as replace_fields
from typing import TYPE_CHECKING, Any

from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.expr import Buffer, Expr, IterVar, Node, Range, Var, node
from te_sched.ir.roles import Role, role
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

    loop_var: Var = role(Role.DEFINITION)
    min: Expr = role(Role.CHILD)
    extent: Expr = role(Role.CHILD)
    kind: str
    body: Stmt = role(Role.BODY)
    thread_binding: IterVar | None = role(Role.ANNOTATION, default=None)
    annotations: Mapping[str, Any] = role(Role.ANNOTATION, default_factory=dict)
    is_scalarized: bool = False


@node
class While(Stmt):
    """while condition: body"""

    condition: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


@node
class LetStmt(Stmt):
    """body, where var stands for value."""

    var: Var = role(Role.DEFINITION)
    value: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


# Attributes of an axis of threads, for whose body its variable has a value.
THREAD_KEYS = ("thread_extent", "virtual_thread")


@node
class AttrStmt(Stmt):
    """body, with a fact about it: attribute `key` of `node` is `value` (thread_extent, pragma_...,
    ...).
    """

    node: Any = role(Role.ANNOTATION)
    key: str
    value: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


def check_attribute(target: Any, key: str) -> None:
    """Refuse an attribute of threads whose target is not an axis."""
    if key in THREAD_KEYS and not isinstance(target, IterVar):
        raise DeclarationError(
            f"the node of attribute {key} must be a thread axis, got {repr_of(target)}",
            "",
            'give te.thread_axis("threadIdx.x"), or another axis of threads',
        )


@node
class AssertStmt(Stmt):
    """Stop with message unless condition holds; then body."""

    condition: Expr = role(Role.CHILD)
    message: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


@node
class BufferStore(Stmt):
    """buffer[indices] = value"""

    buffer: Buffer = role(Role.BUFFER)
    value: Expr = role(Role.CHILD)
    indices: tuple[Expr, ...] = role(Role.CHILD)


@node
class BufferRealize(Stmt):
    """body, during which the region `bounds` of a buffer exists, if condition holds."""

    buffer: Buffer = role(Role.DEFINITION)
    bounds: tuple[Range, ...] = role(Role.REGION)
    condition: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


@node
class Allocate(Stmt):
    """body, during which buffer_var points to room for prod(extents) elements of dtype."""

    buffer_var: Var = role(Role.DEFINITION)
    dtype: str
    extents: tuple[Expr, ...] = role(Role.CHILD)
    condition: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)
    annotations: Mapping[str, Any] = role(Role.ANNOTATION, default_factory=dict)


@node
class Prefetch(Stmt):
    """Bring a region of a buffer towards the processor."""

    buffer: Buffer = role(Role.BUFFER)
    bounds: tuple[Range, ...] = role(Role.REGION)


@node
class SeqStmt(Stmt):
    """One statement after the other; never nested, never of one statement (`seq` builds it)."""

    seq: tuple[Stmt, ...] = role(Role.BODY)


@node
class IfThenElse(Stmt):
    """then_case where condition holds, else else_case.

    `owner_guard` marks the guard by which one thread stores the result of a cross-thread reduction.
    """

    condition: Expr = role(Role.CHILD)
    then_case: Stmt = role(Role.BODY)
    else_case: Stmt | None = role(Role.BODY, default=None)
    owner_guard: bool = False


@node
class Evaluate(Stmt):
    """Evaluate an expression for its effect; Evaluate(0) does nothing."""

    value: Expr = role(Role.CHILD)


@node
class PrimFunc(Node):
    """A function: parameters, a body, and the buffers behind handle parameters (in their declared
    shapes).

    `attrs` holds "global_symbol", "tir.noalias", "from_legacy_te_schedule", ... `origin` is where
    it comes from: "schedule", a "kernel" split off another function, or "written" by hand; unless
    given, TVM's attribute of functions of schedules tells.
    """

    params: tuple[Var, ...] = role(Role.DEFINITION)
    body: Stmt = role(Role.BODY)
    buffer_map: Mapping[Var, Buffer] = role(Role.BUFFER)
    attrs: Mapping[str, Any] = role(Role.ANNOTATION, default_factory=dict)
    ret_type: str = "void"
    origin: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.origin:
            is_scheduled = "from_legacy_te_schedule" in self.attrs
            object.__setattr__(self, "origin", "schedule" if is_scheduled else "written")

    @checked
    def with_body(self, body: Stmt) -> PrimFunc:
        """The function with another body."""
        return self if body is self.body else replace_fields(self, body=body)

    def with_attr(self, attr_key_or_dict: Any, attr_value: Any = None) -> PrimFunc:
        """The function with an attribute, or a mapping of them, added."""
        is_several = isinstance(attr_key_or_dict, Mapping)
        for key in attr_key_or_dict if is_several else (attr_key_or_dict,):
            if not isinstance(key, str):
                raise DeclarationError(
                    f"the name of an attribute must be a string, got {repr_of(key)}",
                    "",
                    "give a name and a value, or a dictionary",
                )
        added = attr_key_or_dict if is_several else {attr_key_or_dict: attr_value}
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

    functions: Mapping[str, PrimFunc] = role(Role.ANNOTATION, default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)
        for name, func in self.functions.items():
            if not isinstance(func, PrimFunc):
                raise DeclarationError(
                    f"function {repr_of(name)} of a module must be a PrimFunc, got {repr_of(func)}",
                    "",
                    "give PrimFuncs by name",
                )

    def __getitem__(self, name: Any) -> PrimFunc:
        found = self.functions.get(name) if isinstance(name, str) else None
        if found is None:
            raise DeclarationError(
                f"module has no function {repr_of(name)}",
                "",
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
