"""The tree of a graph as text, with the names of its classes and fields, for tests.

Call(
    op=Op(name="relax.add"),
    args=[
        Var(name_hint="x"),
        Var(name_hint="y")
    ]
)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir import graph as G
from te_sched.ir import graph_types as Y
from te_sched.ir import struct_info as I
from te_sched.ir.expr import Expr, IntImm, PrimType, TupleType
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar
from te_sched.signatures import is_sequence

# The name of each class and its fields: a field that is a dtype or number is printed as it is.
_NODES: dict[type, tuple[str, tuple[str, ...]]] = {
    G.GraphVar: ("Var", ("name_hint",)),
    G.DataflowVar: ("DataflowVar", ("name_hint",)),
    G.Tuple: ("Tuple", ("fields",)),
    G.TupleGetItem: ("TupleGetItem", ("tuple_value", "index")),
    G.If: ("If", ("cond", "true_branch", "false_branch")),
    G.SeqExpr: ("SeqExpr", ("blocks", "body")),
    G.BindingBlock: ("BindingBlock", ("bindings",)),
    G.DataflowBlock: ("DataflowBlock", ("bindings",)),
    G.VarBinding: ("VarBinding", ("var", "value")),
    G.MatchCast: ("MatchCast", ("var", "value", "struct_info")),
    G.GraphFunction: ("Function", ("params", "body", "ret_struct_info", "is_pure", "attrs")),
    G.PrimValue: ("PrimValue", ("value",)),
    G.GraphString: ("StringImm", ("value",)),
    G.ExternFunc: ("ExternFunc", ("global_symbol",)),
    I.ShapeExpr: ("ShapeExpr", ("values",)),
    I.ObjectStructInfo: ("ObjectStructInfo", ()),
    I.TupleStructInfo: ("TupleStructInfo", ("fields",)),
    I.FuncStructInfo: ("FuncStructInfo", ("params", "ret", "purity")),
    Y.ObjectType: ("ObjectType", ()),
    Y.PackedFuncType: ("PackedFuncType", ()),
    Y.ShapeType: ("ShapeType", ("ndim",)),
    Y.FuncType: ("FuncType", ("arg_types", "ret_type")),
    TupleType: ("TupleType", ("fields",)),
}


class ASTPrinter:
    """Prints the trees of expressions, struct infos and types.

    Parameters
    ----------
    indent_str : of a level.
    include_struct_info_annotations : whether to print what is known of each expression.
    include_type_annotations : whether to print the type of each expression.
    include_call_attrs : whether to print the attributes of calls.
    """

    def __init__(
        self,
        indent_str: str = "    ",
        include_struct_info_annotations: bool = True,
        include_type_annotations: bool = False,
        include_call_attrs: bool = True,
    ) -> None:
        self.indent_str = indent_str
        self.include_struct_info_annotations = include_struct_info_annotations
        self.include_type_annotations = include_type_annotations
        self.include_call_attrs = include_call_attrs

    def visit_expr(self, expr: object) -> str:
        """The text of an expression, binding or block."""
        return self._text(expr)

    visit_binding = visit_binding_block = visit_struct_info_ = visit_type_ = visit_expr

    def _text(self, node: object) -> str:
        if is_sequence(node) and not isinstance(node, TupleType):
            return self._bracketed("[", [self._text(element) for element in node], "]")
        if isinstance(node, Mapping):
            pairs = [f'"{key}": {self._value(value)}' for key, value in node.items()]
            return self._bracketed("{", pairs, "}")
        name, fields = self._fields(node)
        if isinstance(node, G.GraphExpr) and not isinstance(node, G.ExternFunc):
            fields += self._annotations(node)
        return self._bracketed(f"{name}(", fields, ")")

    def _value(self, value: object) -> str:
        """The text of a value of an attribute."""
        if isinstance(value, str):
            return f'"{value}"'
        if isinstance(value, bool | int | float | type(None)):
            return str(value)
        if is_sequence(value):
            return self._bracketed("[", [self._value(element) for element in value], "]")
        return str(value)

    def _fields(self, node: object) -> tuple[str, list[str]]:
        kind = type(node)
        if kind in _NODES:
            name, names = _NODES[kind]
            return name, [f"{field}={self._field(getattr(node, field))}" for field in names]
        special = _SPECIAL.get(kind)
        if special is not None:
            description: tuple[str, list[str]] = special(self, node)
            return description
        if isinstance(node, Expr):
            text = f"T.{node.dtype}({node.value})" if isinstance(node, IntImm) else str(node)
            return "PrimExpr", [f"value=`{text}`"]
        raise GraphError(
            f"{repr_of(node)} is not part of a graph",
            f"it is {kind_of(node)}",
            "give an expression",
        )

    def _field(self, value: object) -> str:
        if isinstance(value, GlobalVar | Op | PrimType):
            return self._text(value)
        if isinstance(value, str | bool | int | type(None)):
            return self._value(value)
        return self._text(value)

    def _call(self, node: G.GraphCall) -> tuple[str, list[str]]:
        fields = [f"op={self._text(node.op)}", f"args={self._text(node.args)}"]
        if node.sinfo_args:
            fields.append(f"sinfo_args={self._text(node.sinfo_args)}")
        if self.include_call_attrs and node.attrs:
            fields.append(f"attrs={self._text(node.attrs)}")
        return "Call", fields

    def _tensor(self, node: I.TensorStructInfo) -> tuple[str, list[str]]:
        has_sizes = node.shape is not None and node.ndim != 0
        last = f"shape={self._text(node.shape)}" if has_sizes else f"ndim={node.ndim}"
        if isinstance(node.shape, G.GraphVar):
            last = f"shape={self._text(node.shape)}"
        return "TensorStructInfo", [f"dtype={node.dtype}", last]

    def _shape(self, node: I.ShapeStructInfo) -> tuple[str, list[str]]:
        values = [] if node.values is None else [f"values={self._text(node.values)}"]
        return "ShapeStructInfo", [f"ndim={node.ndim}", *values]

    def _annotations(self, node: G.GraphExpr) -> list[str]:
        fields = []
        info = node.struct_info_
        if info is None:
            return []
        if self.include_struct_info_annotations:
            fields.append(f"struct_info={self._text(info)}")
        if self.include_type_annotations:
            fields.append(f"checked_type_={self._text(Y.type_of(info))}")
        return fields

    def _bracketed(self, start: str, parts: list[str], end: str) -> str:
        """Parts on lines of their own, if there are several or one has several lines."""
        if len(parts) <= 1 and not any("\n" in part for part in parts):
            return f"{start}{''.join(parts)}{end}"
        inside = ",\n".join(parts).replace("\n", f"\n{self.indent_str}")
        return f"{start}\n{self.indent_str}{inside}\n{end}"


_SPECIAL: dict[type, Callable[[ASTPrinter, Any], tuple[str, list[str]]]] = {
    G.GraphCall: ASTPrinter._call,
    G.Constant: lambda printer, node: ("Constant", [f"data={node.data.numpy()}"]),
    G.DataTypeImm: lambda printer, node: ("DataTypeImm", [f"value={node.value}"]),
    GlobalVar: lambda printer, node: ("GlobalVar", [f'name_hint="{node}"']),
    Op: lambda printer, node: ("Op", [f'name="{node}"']),
    I.PrimStructInfo: lambda printer, node: ("PrimStructInfo", [f"dtype={node.dtype}"]),
    I.TensorStructInfo: ASTPrinter._tensor,
    I.ShapeStructInfo: ASTPrinter._shape,
    PrimType: lambda printer, node: ("PrimType", [f"dtype={node}"]),
    Y.DynTensorType: lambda printer, node: (
        "DynTensorType",
        [f"ndim={node.ndim}", f"dtype={node.dtype}"],
    ),
}


def dump_ast(
    exp: object,
    indent_str: str = "    ",
    include_struct_info_annotations: bool = True,
    include_type_annotations: bool = False,
    include_call_attrs: bool = True,
) -> str:
    """The tree of an expression as text; the options are those of `ASTPrinter`.

    >>> from te_sched import relax
    >>> dump_ast(relax.Var("x"))
    'Var(name_hint="x")'
    """
    printer = ASTPrinter(
        indent_str, include_struct_info_annotations, include_type_annotations, include_call_attrs
    )
    return printer.visit_expr(exp)
