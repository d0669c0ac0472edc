"""Variables of a graph: those that it binds, those that it uses, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from te_sched.ir.expr import Expr, Node, Var
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphTerm,
    GraphValue,
    GraphVar,
    MatchCast,
    PrimValue,
    Tuple,
    VarBinding,
)
from te_sched.ir.stmt import GlobalVar, PrimFunc
from te_sched.ir.struct_info import PrimStructInfo, ShapeExpr, ShapeStructInfo, StructInfo
from te_sched.ir.visitor import CHILD_FIELDS
from te_sched.relax.core.sizes import bound_sizes
from te_sched.signatures import check_function

_Item = TypeVar("_Item")
_LAST_FIRST: dict[type, tuple[str, ...]] = {
    kind: fields[::-1] for kind, fields in CHILD_FIELDS.items() if not issubclass(kind, PrimFunc)
}
_LAST_FIRST_OF_GRAPHS: dict[type, tuple[str, ...]] = {
    kind: fields
    for kind, fields in _LAST_FIRST.items()
    if issubclass(kind, GraphExpr | Binding | BindingBlock)
}
_SIZED = (Expr, ShapeExpr, ShapeStructInfo, PrimStructInfo, PrimValue)  # of sizes alone
_LAST_FIRST_TO_VARIABLES = {
    kind: fields for kind, fields in _LAST_FIRST.items() if not issubclass(kind, _SIZED)
}


def nodes_of(node: Node | GraphTerm, into_structs: bool = False) -> Iterator[object]:
    """The expressions, blocks and bindings of a graph, parents first, in program order.

    Variables where they are bound are not among them; with `into_structs`, sizes and the struct
    infos that calls take are.
    """
    return _below(node, _LAST_FIRST if into_structs else _LAST_FIRST_OF_GRAPHS)


def _below(node: object, last_first: Mapping[type, tuple[str, ...]]) -> Iterator[object]:
    stack: list[object] = [node]
    while stack:
        current = stack.pop()
        yield current
        for name in last_first.get(type(current), ()):
            value = getattr(current, name)
            if type(value) is tuple:
                stack += reversed(value)
            elif value is not None:
                stack.append(value)


def bindings_of(node: Node | GraphTerm) -> Iterator[Binding]:
    """The bindings of a graph, in program order; a binding comes before those in its value."""
    return (part for part in nodes_of(node) if isinstance(part, Binding))


def _defined_by(node: object) -> tuple[GraphVar, ...]:
    if isinstance(node, GraphFunction):
        return node.params
    return (node.var,) if isinstance(node, Binding) else ()


def _unique(items: Iterable[_Item]) -> list[_Item]:
    return list(dict.fromkeys(items))


def all_vars(expr: Node) -> list[GraphVar]:
    """The variables of a graph, in order of their first occurrence.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> all_vars(relax.op.add(x, x))
    [x]
    """
    variables: list[GraphVar] = []
    for node in nodes_of(expr):
        variables += [node] if isinstance(node, GraphVar) else _defined_by(node)
    return _unique(variables)


def bound_vars(expr: Node) -> list[GraphVar]:
    """The variables that a graph binds: parameters, and those of bindings."""
    return _unique(var for node in nodes_of(expr) for var in _defined_by(node))


def free_vars(expr: Node) -> list[GraphVar]:
    """The variables that a graph uses but does not bind.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> free_vars(relax.Function([x], x)), free_vars(relax.op.add(x, x))
    ([], [x])
    """
    bound = set(bound_vars(expr))
    return [var for var in used_vars(expr) if var not in bound]


def used_vars(expr: Node | GraphTerm) -> list[GraphVar]:
    """The variables that a graph uses, also as the shapes that calls are given."""
    return _unique(uses_of(expr))


def uses_of(expr: Node | GraphTerm) -> list[GraphVar]:
    """The variables that a graph uses, once for each use."""
    nodes = _below(expr, _LAST_FIRST_TO_VARIABLES)
    return [node for node in nodes if isinstance(node, GraphVar)]


def sources_of(block: BindingBlock) -> dict[GraphVar, list[GraphVar]]:
    """The variables that each binding of a block uses, once for each use, and those of the matches
    in the block that give values to its sizes.
    """
    matches: dict[object, GraphVar] = {}  # by the variables of sizes
    sources: dict[GraphVar, list[GraphVar]] = {}
    for binding in block.bindings:
        nodes = [node for node in nodes_of(binding, True) if isinstance(node, GraphVar | Var)]
        used = [node if isinstance(node, GraphVar) else matches.get(node) for node in nodes]
        sources[binding.var] = [var for var in used if var is not None]
        if isinstance(binding, MatchCast):
            for size in bound_sizes(binding.struct_info):
                matches.setdefault(size, binding.var)
    return sources


def all_global_vars(expr: Node) -> list[GlobalVar]:
    """The names of functions that a graph refers to."""
    return _unique(node for node in nodes_of(expr) if isinstance(node, GlobalVar))


def called_global_vars(expr: Node) -> list[GlobalVar]:
    """The names of functions that a graph calls, itself or by `call_tir` and its like."""
    global_vars: list[GlobalVar] = []
    for node in nodes_of(expr):
        if isinstance(node, GraphCall):
            callees = [node.op, *node.args[:1]]
            global_vars += [name for name in callees if isinstance(name, GlobalVar)]
    return _unique(global_vars)


def post_order_visit(expr: Node, fvisit: Callable[[object], None]) -> None:
    """Call a function with each expression of a graph once, after those below it.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> post_order_visit(relax.op.add(x, x), lambda one: print(type(one).__name__))
    Op
    GraphVar
    GraphCall
    """
    check_function(fvisit, 1, "post_order_visit", "lambda expr: ...")
    seen: set[int] = set()

    def visit(node: object) -> None:
        for name in CHILD_FIELDS[type(node)]:
            value = getattr(node, name)
            for child in value if type(value) is tuple else (value,):
                if (
                    child is not None
                    and not isinstance(child, StructInfo)
                    and id(child) not in seen
                ):
                    seen.add(id(child))
                    if not isinstance(child, PrimFunc):
                        visit(child)
                    report(child)
        for var in _defined_by(node):
            if id(var) not in seen:
                seen.add(id(var))
                fvisit(var)

    def report(node: object) -> None:
        if not isinstance(node, Binding | BindingBlock):
            fvisit(node)

    visit(expr)
    report(expr)


def udchain(dfb: BindingBlock) -> dict[GraphVar, list[GraphVar]]:
    """The variables of a block, each with those that are bound to a value that uses it."""
    users: dict[GraphVar, list[GraphVar]] = {}
    for binding in dfb.bindings:
        for var in used_vars(binding.value):
            users.setdefault(var, []).append(binding.var)
        users.setdefault(binding.var, [])
    return users


def name_to_binding(func: Node) -> dict[str, list[Binding]]:
    """The bindings of a function by the name of their variable."""
    bindings: dict[str, list[Binding]] = {}
    for binding in bindings_of(func):
        bindings.setdefault(binding.var.name_hint, []).append(binding)
    return bindings


def get_var2val(func: Node) -> dict[GraphVar, GraphValue]:
    """The values that variables of a function are bound to."""
    return {
        binding.var: binding.value
        for binding in bindings_of(func)
        if isinstance(binding, VarBinding)
    }


def written_in_place(func: Node) -> set[GraphVar]:
    """The variables whose arrays calls overwrite, by any of their names."""
    written: set[object] = set()
    for binding in reversed([*bindings_of(func)]):
        value = getattr(binding, "value", None)
        if binding.var in written:
            written |= {value, getattr(value, "tuple_value", None), *getattr(value, "fields", ())}
        if not isinstance(value, GraphCall):
            continue
        if value.op == "relax.call_tir_inplace" and isinstance(value.args[1], Tuple):
            places = value.attrs.inplace_indices
            written |= {value.args[1].fields[index] for index in places if index >= 0}
        elif value.op == "relax.call_inplace_packed":
            places = value.attrs.inplace_indices
            written |= {value.args[1 + index] for index in places if index >= 0}
    return {value for value in written if isinstance(value, GraphVar)}
