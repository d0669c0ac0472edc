"""What rules of torch take and give: values of nodes, and what is read of torch's own objects.

torch is optional and has no types here: `FxNode`, `TorchLayer` and `TorchTensor` have what the
importers read. Must not know rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from te_sched import nd
from te_sched.errors import GraphError
from te_sched.ir.expr import Expr
from te_sched.ir.graph import Constant, GraphExpr, PrimValue, Tuple
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size, shape_expr


class FxNode(Protocol):
    """What is read of a `torch.fx.Node`: a call, with nodes and constants as arguments."""

    op: str
    name: str
    target: object
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    meta: dict[str, Any]
    users: Mapping[FxNode, object]
    all_input_nodes: Sequence[FxNode]
    graph: FxGraph

    def __hash__(self) -> int: ...


class FxGraph(Protocol):
    """What is read of a `torch.fx.Graph`."""

    nodes: Iterable[FxNode]
    owning_module: object


class FxGraphModule(Protocol):
    """What is read of a `torch.fx.GraphModule`."""

    graph: FxGraph
    forward: Callable[..., object]

    def recompile(self) -> object: ...
    def named_modules(self) -> Iterable[tuple[str, TorchLayer]]: ...


class TorchTensor(Protocol):
    """What is read of a `torch.Tensor`."""

    ndim: int
    shape: Sequence[int]
    dtype: object

    def detach(self) -> TorchTensor: ...
    def cpu(self) -> TorchTensor: ...
    def clone(self, *, memory_format: object = ...) -> TorchTensor: ...
    def data_ptr(self) -> int: ...
    def is_contiguous(self) -> bool: ...
    def permute(self, dims: Sequence[int]) -> TorchTensor: ...
    def view(self, shape: object) -> TorchTensor: ...
    def contiguous(self) -> TorchTensor: ...
    def numpy(self) -> NDArray[Any]: ...
    def copy_(self, src: TorchTensor) -> TorchTensor: ...


class TorchDevice(Protocol):
    """What is read of a `torch.device`."""

    type: str


@runtime_checkable
class FakeTensor(Protocol):
    """What is read of a tensor that torch has without elements; sizes may be symbolic."""

    shape: Sequence[int]
    dtype: object
    device: TorchDevice
    layout: object

    def stride(self) -> Sequence[int]: ...
    def is_neg(self) -> bool: ...
    def is_conj(self) -> bool: ...


class SizeFormula(Protocol):
    """What is read of a formula of sympy."""

    is_Symbol: bool
    name: str
    free_symbols: Iterable[SizeFormula]


class SizeNode(Protocol):
    """What is read of the node of a symbolic size; `hint` is its value in the example."""

    expr: SizeFormula
    hint: int | None


@runtime_checkable
class SymbolicSize(Protocol):
    """What is read of a `torch.SymInt`."""

    node: SizeNode


@runtime_checkable
class TorchOperator(Protocol):
    """What is read of an operator of torch, an overload."""

    tags: Sequence[object]


class TorchLayer(Protocol):
    """A `torch.nn.Module`: its attributes are those of its class."""

    def __getattr__(self, name: str) -> Any: ...


class TorchSizes(tuple[Size, ...]):
    """The sizes of a tensor, as `x.size()` gives them."""


class ComplexTensor(NamedTuple):
    """A tensor of complex numbers: its real and its imaginary part."""

    real: GraphExpr
    imag: GraphExpr


# The dtype of the parts of complex numbers.
PART_DTYPES = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
Tensors = tuple[GraphExpr, ...]  # what an operator of several results gives
# Numbers, also those that are computed of sizes, and what arithmetic takes.
Scalar = Expr | float
Operand = GraphExpr | Scalar
# One dimension, several, or all of them.
Dims = int | Sequence[int] | None
# A number for all spatial dimensions, or for each.
Ints = int | Sequence[int]
# Sizes as several arguments, or as one list; the indices of some dimensions.
Sizes = Size | Sequence[Size]
Indices = Sequence[GraphExpr | None]
# The spatial sizes of a result, where None keeps one, and their factors.
OutputSize = int | None | Sequence[int | None]
Factors = float | Sequence[float] | None
# A dtype of torch, its name, or the name with "torch.": `dtype_of` reads them.
TorchDtype = object
# What a rule gives: the value of a node.
Value: TypeAlias = "Operand | str | Sequence[Value] | Mapping[str, Value] | None"


def as_tuples(value: Value) -> GraphExpr:
    """Lists and tuples of expressions as an expression; numbers as values of the graph."""
    if isinstance(value, TorchSizes):
        return shape_expr(value)
    if isinstance(value, Expr):
        return PrimValue(value)
    if isinstance(value, list | tuple):
        return Tuple(tuple([as_tuples(part) for part in value]))
    if isinstance(value, dict):
        return Tuple(tuple([as_tuples(part) for part in value.values()]))
    if isinstance(value, bool | int | float):
        return const(value, "bool" if isinstance(value, bool) else None)
    if not isinstance(value, GraphExpr):
        raise GraphError(
            f"{value!r} is not a value of a graph",
            "values of a graph are tensors, numbers and tuples of them",
            "compute it outside of the model",
        )
    return value


def constant_of(tensor: TorchTensor) -> Constant:
    """A tensor of torch as a constant."""
    return Constant(array_of(tensor))


def array_of(tensor: TorchTensor) -> nd.NDArray:
    """The values of a tensor of torch, copied."""
    tensor = tensor.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":
        return nd.from_dlpack(tensor.contiguous().clone())
    return nd.array(np.ascontiguousarray(tensor.numpy()) if tensor.ndim else tensor.numpy())


def dtype_of(dtype: TorchDtype) -> str:
    """The name of a dtype of torch.

    >>> dtype_of("torch.int64")
    'int64'
    """
    return str(dtype).removeprefix("torch.")
