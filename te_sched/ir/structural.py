"""Structural equality: up to the names and identities of bound variables and buffers.

One walk of two trees numbers what they define and compares them step by step: `structural_equal`,
`structural_difference` (the text of the first difference) and `get_first_structural_mismatch` (its
paths). The walk of a tree with itself lists what is compared (`tokens_of`, which the structural
hash digests), so that equal programs have equal tokens. Whether two expressions are the same term,
of the same variables, is another notion (`ir.term_keys`). Must not know nodes beyond the roles of
their fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, StructuralDifference, TeSchedError, repr_of
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, FloatImm, IntImm, IterVar, Node, StringImm, Var
from te_sched.ir.graph import SIZE_RELATIONS, DataflowVar, GraphExpr, GraphVar
from te_sched.ir.paths import ObjectPath, Step
from te_sched.ir.roles import Role
from te_sched.ir.visitor import INIT_FIELDS, fields_with, walk

# Definitions of a node are compared before the rest of the node.
DEFINITIONS = fields_with(Role.DEFINITION)
# Ignored fields: the origin of a node, which is not printed, and names.
_HISTORY = ("is_scalarized", "name_hint", "owner_guard", "written_name", "lines")
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

_OTHERS = {  # the fields other than definitions
    kind: tuple([name for name in names if name not in DEFINITIONS[kind]])
    for kind, names in COMPARED.items()
}
_Variable = Var | GraphVar
_K = TypeVar("_K")
_ITEMS = (tuple, list)
_PLAIN_TYPES = ("int32", "bool", "float32", "handle")  # of constants that Python's values become
_CONSTANTS = frozenset((IntImm, StringImm))

_deeply = walks_deeply("compare two programs", DeclarationError)


def structural_equal(a: object, b: object, map_free_vars: bool = False) -> bool:
    """Whether two nodes are equal up to renaming of bound variables and buffers.

    With `map_free_vars`, free variables may be renamed too, consistently.
    """
    return structural_difference(a, b, map_free_vars) is None


def structural_difference(a: object, b: object, map_free_vars: bool = False) -> str | None:
    """The first difference of two nodes as `path: left != right`, or None."""
    mismatch = _first_difference(a, b, map_free_vars)
    return None if mismatch is None else f"{mismatch.paths[0]}: {mismatch.text}"


def get_first_structural_mismatch(
    lhs: object, rhs: object, map_free_vars: bool = False
) -> tuple[ObjectPath, ObjectPath] | None:
    """The paths to the first difference of two programs, on both sides; None if they are equal.

    >>> n = te.var("n")
    >>> get_first_structural_mismatch(n + 1, n + 2)
    (<root>.b.value, <root>.b.value)
    """
    mismatch = _first_difference(lhs, rhs, map_free_vars)
    return None if mismatch is None else mismatch.paths


@_deeply
def _first_difference(a: object, b: object, map_free_vars: bool) -> _Differ | None:
    walk_of_both = _Walk(map_free_vars)
    try:
        walk_of_both.compare(a, b)
    except _Differ as difference:
        left, right = (
            ObjectPath([*reversed(difference.steps), *(() if end is None else (end,))])
            for end in difference.ends
        )
        difference.paths = (left, right)
        return difference.with_traceback(None)  # which refers to those who keep the difference
    return None


def assert_structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> None:
    """Raise, with the first difference, unless two programs have the same structure."""
    difference = structural_difference(lhs, rhs, map_free_vars)
    if difference is not None:
        raise StructuralDifference(
            f"the programs differ at {difference}",
            "it is the first difference of their structure",
            "compare their texts: .script()",
        )


class _Differ(Exception):
    """A difference; `ends` are last steps of the two paths, where one side has nothing."""

    paths: tuple[ObjectPath, ObjectPath]

    def __init__(self, text: str, left: Step | None = None, right: Step | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.ends = (left, right)
        self.steps: list[Step] = []  # of the path so far, the last one first


class _Walk:
    """Compares two trees. The variables of both are numbered in the order of their definitions.

    With `tokens`, both are the same tree, and what is compared is appended there.
    """

    def __init__(self, map_free_vars: bool, tokens: list[object] | None = None) -> None:
        self.map_free_vars = map_free_vars
        self.tokens = tokens
        self.count = 0  # of definitions
        self.left: dict[_Variable, int] = {}
        self.right: dict[_Variable, int] = {} if tokens is None else self.left
        # The buffer that is known to be equal; with tokens, the digest of those of a buffer.
        self.buffers: dict[Buffer, Any] = {}

    def compare(self, a: object, b: Any) -> None:
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
        elif self.tokens is not None:
            self.tokens += _leaf_tokens(a)
        elif isinstance(a, Node):  # a producer
            if a is not b and (a.name, a.dtype) != (b.name, b.dtype):  # type: ignore[attr-defined]
                raise _Differ(f"{_brief(a)} != {_brief(b)}")
        elif a is not b and not _are_equal(a, b):
            raise _Differ(f"{repr_of(a)} != {repr_of(b)}")

    def at(self, name: str, a: object, b: object) -> None:
        """Compare an attribute."""
        self.below(("attr", name), self.compare, a, b)

    def below(self, step: Step, compare: Callable[[Any, Any], None], a: object, b: object) -> None:
        """Compare what is one step further on the path."""
        try:
            compare(a, b)
        except _Differ as difference:
            difference.steps.append(step)
            raise

    def fields(self, a: object, b: object) -> None:
        """Compare two nodes of a class by fields, definitions first."""
        kind = type(a)
        if self.tokens is not None:
            if kind in _CONSTANTS:
                self.tokens += _constant_tokens(a)
                return
            self.tokens.append(kind.__name__)
        name = ""
        try:
            for name in DEFINITIONS[kind]:
                self.bind(getattr(a, name), getattr(b, name))
            for name in _OTHERS[kind]:
                self.compare(getattr(a, name), getattr(b, name))
        except _Differ as difference:
            difference.steps.append(("attr", name))
            raise

    def items(self, a: Sequence[object], b: Sequence[object]) -> None:
        """Compare two sequences: what they share first."""
        if self.tokens is not None:
            self.tokens.append(len(a))
        position = 0
        try:
            for position in range(min(len(a), len(b))):
                self.compare(a[position], b[position])
        except _Differ as difference:
            difference.steps.append(("index", position))
            raise
        _same_length(a, b, "items")

    def mapping(self, a: Mapping[object, object], b: Mapping[object, object]) -> None:
        """Compare two mappings with plain keys."""
        a, b = compared_items(a), compared_items(b)
        if set(a) != set(b):
            text = f"keys {sorted(map(str, a))} != {sorted(map(str, b))}"
            raise _Differ(text, *_missing_entry([*a], [*b]))
        keys: Iterable[object] = a
        if self.tokens is not None:
            keys = sorted(a, key=str)
            self.tokens += map(str, keys)
        for key in keys:
            self.below(("key", key), self.compare, plain_of(a[key]), plain_of(b[key]))

    def bind(self, a: object, b: Any) -> None:
        """Give variable a on the left and b on the right one number."""
        if type(a) is tuple and type(b) is tuple:
            if self.tokens is not None:
                self.tokens.append(len(a))
            for position, (left, right) in enumerate(zip(a, b, strict=False)):
                self.below(("index", position), self.bind, left, right)
            _same_length(a, b, "variables")
        elif isinstance(a, Var):
            self.signature(a, b)
            self.number(a, b)
            if self.tokens is not None:
                self.tokens.append(a.dtype)
        elif isinstance(a, GraphVar):
            self.graph_variable_defined(a, b)
        else:
            self.defined(a, b)

    def number(self, a: _Variable, b: _Variable) -> None:
        """Give two variables the next number."""
        self.left[a] = self.right[b] = self.count
        self.count += 1

    def graph_variable_defined(self, a: GraphVar, b: Any) -> None:
        """Give variable a of the graph on the left and b on the right one number."""
        if type(b) is not type(a):
            raise _Differ(f"{_brief(a)} != {_brief(b)}")
        infos = a.struct_info_, b.struct_info_
        are_known = all(isinstance(info, Node) for info in infos)
        compare = self.defined if are_known else self.compare
        self.below(("attr", "struct_info_"), compare, *infos)
        self.number(a, b)
        if self.tokens is not None:
            self.tokens.append(type(a).__name__)

    def defined(self, a: object, b: Any) -> None:
        """Number the variables that the axis or buffer a on the left and b on the right define."""
        if isinstance(a, Buffer):
            if a.data not in self.left:
                self.bind(a.data, b.data)
            for var, other in zip(symbols(a), symbols(b), strict=False):
                self.declare(var, other)  # of a view, by the buffer that it matches
        elif isinstance(a, IterVar):
            self.bind(a.var, b.var)
            self.at("dom", a.dom, b.dom)
        elif isinstance(a, Node) and type(a) is type(b):  # what a parameter of a graph is
            for var, other in zip(variables_in(a), variables_in(b), strict=False):
                self.declare(var, other)
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

    def variable(self, a: _Variable, b: _Variable) -> None:
        """Compare two uses of variables, also of graphs. The first use of a free one numbers it."""
        left = self.left.get(a)
        if self.tokens is not None:
            is_itself = left is None and not self.map_free_vars
            self.tokens.append(id(a) if is_itself else left)
        if left is None and b not in self.right and (a is b or self.map_free_vars):
            self.bind(a, b)
        elif left is None or left != self.right.get(b):
            raise _Differ(f"variable {_name_of(a)} != {_name_of(b)}")

    def buffer(self, a: Buffer, b: Buffer) -> None:
        """Compare two buffers by content: two views of the same memory may be one on the left."""
        if self.buffers.get(a) is b:
            return
        self.declared(a, b)  # of a part of a program, which does not define the buffer
        if self.tokens is None:
            self.layout(a, b)
            self.buffers[a] = b
        else:
            self.tokens.append(self.content(a))

    def declared(self, a: Buffer, b: Buffer) -> None:
        """Number the variables of buffers, unless something around them defined these."""
        self.declare(a.data, b.data)
        for left, right in zip(symbols(a), symbols(b), strict=False):
            self.declare(left, right)

    def layout(self, a: Buffer, b: Buffer) -> None:
        """Compare the fields of buffers whose variables have numbers."""
        for name in INIT_FIELDS[Buffer]:
            if name not in ("name", "data_alignment"):
                self.at(name, getattr(a, name), getattr(b, name))
        # Alignment beyond a cache line changes no access.
        self.at("data_alignment", min(a.data_alignment, 64), min(b.data_alignment, 64))

    def content(self, buffer: Buffer) -> str:
        """The digest of the tokens of a buffer's fields: equal views of memory are alike."""
        digest: str | None = self.buffers.get(buffer)
        if digest is None:
            outside, self.tokens = self.tokens, [buffer.scope()]
            self.layout(buffer, buffer)
            digest = self.buffers[buffer] = digest_of(self.tokens).hex()
            self.tokens = outside
        return digest

    def attribute(self, a: S.AttrStmt, b: S.AttrStmt) -> None:
        """Compare attributes, which may define the variable of a thread or the data of a buffer."""
        if a.key != b.key:
            raise _Differ(f"attribute {a.key!r} != {b.key!r}")
        left, right = a.node, b.node
        both_axes = isinstance(left, IterVar) and isinstance(right, IterVar)
        if both_axes and a.key in S.THREAD_KEYS and left.var not in self.left:
            self.bind(left.var, right.var)
        if isinstance(left, Buffer) and isinstance(right, Buffer):
            self.declare(left.data, right.data)
        self.fields(a, b)

    def declare(self, a: Var, b: Var) -> None:
        """Number a variable that an enclosing node may have defined."""
        if a not in self.left and b not in self.right:
            self.bind(a, b)

    def axis(self, a: IterVar, b: IterVar) -> None:
        """Compare axes outside of reductions, by their variables; pragmas may name removed axes."""
        if self.tokens is not None:
            self.tokens += (a.kind, a.thread_tag)
        elif a is b:
            return
        if (a.kind, a.thread_tag) != (b.kind, b.thread_tag):
            raise _Differ(f"axis {_brief(a)} != {_brief(b)}")
        self.declare(a.var, b.var)
        self.at("var", a.var, b.var)

    def function(self, a: S.PrimFunc, b: S.PrimFunc) -> None:
        """Compare functions: parameters are bound, and pointers and symbolic shapes of buffers."""
        self.below(("attr", "params"), self.bind, a.params, b.params)
        self.below(("attr", "buffer_map"), self.parameters, a, b)
        self.at("attrs", a.attrs, b.attrs)
        self.at("ret_type", a.ret_type, b.ret_type)
        self.at("body", a.body, b.body)

    def parameters(self, a: S.PrimFunc, b: S.PrimFunc) -> None:
        """Compare the buffers of functions, whose symbolic shapes are bound."""
        of_number = {self.right.get(param): param for param in b.params}
        params = sorted(a.buffer_map, key=lambda param: self.left.get(param, -1))
        mapped = [of_number.get(self.left.get(param), param) for param in params]
        if set(mapped) != set(b.buffer_map):
            ends = _missing_entry(mapped, [*b.buffer_map])
            raise _Differ("other parameters have buffers", *ends)
        buffers = map(b.buffer_map.__getitem__, mapped)
        pairs = [*zip(map(a.buffer_map.__getitem__, params), buffers, strict=True)]
        for left, right in pairs:
            self.below(("", None), self.declared, left, right)
        for param, (left, right) in zip(params, pairs, strict=True):
            if self.tokens is not None:
                self.tokens.append(self.left.get(param))
            self.below(("key", param), self.buffer, left, right)

    def constant(self, a: FloatImm, b: FloatImm) -> None:
        """Compare floating-point constants by their bits."""
        if self.tokens is not None:
            self.tokens += _constant_tokens(a)
            return
        if a.dtype != b.dtype or float_key(a.value) != float_key(b.value):
            raise _Differ(f"{a.value!r} ({a.dtype}) != {b.value!r} ({b.dtype})")


def compared_items(attrs: Mapping[_K, object]) -> Mapping[_K, object]:
    """Attributes without those that follow from the rest of a function."""
    if SIZE_RELATIONS not in attrs:
        return attrs
    return {key: value for key, value in attrs.items() if key != SIZE_RELATIONS}


_METHODS: dict[type, Callable[[_Walk, Any, Any], None]] = {
    Var: _Walk.variable,
    GraphVar: _Walk.variable,
    DataflowVar: _Walk.variable,
    Buffer: _Walk.buffer,
    IterVar: _Walk.axis,
    FloatImm: _Walk.constant,
    S.AttrStmt: _Walk.attribute,
    S.PrimFunc: _Walk.function,
}


@walks_deeply("hash a program", DeclarationError)
def tokens_of(node: object, map_free_vars: bool = False) -> list[object]:
    """What is compared of a node: equal nodes have equal tokens. Free variables count as
    themselves, or with `map_free_vars` by the order of their uses.
    """
    tokens: list[object] = []
    _Walk(map_free_vars, tokens).compare(node, node)
    return tokens


def digest_of(tokens: list[object]) -> bytes:
    """The digest of tokens, the same in every process."""
    import hashlib  # late: programs are compared more often than hashed

    return hashlib.blake2b(repr(tokens).encode(), digest_size=8).digest()


def _constant_tokens(node: Any) -> tuple[object, ...]:
    """The tokens of a constant: of a type that plain values have, those of the plain value."""
    value = _leaf_tokens(node.value)
    return value if node.dtype in _PLAIN_TYPES else (*value, node.dtype)


def _leaf_tokens(value: Any) -> tuple[object, ...]:
    """The tokens of a value without parts."""
    if isinstance(value, str):
        return (str(value),)
    if isinstance(value, int):
        return (hex(value).encode(),)  # of any length; no text of a program
    if isinstance(value, float):
        return (float_key(value).encode(),)
    if isinstance(value, Node):  # a producer
        return value.name, value.dtype  # type: ignore[attr-defined]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, np.ndarray | np.generic):
        import hashlib

        bits = hashlib.blake2b(_bits_of(value), digest_size=16).hexdigest()
        return value.dtype.str, value.shape, bits
    return (repr(value),)


def unboxed(value: object) -> object:
    """The plain value of a constant of a type that plain values have."""
    return plain_of(value) if getattr(value, "dtype", "") in _PLAIN_TYPES else value


def is_plain(value: object) -> bool:
    """Whether a value is a number or a text of Python."""
    return type(value) in (bool, int, float, str)


def plain_of(value: Any) -> object:
    """The plain value of a constant, as which attributes have it too."""
    if type(value) is IntImm:
        return bool(value) if value.dtype == "bool" else value.value
    return value.value if type(value) in (FloatImm, StringImm) else value


def _same_length(a: Sequence[object], b: Sequence[object], what: str) -> None:
    if len(a) != len(b):
        first = min(len(a), len(b))
        ends = [("index" if first < len(side) else "no element", first) for side in (a, b)]
        raise _Differ(f"{len(a)} {what} != {len(b)} {what}", *ends)


def _missing_entry(a: Sequence[object], b: Sequence[object]) -> tuple[Step, Step]:
    """The last steps of the paths to an entry that one side does not have."""
    nothing = ("no entry", "missing")
    only = [key for key in a if key not in set(b)]
    if only:
        return ("key", only[0]), nothing
    return nothing, ("key", next(key for key in b if key not in set(a)))


def variables_in(*nodes: Node) -> list[Var]:
    """The variables in nodes, in order, with repetitions."""
    return [
        var for part in nodes if type(part) is not IntImm for var in walk(part) if type(var) is Var
    ]


def symbols(buffer: Buffer) -> list[Var]:
    """The variables in the layout of a buffer; a parameter or a view defines them."""
    return variables_in(*buffer.shape, *buffer.strides, buffer.elem_offset)


def _are_comparable(a: object, b: object) -> bool:
    """Whether values of two types can be equal: sequences, numbers, and kinds of strings."""
    return any(
        isinstance(a, kinds) and isinstance(b, kinds) for kinds in (_ITEMS, str, (bool, int))
    )


def _are_equal(a: Any, b: Any) -> bool:
    """Whether two values that are not nodes are equal; arrays and their elements by their bits."""
    try:
        a, b = (value.numpy() if hasattr(value, "numpy") else value for value in (a, b))
        if isinstance(a, np.ndarray | np.generic) and isinstance(b, np.ndarray | np.generic):
            return (a.dtype, a.shape) == (b.dtype, b.shape) and _bits_of(a) == _bits_of(b)
        if isinstance(a, float) and isinstance(b, float):
            return float_key(a) == float_key(b)
        return bool(a == b)
    except (ValueError, TypeError, TeSchedError):
        return False


def _bits_of(array: np.ndarray | np.generic) -> memoryview:
    """The bytes of an array."""
    return np.ascontiguousarray(array).reshape(-1).view("uint8").data


def _name_of(variable: _Variable) -> str:
    return variable.name if isinstance(variable, Var) else variable.name_hint


def _brief(value: object) -> str:
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
