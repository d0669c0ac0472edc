"""The operators of graphs: what is declared of each, by name ("relax.add").

A family declares its operators with all that passes know of them: how calls are inferred,
legalized, laid out, computed with float16. Those of TVM's columns are readable by TVM's names
(`te_sched.ir.Op.get_attr`), and programs may replace them. Must not know any operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from te_sched.errors import GraphError, did_you_mean
from te_sched.ir.graph import GraphCall, GraphExpr, OpAttrs
from te_sched.ir.op import ATTRIBUTES, CHANGED_BY_PROGRAMS, Op
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.operators.layouts import Layout

if TYPE_CHECKING:
    from te_sched.relax.block_builder import BlockBuilder

Infer = Callable[[GraphCall, "BlockBuilder"], StructInfo]
Rewrite = Callable[["BlockBuilder", GraphCall], GraphExpr]
LowerCall = Callable[[GraphCall], GraphCall]

_Columns = ParamSpec("_Columns")

# The policies of an operator in mixed precision: it is computed with float16, or with the dtype of
# its arguments; an operator without a policy has the dtypes that are written.
ALWAYS, FOLLOWS = 0, 1


class Operator(NamedTuple):
    """What is known of an operator.

    `infer(call, builder)` returns the struct info of a call with normalized arguments, and raises a
    GraphError if they do not fit; `builder.analyzer` proves and simplifies sizes. A rewrite
    `rule(builder, call)` returns what replaces a call, which may have calls of operators again.

    Parameters
    ----------
    is_pure : calls have no effects.
    mixed_precision : ALWAYS, FOLLOWS, or None.
    legalize : the rule of `LegalizeOps`, with TVM's text; must not load topi before it is called.
    exact : the rule of builds, where the one of TVM's text loses special values or is slow.
    calls_program : calls run functions of the program, which pure calls promise to be without
        effects; `relax.build` keeps them even if nothing uses their results.
    packed : the registered function that calls become if there is no rule.
    is_data_dependent : the rule finds the sizes of the result, which are not inferred.
    layout : what `ConvertLayout` may do.
    inference, training : the rules of `DecomposeOpsForInference` and `DecomposeOpsForTraining`.
    composition : the rule that decomposes calls in builds, before products read permuted operands
        in place; a call that stays is returned.
    approximate : the rule of `FastMathTransform`.
    lower : the call of the virtual machine.
    is_elementwise : an element of the first two arguments is read before the one at its place is
        written: `DataflowUseInplaceCalls` may write over them.
    is_update : the result is the first argument with some elements exchanged, which are written
        after all others are copied: states are changed in their memory.
    is_alias : the result has the memory of the first argument.
    reads_shape : only the shape of the first argument is used.
    """

    name: str
    infer: Infer
    is_pure: bool = True
    calls_program: bool = False
    mixed_precision: int | None = None
    legalize: Rewrite | None = None
    exact: Rewrite | None = None
    packed: str | None = None
    is_data_dependent: bool = False
    layout: Layout | None = None
    inference: Rewrite | None = None
    training: Rewrite | None = None
    composition: Rewrite | None = None
    approximate: Rewrite | None = None
    lower: LowerCall | None = None
    is_elementwise: bool = False
    is_update: bool = False
    is_alias: bool = False
    reads_shape: bool = False


# The columns of TVM, by its names.
_OF_TVM = {
    "FInferStructInfo": "infer",
    "TMixedPrecisionPolicy": "mixed_precision",
    "FLegalize": "legalize",
    "FCallPacked": "packed",
    "FDataDependent": "is_data_dependent",
    "FCallsProgram": "calls_program",
}
OPERATORS: dict[str, Operator] = {}


def _declaring(kind: Callable[_Columns, Operator]) -> Callable[_Columns, None]:
    def declare(*args: _Columns.args, **columns: _Columns.kwargs) -> None:
        """Add an operator of some columns to those of graphs."""
        operator = kind(*args, **columns)
        OPERATORS[operator.name] = operator
        attributes = ATTRIBUTES.setdefault(operator.name, {})
        attributes["FPurity"] = operator.is_pure
        for column, field in _OF_TVM.items():
            value = getattr(operator, field)
            if value is not None and value is not False:  # else it says nothing
                attributes[column] = value

    return declare


declare = _declaring(Operator)


def find_operator(op: object) -> Operator | None:
    """The operator of a call, as programs changed it; None for functions and unknown names."""
    name = str(op)
    operator = OPERATORS.get(name)
    return _changed(name, operator) if name in CHANGED_BY_PROGRAMS else operator


def operator_of(op: object) -> Operator:
    """The operator of a call, as programs changed it; GraphError if there is none with its name."""
    operator = find_operator(op)
    if operator is not None:
        return operator
    raise GraphError(
        f"there is no operator {str(op)!r}",
        "",
        f"use an operator of relax.op{did_you_mean(str(op), OPERATORS)}",
    )


def _changed(name: str, operator: Operator | None) -> Operator | None:
    """An operator with the columns of TVM that programs set; one of a program needs inference."""
    attributes = ATTRIBUTES.get(name, {})
    if "FInferStructInfo" not in attributes:
        return None
    columns: dict[str, Any] = {
        field: attributes.get(column) for column, field in _OF_TVM.items() if column in attributes
    }
    declared = Operator(name, columns["infer"]) if operator is None else operator
    columns = {**dict.fromkeys(_OF_TVM.values()), **columns}
    if columns["legalize"] is not declared.legalize:
        columns["exact"] = None
    is_pure = bool(attributes.get("FPurity", True))
    return declared._replace(**columns, is_pure=is_pure)


def legalization_of(op: object, is_exact: bool = False) -> Rewrite | None:
    """The rule that legalizes calls of an operator, in TVM's text or `is_exact`; None without."""
    operator = find_operator(op)
    if operator is None:
        return ATTRIBUTES.get(str(op), {}).get("FLegalize")
    return (operator.exact if is_exact else None) or operator.legalize


def make_call(name: str, args: Any, **attrs: Any) -> GraphCall:
    """A call of an operator with attributes, in the order in which they are printed.

    The dtype "void", as which an unknown one is printed, is "".
    """
    attrs = {
        key: "" if key.endswith("dtype") and str(value) == "void" else value
        for key, value in attrs.items()
    }
    return GraphCall(Op.get(name), tuple(args), OpAttrs(attrs) if attrs else None)


_Function = TypeVar("_Function", bound=Callable[..., GraphCall])


def named(function: _Function, name: str, summary: str) -> _Function:
    """A function that is made for an operator of a family, with a name and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function
