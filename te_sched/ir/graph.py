"""Graphs of functions (Relax): expressions of arrays, shapes and tuples, bound to variables.

    function    parameters, and a sequence of blocks of bindings with a result
    binding     a variable and its value, or a value whose struct info is matched at run time
    dataflow    a block without control flow and effects; its DataflowVars stay inside of it

An expression has a struct info (`struct_info_`), which is None until the expression is normalized.
Nodes follow the conventions of `ir.expr`, but are not its expressions: those are the sizes in
shapes. Must not know operators of graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, ElementError, counted, kind_of, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, Node, Operand, node_of
from te_sched.ir.op import Op
from te_sched.ir.roles import Role, role
from te_sched.ir.source_lines import NO_LINES, SourceLines
from te_sched.ir.stmt import Attributes, BaseFunc, GlobalVar
from te_sched.ir.struct_info import (
    BY_SINFO_ARGS,
    FuncStructInfo,
    GraphExprLike,
    ObjectStructInfo,
    PrimStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    erase_to_well_defined,
)
from te_sched.ir.struct_info import GraphExpr as GraphExpr
from te_sched.public_members import PublicObject
from te_sched.signatures import is_sequence

# The attribute of a function with the relations of its sizes that calls check; it follows from the
# operators of the function, and is neither printed nor compared.
SIZE_RELATIONS = "te_sched.size_relations"


# What a variable is bound to: an expression, or the name of a function of the module.
GraphValue = GraphExpr | GlobalVar
# What stands in a graph: values, and the operators that calls name.
GraphTerm = GraphValue | Op


class OpAttrs(dict[str, Any]):
    """The attributes of a call of an operator, in their order: `call.attrs.axis`.

    >>> OpAttrs(axis=1, keepdims=False).axis
    1
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


@node_of("relax", "Var")
class GraphVar(GraphExpr):
    """A variable of a graph, identified by the object, not by its name (`relax.Var`)."""

    name_hint: str
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __init__(self, name_hint: str, struct_info: object = None, of_type: object = None) -> None:
        if isinstance(of_type, str):
            raise _dtype_of_variable(name_hint, struct_info, of_type)
        if of_type is not None:  # as programs of 2022 write: a shape, and a type
            struct_info = TensorStructInfo(struct_info, _field_of(of_type, "dtype", "of_type"))
        if not isinstance(name_hint, str):
            raise DeclarationError(
                f"the name of a variable is {repr_of(name_hint)}",
                f"it is {kind_of(name_hint)}",
                "give a str",
            )
        _set(self, "name_hint", str(name_hint))
        _set(self, "struct_info_", as_struct_info(struct_info))


def _dtype_of_variable(name: object, shape: object, dtype: str) -> DeclarationError:
    """The error for a variable that is given a dtype, after its shape or its struct info."""
    info = f"relax.TensorStructInfo({repr_of(shape)}, {repr_of(dtype)})"
    if isinstance(shape, StructInfo):
        info = repr_of(shape)
    return DeclarationError(
        f"a variable has a struct info, not a shape and a dtype, got {repr_of(dtype)}",
        "",
        f"relax.Var takes a struct info: relax.Var({repr_of(name)}, {info})",
    )


@node_of("relax")
class DataflowVar(GraphVar):
    """A variable that is used in its dataflow block only."""

    __init__ = GraphVar.__init__


@node_of("relax")
class Constant(GraphExpr):
    """An array, as a value of the graph; see `relax.const`."""

    data: Any = role(Role.ANNOTATION)
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __init__(self, data: Any, struct_info: StructInfo | None = None) -> None:
        if isinstance(data, np.ndarray) and ARRAY_CONVERSIONS:
            data = ARRAY_CONVERSIONS[0](data)
        _set(self, "data", data)
        shape = _field_of(data, "shape", "the data of a constant")
        if not isinstance(shape, tuple):
            raise DeclarationError(
                f"the data of a constant is {repr_of(data)}",
                f"it is {kind_of(data)}",
                "give an array",
            )
        data_info = TensorStructInfo(shape, str(data.dtype))
        _set(self, "struct_info_", as_struct_info(struct_info) or data_info)


@node_of("relax")
class Tuple(GraphExpr):
    """Several values as one."""

    fields: tuple[GraphExpr, ...] = role(Role.CHILD)
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __post_init__(self) -> None:
        _set(self, "fields", _expressions(self.fields, "Tuple"))
        infos = [getattr(element, "struct_info_", None) for element in self.fields]
        if self.struct_info_ is None and None not in infos:
            _set(self, "struct_info_", TupleStructInfo(tuple(infos)))  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> GraphExpr:
        if index >= len(self.fields) or index < -len(self.fields):
            raise ElementError(
                f"a tuple of {counted(len(self.fields), 'value')} has no element {index}",
                "",
                "give an index of a value",
                in_tvm="Tuple index out of range",
            )
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[GraphExpr]:
        return iter(self.fields)


@node_of("relax")
class TupleGetItem(GraphExpr):
    """A value of several."""

    tuple_value: GraphExpr = role(Role.CHILD)
    index: int = 0
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __post_init__(self) -> None:
        if not hasattr(self.tuple_value, "struct_info_") or type(self.index) is not int:
            raise DeclarationError(
                f"cannot take element {repr_of(self.index)} of {repr_of(self.tuple_value)}",
                f"it is {kind_of(self.tuple_value)}",
                "give an expression of several values, and an int",
            )
        tuple_info = self.tuple_value.struct_info_
        if self.struct_info_ is None and isinstance(tuple_info, TupleStructInfo):
            if not 0 <= self.index < len(tuple_info.fields):
                raise DeclarationError(
                    f"a tuple of {counted(len(tuple_info.fields), 'value')} has no element "
                    f"{repr_of(self.index)}",
                    "",
                    "give an index from 0 to the number of values, exclusive",
                )
            _set(self, "struct_info_", tuple_info.fields[self.index])


@node_of("relax", "Call")
class GraphCall(GraphExpr):
    """A call of an operator, a function of the module or a library, or a variable (`relax.Call`).

    `attrs` are those of the operator, `sinfo_args` the struct infos that it takes.
    """

    op: Any = role(Role.CHILD)  # an Op, GlobalVar or expression
    args: tuple[Any, ...] = role(Role.CHILD)
    attrs: Any = role(Role.ANNOTATION, default=None)
    sinfo_args: tuple[StructInfo, ...] = role(Role.CHILD, default=())
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __post_init__(self) -> None:
        _set(self, "args", _expressions(self.args, "a call"))
        sinfo_args = self.sinfo_args
        infos = (
            sinfo_args if is_sequence(sinfo_args) else [] if sinfo_args is None else [sinfo_args]
        )
        _set(self, "sinfo_args", tuple([as_struct_info(info) for info in infos]))
        if type(self.attrs) is dict:
            _set(self, "attrs", OpAttrs(self.attrs))
        op_info = getattr(self.op, "struct_info_", None)
        if op_info is not None and not isinstance(op_info, FuncStructInfo | ObjectStructInfo):
            raise DeclarationError(
                f"a call of {repr_of(self.op)}, which is not a function",
                f"it is {op_info}",
                "call an operator or a function",
            )


@node_of("relax")
class If(GraphExpr):
    """One of two sequences, by a condition."""

    _internal_members = ("branches",)

    cond: GraphExpr = role(Role.CHILD)
    true_branch: GraphExpr = role(Role.CHILD)
    false_branch: GraphExpr = role(Role.CHILD)
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __post_init__(self) -> None:
        _set(self, "true_branch", as_sequence(self.true_branch))
        _set(self, "false_branch", as_sequence(self.false_branch))

    @property
    def branches(self) -> tuple[SeqExpr, SeqExpr]:
        """Both branches, which are sequences."""
        return self.true_branch, self.false_branch  # type: ignore[return-value]


class Binding(Node):
    """Base class of bindings."""

    __slots__ = ()
    var: GraphVar
    value: GraphValue


@node_of("relax")
class VarBinding(Binding):
    """A variable and its value."""

    var: GraphVar = role(Role.DEFINITION)
    value: GraphValue = role(Role.CHILD)


@node_of("relax")
class MatchCast(Binding):
    """A value that has a struct info when it runs; defines the variables in its sizes."""

    var: GraphVar = role(Role.DEFINITION)
    value: GraphValue = role(Role.CHILD)
    struct_info: StructInfo = role(Role.DEFINITION)

    def __post_init__(self) -> None:
        _set(self, "struct_info", as_struct_info(self.struct_info))


@node_of("relax")
class BindingBlock(Node):
    """Bindings, in order."""

    bindings: tuple[Binding, ...] = role(Role.BODY)

    def __post_init__(self) -> None:
        _set(self, "bindings", _listed(self.bindings, "the bindings of a block"))


@node_of("relax")
class DataflowBlock(BindingBlock):
    """Bindings without control flow and effects."""


def joined_blocks(blocks: list[BindingBlock]) -> list[BindingBlock]:
    """Blocks without empty ones, adjacent ones of a kind as one."""
    results: list[BindingBlock] = []
    for block in blocks:
        if not block.bindings:
            continue
        if results and type(results[-1]) is type(block):
            results[-1] = type(block)((*results[-1].bindings, *block.bindings))
        else:
            results.append(block)
    return results


@node_of("relax")
class SeqExpr(GraphExpr):
    """Blocks of bindings, and a result."""

    blocks: tuple[BindingBlock, ...] = role(Role.BODY)
    body: GraphExpr | GlobalVar = role(Role.BODY)
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __post_init__(self) -> None:
        _set(self, "blocks", _listed(self.blocks, "the blocks of a sequence"))


@node_of("relax")
class PrimValue(GraphExpr):
    """A number, perhaps of a symbolic value."""

    value: Expr = role(Role.CHILD)
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __post_init__(self) -> None:
        value: Any = self.value
        if isinstance(value, int) and not isinstance(value, bool):
            value = ops.const(int(value), "int64")
        elif type(value) is float:
            value = ops.const(value, "float64")
        _set(self, "value", ops.convert(value))
        if self.struct_info_ is None:
            _set(self, "struct_info_", PrimStructInfo(value=self.value))


@node_of("relax", "StringImm")
class GraphString(GraphExpr):
    """A string as a value of the graph (`relax.StringImm`)."""

    value: str
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __post_init__(self) -> None:
        _check_str(self.value, "the string")
        _set(self, "struct_info_", as_struct_info(self.struct_info_) or ObjectStructInfo())


@node_of("relax")
class DataTypeImm(GraphExpr):
    """A dtype as a value of the graph."""

    value: str
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)

    def __post_init__(self) -> None:
        _check_str(self.value, "the dtype")
        _set(self, "value", dtypes.spelled(self.value or "void"))
        _set(self, "struct_info_", self.struct_info_ or ObjectStructInfo())


@node_of("relax")
class ExternFunc(GraphExpr, BaseFunc):
    """A function that is registered under a name (`te_sched.register_func`)."""

    global_symbol: str
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)
    attrs: Attributes = role(Role.ANNOTATION, default_factory=dict)

    def __init__(
        self,
        global_symbol: str,
        struct_info: StructInfo | None = None,
        attrs: Attributes | None = None,
    ) -> None:
        for arg, kind in ((global_symbol, str), ({} if attrs is None else attrs, Mapping)):
            if not isinstance(arg, kind):
                raise DeclarationError(
                    f"cannot make an ExternFunc of {repr_of(arg)}",
                    f"it is {kind_of(arg)}",
                    "give the name of a registered function, and a dictionary of attributes",
                )
        _set(self, "global_symbol", str(global_symbol))
        info = as_struct_info(struct_info)
        own = info or FuncStructInfo.opaque_func(derive_func=BY_SINFO_ARGS)
        _set(self, "struct_info_", own)
        _set(self, "attrs", dict(attrs or {}))


@node_of("relax", "Function")
class GraphFunction(GraphExpr, BaseFunc, PublicObject):
    """A function of a graph: parameters, a body, and the struct info of its result.

    `attrs` has "global_symbol", if it can be called by name from outside of the module.
    """

    _public_name = "relax.Function"
    _internal_members = ("written_name", "lines")

    params: tuple[GraphVar, ...] = role(Role.DEFINITION)
    body: Any = role(Role.BODY)
    ret_struct_info: StructInfo | None = role(Role.BODY, default=None)
    is_pure: bool = True
    attrs: Any = role(Role.ANNOTATION, default=None)
    struct_info_: StructInfo | None = role(Role.ANNOTATION, default=None)
    written_name: str = ""
    lines: SourceLines = NO_LINES  # of the calls of operators

    def __post_init__(self) -> None:
        _set(self, "params", _listed(self.params, "the parameters of a function"))
        if not isinstance(self.attrs, Mapping | None):
            raise DeclarationError(
                f"the attributes of a function are {repr_of(self.attrs)}",
                f"it is {kind_of(self.attrs)}",
                "give a dictionary",
            )
        _set(self, "attrs", dict(self.attrs or {}))
        for param in self.params:
            if not isinstance(param, GraphVar):
                raise DeclarationError(
                    f"a parameter of a function is {repr_of(param)}",
                    f"it is {kind_of(param)}",
                    'give variables: relax.Var("x", relax.TensorStructInfo([4], "float32"))',
                )
        if self.body is not None:
            _set(self, "body", as_sequence(self.body))
        infos = tuple([graph_var.struct_info for graph_var in self.params])
        if self.ret_struct_info is None and self.body is not None:
            body_info = self.body.struct_info_
            if body_info is not None:
                _set(self, "ret_struct_info", erase_to_well_defined(body_info, infos))
        else:
            _set(self, "ret_struct_info", as_struct_info(self.ret_struct_info))
        if self.ret_struct_info is not None:
            func_info = FuncStructInfo(infos, self.ret_struct_info, bool(self.is_pure))
            _set(self, "struct_info_", func_info)

    @property
    def __name__(self) -> str:
        """The name of the function: that of its definition, if there is one."""
        return self.written_name or str(self.attrs.get("global_symbol", "main"))

    @staticmethod
    def create_empty(
        params: Sequence[GraphVar],
        ret_struct_info: StructInfo,
        is_pure: bool = True,
        attrs: Attributes | None = None,
    ) -> GraphFunction:
        """A function without a body, as a declaration."""
        return GraphFunction(
            params,  # type: ignore[arg-type]
            None,
            ret_struct_info,
            is_pure,
            attrs,
        )


def as_sequence(body: Any) -> Any:
    """An expression as a sequence of blocks; a sequence as it is."""
    if body is None or isinstance(body, SeqExpr):
        return body
    return SeqExpr((), body, getattr(body, "struct_info_", None))


def as_struct_info(value: object) -> Any:
    """A struct info, given as one or as an annotation of a script (`R.Tensor`); None stays."""
    if value is None or isinstance(value, StructInfo):
        return value
    for convert in STRUCT_INFO_CONVERSIONS:
        info = convert(value)
        if info is not None:
            return info
    raise DeclarationError(
        f"{repr_of(value)} is not a struct info",
        f"it is {kind_of(value)}",
        'give one: R.Tensor((4, 3), "float32"), or relax.TensorStructInfo([4, 3], "float32")',
    )


# What makes an array of a device of one of numpy; the runtime adds it.
ARRAY_CONVERSIONS: list[Callable[..., Any]] = []
# What makes struct infos of other objects: the annotations of scripts are added by `script`.
STRUCT_INFO_CONVERSIONS: list[Callable[[object], StructInfo | None]] = []


def as_expr(value: GraphExprLike | BaseFunc) -> Any:
    """A value of Python as an expression of a graph.

    Numbers and sizes become PrimValue, str StringImm, tuples and lists Tuple; a list of sizes is a
    shape only where a shape is expected.

    >>> as_expr((1, "a"))
    (R.prim_value(1), R.str("a"))
    """
    if isinstance(value, GraphExpr | Op | GlobalVar | BaseFunc):
        return value
    if isinstance(value, str):
        return GraphString(value)
    if isinstance(value, Operand | bool | int | float | np.integer | np.floating):
        return PrimValue(value)  # type: ignore[arg-type]
    _refuse_array(value)
    if is_sequence(value):
        return _tuple_of(value)
    raise DeclarationError(
        f"{repr_of(value)} is not an expression of a graph",
        f"it is {kind_of(value)}",
        "give variables, constants (relax.const), calls of operators, tuples of them",
    )


def _refuse_array(value: object) -> None:
    """Refuse arrays, which hold data: a graph has constants, and its functions are built first."""
    if hasattr(value, "__dlpack__"):
        raise DeclarationError(
            f"{kind_of(value)} is not an expression of a graph",
            "it holds data",
            "give a constant: relax.const(array); or to run a function, build its module with "
            "relax.build, and call relax.VirtualMachine(executable, device)[name](array)",
        )


@walks_deeply("convert a tuple", DeclarationError)
def _tuple_of(values: object) -> Tuple:
    return Tuple(_expressions(values, "a tuple"))


def inferred_struct_info(value: object) -> StructInfo | None:
    """What the value of a binding is known to be by its parts; None if that cannot be said."""
    if isinstance(value, GraphVar):
        return value.struct_info_
    if isinstance(value, Tuple):
        parts = [element.struct_info_ for element in value.fields]
        return None if None in parts else TupleStructInfo(tuple(parts))  # type: ignore[arg-type]
    if isinstance(value, TupleGetItem):
        tuple_info = value.tuple_value.struct_info_
        return tuple_info.fields[value.index] if isinstance(tuple_info, TupleStructInfo) else None
    if isinstance(value, GraphCall) and isinstance(value.op, Op):
        for infer in INFERENCES:
            return infer(value)
    return None


# What infers the struct info of calls of operators: added by `relax`.
INFERENCES: list[Callable[[GraphCall], StructInfo | None]] = []


def _expressions(values: Any, what: str) -> tuple[Any, ...]:
    if isinstance(values, Tuple):
        return values.fields
    _refuse_array(values)
    if not is_sequence(values):
        raise DeclarationError(
            f"the values of {what} are {repr_of(values)}",
            f"it is {kind_of(values)}",
            "give a list or tuple of expressions",
        )
    return tuple([as_expr(value) for value in values])


def _listed(values: Any, what: str) -> tuple[Any, ...]:
    """A list as a tuple."""
    if not is_sequence(values):
        raise DeclarationError(
            f"{what} are {repr_of(values)}", f"it is {kind_of(values)}", "give a list"
        )
    return tuple(values)


def _check_str(value: object, what: str) -> None:
    if not isinstance(value, str):
        raise DeclarationError(
            f"{what} is {repr_of(value)}", f"it is {kind_of(value)}", "give a str"
        )


def _field_of(value: object, name: str, what: str) -> Any:
    """A field that a value must have."""
    attribute = getattr(value, name, None)
    if attribute is None:
        raise DeclarationError(
            f"{what} is {repr_of(value)}", f"it is {kind_of(value)}", f"give what has a {name}"
        )
    return attribute


def update_struct_info(expr: GraphExpr, info: StructInfo | None) -> None:
    """Set the struct info of an expression that is being normalized, in place."""
    _set(expr, "struct_info_", info)


def _set(self: Node, name: str, value: object) -> None:
    object.__setattr__(self, name, value)
