"""What is known of a value of a graph before it runs: its kind, shape and dtype ("struct info").

    R.Object                                any value
    R.Prim("int32")                         a number
    R.Shape([n, 4])                         a shape
    R.Tensor((n, 4), dtype="float32")       an array
    R.Tuple(...)                            several values
    R.Callable((...), R.Tuple, False)       a function: parameters, result, whether it is pure

What is not known is None, -1 (the number of dimensions) or "" (a dtype). Sizes are int64. Follows
the conventions of `ir.expr`; must not know operators of graphs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, ElementError, counted, kind_of, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, ExprLike, IntImm, Node, Var, node, node_of
from te_sched.ir.roles import CHILDREN, Role, role, roles_of
from te_sched.signatures import is_sequence

# What derives the results of functions of libraries: they are what the call says.
BY_SINFO_ARGS = "tvm.relax.struct_info.infer_by_sinfo_args"


# What makes an expression of a graph: names of functions are texts, sequences tuples.
GraphExprLike = Annotated["GraphExpr | ExprLike | Sequence[object]", "what as_expr takes"]


class GraphExpr(Node):
    """Base class of expressions of graphs; `relax` gives it its operators.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> isinstance(x, relax.Expr), x.struct_info
    (True, R.Tensor((4,), dtype="float32"))
    """

    __slots__ = ()
    struct_info_: StructInfo | None

    @property
    def struct_info(self) -> StructInfo:
        """What is known of the value; DeclarationError before the expression is normalized."""
        info = self.struct_info_
        if info is None:
            raise DeclarationError(
                f"{type(self).__name__} has no struct info yet",
                "it is derived when an expression is bound to a variable",
                "emit it by a BlockBuilder, or use builder.normalize(expr)",
            )
        return info

    if TYPE_CHECKING:  # given by relax.expr_operators

        def __add__(self, other: GraphExprLike) -> GraphExpr: ...
        def __radd__(self, other: GraphExprLike) -> GraphExpr: ...
        def __sub__(self, other: GraphExprLike) -> GraphExpr: ...
        def __rsub__(self, other: GraphExprLike) -> GraphExpr: ...
        def __mul__(self, other: GraphExprLike) -> GraphExpr: ...
        def __rmul__(self, other: GraphExprLike) -> GraphExpr: ...
        def __truediv__(self, other: GraphExprLike) -> GraphExpr: ...
        def __rtruediv__(self, other: GraphExprLike) -> GraphExpr: ...
        def __floordiv__(self, other: GraphExprLike) -> GraphExpr: ...
        def __rfloordiv__(self, other: GraphExprLike) -> GraphExpr: ...
        def __mod__(self, other: GraphExprLike) -> GraphExpr: ...
        def __rmod__(self, other: GraphExprLike) -> GraphExpr: ...
        def __pow__(self, other: GraphExprLike) -> GraphExpr: ...
        def __rpow__(self, other: GraphExprLike) -> GraphExpr: ...
        def __matmul__(self, other: GraphExprLike) -> GraphExpr: ...
        def __rmatmul__(self, other: GraphExprLike) -> GraphExpr: ...
        def __lt__(self, other: GraphExprLike) -> GraphExpr: ...
        def __le__(self, other: GraphExprLike) -> GraphExpr: ...
        def __gt__(self, other: GraphExprLike) -> GraphExpr: ...
        def __ge__(self, other: GraphExprLike) -> GraphExpr: ...
        def __neg__(self) -> GraphExpr: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __call__(self, *args: GraphExprLike, attrs: object = None) -> GraphExpr: ...
        def astype(self, dtype: object) -> GraphExpr: ...
        @property
        def ndim(self) -> GraphExpr: ...
        @property
        def shape(self) -> Any: ...
        @property
        def strides(self) -> Any: ...
        @property
        def byte_offset(self) -> GraphExpr: ...
        @property
        def elem_offset(self) -> GraphExpr: ...


@node_of("relax")
class ShapeExpr(GraphExpr):
    """A shape as a value.

    >>> from te_sched import relax
    >>> relax.ShapeExpr([4, 3])
    R.shape([4, 3])
    """

    values: tuple[Expr, ...] = role(Role.CHILD)

    def __post_init__(self) -> None:
        _set(self, "values", _sizes(self.values, "ShapeExpr"))

    @property
    def struct_info(self) -> ShapeStructInfo:
        """What is known of it: the sizes."""
        return ShapeStructInfo(self.values)

    struct_info_ = struct_info

    def __getitem__(self, index: int | slice) -> Any:
        if not isinstance(index, slice) and not -len(self.values) <= index < len(self.values):
            raise ElementError(
                f"a shape of {counted(len(self.values), 'size')} has no size {index}",
                "",
                "give an index of a size",
                in_tvm="ShapeExpr index out of range",
            )
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.values)


@node
class VDevice(Node):
    """A device of a module, on which arrays are: the target, its number, the kind of memory.

    >>> from te_sched.ir import VDevice
    >>> VDevice("llvm").memory_scope
    'global'
    """

    target: Any = role(Role.ANNOTATION, default=None)  # its text
    vdevice_id: int = 0
    memory_scope: str = "global"

    def __post_init__(self) -> None:
        target: Any = self.target
        if target is not None and not isinstance(target, str):
            _set(self, "target", str(TARGETS[0](target)))

    @property
    def kind(self) -> str:
        """The kind of the target: "llvm", "cuda", ...

        >>> VDevice("cuda -arch=sm_80", 1).kind
        'cuda'
        """
        return str(self.target).split()[0]


@node
class DummyGlobalInfo(Node):
    """Something that is known of a module, without a meaning, for tests."""


class StructInfo(Node):
    """What is known of a value. Two of them are equal if they have the same structure.

    `part_count` is the number of struct infos in it: those of other numbers differ, which costs
    nothing to see where they are nested deeply.
    """

    __slots__ = ()
    _internal_members = ("part_count",)
    part_count = 1


@node_of("relax")
class ObjectStructInfo(StructInfo):
    """Any value.

    >>> from te_sched import relax
    >>> relax.ObjectStructInfo() == relax.ObjectStructInfo()
    True
    """


@node_of("relax")
class PrimStructInfo(StructInfo):
    """A number of a dtype, perhaps of a known value.

    >>> from te_sched import relax
    >>> relax.PrimStructInfo("int32"), relax.PrimStructInfo(value=3)
    (R.Prim("int32"), R.Prim(value=3))
    """

    dtype: str = ""
    value: Expr | None = role(Role.CHILD, default=None)

    def __post_init__(self) -> None:
        _set(self, "dtype", dtypes.known(self.dtype))
        if self.value is None and not self.dtype:
            raise DeclarationError("PrimStructInfo has neither dtype nor value", "", "give one")
        if self.value is None:
            return
        argument: Any = self.value
        is_int = type(argument) is int
        value = ops.const(argument, self.dtype or "int64") if is_int else ops.convert(argument)
        if self.dtype and value.dtype != self.dtype:
            raise DeclarationError(
                f"PrimStructInfo has dtype {self.dtype} and a value of {value.dtype}",
                "",
                "give the value alone",
            )
        _set(self, "value", value)
        _set(self, "dtype", value.dtype)


@node_of("relax")
class ShapeStructInfo(StructInfo):
    """A shape, of known sizes or a known number of them.

    >>> from te_sched import relax
    >>> relax.ShapeStructInfo([4, 3]), relax.ShapeStructInfo(ndim=2)
    (R.Shape([4, 3]), R.Shape(ndim=2))
    """

    values: tuple[Expr, ...] | None = role(Role.CHILD, default=None)
    ndim: int = -1

    def __post_init__(self) -> None:
        if self.values is not None:
            _set(self, "values", _sizes(self.values, "ShapeStructInfo"))
            _set_rank(self, len(self.values))


@node_of("relax")
class TensorStructInfo(StructInfo):
    """An array, of a known shape or number of dimensions.

    >>> from te_sched import relax
    >>> relax.TensorStructInfo([4, 3], "float32"), relax.TensorStructInfo(dtype="int8", ndim=2)
    (R.Tensor((4, 3), dtype="float32"), R.Tensor(dtype="int8", ndim=2))
    """

    shape: Any = role(Role.CHILD, default=None)  # a ShapeExpr, or a variable of the graph
    dtype: str = "float32"
    vdevice: Any = role(Role.ANNOTATION, default=None)
    ndim: int = -1

    def __post_init__(self) -> None:
        argument: Any = self.shape
        if argument is not None:  # before the dtype, which may be a size: TensorStructInfo(4, 3)
            shape = argument
            if not isinstance(argument, ShapeExpr) and not hasattr(argument, "struct_info_"):
                shape = ShapeExpr(_sizes(argument, "TensorStructInfo"))
            _set(self, "shape", shape)
        _set(self, "dtype", dtypes.known(self.dtype))
        rank = -1 if self.shape is None else _rank_of(self.shape)
        if rank != -1:
            _set_rank(self, rank)


@node_of("relax")
class TupleStructInfo(StructInfo):
    """Several values.

    >>> from te_sched import relax
    >>> relax.TupleStructInfo([relax.PrimStructInfo("int32"), relax.ObjectStructInfo()])
    R.Tuple(R.Prim("int32"), R.Object)
    """

    fields: tuple[StructInfo, ...] = role(Role.CHILD)
    part_count: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _set(self, "fields", _infos(self.fields, "TupleStructInfo"))
        _set(self, "part_count", 1 + sum([part.part_count for part in self.fields]))


@node_of("relax")
class FuncStructInfo(StructInfo):
    """A function; variables in the shapes of its parameters are defined there.

    `derive_func` names a registered function (call, builder) -> struct info of the result, of a
    function whose parameters are not known.

    >>> from te_sched import relax
    >>> relax.FuncStructInfo([relax.PrimStructInfo("int32")], relax.ObjectStructInfo())
    R.Callable((R.Prim("int32"),), R.Object, True)
    """

    params: tuple[StructInfo, ...] | None = role(Role.DEFINITION)
    ret: StructInfo = role(Role.CHILD)
    purity: bool = True
    derive_func: str | None = None
    part_count: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.params is not None:
            _set(self, "params", _infos(self.params, "FuncStructInfo"))
        _infos([self.ret], "FuncStructInfo")
        parts = (*(self.params or ()), self.ret)
        _set(self, "part_count", 1 + sum([part.part_count for part in parts]))
        is_derived = self.derive_func is not None
        is_object = isinstance(self.ret, ObjectStructInfo)
        if is_derived and not (
            self.params is None and is_object and isinstance(self.derive_func, str)
        ):
            raise DeclarationError(
                f"FuncStructInfo with derive_func={repr_of(self.derive_func)} has parameters or "
                "a result",
                "a registered function derives the result of functions of which neither is known",
                'give the name of one: FuncStructInfo.opaque_func(derive_func="name")',
            )

    @staticmethod
    def opaque_func(
        *,
        ret: StructInfo | None = None,
        derive_func: str | None = None,
        purity: bool = False,
    ) -> FuncStructInfo:
        """A function of which the parameters are not known.

        >>> from te_sched import relax
        >>> relax.FuncStructInfo.opaque_func(ret=relax.PrimStructInfo("int32"))
        R.Callable(ret=R.Prim("int32"))
        """
        result = ObjectStructInfo() if ret is None else ret
        return FuncStructInfo(None, result, purity, derive_func)


# What makes a target of its text or of the mapping that describes it; `codegen.target` adds it.
TARGETS: list[Callable[[Any], Any]] = []


def _set(self: Node, name: str, value: object) -> None:
    object.__setattr__(self, name, value)


def _sizes(shape: Any, what: str) -> tuple[Expr, ...]:
    """Sizes as expressions of int64."""
    if not is_sequence(shape):
        raise DeclarationError(
            f"the shape of {what} is {repr_of(shape)}",
            f"it is {kind_of(shape)}",
            "give a list or tuple of sizes",
        )
    sizes = [_size(size) for size in shape]
    for size in sizes:
        if size.dtype != "int64":
            raise DeclarationError(
                f"size {repr_of(size)} of {what} has dtype {size.dtype}, expected int64",
                "",
                'declare variables of sizes as tir.Var("n", "int64")',
                in_tvm="the value in ShapeStructInfo can only have dtype of int64",
            )
    return tuple(sizes)


def _size(value: ExprLike) -> Expr:
    size = ops.convert(value)
    return ops.const(size.value, "int64") if type(size) is IntImm else size


def _rank_of(shape: object) -> int:
    """The number of dimensions of a shape or a variable of one; -1 if it is not known."""
    if isinstance(shape, ShapeExpr):
        return len(shape.values)
    info = getattr(shape, "struct_info_", None)
    if isinstance(info, ShapeStructInfo):
        return info.ndim
    if info is not None and not isinstance(info, ObjectStructInfo):
        raise DeclarationError(
            f"the shape of TensorStructInfo is {repr_of(shape)}",
            f"it is {info}",
            "give a list of sizes, or a variable of R.Shape",
        )
    return -1


def _set_rank(self: ShapeStructInfo | TensorStructInfo, rank: int) -> None:
    if self.ndim not in (-1, rank):
        raise DeclarationError(
            f"{type(self).__name__} has a shape of {rank} sizes and ndim={self.ndim}",
            "",
            "give the shape alone",
        )
    _set(self, "ndim", rank)


def size_text(size: object) -> str:
    """A size in a message, without the dtype of its constants.

    >>> size_text(ops.const(4, "int64"))
    '4'
    """
    return re.sub(r"T\.int64\((-?\d+)\)", r"\1", str(size))


def _infos(infos: Any, what: str) -> tuple[StructInfo, ...]:
    for info in infos if is_sequence(infos) else [infos]:
        if not isinstance(info, StructInfo):
            raise DeclarationError(
                f"cannot make a {what} of {repr_of(info)}",
                f"it is {kind_of(info)}",
                'give struct infos: relax.PrimStructInfo("int32"), ...',
            )
    return tuple(infos)


def erase_to_well_defined(info: StructInfo, params: Sequence[StructInfo]) -> StructInfo:
    """A struct info in which shapes of other variables than those of parameters are not known; one
    that is a variable of the graph is not, either.

    >>> from te_sched import relax, tir
    >>> n = tir.Var("n", "int64")
    >>> erase_to_well_defined(relax.TensorStructInfo([n, 4], "float32"), [])
    R.Tensor(dtype="float32", ndim=2)
    """
    variables = {var for param in params for var in _variables(param)}
    return erase_unknown(erase_variables(info), variables)


@walks_deeply("erase the sizes of a struct info", DeclarationError)
def erase_variables(info: StructInfo) -> StructInfo:
    """A struct info in which shapes that are variables of the graph are not known."""
    return _without_variables(info)


def _without_variables(info: StructInfo) -> StructInfo:
    if isinstance(info, TupleStructInfo):
        fields = [_without_variables(field) for field in info.fields]
        is_same = all(new is old for new, old in zip(fields, info.fields, strict=True))
        return info if is_same else TupleStructInfo(tuple(fields))
    if not isinstance(info, TensorStructInfo) or isinstance(info.shape, ShapeExpr | None):
        return info
    return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim)


@walks_deeply("erase the sizes of a struct info", DeclarationError)
def erase_unknown(info: StructInfo, variables: Collection[Var]) -> StructInfo:
    """A struct info in which shapes with other variables than the known ones are not known."""
    return _erased(info, variables)


def _erased(info: StructInfo, variables: Collection[Var]) -> StructInfo:
    if isinstance(info, TupleStructInfo):
        return TupleStructInfo(tuple([_erased(part, variables) for part in info.fields]))
    if all(var in variables for var in _variables(info)):
        return info
    if isinstance(info, TensorStructInfo):
        return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim)
    if isinstance(info, ShapeStructInfo):
        return ShapeStructInfo(None, info.ndim)
    if isinstance(info, PrimStructInfo):
        return PrimStructInfo(info.dtype)
    return info


def _variables(info: StructInfo) -> set[Var]:
    """The variables in the sizes of a struct info; those of functions are their own."""
    variables: set[Var] = set()
    stack: list[object] = [] if isinstance(info, FuncStructInfo) else [info]
    while stack:
        part = stack.pop()
        if type(part) is Var:
            variables.add(part)
        elif isinstance(part, tuple):
            stack += part
        elif isinstance(part, Node) and not isinstance(part, FuncStructInfo):
            kind: Any = type(part)
            stack += [getattr(part, name) for name, what in _roles(kind) if what]
    return variables


@cache
def _roles(kind: type) -> list[tuple[str, bool]]:
    return [(name, what in CHILDREN) for name, what in roles_of(kind).items()]
