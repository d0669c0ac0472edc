"""`from_exported_program`: a program of `torch.export.export` becomes a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from te_sched import nd
from te_sched.errors import GraphError, did_you_mean, kind_of, repr_of
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, GraphVar, Tuple
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import PrimStructInfo, ShapeExpr, TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.core.state import StateUse
from te_sched.relax.frontend.common import PARAMS
from te_sched.relax.frontend.control_flow import bindings, conditional, finished
from te_sched.relax.frontend.loops import LoopStep, empty_list, loop, stacked
from te_sched.relax.frontend.tensors import Size, shape_expr
from te_sched.relax.frontend.torch.constants import constant_call, is_constant_call
from te_sched.relax.frontend.torch.elementwise import scalar
from te_sched.relax.frontend.torch.importer import (
    ROWS,
    Importer,
    refuse_unknown,
)
from te_sched.relax.frontend.torch.memory import changed_arguments, changed_state, is_in_place
from te_sched.relax.frontend.torch.nodes import base_name, display_name
from te_sched.relax.frontend.torch.shared_memory import (
    MemoryWriter,
    SharedMemory,
    is_known,
    written_memory,
)
from te_sched.relax.frontend.torch.sizes import Sizes, TorchSize, size_expr, solve_dimensions
from te_sched.relax.frontend.torch.values import (
    FxGraph,
    FxGraphModule,
    FxNode,
    TorchTensor,
    Value,
    array_of,
    constant_of,
    dtype_of,
)

_OF_PLACEHOLDERS = ("BUFFER", "PARAMETER", "USER_INPUT")  # that programs may change
_UPDATES = ("BUFFER_MUTATION", "PARAMETER_MUTATION", "USER_INPUT_MUTATION")
_FIRST = "main_initial_state"
STATES = ("machine", "outputs")


class InputSpec(Protocol):
    """What is read of an input or output of the signature of an exported program."""

    arg: Any
    kind: Any
    target: str


class _Signature(Protocol):
    input_specs: Sequence[InputSpec]
    output_specs: Sequence[InputSpec]


class ExportedProgram(Protocol):
    """What is read of a `torch.export.ExportedProgram`."""

    graph: FxGraph
    graph_signature: _Signature
    state_dict: Mapping[str, TorchTensor]
    constants: Mapping[str, TorchTensor]

    def run_decompositions(self, decomp_table: Mapping[object, object]) -> ExportedProgram: ...


class ProgramImporter(Importer):
    """The translation of an exported program, in which torch knows the shapes of all values."""

    def __init__(self, nodes: Sequence[FxNode] = ()) -> None:
        super().__init__()
        self.sizes: Sizes = {}
        self.memory = written_memory(nodes)
        self._writer = MemoryWriter(self.memory, {node: at for at, node in enumerate(nodes)})

    def write_shared(self, changed: FxNode) -> None:
        """Pass on the new value of a node to those that share its memory."""
        self._writer.write(self, changed)

    def known_sizes(self) -> tuple[Expr, ...] | None:
        """The sizes of the result of the current node, as torch knows them."""
        return self.sizes_of(self.node.meta.get("val"))

    def sizes_of(self, tensor: object) -> tuple[Expr, ...] | None:
        """The sizes of what torch knows of a tensor; None of other values."""
        shape = getattr(tensor, "shape", None)
        if shape is None:
            return None
        return shape_expr([size_expr(size, self.sizes) for size in shape]).values

    def known_parts(self, dim: int) -> list[Size] | None:
        """The sizes of a dimension in the parts that the current node gives, as torch knows it."""
        meta_value = self.node.meta.get("val")
        return (
            [size_expr(part.shape[dim], self.sizes) for part in meta_value] if meta_value else None
        )

    def translated(self, node: FxNode) -> Value:
        """The value of a call: by the row of its operator, or by torch if it takes no tensors; a
        number that torch computes of sizes is a formula of them.
        """
        number: Any = node.meta.get("val")
        if type(number).__name__ == "SymInt":
            symbols = number.node.expr.free_symbols
            if symbols and all(symbol.name in self.sizes for symbol in symbols):
                return size_expr(number, self.sizes)
        if node.op == "get_attr":
            return self._attribute(node)
        if _has_graphs(node):
            return self.refined(_OF_GRAPHS[_name_of(node)](self, node))
        row = ROWS.get(base_name(node))
        return constant_call(node) if row is None else self.call(node, row.rule)

    def _attribute(self, node: FxNode) -> Value:
        """A graph that a condition is given, or a constant."""
        value = getattr(node.graph.owning_module, str(node.target))
        return value if hasattr(value, "graph") else self.param(value)

    def _condition(self, node: FxNode) -> Value:
        """The results of `torch.cond`: of one of two graphs."""
        predicate, true, false, operands = [self.value(arg) for arg in node.args]
        if isinstance(predicate, bool):
            return self._inlined(true if predicate else false, operands)
        results = conditional(
            self.builder,
            self.emit(R.reshape(predicate, [])) if self.info(predicate).ndim else predicate,
            lambda: self._inlined(true, operands),
            lambda: self._inlined(false, operands),
        )
        return tuple(results)

    def _loop(self, node: FxNode) -> Value:
        """The results of `while_loop`: the state for which the condition does not hold."""
        condition, body, initial, more = [self.value(arg) for arg in node.args]
        if not all(map(self.is_tensor, initial)):
            numbers = [value for value in initial if not self.is_tensor(value)]
            raise GraphError(
                f"the state of a loop has the number {numbers[0]}",
                "the state of a loop is of tensors",
                f"give while_loop a tensor: torch.tensor({numbers[0]})",
            )

        def goes_on(state: Sequence[GraphExpr]) -> GraphExpr:
            (value,) = self._inlined(condition, (*state, *more))
            return self.emit(R.reshape(value, [])) if self.info(value).ndim else value

        def step(state: Sequence[GraphVar]) -> LoopStep:
            results = self._inlined(body, (*state, *more))
            return LoopStep(goes_on(results), results)

        return tuple(loop(self.builder, goes_on(initial), step, initial, keeps_sizes=True)[0])

    def _scan(self, node: FxNode) -> Value:
        """The results of `scan`: the last state, and what the steps give of each element."""
        body, initial, tensors, more = [self.value(arg) for arg in node.args]
        return self._scanned(body, initial, tensors, more)

    def _map(self, node: FxNode) -> Value:
        """The results of `map`: what a graph gives of each element."""
        body, tensors, more = [self.value(arg) for arg in node.args]
        return self._scanned(body, (), tensors, more)

    def _scanned(
        self,
        body: FxGraphModule,
        initial: Sequence[GraphExpr],
        tensors: Sequence[GraphExpr],
        more: Sequence[Value],
    ) -> Value:
        """The state and the stacked results of a loop over the first dimension of tensors."""
        count, zero, one = len(initial), const(0, "int64"), const(1, "int64")
        total = scalar(self, self.shape(tensors[0])[0], "int64")
        infos: list[TensorStructInfo] = []

        def step(state: Sequence[GraphVar]) -> LoopStep:
            number, *values = state
            elements = [self.emit(R.take(x, number, 0)) for x in tensors]
            results = self._inlined(body, (*values, *elements, *more))
            following = self.emit(R.add(number, one))
            infos[:] = [self.info(result) for result in results[count:]]
            added = [[result] for result in results[count:]]
            goes_on = self.emit(R.less(following, total))
            return LoopStep(goes_on, [following, *results[:count]], added)

        outputs = self.node.meta["val"][count:]
        lists = [empty_list(self.builder) for _ in outputs]
        goes_on = self.emit(R.less(zero, total))
        (_, *finals), ends = loop(
            self.builder, goes_on, step, [zero, *initial], lists, keeps_sizes=True
        )
        pairs = zip(ends, infos, strict=True)
        return (*finals, *[stacked(self.builder, end, info, zero) for end, info in pairs])

    def _inlined(self, module: FxGraphModule, operands: Sequence[Value]) -> list[GraphExpr]:
        """The results of a graph for operands."""
        nodes, outside = list(module.graph.nodes), self.node
        inputs = [node for node in nodes if node.op == "placeholder"]
        self.values.update(zip(inputs, operands, strict=True))
        results = self.run(nodes, self.translated)
        self.node = outside
        return list(results) if isinstance(results, tuple | list) else [results]

    def refined(self, value: Value) -> Value:
        """A value with the dynamic shapes that torch knows, where inference knows less."""
        meta_value = self.node.meta.get("val")
        if isinstance(value, tuple) and isinstance(meta_value, list | tuple):
            pairs = zip(value, meta_value, strict=False)
            refined = [self._refined(part, self.sizes_of(meta)) for part, meta in pairs]
            return tuple(refined) if len(refined) == len(value) else value
        return self._refined(value, self.known_sizes())

    def _refined(self, value: Value, expected: tuple[Expr, ...] | None) -> Value:
        """A tensor with these sizes, if inference does not know them."""
        if not self.is_tensor(value) or expected is None:
            return value
        info = self.info(value)
        if isinstance(info.shape, ShapeExpr):
            pairs = zip(info.shape.values, expected, strict=True)
            if all(self.builder.analyzer.can_prove_equal(*pair) for pair in pairs):
                return value
        expected_info = TensorStructInfo(ShapeExpr(expected), info.dtype)
        return self.builder.match_cast(value, expected_info)


def from_exported_program(
    exported_program: object,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    state: str = "machine",
) -> IRModule:
    """The module of graphs of an exported program of PyTorch; its function is `main`.

    Dynamic dimensions of the program are variables of sizes. Buffers and inputs that the model
    changes are parameters whose new values are results, too: `state` says who stores them.

    Parameters
    ----------
    exported_program : the result of `torch.export.export`.
    keep_params_as_input : whether parameters are inputs of the function, with the values in its
        attribute "params" (`detach_params`); else they are constants.
    unwrap_unit_return_tuple : whether a result of one value is returned as that value.
    no_bind_return_tuple : whether the elements of the result are bound one by one.
    state : "machine" if the virtual machine keeps buffers (counters, caches, statistics of
        training) from call to call, beginning with their values in the program, and stores new
        values of inputs into the arrays of the call; `machine.get_state` has the buffers.
        "outputs" if buffers are inputs after those of the model, with their names in the attribute
        "buffers", and new values follow the results: of buffers, then of inputs.

    Raises
    ------
    GraphError that lists all operators of the model that are not supported, and for models that
    are not exported or whose buffers are changed by an operator that torch does not decompose.
    """
    if state not in STATES:
        raise GraphError(
            f"the option state is {repr_of(state)}",
            "",
            f"use one of {', '.join(map(repr, STATES))}{did_you_mean(str(state), STATES)}",
        )
    program: Any = exported_program
    if not hasattr(program, "graph_signature"):
        raise GraphError(
            f"the model is {kind_of(program)}, expected an exported program",
            "its operators are known after it is exported",
            "export it first: from_exported_program(torch.export.export(model, inputs))",
        )
    program = _decomposed(program)
    nodes = list(program.graph.nodes)
    importer = ProgramImporter(nodes)
    updates = _updates(program, importer.memory)
    refuse_unknown([(display_name(node), node) for node in _unknown(nodes)])
    has_conditions = any(map(_has_graphs, nodes))
    inputs, params, values = _parameters(importer, program, keep_params_as_input, updates)
    use = _state_use(updates)
    is_held = bool(updates) and state == "machine"
    attrs = use.attributes() if is_held else {"buffers": [*use.states]} if use.states else {}
    if keep_params_as_input:
        attrs |= {"num_input": len(inputs), PARAMS: values}
    builder = importer.builder
    with builder.function("main", [*inputs, *params], attrs):
        with bindings(builder, has_conditions):
            result = importer.run(nodes, importer.translated)
            own, new = _results(program, result)
            new += tuple([importer.values[node] for node in _written_inputs(importer.memory)])
            output = importer.output(
                (*own, *(() if is_held else new)),
                unwrap_unit=unwrap_unit_return_tuple,
                no_bind=no_bind_return_tuple,
                new=new if is_held else (),
            )
        builder.emit_func_output(output)
    if is_held and use.states:
        _write_first_values(builder, program, use)
    return finished(builder, has_conditions)


def _write_first_values(builder: BlockBuilder, program: ExportedProgram, use: StateUse) -> None:
    """The function that returns the values that states have in the program."""
    with builder.function(use.initializer, []):
        with builder.dataflow():
            values = [constant_of(_values_of(program, name)) for name in use.states]
            output = builder.emit_output(Tuple(tuple(values)))
        builder.emit_func_output(output)


# Operators of graphs, by their names.
_OF_GRAPHS: dict[str, Callable[[ProgramImporter, FxNode], Value]] = {
    "cond": ProgramImporter._condition,
    "while_loop": ProgramImporter._loop,
    "scan": ProgramImporter._scan,
    "map_impl": ProgramImporter._map,
}


def _name_of(node: FxNode) -> str:
    return str(getattr(node.target, "__name__", ""))


def _has_graphs(node: FxNode) -> bool:
    """Whether a node is a condition or a loop."""
    return node.op == "call_function" and _name_of(node) in _OF_GRAPHS


def _unknown(nodes: Iterable[FxNode]) -> list[FxNode]:
    """The calls of operators that have no row, also in the graphs of conditions."""
    every = list(_with_inner(nodes))
    calls = [node for node in every if node.op == "call_function" and base_name(node) not in ROWS]
    return [node for node in calls if not (is_constant_call(node) or _has_graphs(node))]


def _with_inner(nodes: Iterable[FxNode]) -> Iterator[FxNode]:
    """Nodes and those of the graphs that they name."""
    for node in nodes:
        yield node
        if node.op == "get_attr":
            graph = getattr(getattr(node.graph.owning_module, str(node.target)), "graph", None)
            yield from _with_inner(() if graph is None else graph.nodes)


def _decomposed(program: ExportedProgram) -> ExportedProgram:
    """The program without operators that change views, and with those that have no row in terms of
    others, as far as torch has them. All is done in one run, which traces the whole program.
    GraphError with the reason of torch if that fails.
    """
    nodes = list(program.graph.nodes)
    if not _unknown(nodes) and _writes_known_memory(program, nodes):
        return program
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    table = {**decomposition_table, **default_decompositions()}
    rules = {operator: rule for operator, rule in table.items() if not _has_row(operator)}
    try:
        return program.run_decompositions(rules)
    except (RecursionError, MemoryError):
        raise
    except Exception as error:
        reason = next(iter(str(error).strip().splitlines()), "")
        raise GraphError(
            "torch cannot write the exported program in terms of fewer operators",
            f"{type(error).__name__} of run_decompositions: {reason}",
            "check that program.run_decompositions() passes, and export the model anew",
        ) from error


def _has_row(operator: object) -> bool:
    """Whether an operator of torch has a row, also as one that changes its first argument."""
    name = str(getattr(getattr(operator, "overloadpacket", operator), "__name__", operator))
    return name in ROWS or name.removesuffix("_") in ROWS


def _writes_known_memory(program: ExportedProgram, nodes: Sequence[FxNode]) -> bool:
    """Whether all that calls write are tensors, inputs, buffers and parameters whose new values the
    importer knows.
    """
    signature = program.graph_signature
    inputs = {spec.arg.name for spec in signature.input_specs if spec.kind.name in _OF_PLACEHOLDERS}
    memory = written_memory(nodes)
    is_mixed = bool(_updated(signature.output_specs) and _written_inputs(memory))
    return not is_mixed and all(is_known(part, inputs) for part in memory)


def _written_inputs(memory: Sequence[SharedMemory]) -> list[FxNode]:
    """The placeholders that calls write."""
    return [part.owner for part in memory if part.owner.op == "placeholder"]


def _updates(program: ExportedProgram, memory: Sequence[SharedMemory]) -> dict[str, str]:
    """The placeholders of buffers, parameters and inputs that a program changes, each with the name
    of the buffer or parameter, or "" for inputs.

    GraphError if an operator changes them that torch does not decompose (instance_norm).
    """
    specs = {
        spec.arg.name: "" if spec.kind.name == "USER_INPUT" else spec.target
        for spec in program.graph_signature.input_specs
    }
    for node in program.graph.nodes:
        changed = [
            argument.name for argument in changed_arguments(node, {}) if argument.name in specs
        ]
        if changed and not is_in_place(node):
            names = [specs[name] or name for name in changed]
            raise changed_state(names, node, "call model.eval() before the export")
    written = [node.name for node in _written_inputs(memory)]
    if written:
        return {name: specs[name] for name in written}
    targets = [
        (spec.kind.name == "USER_INPUT_MUTATION", spec.target)
        for spec in _updated(program.graph_signature.output_specs)
    ]
    buffers = {target: name for name, target in specs.items() if target}
    return {
        target if is_input else buffers[target]: "" if is_input else target
        for is_input, target in targets
    }


def _updated(specs: Iterable[InputSpec]) -> list[InputSpec]:
    """The results that are new values: of buffers and parameters, then of inputs."""
    updates = [spec for spec in specs if spec.kind.name in _UPDATES]
    return sorted(updates, key=lambda spec: spec.kind.name == "USER_INPUT_MUTATION")


def _state_use(updates: Mapping[str, str]) -> StateUse:
    return StateUse(tuple(updates.items()), _FIRST if any(updates.values()) else "")


def _parameters(
    importer: ProgramImporter,
    program: ExportedProgram,
    is_kept: bool,
    updates: Mapping[str, str],
) -> tuple[list[GraphVar], list[GraphVar], list[nd.NDArray]]:
    """The variables of inputs, with those of changed buffers, and of parameters that are kept, and
    the values of the latter.
    """
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    inputs: list[GraphVar] = []
    params: list[GraphVar] = []
    buffers: dict[str, GraphVar] = {}
    values: list[nd.NDArray] = []
    solve_dimensions(_dimensions_of(placeholders.values()), importer.sizes)
    for spec in program.graph_signature.input_specs:
        name = spec.arg.name
        node = placeholders[name]
        if spec.kind.name == "TOKEN":  # of the order of effects
            importer.values[node] = 0
            continue
        if spec.kind.name == "USER_INPUT":
            info = info_of(node, importer.sizes)
            if info is None:
                importer.values[node] = getattr(spec.arg, "value", None)
                continue
            inputs.append(GraphVar(name, info))
            importer.values[node] = info.value if isinstance(info, PrimStructInfo) else inputs[-1]
            continue
        tensor = _values_of(program, spec.target)
        shape = TensorStructInfo(tuple(tensor.shape), dtype_of(tensor.dtype))
        if name in updates:
            importer.values[node] = buffers[name] = GraphVar(name, shape)
        elif is_kept and spec.kind.name == "PARAMETER":
            params.append(GraphVar(name, shape))
            values.append(array_of(tensor))
            importer.values[node] = params[-1]
        else:
            importer.values[node] = importer.param(tensor)
    return [*inputs, *[buffers[name] for name, state in updates.items() if state]], params, values


def _values_of(program: ExportedProgram, name: str) -> TorchTensor:
    """The values of a parameter, buffer or constant."""
    for tensors in (program.state_dict, program.constants):
        if name in tensors:
            return tensors[name]
    raise GraphError(
        f"the program has no values for {name}",
        "an exported program has the values of its parameters, buffers and constants",
        "export the model again",
    )


def _dimensions_of(nodes: Iterable[FxNode]) -> Iterator[tuple[str, object]]:
    """The sizes of inputs, each with the name of a variable for it; symbolic numbers are sizes."""
    for node in nodes:
        value: TorchSize = node.meta.get("val")
        if hasattr(value, "shape"):
            yield from [(f"{node.name}_dim_{axis}", size) for axis, size in enumerate(value.shape)]
        elif hasattr(value, "node"):
            yield node.name, value


def info_of(node: FxNode, sizes: Sizes) -> TensorStructInfo | PrimStructInfo | None:
    """The struct info of an input; None of a constant."""
    value: Any = node.meta.get("val")
    if hasattr(value, "shape"):
        if value.dtype.is_complex:
            raise GraphError(
                f"input {node.name} has dtype {dtype_of(value.dtype)}",
                "a graph has pairs of real numbers in place of complex ones",
                "give the model torch.view_as_real of it, and call torch.view_as_complex inside",
            )
        shape = [size_expr(size, sizes) for size in value.shape]
        return TensorStructInfo(tuple(shape), dtype_of(value.dtype))
    if hasattr(value, "node"):  # a symbolic number
        (number,) = shape_expr([size_expr(value, sizes)]).values
        return PrimStructInfo(value=number)
    return None


def _results(
    program: ExportedProgram, result: Sequence[Value]
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The outputs of the model, and the new values of buffers and inputs."""
    specs = program.graph_signature.output_specs
    values = {id(spec): value for spec, value in zip(specs, result, strict=True)}
    outputs = [values[id(spec)] for spec in specs if spec.kind.name == "USER_OUTPUT"]
    return tuple(outputs), tuple([values[id(spec)] for spec in _updated(specs)])
