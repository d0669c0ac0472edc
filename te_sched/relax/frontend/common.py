"""What importers share: tensors and sizes, errors of rules, parameters that are attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from te_sched import nd
from te_sched.errors import GraphError, Subject, TeSchedError, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, ExprLike, IntImm
from te_sched.ir.graph import GraphExpr, GraphFunction, PrimValue
from te_sched.ir.stmt import BaseFunc, IRModule
from te_sched.ir.struct_info import ShapeExpr, TensorStructInfo

PARAMS = "params"  # the attribute with the values of the last parameters of a function


_T = TypeVar("_T")

# A size of a tensor, or a number that is computed of sizes: an int where it is constant.
Size = Expr | int


def tensor_info(expr: GraphExpr) -> TensorStructInfo:
    """The struct info of a tensor; GraphError for other values.

    >>> from te_sched import relax
    >>> tensor_info(relax.const([1, 2]))
    R.Tensor((2,), dtype="int32")
    """
    info = expr.struct_info
    if not isinstance(info, TensorStructInfo):
        raise GraphError(
            f"an operator of the model is given {repr_of(expr)}",
            f"it is {info}",
            "it takes a tensor",
        )
    return info


def sizes_of_tensor(expr: GraphExpr, help: str) -> list[Size]:
    """The sizes of a tensor; GraphError with this help if they are not known.

    >>> from te_sched import relax
    >>> sizes_of_tensor(relax.const([1, 2]), "give its shape")
    [2]
    """
    shape = tensor_info(expr).shape
    if not isinstance(shape, ShapeExpr):
        raise GraphError(
            f"the shape of {repr_of(expr)} is not known", f"it is {expr.struct_info}", help
        )
    return [as_size(size) for size in shape.values]


def as_size(size: Size) -> Size:
    """A size as an int, where it is constant."""
    return int(size.value) if isinstance(size, IntImm) else size


def fixed_size(size: Size, action: str) -> int:
    """A size that must be constant for an action; GraphError if it is not.

    >>> fixed_size(4, "unbind")
    4
    """
    if not isinstance(size, int):
        raise GraphError(
            f"cannot {action} a dimension of size {size}",
            "its size is not constant",
            "use a fixed size",
        )
    return size


def shape_expr(sizes: Iterable[Size]) -> ShapeExpr:
    """Sizes as a shape of the graph.

    >>> shape_expr([2, 3])
    R.shape([2, 3])
    """
    return ShapeExpr(tuple([ops.convert(size) for size in sizes]))


def prim_value(value: ExprLike) -> PrimValue:
    """A number as a value of the graph: an int is one of int64, a float one of float64.

    >>> prim_value(3)
    R.prim_value(3)
    """
    return PrimValue(value)  # type: ignore[arg-type]  # which converts it


def as_list(values: Sequence[_T | Sequence[_T]]) -> list[_T]:
    """Numbers that are given as several arguments or as one list; GraphError for both at once.

    >>> as_list((2, 3)), as_list(([2, 3],))
    ([2, 3], [2, 3])
    """
    if len(values) == 1 and isinstance(values[0], Sequence):
        return list(values[0])
    numbers = [value for value in values if not isinstance(value, Sequence)]
    if len(numbers) < len(values):
        raise GraphError(
            f"the arguments {repr_of(tuple(values))} are numbers and lists",
            "",
            "give numbers, or one list of them",
        )
    return numbers


def several(given: _T | Sequence[_T], count: int) -> list[_T]:
    """A value for each dimension, given as one or as a list.

    >>> several(3, 2), several((3, 4), 2)
    ([3, 3], [3, 4])
    """
    return list(given) if isinstance(given, Sequence) else [given] * count


def product_of(sizes: Iterable[Size]) -> Size:
    """The product of sizes, the first one first.

    >>> product_of([2, 3])
    6
    """
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


@contextmanager
def errors_of_rules(name: str, node: Callable[[], str]) -> Iterator[None]:
    """Turn each error of the rule of an operator into one GraphError, which names the operator and
    its node.

    Parameters
    ----------
    name : the operator.
    node : gives the name of the node, and its place in the user's model.

    >>> with errors_of_rules("aten.relu", lambda: "relu_1 (File model.py, line 3)"):
    ...     [].pop()
    Traceback (most recent call last):
    te_sched.errors.GraphError: cannot import aten.relu: its arguments are not supported
      where: node relu_1 (File model.py, line 3)...
      why: IndexError: pop from empty list
      help: write the model with other arguments or operators
    """
    try:
        yield
    except (RecursionError, MemoryError):
        raise
    except TeSchedError as error:
        fault, why, help = f"cannot import {name}: {error.fault}", error.why, error.help
        raise GraphError(fault, why, help, where=Subject("node", node())) from None
    except Exception as error:
        raise GraphError(
            f"cannot import {name}: its arguments are not supported",
            f"{type(error).__name__}: {error}",
            "write the model with other arguments or operators",
            where=Subject("node", node()),
        ) from error


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[nd.NDArray]]]:
    """The module without the attribute "params" of its functions, and their values by function.

    Importers that keep parameters as inputs (`keep_params_as_input=True`) put them there.

    >>> from te_sched import nd, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    >>> func = relax.Function([x], x).with_attr("params", [nd.empty([3])])
    >>> mod, params = detach_params(te_sched.IRModule({"main": func}))
    >>> dict(mod["main"].attrs), [one.shape for one in params["main"]]
    ({}, [(3,)])
    """
    functions: dict[str, BaseFunc] = {}
    found: dict[str, list[nd.NDArray]] = {}
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction) and PARAMS in func.attrs:
            found[str(name)] = list(func.attrs[PARAMS])
            functions[name] = func.without_attr(PARAMS)
    return mod.with_functions(functions), found
