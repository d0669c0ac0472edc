"""Commutative reductions: sum, max, min, prod, and user-defined reducers.

Must not check where a reduction is used; `te.compute` does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, overload

from te_sched.errors import DeclarationError, TeSchedError, repr_of, why_no_text, with_article
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import CommReducer, Expr, IterVar, Reduce, Var
from te_sched.public_members import PublicObject
from te_sched.signatures import bound, check_function
from te_sched.te.tensor import TensorSlice

_HELP = """\
{name}(expr, axis, where=None, init=None)

The {what} of the values of `expr` over reduction axes; {name}(a, b, ...) is that of the values.

Parameters
----------
expr : the expression to reduce, or a tuple where the combiner takes several values.
axis : an axis of te.reduce_axis, or several.
where : the condition under which a value takes part.
init : the value to begin with, by default the identity.

Example
-------
>>> A, k = te.placeholder((8, 4)), te.reduce_axis((0, 4))
>>> te.compute((8,), lambda i: te.{name}(A[i, k], axis=k), name="B")
Tensor(shape=[8], op.name=B)
"""
_RESULTS = {"sum": "sum", "prod": "product", "max": "largest", "min": "least"}


class Reducer(PublicObject):
    """A commutative reduction, called as `reducer(expr, axis, where=None, init=None)`.

    Without an axis, `reducer(a, b, ...)` combines its arguments.
    """

    def __init__(
        self, combine: Callable[..., Any], identity: Callable[..., Any], name: str = "reduce"
    ) -> None:
        self.combine, self.identity, self.__name__ = combine, identity, name
        self.__doc__ = _HELP.format(name=name, what=_RESULTS.get(name, "combination"))

    def __repr__(self) -> str:
        return f"<te.{self.__name__}(expr, axis, where=None, init=None)>"

    @overload
    def __call__(
        self,
        expr: tuple[Any, ...] | list[Any],
        *positional: Any,
        axis: Any = None,
        where: Any = None,
        init: Any = None,
    ) -> tuple[Expr, ...]: ...
    @overload
    def __call__(
        self, expr: Any, *positional: Any, axis: Any = None, where: Any = None, init: Any = None
    ) -> Expr: ...
    @bound
    def __call__(
        self, expr: Any, *positional: Any, axis: Any = None, where: Any = None, init: Any = None
    ) -> Any:
        """A reduction of `expr` (or a tuple of them) over `axis`, where a condition holds.

        axis, where and init may also follow `expr` by position.
        """
        if axis is not None:
            return self._reduce(expr, axis, where, init)
        if positional and isinstance(positional[0], IterVar | list | tuple):
            options = dict(zip(("axis", "where", "init"), positional, strict=False))
            return self._reduce(expr, **{"where": where, "init": init, **options})
        return self._fold([expr, *positional])

    def _fold(self, values: list[Any]) -> Any:
        if len(values) < 2:
            if isinstance(values[0], TensorSlice):
                ops.convert(values[0])  # which refuses all but elements
            raise DeclarationError(
                f"te.{self.__name__} of one value needs an axis to reduce over",
                "",
                f"write te.{self.__name__}(expr, axis=k) with k = te.reduce_axis((0, n)); "
                f"te_sched.topi.{self.__name__} reduces whole tensors",
            )
        for value in values:
            for component in _as_tuple(value):
                ops.convert(component)  # which refuses anything but numbers and expressions
        return reduce(self.combine, values)

    def _reduce(self, expr: Any, axis: Any, where: Any, init: Any) -> Any:
        axes = _as_tuple(axis)
        self._check_axes(axes)
        sources = tuple([ops.convert(value) for value in _as_tuple(expr)])
        condition = ops.TRUE if where is None else ops.convert(where)
        if not dtypes.is_bool(condition.dtype):
            raise DeclarationError(
                f"`where` of te.{self.__name__} has dtype {condition.dtype}, expected bool",
                "",
                "write a comparison, such as where=a > 0",
            )
        start = () if init is None else tuple([ops.convert(value) for value in _as_tuple(init)])
        if start and len(start) != len(sources):
            raise DeclarationError(
                f"te.{self.__name__} of {len(sources)} values has {len(start)} initial values, "
                f"expected {len(sources)}",
                "",
                "give `init` one value for each reduced value",
            )
        if start:
            self._check_types("the initial value", start, sources)
        combiner = self._combiner(isinstance(expr, (tuple, list)), sources)
        parts = tuple(
            [Reduce(combiner, sources, start, axes, condition, i) for i in range(len(sources))]
        )
        return parts if len(parts) > 1 else parts[0]

    def _check_axes(self, axes: tuple[Any, ...]) -> None:
        for axis in axes:
            if not isinstance(axis, IterVar) or axis.kind != "CommReduce":
                label = (
                    f"the {axis.kind} axis {axis.var.name}"
                    if isinstance(axis, IterVar)
                    else repr_of(axis)
                )
                raise DeclarationError(
                    f"te.{self.__name__} over {label}, expected a reduction axis",
                    "",
                    "declare k = te.reduce_axis((0, extent)) and pass axis=k; "
                    "te_sched.topi reduces whole tensors over dimensions given by number",
                )
        if len(set(axes)) != len(axes):
            names = ", ".join(reduce_axis.var.name for reduce_axis in axes)
            raise DeclarationError(
                f"te.{self.__name__} names an axis twice: {names}", "", "give each axis once"
            )

    def _combiner(self, is_tuple: bool, sources: tuple[Expr, ...]) -> CommReducer:
        ends = [f"_{number}" for number in range(len(sources))] if is_tuple else [""]
        lhs, rhs = (
            tuple(
                [Var(name + end, source.dtype) for end, source in zip(ends, sources, strict=True)]
            )
            for name in self._parameter_names()
        )
        values = (lhs, rhs) if is_tuple else (*lhs, *rhs)
        result = self._called("combiner", self.combine, values)
        identity = self._called("identity", self.identity, [source.dtype for source in sources])
        if len(result) != len(sources) or len(identity) != len(sources):
            raise DeclarationError(
                f"reducer {self.__name__} of {len(sources)} values has a combiner that returns "
                f"{len(result)} and an identity of {len(identity)}",
                "both return one value for each reduced value",
                "return a tuple of that length from both functions",
            )
        self._check_types("the combiner", result, sources)
        self._check_types("the identity", identity, sources)
        return CommReducer(lhs, rhs, result, identity)

    def _called(
        self, what: str, function: Callable[..., Any], arguments: Sequence[Any]
    ) -> tuple[Expr, ...]:
        try:
            values = function(*arguments)
        except (TypeError, IndexError) as error:
            if what == "identity":
                whole = f"the identity of reducer {self.__name__}"
                check_function(function, len(arguments), whole, "lambda dtype: te.const(0, dtype)")
            number = f"{len(arguments)} values"
            if what == "combiner":
                number = "several values" if isinstance(arguments[0], tuple) else "one"
            text = error.fault if isinstance(error, TeSchedError) else error
            raise DeclarationError(
                f"the {what} of reducer {self.__name__} fails on {number}: {text}",
                "",
                "its functions take one value or dtype for each reduced value; of several values "
                "the combiner takes two tuples",
            ) from error
        return tuple([ops.convert(value) for value in _as_tuple(values)])

    def _check_types(self, what: str, values: Sequence[Expr], sources: Sequence[Expr]) -> None:
        for value, source in zip(values, sources, strict=True):
            if value.dtype != source.dtype:
                raise DeclarationError(
                    f"{what} of reducer {self.__name__} has dtype {value.dtype}, "
                    f"expected {source.dtype}",
                    "",
                    f'return {with_article(source.dtype)}, such as te.const(0, "{source.dtype}")',
                )

    def _parameter_names(self) -> tuple[str, str]:
        names = list(inspect.signature(self.combine).parameters)
        if len(names) != 2:
            raise DeclarationError(
                f"the combiner of reducer {self.__name__} takes {len(names)} arguments, expected 2",
                "they are the result so far and the next value",
                "write lambda x, y: ...; for several values x and y are tuples",
            )
        return names[0], names[1]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Reducer:
    """A reducer with the given combiner and identity.

    Parameters
    ----------
    fcombine : (x, y) -> value; for several values x, y and the result are tuples.
    fidentity : (dtype, ...) -> the identity of the combiner, one for each reduced value.

    Example
    -------
    >>> product = te.comm_reducer(lambda x, y: x * y, lambda dtype: te.const(1, dtype), "product")
    >>> A, k = te.placeholder((4,), name="A"), te.reduce_axis((0, 4), name="k")
    >>> te.compute((1,), lambda i: product(A[k], axis=k)).op.body[0].combiner.result
    (x * y,)
    """
    if not callable(fcombine) or not callable(fidentity):
        raise DeclarationError(
            "the combiner and the identity of te.comm_reducer must be functions",
            "",
            "write te.comm_reducer(lambda x, y: x + y, lambda dtype: te.const(0, dtype))",
        )
    if (why := why_no_text(name)) is not None:
        raise DeclarationError(f"name of a reducer must be a string: {why}", "", "give a str")
    return Reducer(fcombine, fidentity, name)


sum = comm_reducer(lambda x, y: x + y, lambda dtype: ops.const(0, dtype), "sum")
prod = comm_reducer(lambda x, y: x * y, lambda dtype: ops.const(1, dtype), "prod")
max = comm_reducer(lambda x, y: ops.maximum(x, y), lambda dtype: intrinsics.min_value(dtype), "max")
min = comm_reducer(lambda x, y: ops.minimum(x, y), lambda dtype: intrinsics.max_value(dtype), "min")
__test__ = {
    function.__name__: function.__doc__ for function in (sum, prod, max, min)
}  # for doctest
