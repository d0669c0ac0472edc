"""Structural equality: up to the names and identities of bound variables and buffers.

`structural_equal` compares, `first_mismatch` returns the paths to the first difference,
`structural_difference` its text. Whether two expressions are the same term, of the same variables,
is another notion (`ir.term_keys`). Must not know nodes beyond the roles of their fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, StructuralDifference, TeSchedError, repr_of
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, FloatImm, IntImm, IterVar, Node, StringImm, Var
from te_sched.ir.graph import SIZE_RELATIONS, DataflowVar, GraphExpr, GraphVar
from te_sched.ir.paths import ObjectPath
from te_sched.ir.roles import Role
from te_sched.ir.visitor import INIT_FIELDS, fields_with, walk

# Definitions of a node are compared before the rest of the node.
DEFINITIONS = fields_with(Role.DEFINITION)
# Ignored fields: the origin of a node, which is not printed, and names.
_HISTORY = ("is_scalarized", "name_hint", "owner_guard", "written_name")
_BODIES = fields_with(Role.BODY)
COMPARED = {  # the compared fields, bodies last; of graphs in their order
    kind: tuple(
        sorted(
            [name for name in fields if name not in _HISTORY],
            key=(lambda name: 0) if issubclass(kind, GraphExpr) else _BODIES[kind].__contains__,
        )
    )
    for kind, fields in INIT_FIELDS.items()
}


_ITEMS = (tuple, list)
_PLAIN_TYPES = ("int32", "bool", "float32", "handle")  # of constants that Python's values become

_deeply = walks_deeply("compare two programs", DeclarationError)


def structural_equal(a: Any, b: Any, map_free_vars: bool = False) -> bool:
    """Whether two nodes are equal up to renaming of bound variables and buffers.

    With `map_free_vars`, free variables may be renamed too, consistently.
    """
    return structural_difference(a, b, map_free_vars) is None


def structural_difference(a: Any, b: Any, map_free_vars: bool = False) -> str | None:
    """The first difference of two nodes as `path: left != right`, or None."""
    found = _first_difference(a, b, map_free_vars)
    return None if found is None else f"{found.paths[0]}: {found.text}"


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> tuple[ObjectPath, ObjectPath] | None:
    """The paths to the first difference of two programs, on both sides; None if they are equal.

    >>> n = te.var("n")
    >>> get_first_structural_mismatch(n + 1, n + 2)
    (<root>.b.value, <root>.b.value)
    """
    found = _first_difference(lhs, rhs, map_free_vars)
    return None if found is None else found.paths


@_deeply
def _first_difference(a: Any, b: Any, map_free_vars: bool) -> _Differ | None:
    comparer = _Comparer(map_free_vars)
    try:
        comparer.compare(a, b)
    except _Differ as difference:
        left, right = (
            ObjectPath(comparer.path if end is None else [*comparer.path, end])
            for end in difference.ends
        )
        difference.paths = (left, right)
        return difference
    return None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise, with the first difference, unless two programs have the same structure."""
    difference = structural_difference(lhs, rhs, map_free_vars)
    if difference is not None:
        raise StructuralDifference(
            f"the programs differ at {difference}",
            "it is the first difference of their structure",
            "compare their texts: .script()",
        )


_Step = tuple[str, Any]


class _Differ(Exception):
    """A difference; `ends` are last steps of the two paths, where one side has nothing."""

    paths: tuple[ObjectPath, ObjectPath]

    def __init__(self, text: str, left: _Step | None = None, right: _Step | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.ends = (left, right)


class _Comparer:
    """Compares two trees; `path` is the current position."""

    def __init__(self, map_free_vars: bool) -> None:
        self.map_free_vars = map_free_vars
        self.path: list[_Step] = []
        self.right_of: dict[Any, Any] = {}
        self.left_of: dict[Any, Any] = {}
        self.buffers: dict[Buffer, Buffer] = {}  # known to be equal

    def compare(self, a: Any, b: Any) -> None:
        """Raise _Differ if a and b differ."""
        kind = type(a)
        if kind is not type(b) and (is_plain(a) or is_plain(b)):
            a, b = unboxed(a), unboxed(b)
            kind = type(a)
        if kind is not type(b) and not _are_comparable(a, b):
            raise _Differ(f"{_brief(a)} != {_brief(b)}")
        method = _METHODS.get(kind)
        if method is not None:
            method(self, a, b)
        elif kind in INIT_FIELDS:
            self.fields(a, b)
        elif isinstance(a, _ITEMS) and not hasattr(a, "_fields"):
            self.items(a, b)
        elif not is_plain(a) and isinstance(a, Mapping):
            self.mapping(a, b)
        elif isinstance(a, Node):  # a producer
            if a is not b and (a.name, a.dtype) != (b.name, b.dtype):  # type: ignore[attr-defined]
                raise _Differ(f"{_brief(a)} != {_brief(b)}")
        elif a is not b and not _are_equal(a, b):
            raise _Differ(f"{repr_of(a)} != {repr_of(b)}")

    def at(self, name: str, a: Any, b: Any) -> None:
        """Compare an attribute."""
        self.path.append(("attr", name))
        self.compare(a, b)
        self.path.pop()

    def fields(self, a: Any, b: Any) -> None:
        """Compare two nodes of a class by fields, definitions first."""
        kind = type(a)
        binding = DEFINITIONS[kind]
        for name in binding:
            self.path.append(("attr", name))
            self.bind(getattr(a, name), getattr(b, name))
            self.path.pop()
        for name in COMPARED[kind]:
            if name not in binding:
                self.at(name, getattr(a, name), getattr(b, name))

    def items(self, a: Any, b: Any) -> None:
        """Compare two sequences: what they share first."""
        for position, (left, right) in enumerate(zip(a, b, strict=False)):
            self.path.append(("index", position))
            self.compare(left, right)
            self.path.pop()
        _same_length(a, b, "items")

    def mapping(self, a: Mapping[Any, Any], b: Mapping[Any, Any]) -> None:
        """Compare two mappings with plain keys."""
        a, b = compared_items(a), compared_items(b)
        if set(a) != set(b):
            text = f"keys {sorted(map(str, a))} != {sorted(map(str, b))}"
            raise _Differ(text, *_missing_entry([*a], [*b]))
        for key in a:
            self.path.append(("key", key))
            self.compare(plain_of(a[key]), plain_of(b[key]))
            self.path.pop()

    def bind(self, a: Any, b: Any) -> None:
        """Map variable a on the left to b on the right."""
        if type(a) is tuple and type(b) is tuple:
            for position, (left, right) in enumerate(zip(a, b, strict=False)):
                self.path.append(("index", position))
                self.bind(left, right)
                self.path.pop()
            _same_length(a, b, "variables")
        elif isinstance(a, Var):
            self.signature(a, b)
            self.right_of[a] = b
            self.left_of[b] = a
        elif isinstance(a, GraphVar):
            self.graph_variable_defined(a, b)
        else:
            self.defined(a, b)

    def graph_variable_defined(self, a: GraphVar, b: Any) -> None:
        """Map a variable of a graph on the left to b on the right."""
        if type(b) is not type(a):
            raise _Differ(f"{_brief(a)} != {_brief(b)}")
        self.path.append(("attr", "struct_info_"))
        if isinstance(a.struct_info_, Node) and isinstance(b.struct_info_, Node):
            self.defined(a.struct_info_, b.struct_info_)
        else:
            self.compare(a.struct_info_, b.struct_info_)
        self.path.pop()
        self.right_of[a] = b
        self.left_of[b] = a

    def graph_variable(self, a: GraphVar, b: GraphVar) -> None:
        """Compare two uses of variables of graphs."""
        left, right = self.left_of.get(b), self.right_of.get(a)
        if left is None and right is None and (a is b or self.map_free_vars):
            self.graph_variable_defined(a, b)
            return
        if left is not a or right is not b:
            raise _Differ(f"variable {a.name_hint} != {b.name_hint}")

    def defined(self, a: Any, b: Any) -> None:
        """Map the axis or buffer a on the left to b on the right."""
        if isinstance(a, Buffer):
            if a.data not in self.right_of:
                self.bind(a.data, b.data)
            for one, other in zip(symbols(a), symbols(b), strict=False):
                self.declare(one, other)  # of a view, by the buffer that it matches
        elif isinstance(a, IterVar):
            self.bind(a.var, b.var)
            self.at("dom", a.dom, b.dom)
        elif isinstance(a, Node) and type(a) is type(b):  # what a parameter of a graph is
            for one, other in zip(variables_in(a), variables_in(b), strict=False):
                self.declare(one, other)
        self.compare(a, b)

    def signature(self, a: Var, b: Var) -> None:
        """Compare two variables except for their names."""
        if a.dtype != b.dtype:
            step = ("attr", "dtype")
            raise _Differ(f"{a.name}: {a.dtype} != {b.name}: {b.dtype}", step, step)
        if a.pointer != b.pointer and a.pointer is not None and b.pointer is not None:
            left, right = a.pointer, b.pointer
            if (left.element, left.scope or "global") != (right.element, right.scope or "global"):
                raise _Differ(f"{a.name}: {left} != {b.name}: {right}")

    def variable(self, a: Var, b: Var) -> None:
        """Compare two uses of variables."""
        left, right = self.left_of.get(b), self.right_of.get(a)
        if left is None and right is None and (a is b or self.map_free_vars):
            self.bind(a, b)
            return
        if left is not a or right is not b:
            raise _Differ(f"variable {a.name} != {b.name}")

    def buffer(self, a: Buffer, b: Buffer) -> None:
        """Compare two buffers by content: two views of the same memory may be one on the left."""
        if self.buffers.get(a) is b:
            return
        self.declare(a.data, b.data)  # of a part of a program, which does not define the buffer
        for one, other in zip(symbols(a), symbols(b), strict=False):
            self.declare(one, other)
        for name in INIT_FIELDS[Buffer]:
            if name not in ("name", "data_alignment"):
                self.at(name, getattr(a, name), getattr(b, name))
        # Alignment beyond a cache line changes no access.
        self.at("data_alignment", min(a.data_alignment, 64), min(b.data_alignment, 64))
        self.buffers[a] = b

    def attribute(self, a: S.AttrStmt, b: S.AttrStmt) -> None:
        """Compare attributes, which may define the variable of a thread or the data of a buffer."""
        if a.key != b.key:
            raise _Differ(f"attribute {a.key!r} != {b.key!r}")
        left, right = a.node, b.node
        both_axes = isinstance(left, IterVar) and isinstance(right, IterVar)
        if both_axes and a.key in S.THREAD_KEYS and left.var not in self.right_of:
            self.bind(left.var, right.var)
        if isinstance(left, Buffer) and isinstance(right, Buffer):
            self.declare(left.data, right.data)
        self.fields(a, b)

    def declare(self, a: Var, b: Var) -> None:
        """Map the pointer of an attribute that encloses its definition."""
        if a is not b and a not in self.right_of and b not in self.left_of:
            self.bind(a, b)

    def axis(self, a: IterVar, b: IterVar) -> None:
        """Compare axes outside of reductions, by their variables; pragmas may name removed axes."""
        if a is b:
            return
        if (a.kind, a.thread_tag) != (b.kind, b.thread_tag):
            raise _Differ(f"axis {_brief(a)} != {_brief(b)}")
        if self.right_of.get(a.var) is None and self.left_of.get(b.var) is None:
            self.bind(a.var, b.var)
        self.at("var", a.var, b.var)

    def function(self, a: S.PrimFunc, b: S.PrimFunc) -> None:
        """Compare functions: parameters are bound, and pointers and symbolic shapes of buffers."""
        self.path.append(("attr", "params"))
        self.bind(a.params, b.params)
        self.path[-1] = ("attr", "buffer_map")
        mapped = [self.right_of.get(param, param) for param in a.buffer_map]
        if set(mapped) != set(b.buffer_map):
            ends = _missing_entry(mapped, [*b.buffer_map])
            raise _Differ("other parameters have buffers", *ends)
        self.path.append(("", None))
        pairs = [
            (a.buffer_map[one], b.buffer_map[self.right_of.get(one, one)]) for one in a.buffer_map
        ]
        for left, right in pairs:
            self.declare(left.data, right.data)
            for one, other in zip(symbols(left), symbols(right), strict=False):
                self.declare(one, other)
        for param, (left, right) in zip(a.buffer_map, pairs, strict=True):
            self.path[-1] = ("key", param)
            self.buffer(left, right)
        del self.path[-2:]
        self.at("attrs", a.attrs, b.attrs)
        self.at("ret_type", a.ret_type, b.ret_type)
        self.at("body", a.body, b.body)

    def constant(self, a: FloatImm, b: FloatImm) -> None:
        """Compare floating-point constants by their bits."""
        if a.dtype != b.dtype or float_key(a.value) != float_key(b.value):
            raise _Differ(f"{a.value!r} ({a.dtype}) != {b.value!r} ({b.dtype})")


def compared_items(attrs: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Attributes without those that follow from the rest of a function."""
    if SIZE_RELATIONS not in attrs:
        return attrs
    return {key: value for key, value in attrs.items() if key != SIZE_RELATIONS}


_METHODS: dict[type, Callable[[_Comparer, Any, Any], None]] = {
    Var: _Comparer.variable,
    GraphVar: _Comparer.graph_variable,
    DataflowVar: _Comparer.graph_variable,
    Buffer: _Comparer.buffer,
    IterVar: _Comparer.axis,
    FloatImm: _Comparer.constant,
    S.AttrStmt: _Comparer.attribute,
    S.PrimFunc: _Comparer.function,
}


def unboxed(value: Any) -> Any:
    """The plain value of a constant of a type that plain values have."""
    return plain_of(value) if getattr(value, "dtype", "") in _PLAIN_TYPES else value


def is_plain(value: Any) -> bool:
    """Whether a value is a number or a text of Python."""
    return type(value) in (bool, int, float, str)


def plain_of(value: Any) -> Any:
    """The plain value of a constant, as which attributes have it too."""
    if type(value) is IntImm:
        return bool(value) if value.dtype == "bool" else value.value
    return value.value if type(value) in (FloatImm, StringImm) else value


def _same_length(a: Any, b: Any, what: str) -> None:
    if len(a) != len(b):
        first = min(len(a), len(b))
        ends = [("index" if first < len(side) else "no element", first) for side in (a, b)]
        raise _Differ(f"{len(a)} {what} != {len(b)} {what}", *ends)


def _missing_entry(a: list[Any], b: list[Any]) -> tuple[_Step, _Step]:
    """The last steps of the paths to an entry that one side does not have."""
    nothing = ("no entry", "missing")
    only = [key for key in a if key not in set(b)]
    if only:
        return ("key", only[0]), nothing
    return nothing, ("key", next(key for key in b if key not in set(a)))


def variables_in(*nodes: Node) -> list[Var]:
    """The variables in nodes, in order, with repetitions."""
    return [
        one for part in nodes if type(part) is not IntImm for one in walk(part) if type(one) is Var
    ]


def symbols(buffer: Buffer) -> list[Var]:
    """The variables in the layout of a buffer; a parameter or a view defines them."""
    return variables_in(*buffer.shape, *buffer.strides, buffer.elem_offset)


def _are_comparable(a: Any, b: Any) -> bool:
    """Whether values of two types can be equal: sequences, numbers, and kinds of strings."""
    return any(
        isinstance(a, kinds) and isinstance(b, kinds) for kinds in (_ITEMS, str, (bool, int))
    )


def _are_equal(a: Any, b: Any) -> bool:
    """Whether two values that are not nodes are equal; arrays and their elements by their bits."""
    try:
        a, b = (one.numpy() if hasattr(one, "numpy") else one for one in (a, b))
        if isinstance(a, np.ndarray | np.generic) and isinstance(b, np.ndarray | np.generic):
            return (a.dtype, a.shape) == (b.dtype, b.shape) and _bits_of(a) == _bits_of(b)
        if isinstance(a, float) and isinstance(b, float):
            return float_key(a) == float_key(b)
        return bool(a == b)
    except (ValueError, TypeError, TeSchedError):
        return False


def _bits_of(array: Any) -> memoryview:
    """The bytes of an array."""
    return np.ascontiguousarray(array).reshape(-1).view("uint8").data


def _brief(value: Any) -> str:
    """A short text of a node, for messages."""
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return f"{value.value!r} ({value.dtype})"
    if isinstance(value, (Var, Buffer)):
        return f"{type(value).__name__} {value.name}"
    if isinstance(value, IterVar):
        return f"{value.var.name} ({value.kind} {value.thread_tag})".replace(" )", ")")
    return type(value).__name__ if isinstance(value, Node) else repr_of(value)


def float_key(value: float) -> str:
    """A key that tells 0.0 and -0.0 apart, and takes NaN as NaN."""
    return "nan" if math.isnan(value) else value.hex()
