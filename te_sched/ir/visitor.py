"""Traversal and rewriting of the IR, based on the roles of the nodes' fields (`ir.roles`).

`Mapper` rebuilds a program; a subclass overrides `visit_<Class>` for the nodes that it changes and
calls `self.generic(node)` to map their children. If nothing changes, it returns the same object.
`walk` yields nodes, `children` returns the direct ones; a `Visitor` dispatches by class. Must not
know passes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, cached_property
from itertools import chain
from operator import is_, is_not
from typing import Any, ClassVar, TypeVar, overload

from te_sched.ir import blocks, graph, index_map, struct_info
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, Expr, Node, Var
from te_sched.ir.op import Op
from te_sched.ir.roles import CHILDREN, EVERY_ROLE, Role, roles_of
from te_sched.ir.stmt import GlobalVar

_N = TypeVar("_N", bound=Node)
_Part = TypeVar("_Part", bound=Node | GlobalVar)
_Method = Callable[[Any, Any], Any]

NODE_CLASSES: tuple[type[Node], ...] = tuple(
    cls
    for module in (E, S, blocks, index_map, struct_info, graph)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Node) and dataclasses.is_dataclass(cls)
)
FIELD_ROLES: dict[type, dict[str, Role]] = {cls: roles_of(cls) for cls in NODE_CLASSES}
INIT_FIELDS: dict[type, tuple[str, ...]] = {cls: (*FIELD_ROLES[cls],) for cls in NODE_CLASSES}


def fields_with(*roles: Role) -> dict[type, tuple[str, ...]]:
    """The fields with one of these roles, of each class of nodes."""
    return {
        kind: tuple([name for name, what in fields.items() if what in roles])
        for kind, fields in FIELD_ROLES.items()
    }


NAMES = (Op, GlobalVar)  # names, which stand among the expressions of graphs
CHILD_FIELDS = fields_with(*CHILDREN) | dict.fromkeys(NAMES, ())
_LAST_FIRST = {kind: fields[::-1] for kind, fields in CHILD_FIELDS.items()}
PART_FIELDS = fields_with(Role.BODY)  # the parts of statements
_PARTS_LAST_FIRST = {kind: fields[::-1] for kind, fields in PART_FIELDS.items()}


def replace(node: _N, /, **changes: object) -> _N:
    """A copy of a node with changed fields; the node itself if all values are the same.

    Tuples are compared by the identity of their items. Without fields, always returns a copy.
    """
    kind = type(node)
    for name, new in changes.items():
        old = getattr(node, name)
        if new is not old and (type(old) not in _BY_VALUE or not _is_kept(old, new)):
            break
    else:
        if changes:
            return node
    return kind(*[changes[n] if n in changes else getattr(node, n) for n in INIT_FIELDS[kind]])


_BY_VALUE = frozenset((tuple, str))


def _is_kept(old: object, new: object) -> bool:
    """Whether a value of another identity is the same dtype or name, or has the same nodes."""
    if type(old) is tuple and type(new) is tuple and len(old) == len(new):
        return all(map(is_, old, new))
    return type(old) is str and old == new


def children(node: Node) -> Iterator[Node]:
    """The expressions, statements and ranges that are direct children of a node."""
    for name in CHILD_FIELDS[type(node)]:
        value = getattr(node, name)
        if type(value) is tuple:
            yield from value
        elif value is not None:
            yield value


def parts_of(statement: S.Stmt) -> list[S.Stmt]:
    """The parts of a statement that are statements, in program order."""
    parts: list[S.Stmt] = []
    for name in PART_FIELDS[type(statement)]:
        part = getattr(statement, name)
        if type(part) is tuple:
            parts += part
        elif part is not None:
            parts.append(part)
    return parts


def walk(node: Node | GlobalVar) -> Iterator[Any]:
    """The node and all nodes below it, parents first, in program order."""
    return _below(node, _LAST_FIRST)


def statements(root: S.Stmt) -> Iterator[Any]:
    """The statement and those below it, parents first, in program order; no expressions."""
    return _below(root, _PARTS_LAST_FIRST)


def _below(root: Node | GlobalVar, last_first: Mapping[type, tuple[str, ...]]) -> Iterator[Any]:
    """The node and all nodes below it in some fields of each class, which are listed last first."""
    stack = [root]
    pop, push = stack.pop, stack.append
    while stack:
        node = pop()
        yield node
        for name in last_first[type(node)]:
            value = getattr(node, name)
            if type(value) is tuple:
                stack += value[::-1]
            elif value is not None:
                push(value)


def reads_data(e: Expr) -> bool:
    """Whether the value of an expression depends on elements of memory."""
    return any(type(part) in (E.BufferLoad, E.ProducerLoad) for part in walk(e))


def variables_of(*nodes: Node) -> set[Var]:
    """The variables that occur in expressions, also in those of statements."""
    variables: set[Var] = set()
    stack: list[Any] = [*nodes]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Var:
            variables.add(node)
        for name in CHILD_FIELDS[kind]:
            value = getattr(node, name)
            if type(value) is tuple:
                stack += value
            elif value is not None:
                stack.append(value)
    return variables


class Visitor:
    """Dispatches to methods `visit_<Class>(node)` of the nearest class of a node or its bases."""

    __slots__ = ()
    methods: ClassVar[dict[type, _Method]]

    def __init_subclass__(cls) -> None:
        cls.methods = _methods_of(cls)


class Mapper:
    """Rebuilds a program bottom-up. Override `visit_<Class>(node)` for a class of nodes or for one
    of its bases (`visit_Expr`); call `generic(node)` to map the children.
    """

    reached: ClassVar[frozenset[Role]] = CHILDREN  # the roles of the fields that are mapped
    _methods: ClassVar[dict[type, _Method]]
    _rebuilders: ClassVar[dict[type, _Method]]

    def __init_subclass__(cls) -> None:
        cls._rebuilders = _rebuilders(cls.reached)
        cls._methods = cls._rebuilders | _methods_of(cls)

    @overload
    def visit(self, node: Expr) -> Expr: ...
    @overload
    def visit(self, node: S.Stmt) -> S.Stmt: ...
    @overload
    def visit(self, node: _Part) -> _Part: ...
    def visit(self, node: Node | GlobalVar) -> Any:
        """The mapped node."""
        return self._methods[type(node)](self, node)

    def generic(self, node: _N) -> _N:
        """The node with its children mapped; the node itself if none changed."""
        mapped: _N = self._rebuilders[type(node)](self, node)
        return mapped


def _methods_of(visitor: type) -> dict[type, _Method]:
    """The method `visit_<Class>` for each class of nodes: of itself or of its nearest base."""
    names = {name for base in visitor.__mro__ for name in vars(base) if name.startswith("visit_")}
    methods: dict[type, _Method] = {}
    for kind in {kind for name in names for kind in _KINDS.get(name, ())}:
        nearest = next(base for base in kind.__mro__ if f"visit_{base.__name__}" in names)
        methods[kind] = getattr(visitor, f"visit_{nearest.__name__}")
    return methods


# The classes of nodes that a method handles.
_KINDS: dict[str, list[type]] = {}
for _kind in NODE_CLASSES:
    for _base in _kind.__mro__:
        _KINDS.setdefault(f"visit_{_base.__name__}", []).append(_kind)


def _map_definition(mapper: ReferenceMapper, old: Any) -> object:
    """Map a definition of a node: variables, also as part of an axis or a buffer."""
    if type(old) is Var:
        return mapper.define(old)
    return _map_reference(mapper, old, _map_definition)


def _map_use(mapper: Mapper, old: Node) -> Node:
    """Map a reference of a node, in a field that must keep its class."""
    new = mapper.visit(old)
    return new if type(new) is type(old) else old


def _map_reference(mapper: Mapper, old: Any, map_item: _Method | None = None) -> object:
    """Map the nodes in a value; other values are unchanged."""
    method = mapper._methods.get(type(old))
    if method is not None:
        return method(mapper, old)
    map_item = map_item or _map_reference
    if type(old) in (tuple, list):
        items = type(old)([map_item(mapper, item) for item in old])
        return items if any(map(is_not, items, old)) else old
    if isinstance(old, Mapping):
        values = {key: map_item(mapper, value) for key, value in old.items()}
        return values if any(values[key] is not old[key] for key in old) else old
    return old


_FIELD_MAPPERS: dict[Role, _Method] = {
    Role.DEFINITION: _map_definition,
    Role.USE: _map_use,
    Role.BUFFER: _map_reference,
    Role.ANNOTATION: _map_reference,
}


def _rebuilder(kind: type, reached: Collection[Role]) -> _Method:
    """The function that rebuilds a class of nodes, cached because every pass uses it. Definitions
    of a node are mapped after its parts outside of their scope, before its body.
    """
    roles = {name: what for name, what in FIELD_ROLES[kind].items() if what in reached}
    in_scope = {Role.DEFINITION: 1, Role.HEADER: 2, Role.BODY: 2}
    order = sorted(roles, key=lambda name: in_scope.get(roles[name], 0))
    plan = [(name, _FIELD_MAPPERS.get(roles[name])) for name in order]
    init_fields = INIT_FIELDS[kind]

    def leaf(mapper: Mapper, node: Node) -> Node:
        return node

    def two_operands(mapper: Mapper, node: Any) -> Any:
        methods = mapper._methods
        old_a, old_b = node.a, node.b
        a, b = methods[type(old_a)](mapper, old_a), methods[type(old_b)](mapper, old_b)
        return node if a is old_a and b is old_b else kind(a, b)

    def rebuild(mapper: Mapper, node: Node) -> Any:
        methods, changes = mapper._methods, {}
        for name, map_field in plan:
            old = getattr(node, name)
            if old is None:
                continue
            if map_field is not None:
                new: object = map_field(mapper, old)
                if new is not old:
                    changes[name] = new
            elif type(old) is tuple:
                new = tuple([methods[type(item)](mapper, item) for item in old])
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

    if not plan:
        return leaf
    if kind is S.SeqStmt:
        return _map_sequence
    return two_operands if init_fields == ("a", "b") else rebuild


def _map_sequence(mapper: Mapper, node: S.SeqStmt) -> S.SeqStmt:
    """A sequence of mapped statements; nested sequences are flattened."""
    methods, old = mapper._methods, node.seq
    new = [methods[type(part)](mapper, part) for part in old]
    if all(map(is_, new, old)):
        return node
    parts = [part.seq if type(part) is S.SeqStmt else (part,) for part in new]
    return S.SeqStmt(tuple(chain.from_iterable(parts)))


@cache
def _rebuilders(reached: frozenset[Role]) -> dict[type, _Method]:
    names = dict.fromkeys(NAMES, lambda mapper, node: node)
    return {kind: _rebuilder(kind, reached) for kind in NODE_CLASSES} | names


class StatementMapper(Mapper):
    """Maps the nested statements of statements; expressions are unchanged."""

    reached = frozenset([Role.BODY])


class ReferenceMapper(Mapper):
    """Also maps references of nodes: buffers, reducers, axes, attributes and annotations.

    A buffer, axis or reducer is rebuilt once, by `renewed`, so that all its uses agree. `define`
    returns the replacement of a defined variable.
    """

    reached = EVERY_ROLE

    @cached_property
    def shared(self) -> dict[Node, Node]:
        """The replacement of each buffer, axis and reducer."""
        return {}

    def define(self, var: Var) -> Var:
        """The variable that a node defines instead of this one."""
        return var

    def renewed(self, node: Any) -> Any:
        """The replacement of a buffer, axis or reducer."""
        return self.generic(node)

    def visit_shared(self, node: Any) -> Any:
        """Map a node that several others refer to."""
        result = self.shared.get(node)
        if result is None:
            result = self.shared[node] = self.renewed(node)
        return result

    visit_Buffer = visit_IterVar = visit_CommReducer = visit_shared


class AccessMapper(ReferenceMapper):
    """Redirects accesses to other buffers: `renewed` returns the buffer, `moved` the indices."""

    reached = CHILDREN | {Role.BUFFER}

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The indices of the replacement of a buffer for its mapped indices."""
        return indices

    def visit_access(self, node: Any) -> Any:
        """Map a load or store."""
        new = self.generic(node)
        if new.buffer is node.buffer:
            return new
        return replace(new, indices=self.moved(node.buffer, new.indices))

    visit_BufferLoad = visit_BufferStore = visit_access


class Substitute(ReferenceMapper):
    """Replaces variables by expressions (`mapping` is keyed by the Var object)."""

    def __init__(self, mapping: dict[Var, Expr]) -> None:
        self.mapping = mapping

    def visit_Var(self, node: Var) -> Expr:
        return self.mapping.get(node, node)


@overload
def substitute(node: Var, mapping: dict[Var, Expr]) -> Expr: ...
@overload
def substitute(node: _N, mapping: dict[Var, Expr]) -> _N: ...
def substitute(node: Node, mapping: dict[Var, Expr]) -> Node:
    """A node with variables replaced, also in buffers, domains of axes, attributes and annotations.

    Positions that need a variable (the pointer of a buffer) are only replaced by variables.
    """
    return Substitute(mapping).visit(node) if mapping else node
