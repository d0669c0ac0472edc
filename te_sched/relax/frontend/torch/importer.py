"""What the importers of PyTorch share: the values of nodes, and the table of operators.

A graph of torch (`torch.fx`) is a list of nodes; each call of a function, method or module is
looked up in the table of `operators`, and translated by its row. Everything that has no row is
listed in one error, before anything is built. torch itself is imported by functions that need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from te_sched import nd
from te_sched.errors import GraphError, Subject, repr_of
from te_sched.ir.expr import Expr
from te_sched.ir.graph import Constant, GraphExpr, PrimValue, Tuple
from te_sched.ir.struct_info import (
    ShapeExpr,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.frontend.common import errors_of_rules
from te_sched.relax.frontend.torch.arguments import arranged
from te_sched.relax.frontend.torch.memory import changed_arguments, is_node
from te_sched.relax.frontend.torch.nodes import display_name, place_of

Rule = Callable[..., Any]


@dataclass(frozen=True)
class TorchRow:
    """An operator of torch.

    `rule(importer, *args, **kwargs)` translates a call with torch's arguments. `modules` are
    classes of `torch.nn`, and what a module adds to the arguments of its call.
    """

    rule: Rule
    modules: Mapping[str, Rule] = field(default_factory=dict)


END = (1 << 63) - 1  # where a slice ends that has no end
ROWS: dict[str, TorchRow] = {}  # by name of the function: "softmax", "conv2d", "add"
MODULES: dict[str, Rule] = {}  # by class of torch.nn: rule(importer, module, *args)


def row(*names: str, **modules: Rule) -> Callable[[Rule], Rule]:
    """Add a row for functions, methods and operators of these names, and for modules.

    A module is given as a function of the importer and the module, which returns the arguments
    that follow the tensors of the call, by name; None if there are none.
    """

    def add(rule: Rule) -> Rule:
        for name in names:
            ROWS[name] = TorchRow(rule)
        for name, arguments in modules.items():
            MODULES[name] = _module_rule(rule, arguments)
        return rule

    return add


def _module_rule(rule: Rule, arguments: Rule) -> Rule:
    def call(importer: Importer, module: Any, *args: Any, **kwargs: Any) -> Any:
        return rule(importer, *args, **{**arguments(importer, module), **kwargs})

    return call


class Importer:
    """The translation of one graph: the builder, and the values of nodes.

    A value is an expression of the graph, a number or size, or a list or tuple of values.
    """

    def __init__(self, modules: Mapping[str, Any] | None = None) -> None:
        self.builder = BlockBuilder()
        self.modules = {} if modules is None else modules  # of torch.nn, by name
        self.values: dict[Any, Any] = {}
        self.params: dict[int, Any] = {}  # parameters of torch by identity: their expressions
        self.node: Any = None  # the node that is being translated
        self.alive: list[Any] = []  # so that an identity is not used twice

    # Values

    def emit(self, expr: Any) -> Any:
        """Bind an expression to a variable."""
        return self.builder.emit(expr)

    def value(self, arg: Any) -> Any:
        """The value of an argument: of a node, or of a list, tuple, slice or dictionary of them."""
        if is_node(arg):
            return self.values[arg]
        if isinstance(arg, list | tuple):
            found = [self.value(one) for one in arg]
            return tuple(found) if isinstance(arg, tuple) else found
        if isinstance(arg, slice):
            return slice(*[self.value(one) for one in (arg.start, arg.stop, arg.step)])
        if isinstance(arg, dict):
            return {key: self.value(one) for key, one in arg.items()}
        return arg

    def param(self, tensor: Any) -> Any:
        """A parameter, buffer or constant tensor of torch; None stays."""
        if tensor is None or isinstance(tensor, GraphExpr):
            return tensor
        found = self.params.get(id(tensor))
        if found is None:
            found = self.params[id(tensor)] = constant_of(tensor)
            self.alive.append(tensor)
        return found

    def info(self, expr: Any) -> TensorStructInfo:
        """The struct info of a tensor."""
        known = expr.struct_info
        if not isinstance(known, TensorStructInfo):
            raise GraphError(
                f"an operator of the model is given {repr_of(expr)}",
                f"it is {known}",
                "it takes a tensor",
            )
        return known

    def shape(self, expr: Any) -> list[Any]:
        """The sizes of a tensor: ints, and expressions where they are not constant."""
        shape = self.info(expr).shape
        if not isinstance(shape, ShapeExpr):
            raise GraphError(
                f"the shape of {repr_of(expr)} is not known",
                f"it is {self.info(expr)}",
                "use an operator with a known shape before it",
            )
        return [size_of(one) for one in shape.values]

    def axis(self, expr: Any, dim: int) -> int:
        """A dimension of a tensor, of which negative ones count from the end, as 0 or more."""
        rank = max(self.info(expr).ndim, 1)
        if not -rank <= dim < rank:
            raise GraphError(
                f"a tensor of {rank} dimensions has no dimension {dim}",
                f"its dimensions are {-rank} to {rank - 1}",
                "give one of them",
            )
        return dim % rank

    def dtype(self, expr: Any) -> str:
        """The dtype of a tensor."""
        return self.info(expr).dtype

    def is_tensor(self, value: Any) -> bool:
        """Whether a value is an expression of a tensor."""
        return isinstance(value, GraphExpr) and isinstance(value.struct_info_, TensorStructInfo)

    def number(self, value: Any, dtype: str) -> Constant:
        """A number as a constant."""
        return const(value, dtype)

    def cast(self, expr: Any, dtype: str) -> Any:
        """A tensor with another dtype; itself if it has it."""
        return expr if self.dtype(expr) == dtype else self.emit(R.astype(expr, dtype))

    def reshape(self, x: Any, sizes: list[Any]) -> Any:
        """A tensor with other sizes, which may be 0; one may be -1."""
        if any(type(one) is int and one == 0 for one in sizes):  # R.reshape keeps a size for 0
            return self.emit(R.zeros([max(one, 0) for one in sizes], self.dtype(x)))
        return self.emit(R.reshape(x, sizes))

    def is_equal(self, a: Any, b: Any) -> bool:
        """Whether two sizes are known to be equal."""
        return self.builder.analyzer.can_prove_equal(*ShapeExpr((a, b)).values)

    def broadcast(self, x: Any, sizes: list[Any]) -> Any:
        """A tensor broadcast to sizes; itself if it has them."""
        shape = self.shape(x)
        if len(shape) == len(sizes) and all(map(self.is_equal, shape, sizes)):
            return x
        return self.emit(R.broadcast_to(x, sizes))

    # Functions

    def run(self, nodes: Iterable[Any], translate: Callable[[Any], Any]) -> Any:
        """Translate nodes in order; the result is the value of the node of outputs."""
        for node in nodes:
            if node.op == "output":
                return self.value(node.args[0])
            if node.op != "placeholder":
                where = partial(_name_and_place, node)
                with errors_of_rules(display_name(node), where):
                    self.values[node] = translate(node)
        return None

    def call(self, node: Any, rule: Rule, *args: Any) -> Any:
        """The value of a call."""
        self.node = node
        given = [self.value(one) for one in node.args]
        kwargs = {key: self.value(one) for key, one in node.kwargs.items()}
        for name in ("_stacklevel", "out"):
            kwargs.pop(name, None)
        if kwargs:
            module = args[0] if args else None
            given, kwargs = arranged(node, rule, given, kwargs, module)
        found = self.refined(rule(self, *args, *given, **kwargs))
        for changed in changed_arguments(node, self.modules):
            if self.is_tensor(found) and self.is_tensor(self.values.get(changed)):
                found = self.cast(found, self.dtype(self.values[changed]))
            self.values[changed] = found
        return found

    def known_parts(self, dim: int) -> list[Any] | None:
        """The sizes of a dimension in the parts that the current node gives, if they are known."""
        return None

    def known_sizes(self) -> tuple[Any, ...] | None:
        """The sizes of the result of the current node, if the graph has them."""
        return None

    def refined(self, value: Any) -> Any:
        """The value of the current node, with its sizes if the graph has them."""
        return value

    def output(self, result: Any, *, unwrap_unit: bool, no_bind: bool) -> Any:
        """Bind the result of the function in its dataflow block."""
        _check_results(result)
        is_number = isinstance(result, bool | int | float)
        result = self.emit(as_tuples(result)) if is_number else as_tuples(result)
        is_tuple = isinstance(result, Tuple) or (
            isinstance(result, GraphExpr) and isinstance(result.struct_info_, TupleStructInfo)
        )
        if is_tuple and unwrap_unit:
            fields = result.fields if isinstance(result, Tuple) else [result]
            if isinstance(result, Tuple) and len(fields) == 1:
                return self.builder.emit_output(fields[0])
        if is_tuple and no_bind and isinstance(result, Tuple):
            return Tuple(tuple([self.builder.emit_output(one) for one in result.fields]))
        return self.builder.emit_output(result)


def _name_and_place(node: Any) -> str:
    return f"{node.name}{place_of(node)}"


def _check_results(result: Any, path: str = "the output") -> None:
    """GraphError for a result that is not a tensor, number or tuple of them."""
    if isinstance(result, list | tuple | dict):
        parts = result.items() if isinstance(result, dict) else enumerate(result)
        for key, one in parts:
            _check_results(one, f"output {key}" if path == "the output" else f"{path}[{key!r}]")
    elif result is None or isinstance(result, str):
        raise GraphError(
            f"{path} of the model is {result!r}",
            "results of a graph are tensors, numbers and tuples of them",
            "return it outside of the model",
        )


class TorchSizes(tuple[Any, ...]):
    """The sizes of a tensor, as `x.size()` gives them."""


def size_of(size: Any) -> Any:
    """A size as an int, where it is constant."""
    return int(size.value) if hasattr(size, "value") else size


def as_tuples(value: Any) -> Any:
    """Lists and tuples of expressions as an expression; numbers as values of the graph."""
    if isinstance(value, TorchSizes):
        return ShapeExpr(value)
    if isinstance(value, Expr):
        return PrimValue(value)
    if isinstance(value, list | tuple):
        return Tuple(tuple([as_tuples(one) for one in value]))
    if isinstance(value, dict):
        return Tuple(tuple([as_tuples(one) for one in value.values()]))
    if isinstance(value, bool | int | float):
        return const(value, "bool" if isinstance(value, bool) else None)
    return value


def constant_of(tensor: Any) -> Constant:
    """A tensor of torch as a constant."""
    return Constant(array_of(tensor))


def array_of(tensor: Any) -> nd.NDArray:
    """The values of a tensor of torch, copied."""
    tensor = tensor.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":
        return nd.from_dlpack(tensor.contiguous().clone())
    return nd.array(np.ascontiguousarray(tensor.numpy()) if tensor.ndim else tensor.numpy())


def dtype_of(given: Any) -> str:
    """The name of a dtype of torch."""
    return str(given).removeprefix("torch.")


def refuse_unknown(unknown: Sequence[tuple[str, Any]]) -> None:
    """GraphError that lists all operators of a model that have no row, and where they are."""
    if not unknown:
        return
    counts = Counter(name for name, _ in unknown)
    lines = []
    for name, count in counts.items():
        nodes = [node for other, node in unknown if other == name]
        places = ", ".join(f"{one.name}{place_of(one)}" for one in nodes[:3])
        more = f" and {count - 3} more" if count > 3 else ""
        lines.append(f"{name}: {places}{more}")
    plural = "operators are" if len(counts) > 1 else "operator is"
    raise GraphError(
        f"{len(counts)} {plural} not supported: {', '.join(counts)}",
        "the importer has no translation for them",
        "write the model with other operators, or decompose them: "
        "exported_program.run_decompositions()",
        where=[Subject("operator", one) for one in lines],
    )
