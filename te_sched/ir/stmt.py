"""Statements, functions and modules: the grammar of programs.

Follows the conventions of `ir.expr`: immutable nodes, equality by identity, fields with roles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import field
from dataclasses import replace as replace_fields
from typing import TYPE_CHECKING, Any, Self

from te_sched.errors import DeclarationError, kind_of, repr_of
from te_sched.ir.expr import (
    Buffer,
    DataProducer,
    Expr,
    ExprLike,
    IterVar,
    Node,
    Range,
    Var,
    node,
    node_of,
)
from te_sched.ir.roles import Role, role
from te_sched.ir.source_lines import NO_LINES, SourceLines
from te_sched.public_members import PublicObject, Unbuilt
from te_sched.signatures import check_fields, checked


class Stmt(Node):
    """Base class of statements.

    >>> from te_sched import tir
    >>> isinstance(tir.Evaluate(0), Stmt)
    True
    """

    __slots__ = ()


# Attributes or annotations by name: numbers, texts, nodes, and lists and mappings of them.
Attributes = Mapping[str, Any]
# The kinds of loops, in the order of their printed numbers.
FOR_KINDS = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")


@node
class For(Stmt):
    """for loop_var in min .. min + extent - 1: body. `kind` is one of FOR_KINDS.

    `is_scalarized` marks a vectorized loop that became serial because it has no vector form.
    """

    loop_var: Var = role(Role.DEFINITION)
    min: Expr = role(Role.CHILD)
    extent: Expr = role(Role.CHILD)
    kind: str
    body: Stmt = role(Role.BODY)
    thread_binding: IterVar | None = role(Role.ANNOTATION, default=None)
    annotations: Attributes = role(Role.ANNOTATION, default_factory=dict)
    is_scalarized: bool = False


@node
class While(Stmt):
    """while condition: body"""

    condition: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


@node
class LetStmt(Stmt):
    """body, in which var has the value `value`."""

    var: Var = role(Role.DEFINITION)
    value: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


# Attributes that define the variable of a thread axis for their body.
THREAD_KEYS = ("thread_extent", "virtual_thread")


@node
class AttrStmt(Stmt):
    """body with an attribute: `key` of `node` is `value` (thread_extent, pragma_..., ...)."""

    node: Any = role(Role.ANNOTATION)
    key: str
    value: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)

    @property
    def attr_key(self) -> str:
        """TVM's name of `key`."""
        return self.key


def check_attribute(target: object, key: str) -> None:
    """Refuse a thread attribute of a node that is not an axis."""
    if key in THREAD_KEYS and not isinstance(target, IterVar):
        raise DeclarationError(
            f"the node of attribute {key} is {kind_of(target)}, expected a thread axis",
            "",
            'give te.thread_axis("threadIdx.x"), or another axis of threads',
        )


@node
class AssertStmt(Stmt):
    """Fail with message unless condition holds; otherwise body."""

    condition: Expr = role(Role.CHILD)
    message: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


@node
class BufferStore(Stmt):
    """buffer[indices] = value

    Lanes for which `predicate`, a vector of bools, is false are not written.
    """

    buffer: Buffer = role(Role.BUFFER)
    value: Expr = role(Role.CHILD)
    indices: tuple[Expr, ...] = role(Role.CHILD)
    predicate: Expr | None = role(Role.CHILD, default=None)


@node
class BufferRealize(Stmt):
    """body with the region `bounds` of a buffer allocated, if condition holds.

    >>> from te_sched import te, tir
    >>> A = tir.decl_buffer((8,), name="A")
    >>> BufferRealize(A, (tir.Range(0, 4),), te.const(True), tir.Evaluate(0))
    A = T.Buffer((8,))
    with T.realize(A[0:4]):
        T.evaluate(0)
    """

    buffer: Buffer = role(Role.DEFINITION)
    bounds: tuple[Range, ...] = role(Role.REGION)
    condition: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)


@node
class ProducerStore(Stmt):
    """producer[indices] = value, of a tensor that has no buffer yet."""

    producer: DataProducer = role(Role.BUFFER)
    value: Expr = role(Role.CHILD)
    indices: tuple[Expr, ...] = role(Role.CHILD)


@node
class ProducerRealize(Stmt):
    """body with the region `bounds` of a tensor allocated, if condition holds."""

    producer: DataProducer = role(Role.BUFFER)
    bounds: tuple[Range, ...] = role(Role.REGION)
    condition: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)
    storage_scope: str = ""


@node
class Allocate(Stmt):
    """body, in which buffer_var points to memory for prod(extents) elements of dtype."""

    buffer_var: Var = role(Role.DEFINITION)
    dtype: str
    extents: tuple[Expr, ...] = role(Role.CHILD)
    condition: Expr = role(Role.CHILD)
    body: Stmt = role(Role.BODY)
    annotations: Attributes = role(Role.ANNOTATION, default_factory=dict)


@node
class Prefetch(Stmt):
    """Prefetch a buffer region into the cache."""

    buffer: Buffer = role(Role.BUFFER)
    bounds: tuple[Range, ...] = role(Role.REGION)


@node
class SeqStmt(Stmt):
    """A sequence of at least two statements that are not sequences (`seq` builds it)."""

    seq: tuple[Stmt, ...] = role(Role.BODY)

    def __getitem__(self, position: Any) -> Any:
        return self.seq[position]

    def __len__(self) -> int:
        return len(self.seq)


@node
class IfThenElse(Stmt):
    """then_case if condition holds, otherwise else_case.

    `owner_guard` marks the condition under which one thread stores the result of a cross-thread
    reduction, which the older texts leave out; it is not part of the structure.
    """

    condition: Expr = role(Role.CHILD)
    then_case: Stmt = role(Role.BODY)
    else_case: Stmt | None = role(Role.BODY, default=None)
    owner_guard: bool = False


@node
class Evaluate(Stmt):
    """Evaluate an expression for its side effects; Evaluate(0) does nothing."""

    value: Expr = role(Role.CHILD)


class BaseFunc(Node):
    """Base class of functions of modules: they have attributes."""

    __slots__ = ()
    attrs: Attributes

    def with_attr(self, attr_key_or_dict: Any, attr_value: object = None) -> Self:
        """The function with an added attribute, or a mapping of added attributes.

        >>> from te_sched import tir
        >>> PrimFunc((), tir.Evaluate(0), {}).with_attr("tir.noalias", True).attrs
        {'tir.noalias': True}
        """
        is_several = isinstance(attr_key_or_dict, Mapping)
        for key in attr_key_or_dict if is_several else (attr_key_or_dict,):
            if not isinstance(key, str):
                raise DeclarationError(
                    f"the name of an attribute is {repr_of(key)}, expected a string",
                    "",
                    "give a name and a value, or a dictionary",
                )
        added = attr_key_or_dict if is_several else {attr_key_or_dict: attr_value}
        return self._with_attrs({**self.attrs, **added})

    with_attrs = with_attr

    @checked
    def without_attr(self, attr_key: str) -> Self:
        """The function without an attribute.

        >>> from te_sched import tir
        >>> PrimFunc((), tir.Evaluate(0), {}, {"a": 1, "b": 2}).without_attr("a").attrs
        {'b': 2}
        """
        return self._with_attrs(
            {key: value for key, value in self.attrs.items() if key != attr_key}
        )

    def _with_attrs(self, attrs: Attributes) -> Self:
        new = copy(self)  # its other fields have been checked
        object.__setattr__(new, "attrs", attrs)
        return new


@node
class PrimFunc(BaseFunc, PublicObject, Unbuilt):
    """A function: parameters, a body, and the buffers of its handle parameters.

    `attrs` has "global_symbol", "tir.noalias", "from_legacy_te_schedule", ... `origin` is
    "schedule", "blocks" (lowered from a script), "kernel" (part of another function) or "written"
    (by hand); by default it is derived from `attrs`. `written_name` is the name of the definition
    in Python, `lines` has those of its declarations; they are not compared.

    >>> from te_sched import te, tir
    >>> n = te.var("n")
    >>> func = PrimFunc((n,), tir.Evaluate(tir.call_extern("int32", "f", n)), {})
    >>> func.params, func.origin
    ((n,), 'written')
    """

    _internal_members = ("origin", "written_name", "lines")

    params: tuple[Var, ...] = role(Role.DEFINITION)
    body: Stmt = role(Role.BODY)
    buffer_map: Mapping[Var, Buffer] = role(Role.BUFFER)
    attrs: Attributes = role(Role.ANNOTATION, default_factory=dict)
    ret_type: str = "void"
    origin: str = ""
    written_name: str = ""
    lines: SourceLines = NO_LINES
    _struct_info: object = field(default=None, init=False)  # once it was asked for

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.origin:
            is_scheduled = "from_legacy_te_schedule" in self.attrs
            object.__setattr__(self, "origin", "schedule" if is_scheduled else "written")

    @property
    def __name__(self) -> str:
        """The name of the function: that of its definition, if there is one."""
        return self.written_name or str(self.attrs.get("global_symbol", "main"))

    @checked
    def with_body(self, body: Stmt) -> PrimFunc:
        """The function with another body.

        >>> from te_sched import tir
        >>> PrimFunc((), tir.Evaluate(0), {}).with_body(tir.Evaluate(1)).body
        T.evaluate(1)
        """
        if body is self.body:
            return self
        new = copy(self)  # its other fields have been checked
        object.__setattr__(new, "body", body)
        object.__setattr__(new, "_struct_info", None)
        return new

    def _refusal_of_calls(self) -> tuple[str, str, str]:
        return (
            f"function {self.__name__} is called before it is built",
            "a PrimFunc is a program, not a function of Python",
            f"build it: te_sched.build({self.__name__}), and call the result",
        )

    if TYPE_CHECKING:  # given by ir.printer, ir.specialize, tir.struct_info and te_sched.views
        # `tir.PrimFunc` is this class, with the parameters of TVM's.
        def __init__(
            self, params: Sequence[object], body: object, *args: object, **named: object
        ) -> None: ...
        @property
        def struct_info(self) -> Any: ...
        def astext(self) -> str: ...
        def show(self) -> None: ...
        def specialize(self, param_map: Mapping[Var, ExprLike | Buffer]) -> PrimFunc: ...


class GlobalVar(str):
    """The name of a function of a module, as an object.

    >>> GlobalVar("main").name_hint
    'main'
    """

    struct_info_: Any = None  # of the function in its module, where a graph refers to it

    @property
    def struct_info(self) -> Any:
        """What a graph knows of the function; None outside of a graph."""
        return self.struct_info_

    @property
    def name_hint(self) -> str:
        """The name as a plain string."""
        return str(self)

    if TYPE_CHECKING:  # given by relax.expr_operators

        def __call__(self, *args: Any, attrs: Any = None) -> Any: ...


class FunctionMap(dict[str, Any]):
    """Functions by name; `items()[0]` is the first with its name, as in TVM.

    >>> from te_sched import tir
    >>> FunctionMap({"f": tir.PrimFunc((), tir.Evaluate(0), {})}).items()[0][0]
    'f'
    """

    __slots__ = ()

    def items(self) -> list[tuple[str, Any]]:  # type: ignore[override]
        """The names and functions."""
        return list(super().items())


@node_of("te_sched")
class IRModule(Node, PublicObject, Unbuilt):
    """A mapping of names to functions, in which functions can be exchanged. `written_name` is the
    name of its class in Python; it is not compared.

    >>> from te_sched import tir
    >>> module = IRModule({"f": tir.PrimFunc((), tir.Evaluate(0), {})})
    >>> "f" in module, module["f"].body
    (True, T.evaluate(0))
    """

    _internal_members = (*("functions_of_loops", "with_exactly", "with_functions", "written_name"),)

    functions: Mapping[str, Any] = role(Role.ANNOTATION, default_factory=dict)
    attrs: Attributes = role(Role.ANNOTATION, default_factory=dict)
    written_name: str = ""
    global_infos: Attributes = role(Role.ANNOTATION, default_factory=dict)

    @property
    def __name__(self) -> str:
        """The name of the module: that of its class, if there is one."""
        return self.written_name or "Module"

    def __post_init__(self) -> None:
        for name in ("functions", "attrs", "global_infos"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, {})
        check_fields(self)
        for name, func in self.functions.items():
            if not isinstance(func, BaseFunc):
                raise DeclarationError(
                    f"function {repr_of(name)} of a module is {kind_of(func)}, expected a function",
                    "",
                    "give functions by name: PrimFuncs, functions of graphs",
                )
        named = FunctionMap(
            {
                GlobalVar(name) if type(name) is str else name: func
                for name, func in self.functions.items()
            }
        )
        object.__setattr__(self, "functions", named)

    def _advice_for(self, name: str) -> str:
        return f"use module[{name!r}]" if name in self.functions else ""

    def _refusal_of_calls(self) -> tuple[str, str, str]:
        name = self.written_name or "module"
        graphs = [key for key, func in self.functions.items() if not isinstance(func, PrimFunc)]
        machine = f"relax.VirtualMachine(executable, device)[{str(next(iter(graphs), ''))!r}](...)"
        return (
            f"{name if self.written_name else 'a module'} is called before it is built",
            "an IRModule is a program, not a function of Python",
            f"build it: executable = relax.build({name}), and call {machine}"
            if graphs
            else f"build it: te_sched.build({name}), and call the result",
        )

    def __getitem__(self, name: object) -> Any:
        func = self.functions.get(name) if isinstance(name, str) else None
        if func is None:
            raise DeclarationError(
                f"the module has no function {repr_of(name)}",
                "" if self.functions else "it is empty",
                f"use one of {', '.join(self.functions)}" if self.functions else "add a function",
            )
        return func

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.functions

    def functions_items(self) -> list[tuple[str, Any]]:
        """Pairs of names and functions, sorted by name.

        >>> from te_sched import tir
        >>> module = IRModule({"f": tir.PrimFunc((), tir.Evaluate(0), {})})
        >>> [name for name, func in module.functions_items()]
        ['f']
        """
        return sorted(self.functions.items(), key=lambda pair: str(pair[0]))

    @checked
    def update_global_info(self, name: str, global_info: Sequence[object]) -> None:
        """Set what is known of the module under a name: its devices ("vdevice"), ...

        >>> from te_sched.ir import VDevice
        >>> module = IRModule()
        >>> module.update_global_info("vdevice", [VDevice("llvm")])
        >>> module.global_infos["vdevice"][0].memory_scope
        'global'
        """
        infos = {**self.global_infos, name: tuple(global_info)}
        object.__setattr__(self, "global_infos", infos)

    if TYPE_CHECKING:  # given by late_methods

        def replace_global_vars(self, replacements: Mapping[str, str]) -> IRModule: ...

    def get_global_vars(self) -> list[GlobalVar]:
        """The names of the functions, sorted.

        >>> from te_sched import tir
        >>> func = tir.PrimFunc((), tir.Evaluate(0), {})
        >>> IRModule({"g": func, "f": func}).get_global_vars()
        ['f', 'g']
        """
        return [self.get_global_var(name) for name in sorted(self.functions)]

    @checked
    def get_global_var(self, name: str) -> GlobalVar:
        """The name of a function; raises DeclarationError if there is none with this name.

        >>> from te_sched import tir
        >>> IRModule({"f": tir.PrimFunc((), tir.Evaluate(0), {})}).get_global_var("f")
        'f'
        """
        global_var, func = GlobalVar(name), self[name]
        is_of_loops = isinstance(func, PrimFunc)
        global_var.struct_info_ = func.struct_info if is_of_loops else func.struct_info_
        return global_var

    @checked
    def update_func(self, var: str, func: BaseFunc) -> None:
        """Add a function, or exchange the one of this name.

        >>> from te_sched import tir
        >>> module = IRModule({"f": tir.PrimFunc((), tir.Evaluate(0), {})})
        >>> module["f"] = module["f"].with_attr("tir.noalias", True)
        >>> module.update_func("g", module["f"])
        >>> sorted(module.functions)
        ['f', 'g']
        """
        self._set({**self.functions, GlobalVar(var): func})

    __setitem__ = update_func

    @checked
    def update(self, other: IRModule | Mapping[str, BaseFunc]) -> None:
        """Add the functions of another module."""
        added = other.functions if isinstance(other, IRModule) else dict(other)
        self._set({**self.functions, **IRModule(added).functions})

    def __delitem__(self, name: str) -> None:
        self[name]
        self._set({other: func for other, func in self.functions.items() if other != name})

    def _set(self, functions: dict[str, BaseFunc]) -> None:
        """Replace the mapping of functions; those who hold the old one keep it."""
        object.__setattr__(self, "functions", FunctionMap(functions))

    def clone(self) -> IRModule:
        """Another module with the same functions."""
        return replace_fields(self)

    @property
    def functions_of_loops(self) -> dict[str, PrimFunc]:
        """The functions of blocks and loops by name, without those of graphs.

        >>> from te_sched import tir
        >>> list(IRModule({"f": tir.PrimFunc((), tir.Evaluate(0), {})}).functions_of_loops)
        ['f']
        """
        return {name: func for name, func in self.functions.items() if isinstance(func, PrimFunc)}

    @checked
    def with_functions(self, functions: Mapping[str, BaseFunc]) -> IRModule:
        """A module with some functions added or exchanged; the module itself without any.

        >>> from te_sched import tir
        >>> func = tir.PrimFunc((), tir.Evaluate(0), {})
        >>> sorted(IRModule({"f": func}).with_functions({"g": func}).functions)
        ['f', 'g']
        """
        changed = {**self.functions, **functions}
        return replace_fields(self, functions=changed) if functions else self

    @checked
    def with_exactly(self, functions: Mapping[str, BaseFunc]) -> IRModule:
        """The module with these functions instead of its own, in their order; its attributes,
        global infos and name are kept. The module itself if the functions are the same.

        >>> from te_sched import tir
        >>> func = tir.PrimFunc((), tir.Evaluate(0), {})
        >>> list(IRModule({"f": func}).with_exactly({"g": func}).functions)
        ['g']
        """
        is_same = list(functions) == list(self.functions) and all(
            functions[name] is func for name, func in self.functions.items()
        )
        return self if is_same else replace_fields(self, functions=functions)

    @checked
    def with_attr(self, attr_key: str, attr_value: object) -> IRModule:
        """A module with an added attribute.

        >>> IRModule().with_attr("version", 2).attrs
        {'version': 2}
        """
        return replace_fields(self, attrs={**self.attrs, attr_key: attr_value})

    @checked
    def with_attrs(self, attr_map: Attributes) -> IRModule:
        """A module with added attributes."""
        module = self
        for key, value in attr_map.items():
            module = module.with_attr(key, value)
        return module

    @checked
    def without_attr(self, attr_key: str) -> IRModule:
        """A module without an attribute."""
        kept = {key: value for key, value in self.attrs.items() if key != attr_key}
        return replace_fields(self, attrs=kept)

    @staticmethod
    @checked
    def from_expr(func: BaseFunc) -> IRModule:
        """A module with one function, named by its attribute "global_symbol" or "main".

        >>> from te_sched import tir
        >>> IRModule.from_expr(tir.PrimFunc((), tir.Evaluate(0), {})).get_global_vars()
        ['main']
        """
        return IRModule({str(func.attrs.get("global_symbol", "main")): func})

    if TYPE_CHECKING:  # given by ir.printer and te_sched.views

        def astext(self) -> str: ...
        def show(self) -> None: ...
