"""The translation of a model of ONNX: what rows of operators ask and emit.

Inputs of nodes are tensors of the graph, arrays whose values are known, or sizes (`OnnxSizes`).
Must not know rows of operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir import dtypes
from te_sched.ir.expr import Cast, Expr
from te_sched.ir.graph import Constant, GraphExpr, GraphVar, Tuple
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.evaluation import evaluate
from te_sched.relax.frontend.onnx.protobufs import OnnxAttribute, OnnxFunction
from te_sched.relax.frontend.onnx.registry import OWN, Ints, Rule, find_row
from te_sched.relax.frontend.onnx.sequences import OnnxAbsent, OnnxList, OnnxSequence
from te_sched.relax.frontend.onnx.sizes import Array, Number, OnnxSizes, Value, are_open, is_known
from te_sched.relax.frontend.tensors import (
    Size,
    agreeing,
    computed_size,
    fixed_size,
    shape_expr,
    sizes_of_tensor,
    tensor_info,
)


def dtype_of(number: int) -> str:
    """The name of one of ONNX's dtypes, by its number in `onnx.TensorProto`: "float32" for 1."""
    import onnx

    return str(onnx.helper.tensor_dtype_to_np_dtype(number))


def stored_dtype(dtype: str) -> str:
    """The dtype of tensors of the graph for numbers of few bits: int8, or float32.

    >>> stored_dtype("uint4"), stored_dtype("float8_e5m2"), stored_dtype("int16")
    ('int8', 'float32', 'int16')
    """
    if dtype in ("int4", "uint4", "int2", "uint2"):
        return "int8"
    return "float32" if dtype.startswith(("float8_", "float4_")) else dtype


class OnnxImporter:
    """The translation of a model: the builder, and the values by name.

    `versions` are those of the operators by domain.
    """

    def __init__(self, versions: Mapping[str, int] | None = None) -> None:
        self.versions = dict(versions or {})
        self.builder = BlockBuilder()
        self.values: dict[str, Value] = {}
        self.shapes: dict[str, list[Size]] = {}  # those of the inputs of the model
        self.known: dict[str, Array] = {}  # the arrays of initializers, also of those that are kept
        self.few_bits: dict[GraphExpr, str] = {}  # dtypes of tensors that have `stored_dtype`
        self.inputs: list[str] = []  # names of the inputs of the current node
        self.count = 1  # of its outputs
        self.functions: dict[tuple[str, str], OnnxFunction] = {}  # of the model, by domain and name
        self.attributes: dict[
            str, OnnxAttribute
        ] = {}  # of the call of the function that is translated

    @contextmanager
    def scope(
        self,
        inputs: Mapping[str, str],
        attributes: Mapping[str, OnnxAttribute],
        versions: Mapping[str, int],
    ) -> Iterator[None]:
        """The names of a function: values are those of inputs alone, which have other names outside
        (none for those that a call leaves out).
        """
        outside = self.values, self.known, self.attributes, self.versions
        values, constants = self.values, self.known
        self.values = {
            name: values[outer_name] for name, outer_name in inputs.items() if outer_name
        }
        self.known = {
            name: constants[outer_name]
            for name, outer_name in inputs.items()
            if outer_name in constants
        }
        self.attributes, self.versions = dict(attributes), {**self.versions, **versions}
        try:
            yield
        finally:
            self.values, self.known, self.attributes, self.versions = outside

    @contextmanager
    def inner_scope(self) -> Iterator[None]:
        """The names of a graph inside of a node, which has those around, too.

        Afterwards the node is the current one again.
        """
        outside = self.values, self.known, self.inputs, self.count
        self.values, self.known = dict(self.values), dict(self.known)
        try:
            yield
        finally:
            self.values, self.known, self.inputs, self.count = outside

    def emit(self, expr: GraphExpr) -> GraphVar:
        """Bind an expression to a variable."""
        return self.builder.emit(expr)

    def tensors(self, values: Sequence[Value], axis: int | None = None) -> list[GraphExpr]:
        """Values as expressions of the graph, of sizes that agree (`agreeing`)."""
        return agreeing(self.builder, [self.tensor(value) for value in values], axis)

    @property
    def help_with_shapes(self) -> str:
        """The argument of `from_onnx` that gives the sizes which only calls give.

        >>> from te_sched import tir
        >>> importer = OnnxImporter()
        >>> importer.shapes = {"x": [tir.Var("n", "int64"), 3]}
        >>> importer.help_with_shapes
        'give numbers for n: from_onnx(model, shape_dict={"x": [n, 3]})'
        """
        is_open = {name: sizes for name, sizes in self.shapes.items() if are_open(*sizes)}
        variables = dict.fromkeys(str(size) for sizes in is_open.values() for size in sizes)
        names = [name for name in variables if not name.isdigit()]
        shapes = [f'"{name}": [{", ".join(map(str, sizes))}]' for name, sizes in is_open.items()]
        if not shapes:
            return "simplify the model: its inputs have fixed sizes"
        return (
            f"give numbers for {', '.join(names)}: "
            f"from_onnx(model, shape_dict={{{', '.join(shapes)}}})"
        )

    def _help_with_value(self, value: object) -> str:
        """How the value of an input of a node can be known."""
        if isinstance(value, GraphVar) and self.builder.lookup_binding(value) is None:
            return "make it an initializer of the model: its input has no value before a call"
        return self.help_with_shapes

    def tensor(self, value: Value) -> GraphExpr:
        """A value as an expression of the graph."""
        if isinstance(value, OnnxSizes):
            return self._tensor_of_sizes(value)
        if isinstance(value, np.ndarray | np.generic):
            dtype = stored_dtype(str(value.dtype))
            return const(np.asarray(value).astype(dtype, copy=False), dtype)
        if isinstance(value, OnnxSequence | OnnxList | OnnxAbsent):
            raise GraphError(
                f"a node is given {value}",
                "it takes a tensor",
                "give it an element: SequenceAt, OptionalGetElement or ConcatFromSequence",
            )
        return value

    def sequence(self, value: Value) -> OnnxSequence:
        """A value that is a sequence."""
        if isinstance(value, OnnxSequence):
            return value
        if isinstance(value, OnnxList):
            raise GraphError(
                f"a node is given {value}",
                "it takes a sequence whose length is known, or adds to its end",
                "give the loop that makes it a number of steps",
            )
        raise GraphError(
            "a node is given a value that is not a sequence",
            f"it is {getattr(value, 'struct_info', value)}",
            "make a sequence of it: SequenceConstruct or SplitToSequence",
        )

    def result(self, value: Value) -> GraphExpr:
        """A value as an output of a graph: a sequence is a tuple of its elements."""
        if isinstance(value, OnnxSequence):
            return Tuple(tuple([self.result(element) for element in value.elements]))
        return self.tensor(value)

    def _tensor_of_sizes(self, sizes: OnnxSizes) -> GraphExpr:
        """Sizes as a tensor; those of floats are computed by the graph, unless they are casts."""
        if dtypes.is_float(sizes.dtype):
            has_floats = not all(isinstance(size, Cast) for size in sizes if isinstance(size, Expr))
            if has_floats:
                assert sizes.make is not None
                return sizes.make()
        wholes = shape_expr([_sizes.integral(size)[0] for size in sizes])
        tensor = self.emit(R.shape_to_tensor(wholes))
        if sizes.is_scalar:
            tensor = self.emit(R.reshape(tensor, []))
        return tensor if sizes.dtype == "int64" else self.emit(R.astype(tensor, sizes.dtype))

    def size_of(self, value: Number) -> Size:
        """A number of float32 as a size: a variable that is computed, if floats remain in it."""
        size, is_plain = _sizes.integral(value)
        if is_plain:
            return size
        computed = self.emit(R.shape_to_tensor(shape_expr([size])))  # which passes keep
        return computed_size(self.builder, computed)

    def shape(self, value: Value) -> list[Size]:
        """The sizes of a value: ints, and expressions."""
        if isinstance(value, OnnxSizes):
            return [] if value.is_scalar else [len(value)]
        if isinstance(value, np.ndarray | np.generic):
            return list(value.shape)
        return sizes_of_tensor(self.tensor(value), self.help_with_shapes)

    def fixed_size(self, size: Size, action: str) -> int:
        """A size that must be constant for an action."""
        return fixed_size(size, action, self.help_with_shapes)

    def rank(self, value: Value) -> int:
        """The number of dimensions."""
        return len(self.shape(value))

    def dtype(self, value: Value) -> str:
        """The dtype."""
        if isinstance(value, OnnxSizes):
            return value.dtype
        if isinstance(value, np.ndarray | np.generic):
            return str(value.dtype)
        tensor = self.tensor(value)
        return self.few_bits.get(tensor) or tensor_info(tensor).dtype

    def numbers(self, value: Value | Ints | None, position: int) -> list[Number]:
        """The elements of an input that must be known: sizes, axes, ..."""
        numbers = self.known_numbers(value, position)
        if numbers is None:
            raise GraphError(
                f"input {position} is computed when the model runs",
                f"its value must be known, got {getattr(value, 'struct_info', value)}",
                self._help_with_value(value),
            )
        return numbers

    def known_numbers(self, value: Value | Ints | None, position: int) -> list[Number] | None:
        """The elements of an input; None if it is computed when the model runs."""
        name = self.inputs[position] if position < len(self.inputs) else ""
        if name in self.known:
            value = self.known[name]
        if isinstance(value, OnnxSizes):
            return list(value)
        if isinstance(value, Constant):
            value = value.data.numpy()
        if isinstance(value, GraphVar):
            array = evaluate(self.builder, value)
            value = value if array is None else array
        if not isinstance(value, np.ndarray | np.generic | list | tuple):
            return None
        numbers: list[Number] = np.asarray(value).ravel().tolist()
        return numbers

    def sizes(self, value: Value | Ints | None, position: int) -> list[Size]:
        """The elements of an input that are sizes: ints, and expressions."""
        return [
            number if isinstance(number, Expr) else int(number)
            for number in self.numbers(value, position)
        ]

    def floats(self, value: Value | Ints | None, position: int) -> list[float]:
        """The elements of an input that no call gives: ints of integers, else floats."""
        numbers = self.numbers(value, position)
        fixed = [number for number in numbers if not isinstance(number, Expr)]
        if len(fixed) < len(numbers):
            raise GraphError(
                f"input {position} has sizes that a call gives",
                f"it is {numbers}",
                self.help_with_shapes,
            )
        return fixed

    def ints(self, value: Value | Ints | None, position: int) -> list[int]:
        """The elements of an input that are axes, places or counts, which no call gives."""
        return [int(number) for number in self.floats(value, position)]

    def has_value(self, position: int) -> bool:
        """Whether an input is known."""
        value = self.values.get(self.inputs[position]) if position < len(self.inputs) else None
        has_known_value = value is None or is_known(value) or isinstance(value, Constant)
        return self.inputs[position] in self.known or has_known_value

    def rule_of(self, domain: str, name: str) -> Rule | None:
        """The rule of an operator in the version of the model; None without one."""
        version = self.versions.get(OWN[0] if domain in OWN else domain, 1)
        return find_row(domain, name, version)
