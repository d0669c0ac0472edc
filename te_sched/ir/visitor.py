"""Walking and rebuilding the IR, driven by the annotated fields of the nodes.

`Mapper` rebuilds a program; a subclass overrides `visit_<Class>` for the nodes it changes and calls
`self.generic(node)` to go on below. Where nothing changes, the same object comes back.
`walk` yields nodes; `children` gives the direct ones. Must not know what any pass does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from operator import is_not
from typing import Any, ClassVar

from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import Expr, Node, Var

_CHILD_TYPES = {
    *("Expr", "Stmt", "Stmt | None", "Range", "Range | None"),
    *("tuple[Expr, ...]", "tuple[Stmt, ...]", "tuple[Range, ...]"),
}


def _child_fields(cls: type) -> tuple[str, ...]:
    """Names of the fields that hold expressions, statements or ranges (not variables, buffers or
    reducers).
    """
    return tuple(f.name for f in dataclasses.fields(cls) if f.init and f.type in _CHILD_TYPES)


NODE_CLASSES: tuple[type, ...] = tuple(
    cls
    for module in (E, S)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Node) and dataclasses.is_dataclass(cls)
)
CHILD_FIELDS: dict[type, tuple[str, ...]] = {cls: _child_fields(cls) for cls in NODE_CLASSES}
INIT_FIELDS: dict[type, tuple[str, ...]] = {
    cls: tuple(f.name for f in dataclasses.fields(cls) if f.init) for cls in NODE_CLASSES
}


def replace(node: Any, **changes: Any) -> Any:
    """A copy of a node with some fields changed."""
    return type(node)(
        **{name: changes.get(name, getattr(node, name)) for name in INIT_FIELDS[type(node)]}
    )


def children(node: Any) -> Iterator[Node]:
    """The direct expressions, statements and ranges of a node."""
    for name in CHILD_FIELDS[type(node)]:
        value = getattr(node, name)
        if type(value) is tuple:
            yield from value
        elif value is not None:
            yield value


def walk(node: Any) -> Iterator[Any]:
    """The node and everything below it, parents first, in program order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        below = list(children(current))
        below.reverse()
        stack.extend(below)


def reads_data(e: Expr) -> bool:
    """Whether the value of an expression depends on elements of memory."""
    return any(type(part) in (E.BufferLoad, E.ProducerLoad) for part in walk(e))


def variables_of(*exprs: Expr) -> set[Var]:
    """The variables that expressions name."""
    return {part for e in exprs for part in walk(e) if type(part) is Var}


class Mapper:
    """Rebuilds a program bottom-up. Override `visit_<Class>(node)`; call `generic(node)` to map
    what is below.
    """

    _methods: ClassVar[dict[type, Callable[[Any, Any], Any]]]

    def __init_subclass__(cls) -> None:
        cls._methods = {
            kind: getattr(cls, f"visit_{kind.__name__}", _GENERIC[kind]) for kind in NODE_CLASSES
        }

    def visit(self, node: Any) -> Any:
        """The mapped node."""
        return self._methods[type(node)](self, node)

    def generic(self, node: Any) -> Any:
        """The node with its children mapped; the node itself when none changed."""
        return _GENERIC[type(node)](self, node)


def _generic_method(kind: type) -> Callable[[Mapper, Any], Any]:
    """How a Mapper rebuilds one class of nodes: decided once, here, because every pass runs through
    it.
    """
    child_fields, init_fields = CHILD_FIELDS[kind], INIT_FIELDS[kind]

    def leaf(mapper: Mapper, node: Any) -> Any:
        return node

    def two_operands(mapper: Mapper, node: Any) -> Any:
        methods = mapper._methods
        old_a, old_b = node.a, node.b
        a, b = methods[type(old_a)](mapper, old_a), methods[type(old_b)](mapper, old_b)
        return node if a is old_a and b is old_b else kind(a, b)

    def rebuild(mapper: Mapper, node: Any) -> Any:
        methods, changes = mapper._methods, {}
        for name in child_fields:
            old = getattr(node, name)
            if old is None:
                continue
            if type(old) is tuple:
                new: Any = tuple([methods[type(item)](mapper, item) for item in old])
                if any(map(is_not, new, old)):
                    changes[name] = new
            else:
                new = methods[type(old)](mapper, old)
                if new is not old:
                    changes[name] = new
        if not changes:
            return node
        return kind(
            *[changes[name] if name in changes else getattr(node, name) for name in init_fields]
        )

    if not child_fields:
        return leaf
    return two_operands if init_fields == ("a", "b") else rebuild


_GENERIC: dict[type, Callable[[Any, Any], Any]] = {
    kind: _generic_method(kind) for kind in NODE_CLASSES
}


class Substitute(Mapper):
    """Replaces variables by expressions (`mapping` is keyed by the Var object)."""

    def __init__(self, mapping: dict[Var, Expr]) -> None:
        self.mapping = mapping

    def visit_Var(self, node: Var) -> Expr:
        return self.mapping.get(node, node)


def substitute(node: Any, mapping: dict[Var, Expr]) -> Any:
    """The expression or statement with variables replaced."""
    return Substitute(mapping).visit(node) if mapping else node
