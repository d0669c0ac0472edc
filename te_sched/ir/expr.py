"""Expressions: the grammar of values.

The fields of each class, with their roles (`ir.roles`), are the grammar, which walkers, mappers,
comparers and the verifier use. Nodes are immutable by convention: the type checker rejects
assignments, and a plain `__init__` is three times faster than a run-time check. Equality is
identity, but `==` between expressions builds an `EQ` node, so te_sched compares with `is` or
`structural_equal`.

A class builds exactly its node. The functions `add`, `sub`, ... (and the operators `+`, `-`, ...)
match types, broadcast lanes and fold constants. Must not know statements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    Protocol,
    SupportsFloat,
    SupportsIndex,
    TypeVar,
    dataclass_transform,
)

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, repr_of, why_no_text
from te_sched.ir import dtypes
from te_sched.ir.op import OPS, Op
from te_sched.ir.roles import Role, role
from te_sched.nested_copies import DeeplyNested
from te_sched.public_members import PublicMembers, PublicObject
from te_sched.signatures import bound, check_fields, is_index

_Class = TypeVar("_Class", bound=type)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field, role))
def node(cls: _Class) -> _Class:
    """Make a class of nodes, or of records of them: with slots, and equality by identity."""
    node_class: _Class = dataclass(slots=True, eq=False, repr=False)(cls)  # type: ignore[assignment]
    return node_class


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field, role))
def node_of(package: str, name: str = "") -> Callable[[_Class], _Class]:
    """`node` for a class that users construct as `name`, by default its own, of a package: its
    errors about parameters say so.
    """

    def decorate(cls: _Class) -> _Class:
        node_class: Any = node(cls)
        node_class.__init__ = bound(node_class.__init__, f"{package}.{name or cls.__name__}")
        node_class._public_name = f"{package}.{name}" if name else ""
        return node_class  # type: ignore[no-any-return]

    return decorate


class Node(DeeplyNested, PublicMembers):
    """Base class of the IR. `str` and `repr` are the text of a node (`ir.printer`)."""

    __slots__ = ()

    def same_as(self, other: object) -> bool:
        """Whether both are the same object; `==` between expressions builds a condition.

        >>> n = te.var("n")
        >>> n.same_as(n), n == 1
        (True, n == 1)
        """
        return self is other

    if TYPE_CHECKING:  # given by ir.printer

        def script(self, **options: object) -> str: ...


# What `ops.convert` makes an expression of. It refuses what is none, so that calls check nothing.
ExprLike = Annotated["Operand | SupportsIndex | SupportsFloat | str", "what convert takes"]
# A shape: a size for each dimension, or that of the only one.
Shape = Annotated["ExprLike | Sequence[ExprLike]", "what declarations take"]
# The indices of an access: one for each dimension, or that of the only one.
Indices = Annotated["ExprLike | slice | Sequence[ExprLike | slice]", "what accesses take"]


class Operand:
    """Base class of operands: expressions, axes, elements of tensors.

    Its operators are the functions of `ir.ops`; importing te_sched.ir adds them to this class.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    if TYPE_CHECKING:

        def __add__(self, other: ExprLike) -> Expr: ...
        def __radd__(self, other: ExprLike) -> Expr: ...
        def __sub__(self, other: ExprLike) -> Expr: ...
        def __rsub__(self, other: ExprLike) -> Expr: ...
        def __mul__(self, other: ExprLike) -> Expr: ...
        def __rmul__(self, other: ExprLike) -> Expr: ...
        def __truediv__(self, other: ExprLike) -> Expr: ...
        def __rtruediv__(self, other: ExprLike) -> Expr: ...
        def __floordiv__(self, other: ExprLike) -> Expr: ...
        def __rfloordiv__(self, other: ExprLike) -> Expr: ...
        def __mod__(self, other: ExprLike) -> Expr: ...
        def __rmod__(self, other: ExprLike) -> Expr: ...
        def __neg__(self) -> Expr: ...
        def __lshift__(self, other: ExprLike) -> Expr: ...
        def __rlshift__(self, other: ExprLike) -> Expr: ...
        def __rshift__(self, other: ExprLike) -> Expr: ...
        def __rrshift__(self, other: ExprLike) -> Expr: ...
        def __and__(self, other: ExprLike) -> Expr: ...
        def __rand__(self, other: ExprLike) -> Expr: ...
        def __or__(self, other: ExprLike) -> Expr: ...
        def __ror__(self, other: ExprLike) -> Expr: ...
        def __xor__(self, other: ExprLike) -> Expr: ...
        def __rxor__(self, other: ExprLike) -> Expr: ...
        def __invert__(self) -> Expr: ...
        def __lt__(self, other: ExprLike) -> Expr: ...
        def __le__(self, other: ExprLike) -> Expr: ...
        def __gt__(self, other: ExprLike) -> Expr: ...
        def __ge__(self, other: ExprLike) -> Expr: ...
        def __eq__(self, other: object) -> Expr: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Expr: ...  # type: ignore[override]
        def __bool__(self) -> bool: ...
        def equal(self, other: ExprLike) -> Expr: ...
        def astype(self, dtype: str) -> Expr: ...


class Expr(Node, Operand):
    """Base class of expressions; each has a `dtype`, given or derived from its operands.

    >>> from te_sched import te
    >>> isinstance(te.var("i") + 1, Expr)
    True
    """

    __slots__ = ()
    dtype: str


class PrimType(str):
    """The type of a number: its dtype, as an object.

    >>> PrimType("float32").dtype
    'float32'
    """

    __slots__ = ()

    @property
    def dtype(self) -> str:
        """The dtype as a plain string."""
        return str(self)

    def script(self, **options: object) -> str:
        """The type in TVMScript."""
        del options
        return f"T.{self}"


class ValueType(Protocol):
    """A type as TVMScript writes it."""

    def script(self, **options: object) -> str:
        """The type in TVMScript."""


class TupleType(NamedTuple):
    """The type of several values.

    >>> TupleType([PrimType("float32"), PrimType("int32")]).script()
    'T.Tuple(T.float32, T.int32)'
    """

    fields: Sequence[ValueType]

    def script(self, **options: object) -> str:
        """The type in TVMScript."""
        types = ", ".join([field_type.script(**options) for field_type in self.fields])
        return f"T.Tuple({types})" if types else "None"

    def _relax_script(self) -> str:
        """The type as an annotation of a graph."""
        types = ", ".join([text_in_graphs(field_type) for field_type in self.fields])
        return f"R.Tuple({types})"

    def __str__(self) -> str:
        return self.script()


def text_in_graphs(kind: ValueType) -> str:
    """The type as an annotation of a graph."""
    in_graphs = getattr(kind, "_relax_script", kind.script)
    return str(in_graphs())


class PointerType(NamedTuple):
    """The type of a handle variable: the dtype and storage scope of its elements.

    >>> Var("A", "handle", PointerType("float32", "shared")).scope
    'shared'
    """

    element: str
    scope: str = "global"

    @property
    def element_type(self) -> PrimType:
        """The type of an element."""
        return PrimType(self.element)

    @property
    def storage_scope(self) -> str:
        """The storage scope, by its longer name."""
        return self.scope

    def script(self, **options: object) -> str:
        """The type in TVMScript."""
        del options
        return f'T.handle("{self.element}", "{self.scope or "global"}")'


def _check_text(what: str, text: object) -> None:
    if (why := why_no_text(text)) is not None:
        raise DeclarationError(
            f"cannot make {what} of {repr_of(text)}", why, "give a str that has a text"
        )


@node
class Var(Expr):
    """A variable, identified by the object, not by its name. `is_size` implies a value >= 0."""

    name: str
    dtype: str = "int32"
    pointer: PointerType | None = None
    is_size: bool = False

    def __post_init__(self) -> None:
        if type(self.name) is not str or not self.name.isascii():
            _check_text("a variable", self.name)

    if TYPE_CHECKING:  # `tir.Var` is this class, with TVM's parameters

        def __init__(
            self,
            name: str,
            dtype: Any = "int32",
            pointer: PointerType | None = None,
            is_size: bool = False,
            *,
            span: object = None,
        ) -> None: ...

    @property
    def type_annotation(self) -> PrimType | PointerType:
        """The type: of a number its dtype, of a pointer what it points to."""
        return self.pointer if self.pointer is not None else PrimType(self.dtype)

    @property
    def scope(self) -> str:
        """The storage scope of a pointer's target; "" if none is given."""
        return self.pointer.scope if self.pointer is not None else ""


@node
class IntImm(Expr):
    """An integer or bool constant (bool: 0 or 1)."""

    value: int
    dtype: str = "int32"

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        """The truth value, which only constants have."""
        return self.value != 0


@node
class FloatImm(Expr):
    """A floating-point constant, rounded to its dtype when built through `const`."""

    value: float
    dtype: str = "float32"

    def __float__(self) -> float:
        return self.value


@node
class StringImm(Expr):
    """A string constant: an argument of an intrinsic or the value of an attribute."""

    value: str
    dtype: str = "handle"

    def __post_init__(self) -> None:
        if type(self.value) is not str or not self.value.isascii():
            _check_text("a string", self.value)


@node
class Cast(Expr):
    """Convert `value` to `dtype` (same number of lanes)."""

    dtype: str
    value: Expr = role(Role.CHILD)


@node
class BinaryOp(Expr):
    """An operation on two operands of one dtype, with a result of the same dtype."""

    a: Expr = role(Role.CHILD)
    b: Expr = role(Role.CHILD)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.a.dtype  # type: ignore[misc]


@node
class Add(BinaryOp):
    """a + b"""


@node
class Sub(BinaryOp):
    """a - b"""


@node
class Mul(BinaryOp):
    """a * b"""


@node
class Div(BinaryOp):
    """Division; integers round towards zero."""


@node
class Mod(BinaryOp):
    """Remainder of `Div`: the sign of a."""


@node
class FloorDiv(BinaryOp):
    """Division rounded towards minus infinity."""


@node
class FloorMod(BinaryOp):
    """Remainder of `FloorDiv`: the sign of b."""


@node
class Min(BinaryOp):
    """The smaller of a and b."""


@node
class Max(BinaryOp):
    """The larger of a and b."""


@node
class CompareOp(Expr):
    """A comparison of two operands of one dtype, with a bool result of as many lanes."""

    a: Expr = role(Role.CHILD)
    b: Expr = role(Role.CHILD)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        count = dtypes.lanes(self.a.dtype)
        self.dtype = "bool" if count == 1 else f"uint1x{count!r}"  # type: ignore[misc]


@node
class EQ(CompareOp):
    """a == b"""


@node
class NE(CompareOp):
    """a != b"""


@node
class LT(CompareOp):
    """a < b"""


@node
class LE(CompareOp):
    """a <= b"""


@node
class GT(CompareOp):
    """a > b"""


@node
class GE(CompareOp):
    """a >= b"""


@node
class And(CompareOp):
    """a and b, of bools; b is evaluated only if a is true."""


@node
class Or(CompareOp):
    """a or b, of bools; b is evaluated only if a is false."""


@node
class Not(Expr):
    """not a, of a bool."""

    a: Expr = role(Role.CHILD)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.a.dtype  # type: ignore[misc]


@node
class Select(Expr):
    """true_value if condition holds, otherwise false_value; both may be evaluated."""

    condition: Expr = role(Role.CHILD)
    true_value: Expr = role(Role.CHILD)
    false_value: Expr = role(Role.CHILD)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.true_value.dtype  # type: ignore[misc]


@node
class Ramp(Expr):
    """The vector base, base + stride, ..., of `lanes` lanes."""

    base: Expr = role(Role.CHILD)
    stride: Expr = role(Role.CHILD)
    lanes: int
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = dtypes.with_lanes(self.base.dtype, self.lanes)  # type: ignore[misc]


@node
class Broadcast(Expr):
    """The vector of `lanes` copies of a scalar."""

    value: Expr = role(Role.CHILD)
    lanes: int
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = dtypes.with_lanes(self.value.dtype, self.lanes)  # type: ignore[misc]


@node
class Shuffle(Expr):
    """Lanes `indices` of the concatenation of `vectors`."""

    vectors: tuple[Expr, ...] = role(Role.CHILD)
    indices: tuple[Expr, ...] = role(Role.CHILD)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        element = dtypes.element(self.vectors[0].dtype)
        lanes = sum([dtypes.lanes(vector.dtype) for vector in self.vectors])
        _check_shuffle(self, element, lanes)
        self.dtype = dtypes.with_lanes(element, len(self.indices))  # type: ignore[misc]


def _check_shuffle(node: Shuffle, element: str, lanes: int) -> None:
    for vector in node.vectors:
        if dtypes.element(vector.dtype) != element:
            raise DeclarationError(
                f"the vectors of a Shuffle have types {element} and {vector.dtype}, expected one "
                "type of elements",
                help="cast them to one type",
            )
    for index in node.indices:
        if type(index) is IntImm and not 0 <= index.value < lanes:
            raise DeclarationError(
                f"a Shuffle takes lane {index.value} of {lanes}",
                help=f"use lanes from 0 to {lanes - 1}",
            )


@node
class Call(Expr):
    """Call of an intrinsic such as "tir.exp", "tir.if_then_else", "tir.call_extern" (see
    `ir.intrinsics`).
    """

    dtype: str
    op: Op
    args: tuple[Expr, ...] = role(Role.CHILD)

    def __init__(self, dtype: str, op: str, args: tuple[Expr, ...]) -> None:
        self.dtype = dtype  # type: ignore[misc]
        self.op = OPS.get(op) or Op.get(op)  # type: ignore[misc]
        self.args = args  # type: ignore[misc]


def lanes_of(value: Any) -> int:
    """A number of lanes: an int, or `T.vscale() * 4` for a scalable vector."""
    if isinstance(value, dtypes.ScalableLanes):
        return value
    number = value.value if type(value) is IntImm else value
    if is_index(number) and number > 0:
        return operator.index(number)
    if type(value) is Mul:
        factors = (value.a, value.b)
        count = next((factor.value for factor in factors if type(factor) is IntImm), 0)
        if count > 1 and any(
            type(factor) is Call and factor.op == "tir.vscale" for factor in factors
        ):
            return dtypes.ScalableLanes(count)
    raise DeclarationError(
        f"{repr_of(value)} is not a number of lanes",
        "a vector has a constant number of lanes, or a constant multiple of T.vscale()",
        "give an int, or T.vscale() * 4",
    )


@node
class Let(Expr):
    """The value of body, in which var has the value `value`."""

    var: Var = role(Role.DEFINITION)
    value: Expr = role(Role.CHILD)
    body: Expr = role(Role.BODY)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.body.dtype  # type: ignore[misc]


@node
class Range(Node):
    """The integers min, min + 1, ..., min + extent - 1."""

    min: Expr = role(Role.CHILD)
    extent: Expr = role(Role.CHILD)


class _WeaklyReferenced:
    """Base class of nodes that weak references may refer to."""

    __slots__ = ("__weakref__",)


@node
class IterVar(Node, Operand, _WeaklyReferenced, PublicObject):
    """An axis: a variable with a domain, a kind and, for threads, a tag such as "threadIdx.x".

    `kind` is one of ITER_KINDS. Equality is identity, so axes can be keys of dictionaries.

    >>> from te_sched import te
    >>> k = te.reduce_axis((0, 4), "k")
    >>> k.var, k.dom, k.kind
    (k, I.Range(0, 4), 'CommReduce')
    """

    dom: Range | None = role(Role.CHILD)
    var: Var = role(Role.USE)
    kind: str
    thread_tag: str = ""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def dtype(self) -> str:
        """The type of the variable."""
        return self.var.dtype


# The kinds of axes, in the order of their printed numbers.
ITER_KINDS = (
    "DataPar",
    "ThreadIndex",
    "CommReduce",
    "Ordered",
    "Opaque",
    "Unrolled",
    "Vectorized",
    "Parallelized",
    "Tensorized",
)


class DataProducer(Node):
    """The base class of te.Tensor, from which ProducerLoad reads before lowering makes a buffer."""

    __slots__ = ()
    name: str
    dtype: str
    shape: tuple[Expr, ...]


@node
class ProducerLoad(Expr):
    """An element of a tensor without a buffer."""

    producer: DataProducer = role(Role.BUFFER)
    indices: tuple[Expr, ...] = role(Role.CHILD)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.producer.dtype  # type: ignore[misc]


# The default alignment of a buffer's data, in bytes (as printed by TVM 0.9).
DEFAULT_ALIGNMENT = 128


@node
class Buffer(Node, PublicObject):
    """A view of memory: `data` (a handle Var), element dtype, shape and strides in elements.

    Empty `strides` means compact row-major. `elem_offset` is in elements and a multiple of
    `offset_factor`, `data_alignment` in bytes. `ir.buffer` creates buffers and adds their methods.

    >>> from te_sched import tir
    >>> A = tir.decl_buffer((4, 8), name="A")
    >>> A[1, 2], A.scope()
    (A[1, 2], 'global')
    """

    data: Var = role(Role.USE)
    dtype: str
    shape: tuple[Expr, ...] = role(Role.CHILD)
    strides: tuple[Expr, ...] = role(Role.CHILD)
    elem_offset: Expr = role(Role.CHILD)
    name: str
    data_alignment: int = DEFAULT_ALIGNMENT
    offset_factor: int = 1
    buffer_type: str = ""  # "" or "auto_broadcast"
    axis_separators: tuple[int, ...] = ()

    def scope(self) -> str:
        """The storage scope, from the type of the data pointer."""
        return self.data.scope or "global"

    if TYPE_CHECKING:  # given by ir.buffer

        def access_ptr(
            self,
            access_mask: str | int,
            ptr_type: str = "handle",
            content_lanes: int = 1,
            offset: ExprLike = 0,
            extent: ExprLike | None = None,
        ) -> Call: ...
        def offset_of(self, indices: Indices) -> list[Expr]: ...
        def get_flattened_buffer(self) -> Buffer: ...
        def vload(
            self, begin: Indices, dtype: str | None = None, predicate: ExprLike | None = None
        ) -> BufferLoad: ...
        def vstore(
            self, begin: Indices, value: ExprLike, predicate: ExprLike | None = None
        ) -> Any: ...  # a BufferStore
        def __getitem__(self, indices: Indices) -> BufferLoad: ...
        def __setitem__(self, indices: Indices, value: ExprLike) -> None: ...


@node
class BufferLoad(Expr):
    """An element of a buffer; a vector of elements if the last index is a vector.

    Lanes for which `predicate`, a vector of bools, is false are not read: they are 0.
    """

    buffer: Buffer = role(Role.BUFFER)
    indices: tuple[Expr, ...] = role(Role.CHILD)
    predicate: Expr | None = role(Role.CHILD, default=None)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        count = dtypes.lanes(self.indices[-1].dtype) if self.indices else 1
        element = self.buffer.dtype
        if count > 1:
            element = dtypes.with_lanes(element, count * dtypes.lanes(element))
        self.dtype = element  # type: ignore[misc]


@node
class BufferRegion(Node, Operand):
    """A region of a buffer: a range per dimension. As an operand it stands for its elements.

    >>> from te_sched import tir
    >>> A = tir.decl_buffer((8, 8), name="A")
    >>> BufferRegion(A, (tir.Range(0, 1), tir.Range(2, 6)))
    A[0, 2:6]
    """

    buffer: Buffer = role(Role.BUFFER)
    region: tuple[Range, ...] = role(Role.REGION)

    @property
    def indices(self) -> tuple[Expr, ...]:
        """The indices of its elements: a scalar or, for several elements, a vector.

        Raises DeclarationError if the number of elements is not constant.
        """
        indices = tuple([self._index(index_range) for index_range in self.region])
        if any([isinstance(index, Ramp) for index in indices[:-1]]):
            raise DeclarationError(
                f"region {self} has several elements in a dimension that is not the last",
                "a vector of elements lies in the last dimension",
                "write a loop over the elements",
            )
        return indices

    def _index(self, index_range: Range) -> Expr:
        if type(index_range.extent) is Mul:
            return Ramp(
                index_range.min, IntImm(1, index_range.min.dtype), lanes_of(index_range.extent)
            )
        if not isinstance(index_range.extent, IntImm):
            raise DeclarationError(
                f"the number of elements of region {self} is not constant",
                "only a constant number of elements is a value",
                "write start : start + n with a constant n",
            )
        return (
            index_range.min
            if index_range.extent.value == 1
            else Ramp(index_range.min, IntImm(1, index_range.min.dtype), index_range.extent.value)
        )

    @property
    def dtype(self) -> str:
        """The type of the elements; a vector type for several."""
        return BufferLoad(self.buffer, self.indices).dtype


@node
class CommReducer(Node):
    """A commutative reduction: result[i] = f(lhs..., rhs...), with an identity per component.

    >>> from te_sched import te
    >>> k = te.reduce_axis((0, 4), "k")
    >>> te.sum(k.var, axis=k).combiner
    T.comm_reducer(lambda x, y: x + y, [0])
    """

    lhs: tuple[Var, ...] = role(Role.DEFINITION)
    rhs: tuple[Var, ...] = role(Role.DEFINITION)
    result: tuple[Expr, ...] = role(Role.BODY)
    identity: tuple[Expr, ...] = role(Role.BODY)


@node
class Reduce(Expr):
    """Component `value_index` of the reduction of `source` over the values of `axis` for which
    `condition` holds.

    >>> from te_sched import te
    >>> k = te.reduce_axis((0, 4), "k")
    >>> isinstance(te.sum(k.var, axis=k), Reduce)
    True
    """

    combiner: CommReducer = role(Role.USE)
    source: tuple[Expr, ...] = role(Role.BODY)
    init: tuple[Expr, ...] = role(Role.BODY)
    axis: tuple[IterVar, ...] = role(Role.DEFINITION)
    condition: Expr = role(Role.BODY)
    value_index: int
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.source[self.value_index].dtype  # type: ignore[misc]


_tell_of_absent_names(__name__)
