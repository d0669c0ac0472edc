"""Node classes with TVM's constructors: numbers are converted to expressions, types are checked.

`tir.Add(x, 1)` builds exactly that node, while `x + 1` folds constants. Each name here works in
`isinstance`.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from itertools import chain
from typing import Any

from te_sched.errors import DeclarationError, TeSchedError, did_you_mean, repr_of
from te_sched.ir import dtypes, expr, ops, stmt
from te_sched.ir.buffer import check_predicate
from te_sched.ir.builder import BufferVar
from te_sched.ir.expr import ITER_KINDS, Expr, IterVar, PointerType, Range
from te_sched.ir.stmt import FOR_KINDS, Stmt
from te_sched.lowering.statements import without_evaluations_of_0
from te_sched.signatures import (
    advise,
    checked,
    is_index,
    is_sequence,
    kind_of_annotation,
    unfit,
)
from te_sched.tir.node_examples import example_of


class Constructor:
    """A node class whose constructor converts its arguments."""

    def __init__(self, kind: type[Any], build: Callable[..., Any], name: str = "") -> None:
        self.__name__ = kind.__name__
        self._shown = f"tir.{name or kind.__name__}"
        self.kind, self._build = kind, checked(build, shown=self._shown)
        self.__doc__ = f"{inspect.getdoc(kind)}\n\n{example_of(kind.__name__)}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._build(*args, **kwargs)
        except TeSchedError as refusal:
            advise(refusal, self._build, self._shown, args, kwargs)
            raise

    @property
    def __signature__(self) -> Signature:
        return inspect.signature(self._build)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.kind)

    def __repr__(self) -> str:
        return f"<tir.{self.__name__}>"


def _as_statement(value: Any) -> Stmt:
    return value if isinstance(value, Stmt) else stmt.Evaluate(ops.convert(value))


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "Expr": ops.convert,
    "tuple[Expr, ...]": lambda values: tuple([ops.convert(value) for value in values]),
    "Expr | None": lambda value: None if value is None else ops.convert(value),
    "Stmt": _as_statement,
    "Stmt | None": lambda value: None if value is None else _as_statement(value),
    "tuple[Stmt, ...]": lambda values: tuple([_as_statement(value) for value in values]),
}


def _by_fields(kind: type[Any]) -> Constructor:
    """A constructor whose parameters are the fields of the class."""
    fields = [field for field in dataclasses.fields(kind) if field.init]

    def build(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(fields):
            raise DeclarationError(
                f"tir.{kind.__name__} takes {len(fields)} arguments, got {len(args)}",
                "",
                f"give {', '.join(field.name for field in fields)}",
            )
        values = dict(zip([field.name for field in fields], args, strict=False)) | kwargs
        values.pop("span", None)
        for field in fields:
            if field.name in values:
                values[field.name] = _field(kind, field.name, str(field.type), values[field.name])
        return kind(**values)

    parameters = [
        Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, default=_default(field))
        for field in fields
    ]
    parameters.append(Parameter("span", Parameter.KEYWORD_ONLY, default=None))
    build.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return Constructor(kind, build)


def _with_parameters_of(plain: Constructor, build: Callable[..., Any]) -> Constructor:
    """A constructor with another function, and the parameters of a plain one."""
    build.__signature__ = plain.__signature__  # type: ignore[attr-defined]
    return Constructor(plain.kind, build)


def _default(field: dataclasses.Field[Any]) -> Any:
    """The default of a parameter for a field."""
    if field.default_factory is not dataclasses.MISSING:
        return None
    return Parameter.empty if field.default is dataclasses.MISSING else field.default


def _field(kind: type[Any], name: str, annotation: str, value: Any) -> Any:
    """The value of a field, converted from an argument."""
    if name == "dtype":
        return dtypes.spelled(value)
    if annotation == "Op":
        annotation = "str"
    if annotation in _CONVERSIONS and (is_sequence(value) or not annotation.startswith("tuple[")):
        return _CONVERSIONS[annotation](value)
    expected = kind_of_annotation(annotation, vars(sys.modules[kind.__module__]))
    if not expected.fits(value):
        raise unfit(DeclarationError, f"tir.{kind.__name__}", name, value, expected)
    return value


def _of_two(kind: type[Any], is_logical: bool = False) -> Constructor:
    def build(a: Any, b: Any, span: object = None) -> Any:
        left, right = ops.operands(a, b)
        if is_logical and not dtypes.is_bool(dtypes.element(left.dtype)):
            raise DeclarationError(
                f"tir.{kind.__name__} needs conditions, got {left.dtype}",
                "",
                "compare the operands: a > 0",
            )
        return kind(left, right)

    return Constructor(kind, build)


def _attribute() -> Constructor:
    plain = _by_fields(stmt.AttrStmt)

    def build(*args: Any, **kwargs: Any) -> Any:
        attribute = plain(*args, **kwargs)
        stmt.check_attribute(attribute.node, attribute.key)
        return attribute

    return _with_parameters_of(plain, build)


Add, Sub, Mul, Div, Mod = map(_of_two, (expr.Add, expr.Sub, expr.Mul, expr.Div, expr.Mod))
FloorDiv, FloorMod = map(_of_two, (expr.FloorDiv, expr.FloorMod))
Min, Max = map(_of_two, (expr.Min, expr.Max))
EQ, NE, LT = map(_of_two, (expr.EQ, expr.NE, expr.LT))
LE, GT, GE = map(_of_two, (expr.LE, expr.GT, expr.GE))
And, Or = _of_two(expr.And, True), _of_two(expr.Or, True)
Not, Shuffle = map(_by_fields, (expr.Not, expr.Shuffle))
Cast, Call = map(_by_fields, (expr.Cast, expr.Call))
ProducerLoad = _by_fields(expr.ProducerLoad)
StringImm = _by_fields(expr.StringImm)
AttrStmt = _attribute()
Evaluate = _by_fields(stmt.Evaluate)
ProducerStore = _by_fields(stmt.ProducerStore)
IfThenElse, LetStmt, While = map(_by_fields, (stmt.IfThenElse, stmt.LetStmt, stmt.While))
AssertStmt, Allocate = map(_by_fields, (stmt.AssertStmt, stmt.Allocate))


def _access(kind: type[Any], access: str) -> Constructor:
    """A constructor of an access, which checks the predicate; the buffer may be a builder's."""
    plain = _by_fields(kind)

    def build(*args: Any, **kwargs: Any) -> Any:
        node = plain(*[arg.buffer if isinstance(arg, BufferVar) else arg for arg in args], **kwargs)
        dtype = node.dtype if access == "load" else node.value.dtype
        check_predicate(node.predicate, dtype, node.buffer, access)
        return node

    return _with_parameters_of(plain, build)


BufferLoad, BufferStore = _access(expr.BufferLoad, "load"), _access(stmt.BufferStore, "store")


def _sequence() -> Constructor:
    """A constructor that joins sequences in sequences, then without evaluations of 0, as TVM."""
    plain = _by_fields(stmt.SeqStmt)

    def build(*args: Any, **kwargs: Any) -> Any:
        sequence = plain(*args, **kwargs)
        if not any(type(statement) is stmt.SeqStmt for statement in sequence.seq):
            return sequence
        parts = [
            statement.seq if type(statement) is stmt.SeqStmt else (statement,)
            for statement in sequence.seq
        ]
        return stmt.SeqStmt(tuple(without_evaluations_of_0(chain.from_iterable(parts))))

    return _with_parameters_of(plain, build)


SeqStmt = _sequence()


def _ramp(base: Any, stride: Any, lanes: Any, span: object = None) -> Expr:
    first, step = ops.operands(base, stride)
    return expr.Ramp(first, step, expr.lanes_of(lanes))


def _broadcast(value: Any, lanes: Any, span: object = None) -> Expr:
    return expr.Broadcast(ops.convert(value), expr.lanes_of(lanes))


def _select(condition: Any, true_value: Any, false_value: Any, span: object = None) -> Expr:
    chosen, held = ops.convert(true_value), ops.convert(condition)
    other = false_value
    if isinstance(other, int | float):  # a number takes the dtype of the other value
        other = ops.const(other, chosen.dtype)
    other = ops.convert(other)
    if not dtypes.is_bool(dtypes.element(held.dtype)):
        raise DeclarationError(
            f"condition of tir.Select has dtype {held.dtype}, expected bool",
            help="compare first: a > 0",
        )
    if chosen.dtype != other.dtype:
        raise DeclarationError(
            f"values of tir.Select have different dtypes: {chosen.dtype} and {other.dtype}",
            help="cast one of the values, or use te.if_then_else, which does",
        )
    return expr.Select(held, chosen, other)


def _let(var: expr.Var, value: Any, body: Any, span: object = None) -> Expr:
    value_expr = ops.convert(value)
    if isinstance(value, int | float):  # a number takes the dtype of the variable
        value_expr = ops.const(value, var.dtype)
    if value_expr.dtype != var.dtype:
        raise DeclarationError(
            f"variable {var.name} of tir.Let has dtype {var.dtype}, and its "
            f"value {value_expr.dtype}",
            "",
            f"cast the value: value.astype({var.dtype!r})",
        )
    return expr.Let(var, value_expr, ops.convert(body))


def _var(name: str, dtype: Any = "int32", span: object = None) -> Expr:
    if isinstance(dtype, PointerType):
        return expr.Var(name, "handle", dtype)
    return expr.Var(name, dtypes.spelled(dtype))


def _size_var(name: str, dtype: str = "int32", span: object = None) -> Expr:
    return expr.Var(name, dtypes.spelled(dtype), is_size=True)


def _int_imm(dtype: str, value: int, span: object = None) -> Expr:
    return ops.const(operator.index(value), dtype)


def _float_imm(dtype: str, value: float, span: object = None) -> Expr:
    if not dtypes.is_float(dtypes.spelled(dtype)):
        raise DeclarationError(
            f"tir.FloatImm has dtype {dtypes.spelled(dtype)}, expected a float",
            "",
            "use tir.IntImm for integers",
        )
    return ops.const(value, dtype)


def _one_of(names: tuple[str, ...], kind: Any, what: str) -> str:
    """The name of a kind that is given by its number or name."""
    if is_index(kind) and 0 <= operator.index(kind) < len(names):
        return names[operator.index(kind)]
    if not isinstance(kind, str) or kind not in names:
        raise DeclarationError(
            f"unknown {what}: {repr_of(kind)}",
            "",
            f"use one of {', '.join(names)}{did_you_mean(kind, names)}",
        )
    return names[names.index(kind)]


def _for(
    loop_var: expr.Var,
    min: Any,
    extent: Any,
    kind: Any,
    body: Any,
    thread_binding: IterVar | None = None,
    annotations: Mapping[str, Any] | None = None,
    span: object = None,
) -> Stmt:
    named = _one_of(FOR_KINDS, kind, "loop")
    start, size = ops.operands(min, extent)
    statement = _as_statement(body)
    return stmt.For(
        loop_var, start, size, named, statement, thread_binding, dict(annotations or {})
    )


def _iter_var(
    dom: Any, var: Any, iter_type: int | str, thread_tag: str = "", span: object = None
) -> IterVar:
    domain = dom
    if isinstance(dom, list | tuple) and len(dom) == 2:
        low, end = ops.operands(*dom)
        domain = Range(low, ops.sub(end, low))
    if not (domain is None or isinstance(domain, Range)) or not isinstance(var, str | expr.Var):
        raise DeclarationError(
            f"tir.IterVar needs a domain and a name, got {repr_of(dom)} and {repr_of(var)}",
            "",
            'write tir.IterVar((0, 8), "i", 0)',
        )
    if isinstance(var, str):
        var = expr.Var(var, "int32" if domain is None else domain.extent.dtype)
    kind = _one_of(ITER_KINDS, iter_type, "kind of axis")
    return IterVar(domain, var, kind, thread_tag)


def _reduce(
    combiner: expr.CommReducer,
    src: Sequence[Any],
    rdom: Sequence[IterVar],
    condition: Any,
    value_index: int,
    init: Sequence[Any] | None = None,
    span: object = None,
) -> Expr:
    sources, starts = [tuple([ops.convert(v) for v in operands or ()]) for operands in (src, init)]
    held = ops.TRUE if condition is None else ops.cast("bool", ops.convert(condition))
    count = len(combiner.result)
    if len(sources) != count or len(starts) not in (0, count) or not 0 <= value_index < count:
        raise DeclarationError(
            f"tir.Reduce has {len(sources)} values and {len(starts)} initial values, index "
            f"{value_index}; its combiner has {count}",
            "",
            "give a value for each result of the combiner, and none or all initial values",
        )
    return expr.Reduce(combiner, sources, starts, tuple(rdom), held, value_index)


Ramp, Broadcast = Constructor(expr.Ramp, _ramp), Constructor(expr.Broadcast, _broadcast)
Select = Constructor(expr.Select, _select)
Let = Constructor(expr.Let, _let)
Var = Constructor(expr.Var, _var)
SizeVar = Constructor(expr.Var, _size_var, "SizeVar")
IntImm = Constructor(expr.IntImm, _int_imm)
FloatImm = Constructor(expr.FloatImm, _float_imm)
For = Constructor(stmt.For, _for)
Reduce = Constructor(expr.Reduce, _reduce)


class _AxisConstructor(Constructor):
    """IterVar, with TVM's names of its kinds."""

    DataPar, ThreadIndex, CommReduce, Ordered, DimInfo = ITER_KINDS[:5]
    Opaque = DimInfo
    Unrolled, Vectorized, Parallelized, Tensorized = ITER_KINDS[5:]


IterVar_ = _AxisConstructor(IterVar, _iter_var)

__test__ = {
    name: constructor.__doc__
    for name, constructor in list(globals().items())
    if isinstance(constructor, Constructor)
}
