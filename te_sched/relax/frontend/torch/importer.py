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
from typing import TYPE_CHECKING, Any, TypeVar

from te_sched.errors import GraphError, Subject
from te_sched.ir.expr import Expr
from te_sched.ir.graph import Constant, GraphExpr, GraphVar, Tuple
from te_sched.ir.struct_info import (
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.frontend.common import errors_of_rules
from te_sched.relax.frontend.control_flow import bind_result
from te_sched.relax.frontend.tensors import Size, reshaped, shape_expr, sizes_of_tensor, tensor_info
from te_sched.relax.frontend.torch.arguments import arranged
from te_sched.relax.frontend.torch.memory import changed_arguments, is_node
from te_sched.relax.frontend.torch.nodes import base_name, display_name, location_of, place_of
from te_sched.relax.frontend.torch.values import (
    ComplexTensor,
    FxNode,
    TorchLayer,
    TorchTensor,
    Value,
    as_tuples,
    constant_of,
)

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Rule = Callable[..., Value]
_R = TypeVar("_R", bound=Rule)

# What a module of torch.nn adds to the arguments of its call.
ModuleArguments = Callable[["Importer", TorchLayer], Mapping[str, object]]


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
COMPLEX_ROWS: dict[str, Rule] = {}  # rules for calls with complex arguments
MODULES: dict[str, Rule] = {}  # by class of torch.nn: rule(importer, module, *args)


def row(*names: str, **modules: ModuleArguments) -> Callable[[_R], _R]:
    """Add a row for functions, methods and operators of these names, and for modules.

    A module is given as a function of the importer and the module, which returns the arguments
    that follow the tensors of the call, by name; None if there are none.
    """

    def add(rule: _R) -> _R:
        for name in names:
            ROWS[name] = TorchRow(rule)
        for name, arguments in modules.items():
            MODULES[name] = _module_rule(rule, arguments)
        return rule

    return add


def _module_rule(rule: Rule, arguments: ModuleArguments) -> Rule:
    def call(importer: Importer, module: TorchLayer, *args: object, **kwargs: object) -> Value:
        return rule(importer, *args, **{**arguments(importer, module), **kwargs})

    return call


class Importer:
    """The translation of one graph: the builder, and the values of nodes.

    A value is an expression of the graph, a number or size, or a list or tuple of values.
    """

    def __init__(self, modules: Mapping[str, TorchLayer] | None = None) -> None:
        self.builder = BlockBuilder()
        self.modules: Mapping[str, TorchLayer] = modules or {}  # of torch.nn, by name
        self.values: dict[FxNode, Value] = {}
        self.params: dict[int, GraphExpr] = {}  # parameters of torch by identity: their expressions
        self.node: FxNode  # the node that is being translated
        self.alive: list[TorchTensor] = []  # so that an identity is not used twice

    # Values

    def emit(self, expr: GraphExpr) -> GraphVar:
        """Bind an expression to a variable."""
        return self.builder.emit(expr)

    def value(self, arg: object) -> Any:
        """The value of an argument: of a node, or of a list, tuple, slice or dictionary of them."""
        if is_node(arg):
            return self.values[arg]
        if isinstance(arg, list | tuple):
            values = [self.value(element) for element in arg]
            return tuple(values) if isinstance(arg, tuple) else values
        if isinstance(arg, slice):
            return slice(*[self.value(bound) for bound in (arg.start, arg.stop, arg.step)])
        if isinstance(arg, dict):
            return {key: self.value(value) for key, value in arg.items()}
        return arg

    def param(self, tensor: TorchTensor | GraphExpr | None) -> GraphExpr | None:
        """A parameter, buffer or constant tensor of torch; None stays."""
        if tensor is None or isinstance(tensor, GraphExpr):
            return tensor
        constant = self.params.get(id(tensor))
        if constant is None:
            constant = self.params[id(tensor)] = constant_of(tensor)
            self.alive.append(tensor)
        return constant

    def info(self, expr: GraphExpr) -> TensorStructInfo:
        """The struct info of a tensor."""
        return tensor_info(expr)

    def shape(self, expr: GraphExpr) -> list[Size]:
        """The sizes of a tensor: ints, and expressions where they are not constant."""
        return sizes_of_tensor(expr, "use an operator with a known shape before it")

    def axis(self, expr: GraphExpr, dim: int) -> int:
        """A dimension of a tensor, of which negative ones count from the end, as 0 or more."""
        rank = max(self.info(expr).ndim, 1)
        if not -rank <= dim < rank:
            raise GraphError(
                f"a tensor of {rank} dimensions has no dimension {dim}",
                f"its dimensions are {-rank} to {rank - 1}",
                "give one of them",
            )
        return dim % rank

    def dtype(self, expr: GraphExpr) -> str:
        """The dtype of a tensor."""
        return self.info(expr).dtype

    def is_tensor(self, value: object) -> TypeIs[GraphExpr]:
        """Whether a value is an expression of a tensor.

        For types it is one if it is an expression: operators take no tuples.
        """
        return isinstance(value, GraphExpr) and isinstance(value.struct_info_, TensorStructInfo)

    def number(self, value: float, dtype: str) -> Constant:
        """A number as a constant."""
        return const(value, dtype)

    def cast(self, expr: GraphExpr, dtype: str) -> GraphExpr:
        """A tensor with another dtype; itself if it has it."""
        return expr if self.dtype(expr) == dtype else self.emit(R.astype(expr, dtype))

    def reshape(self, x: GraphExpr, sizes: Sequence[Size]) -> GraphVar:
        """A tensor with other sizes, which may be 0; one may be -1."""
        return reshaped(self.builder, x, sizes)

    def is_equal(self, a: Size, b: Size) -> bool:
        """Whether two sizes are known to be equal."""
        return self.builder.analyzer.can_prove_equal(*shape_expr([a, b]).values)

    def broadcast(self, x: GraphExpr, sizes: Sequence[Size]) -> GraphExpr:
        """A tensor broadcast to sizes; itself if it has them."""
        shape = self.shape(x)
        if len(shape) == len(sizes) and all(map(self.is_equal, shape, sizes)):
            return x
        return self.emit(R.broadcast_to(x, sizes))

    # Functions

    def run(self, nodes: Iterable[FxNode], translate: Callable[[FxNode], Value]) -> Any:
        """Translate nodes in order; the result is the value of the node of outputs."""
        for node in nodes:
            if node.op == "output":
                return self.value(node.args[0])
            if node.op != "placeholder":
                self.node, self.builder.location = node, location_of(node)
                where = partial(_name_and_place, node)
                with errors_of_rules(display_name(node), where):
                    self.values[node] = translate(node)
        return None

    def call(self, node: FxNode, rule: Rule, *args: TorchLayer) -> Value:
        """The value of a call."""
        operands = [self.value(arg) for arg in node.args]
        kwargs = {key: self.value(arg) for key, arg in node.kwargs.items()}
        for name in ("_stacklevel", "out"):
            kwargs.pop(name, None)
        if kwargs:
            module = args[0] if args else None
            operands, kwargs = arranged(node, rule, operands, kwargs, module)
        if _has_complex([*operands, *kwargs.values()]):
            rule = _complex_rule(node)
        result = self.refined(rule(self, *args, *operands, **kwargs))
        for changed in changed_arguments(node, self.modules):
            before = self.values.get(changed)
            if self.is_tensor(result) and self.is_tensor(before):
                result = self.cast(result, self.dtype(before))
            self.values[changed] = result
            self.write_shared(changed)
        return result

    def write_shared(self, changed: FxNode) -> None:
        """Pass on the new value of a node to those that share its memory, if the graph has some."""

    def known_parts(self, dim: int) -> list[Size] | None:
        """The sizes of a dimension in the parts that the current node gives, if they are known."""
        return None

    def known_sizes(self) -> tuple[Expr, ...] | None:
        """The sizes of the result of the current node, if the graph has them."""
        return None

    def refined(self, value: Value) -> Value:
        """The value of the current node, with its sizes if the graph has them."""
        return value

    def output(
        self, result: Value, *, unwrap_unit: bool, no_bind: bool, new: Sequence[Value] = ()
    ) -> GraphExpr:
        """Bind the result of the function, in a pair with new values of
        parameters if there are some.
        """
        _check_results(result)
        is_number = isinstance(result, bool | int | float)
        result = self.emit(as_tuples(result)) if is_number else as_tuples(result)
        is_tuple = isinstance(result, Tuple) or (
            isinstance(result, GraphExpr) and isinstance(result.struct_info_, TupleStructInfo)
        )
        if unwrap_unit and isinstance(result, Tuple) and len(result.fields) == 1:
            result = result.fields[0]
        if new:
            return bind_result(self.builder, Tuple((result, as_tuples(tuple(new)))))
        if is_tuple and no_bind and isinstance(result, Tuple):
            return Tuple(tuple([bind_result(self.builder, element) for element in result.fields]))
        return bind_result(self.builder, result)


def _name_and_place(node: FxNode) -> str:
    return f"{node.name}{place_of(node)}"


def _has_complex(arguments: Iterable[object]) -> bool:
    """Whether an argument is complex, or a list with a complex tensor."""
    return any(
        isinstance(x, ComplexTensor) or (isinstance(x, list) and _has_complex(x)) for x in arguments
    )


def _complex_rule(node: FxNode) -> Rule:
    """The rule of a call with complex arguments."""
    rule = COMPLEX_ROWS.get(base_name(node))
    if rule is None:
        raise GraphError(
            f"{display_name(node)} takes no complex numbers",
            "a graph has pairs of real numbers in place of complex ones",
            "use products, sums and transforms of complex numbers, or torch.view_as_real",
        )
    return rule


def _check_results(result: Value, path: str = "the output") -> None:
    """GraphError for a result that is not a tensor, number or tuple of them."""
    if isinstance(result, ComplexTensor):
        raise GraphError(
            f"{path} of the model is complex",
            "a graph has pairs of real numbers in place of complex ones",
            "return torch.view_as_real of it",
        )
    if isinstance(result, list | tuple | dict):
        parts = result.items() if isinstance(result, dict) else enumerate(result)
        for key, part in parts:
            _check_results(part, f"output {key}" if path == "the output" else f"{path}[{key!r}]")
    elif result is None or isinstance(result, str):
        raise GraphError(
            f"{path} of the model is {result!r}",
            "results of a graph are tensors, numbers and tuples of them",
            "return it outside of the model",
        )


def refuse_unknown(
    unknown: Sequence[tuple[str, FxNode]],
    help: str = (
        "write the model with other operators, or run it with torch.compile(model, "
        'backend="te_sched"), which leaves these to torch'
    ),
) -> None:
    """GraphError that lists all operators of a model that have no row, and where they are."""
    if not unknown:
        return
    counts = Counter(name for name, _ in unknown)
    plural = "operators are" if len(counts) > 1 else "operator is"
    raise GraphError(
        f"{len(counts)} {plural} not supported: {', '.join(counts)}",
        "the importer has no translation for them",
        help,
        where=[Subject("operator", line) for line in operators_and_places(unknown)],
    )


def operators_and_places(nodes: Sequence[tuple[str, FxNode]]) -> list[str]:
    """A line for each operator of some nodes: its name, and where its first three calls are."""
    lines = []
    for name, count in Counter(name for name, _ in nodes).items():
        calls = [node for other, node in nodes if other == name]
        places = ", ".join(f"{node.name}{place_of(node)}" for node in calls[:3])
        more = f" and {count - 3} more" if count > 3 else ""
        lines.append(f"{name}: {places}{more}")
    return lines
