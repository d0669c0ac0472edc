"""Modules for tests of graphs, as courses use them: values are expressions, bound in the builder
that is open.

    with bb.function("main"):
        model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
        data = nn.Placeholder((1, 784), name="data")
        bb.emit_func_output(model(data), params=[data, *model.parameters()])
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from te_sched import public_names, topi
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphError
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.struct_info import GraphExprLike, ShapeExpr, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.frontend.nn.core import current_builder
from te_sched.relax.frontend.nn.subroutine import SubroutineMixin


def emit(expr: GraphExprLike, name_hint: str = "") -> GraphVar:
    """Bind an expression in the builder that is open."""
    return current_builder().emit(expr, name_hint)


def emit_te(
    func: Callable[..., object], *args: object, name_hint: str = "", **kwargs: object
) -> GraphVar:
    """Bind the value of a function of tensor expressions in the builder that is open."""
    builder = current_builder()
    arguments = [builder.normalize_argument(arg) if _is_unbound(arg) else arg for arg in args]
    return builder.emit_te(func, *arguments, name_hint=name_hint, **kwargs)


def _is_unbound(value: object) -> bool:
    return isinstance(value, GraphExpr | GlobalVar) and value.struct_info_ is None


def Placeholder(
    shape: Sequence[Expr | int], dtype: str = "float32", name: str = "data"
) -> GraphVar:
    """A variable for an input, with a name that is not used yet."""
    builder = BlockBuilder.current()
    info = TensorStructInfo(shape, dtype)
    return GraphVar(name if builder is None else builder.get_unique_name(name), info)


def Parameter(shape: Sequence[Expr | int], dtype: str = "float32", name: str = "param") -> GraphVar:
    """A variable for a parameter: an attribute of a module that is one belongs to its parameters.

    >>> Parameter((4, 3), name="weight").struct_info
    R.Tensor((4, 3), dtype="float32")
    """
    return Placeholder(shape, dtype, name)


class BuilderModule(SubroutineMixin):
    """A part of a model (`Module`): subclasses have `forward`, parameters and modules."""

    forward: Callable[..., Any]

    def variable_slots(self) -> list[tuple[object, str]]:
        """The modules and attributes of the parameters."""
        return list(_slots_of(self))

    def parameters(self) -> list[GraphVar]:
        """The parameters of the module and of those in it, each once."""
        params = [getattr(owner, name) for owner, name in self.variable_slots()]
        return list(dict.fromkeys(params))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.forward(*args, **kwargs)


def _slots_of(value: object) -> Iterator[tuple[BuilderModule, str]]:
    """The attributes that are variables, in modules, and in lists and dictionaries of them."""
    if isinstance(value, BuilderModule):
        for name, member in vars(value).items():
            if isinstance(member, GraphVar):
                yield value, name
            else:
                yield from _slots_of(member)
    elif isinstance(value, list | tuple | dict):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _slots_of(member)


class BuilderSequential(BuilderModule):
    """Modules that are called one after the other (`Sequential`)."""

    def __init__(self, *modules: BuilderModule) -> None:
        self.modules = modules

    def forward(self, input: object) -> object:
        """The value of the last module."""
        for module in self.modules:
            input = module(input)
        return input


class BuilderReLU(BuilderModule):
    """max(x, 0) (`ReLU`)"""

    def forward(self, input: object) -> GraphVar:
        """The value."""
        return emit_te(topi.nn.relu, input)


class BuilderLogSoftmax(BuilderModule):
    """The logarithm of softmax (`LogSoftmax`)."""

    def forward(self, input: object) -> GraphVar:
        """The value."""
        return emit_te(topi.nn.log_softmax, input)


class BuilderLinear(BuilderModule):
    """input @ weight + bias (`Linear`)"""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter((in_features, out_features), name="linear_weight")
        self.bias = Parameter((out_features,), name="linear_bias") if bias else None

    def forward(self, input: object) -> GraphVar:
        """The value."""
        y = emit_te(topi.matmul, input, self.weight)
        return y if self.bias is None else emit_te(topi.add, y, self.bias)


def init_params(mod: IRModule) -> list[NDArray[np.generic]]:
    """Random values for the parameters of function main."""
    arrays = []
    for param in mod["main"].params:
        info = param.struct_info
        has_sizes = isinstance(info.shape, ShapeExpr)
        sizes = (
            [getattr(size, "value", None) for size in info.shape.values] if has_sizes else [None]
        )
        if None in sizes:
            raise GraphError(
                f"parameter {param.name_hint} has no constant shape",
                f"it is {info}",
                "bind the sizes first: relax.transform.BindSymbolicVars",
            )
        arrays.append(np.random.rand(*sizes).astype(info.dtype))
    return arrays


Module = BuilderModule
Sequential = BuilderSequential
ReLU = BuilderReLU
LogSoftmax = BuilderLogSoftmax
Linear = BuilderLinear

public_names.list_names(sys.modules[__name__])
_tell_of_absent_names(__name__)
