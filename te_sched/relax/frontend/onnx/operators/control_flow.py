"""Rows of operators of ONNX whose attributes are graphs.

Loops of a few steps, whose number is known, are written step by step; others are functions that
call themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir.graph import Constant, GraphExpr, GraphVar
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.control_flow import conditional
from te_sched.relax.frontend.loops import LoopStep, empty_list, loop, moved_axis, stacked
from te_sched.relax.frontend.onnx.evaluation import evaluate, is_of_constants
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.nodes import all_nodes, translate_graph
from te_sched.relax.frontend.onnx.operators.sequences import joined_info, list_of
from te_sched.relax.frontend.onnx.protobufs import OnnxGraph
from te_sched.relax.frontend.onnx.registry import Ints, Result, row
from te_sched.relax.frontend.onnx.sequences import OnnxAbsent, OnnxList, OnnxSequence
from te_sched.relax.frontend.onnx.sizes import Number, OnnxSizes, Value, are_open
from te_sched.relax.frontend.tensors import Size, shape_expr, tensor_info


@row("If")
def _if(
    imp: OnnxImporter, condition: Value, *, then_branch: OnnxGraph, else_branch: OnnxGraph
) -> Result:
    is_true = _known_truth(imp, condition)
    if is_true is None and _is_squeeze_if_one(imp, then_branch, else_branch):
        is_true = True  # calls in which the size is not 1 are refused
    if is_true is not None:
        return tuple(translate_graph(imp, then_branch if is_true else else_branch))

    layouts: list[list[Value]] = []

    def results_of(graph: OnnxGraph) -> Sequence[GraphExpr]:
        values = translate_graph(imp, graph)
        layouts.append(values)
        return [imp.tensor(value) for result in values for value in _parts(result)]

    results = conditional(
        imp.builder,
        _scalar(imp, condition),
        lambda: results_of(then_branch),
        lambda: results_of(else_branch),
        f"{imp.help_with_shapes}; or give both branches a result of one rank and one dtype",
    )
    if [_layout(value) for value in layouts[0]] != [_layout(value) for value in layouts[1]]:
        raise GraphError(
            "the branches of a condition give sequences of other lengths",
            "the elements of a sequence are results of the graph",
            "give both branches sequences of the same lengths",
        )
    left = iter(results)
    return tuple([_with_parts(value, [next(left) for _ in _parts(value)]) for value in layouts[0]])


def _is_squeeze_if_one(imp: OnnxImporter, true: OnnxGraph, false: OnnxGraph) -> bool:
    """Whether branches are `squeeze(axis)` as torch exports it: If(size == 1, Squeeze(x), x), of a
    size that a call gives; a graph has one of both ranks.
    """
    nodes = [[node for node in graph.node if node.op_type != "Constant"] for graph in (true, false)]
    if [[node.op_type for node in branch] for branch in nodes] != [["Squeeze"], ["Identity"]]:
        return False
    name, other = (branch[0].input[0] for branch in nodes)
    return name == other and name in imp.values and are_open(*imp.shape(imp.values[name]))


def _parts(value: Value) -> Sequence[Value]:
    """The values of a result of a branch that the condition chooses."""
    if isinstance(value, OnnxSequence):
        return value.elements
    return value.tail if isinstance(value, OnnxList) else (value,)


def _layout(value: Value) -> tuple[object, ...]:
    """What results of branches must have in common."""
    origin = value.origin if isinstance(value, OnnxList) else isinstance(value, OnnxSequence)
    return origin, len(_parts(value))


def _with_parts(value: Value, parts: Sequence[Value]) -> Value:
    if isinstance(value, OnnxSequence):
        return OnnxSequence(parts, value.dtype)
    return value.with_tail(parts) if isinstance(value, OnnxList) else parts[0]


def _scalar(imp: OnnxImporter, value: Value, dtype: str = "bool") -> GraphExpr:
    """A tensor of one element without its dimensions."""
    tensor = imp.tensor(value)
    has_more = any(isinstance(size, int) and size != 1 for size in imp.shape(tensor))
    if imp.dtype(tensor) != dtype or has_more:
        raise GraphError(
            f"a condition or a number of steps is {tensor.struct_info}",
            f"expected one element of {dtype}",
            "reduce and cast it in the model",
        )
    return imp.emit(R.reshape(tensor, [])) if imp.rank(tensor) else tensor


@row("Loop")
def _loop(
    imp: OnnxImporter,
    most: Value | None,
    condition: Value | None,
    *initial: Value,
    body: OnnxGraph,
) -> Result:
    numbers = None if most is None else imp.known_numbers(most, 0)
    steps = _ONLY_BY_CONDITION if most is None else _fixed(numbers)
    has_sequences = any(isinstance(value, OnnxSequence | OnnxAbsent) for value in initial)
    is_decided = _is_decided(imp, condition, initial, body)
    has_steps = condition is None or not is_decided or _known_truth(imp, condition)
    if steps == 0 or not has_steps:
        is_decided = len(body.output) == 1 + len(initial)  # a step has the shapes of results

    def write() -> Result:
        return _computed_loop(imp, most, condition, initial, body)

    def unroll() -> Result:
        return _unrolled_loop(imp, steps or 0, condition, initial, body)

    return _written(steps if is_decided else None, has_sequences, imp, write, unroll)


_ONLY_BY_CONDITION = 1 << 62  # the greatest number of steps of a loop without one
_MOST_WRITTEN = 16  # steps of a loop that are written one after the other
_MOST_WRITABLE = 1024  # the same where a step must be translated with its number


def _is_decided(
    imp: OnnxImporter, condition: Value | None, initial: Sequence[Value], body: OnnxGraph
) -> bool:
    """Whether the conditions of all steps are known before a call: they depend on the numbers of
    steps, and on values that are.
    """
    names = [value.name for value in body.input][1:]  # of the condition and the states
    results = [value.name for value in body.output]
    pairs = zip(names, [condition, *initial], strict=False)
    unknown = {name for name, value in pairs if not _is_decided_value(imp, value)}
    while True:
        open_names = _computed_names(imp, body, unknown)
        more = {name for name, result in zip(names, results, strict=False) if result in open_names}
        if more <= unknown:
            return names[0] not in unknown and results[0] not in open_names
        unknown |= more


def _computed_names(imp: OnnxImporter, body: OnnxGraph, unknown: Set[str]) -> set[str]:
    """The names in a step whose values a call computes, as those of some inputs."""
    own = {value.name for value in (*body.input, *body.initializer)}
    computed = set(unknown)
    for node in body.node:
        used = [name for inner in all_nodes([node]) for name in inner.input if name]
        outer = [imp.values[name] for name in used if name not in own and name in imp.values]
        if node.op_type in ("Shape", "Size") and len(outer) == len(used):
            is_known = not are_open(*imp.shape(outer[0]))
        else:
            is_known = computed.isdisjoint(used) and all(
                _is_decided_value(imp, value) for value in outer
            )
        own.update(node.output)
        if not is_known:
            computed.update(node.output)
    return computed


def _is_decided_value(imp: OnnxImporter, value: Value | None) -> bool:
    """Whether a value is known before a call."""
    if isinstance(value, OnnxSizes):
        return not are_open(*value)
    if isinstance(value, OnnxSequence):
        return all(_is_decided_value(imp, element) for element in value.elements)
    if isinstance(value, GraphVar):
        return is_of_constants(imp.builder, value)
    return value is None or isinstance(value, np.ndarray | np.generic | Constant | OnnxAbsent)


def _fixed(numbers: Sequence[Number] | None) -> int | None:
    """A number of steps; None if it is computed when the model runs."""
    number = numbers[0] if numbers else None
    return int(number) if isinstance(number, int | float) else None


def _written(
    steps: int | None,
    has_sequences: bool,
    imp: OnnxImporter,
    write: Callable[[], Result],
    unroll: Callable[[], Result],
) -> Result:
    """A loop as a function that calls itself, or all of its steps, if their number is known.

    Few steps are written one after the other, as are those whose state has sequences, and those
    that need their number while they are translated, since they compute sizes.
    """
    if steps is None or steps > _MOST_WRITABLE:
        return write()
    if has_sequences or steps <= _MOST_WRITTEN:
        return unroll()
    try:
        with imp.builder.undone_by_errors():
            return write()
    except GraphError:
        return unroll()


def _unrolled_loop(
    imp: OnnxImporter,
    steps: int,
    condition: Value | None,
    initial: Sequence[Value],
    body: OnnxGraph,
) -> Result:
    """All steps of a loop, one after the other."""
    goes_on = condition is None or _known_truth(imp, condition)
    states, parts = list(initial), list[list[Value]]()
    for step in range(steps):
        if not goes_on:
            break
        inputs = [np.array(step), np.array(True), *states]
        new_condition, *results = translate_graph(imp, body, inputs)
        goes_on = _known_truth(imp, new_condition)
        states = results[: len(states)]
        parts.append(results[len(states) :])
    return (*states, *_stacked(imp, parts, len(body.output) - 1 - len(states)))


def _computed_loop(
    imp: OnnxImporter,
    most: Value | None,
    condition: Value | None,
    initial: Sequence[Value],
    body: OnnxGraph,
) -> Result:
    """A loop whose number of steps a call knows."""
    limit = None if most is None else _scalar(imp, most, "int64")
    states = [_State.of(imp, value) for value in initial]
    outputs = len(body.output) - 1 - len(initial)

    def whether(number: GraphExpr, value: Value | None) -> GraphExpr:
        """Whether there is a step of a number."""
        parts: list[GraphExpr] = [] if limit is None else [imp.emit(R.less(number, limit))]
        if value is not None and _known_truth(imp, value) is not True:
            parts.append(_scalar(imp, value))
        both = [imp.emit(R.logical_and(*parts))] if len(parts) > 1 else parts
        return both[0] if both else const(True, "bool")

    def step(state: Sequence[GraphVar]) -> LoopStep:
        shapes = [value.type.tensor_type.shape for value in body.input[:2]]
        inputs: list[Value] = [
            imp.emit(R.reshape(state[0], [1])) if len(shapes[0].dim) else state[0],
            np.full([1] * len(shapes[1].dim), True),
        ]
        tensors = iter(state[1:])
        own = [state.in_step if state.in_step is not None else next(tensors) for state in states]
        goes_on, *results = translate_graph(imp, body, [*inputs, *own])
        number = imp.emit(R.add(state[0], const(1, "int64")))
        new: list[GraphExpr] = [number]
        added: list[list[GraphExpr]] = []
        for loop_state, result in zip(states, results, strict=False):
            if loop_state.in_step is None:
                new.append(imp.tensor(result))
            else:
                added.append([imp.tensor(value) for value in loop_state.added(result)])
        added += [[imp.tensor(result)] for result in results[len(states) :]]
        infos.append([[tensor_info(value) for value in values] for values in added])
        return LoopStep(whether(number, goes_on), new, added)

    zero, infos = const(0, "int64"), list[list[list[TensorStructInfo]]]()
    start = [zero, *[state.start for state in states if state.in_step is None]]
    lists = [state.start for state in states if state.in_step is not None]
    lists += [empty_list(imp.builder) for _ in range(outputs)]
    (_, *finals), ends = loop(imp.builder, whether(zero, condition), step, start, lists)
    left, whole, list_infos = iter(finals), iter(ends), iter(infos[-1])
    values: list[Value] = [
        next(left)
        if state.in_step is None
        else OnnxList(next(whole), joined_info(imp, [*state.infos, *next(list_infos)]))
        for state in states
    ]
    stacks = [
        stacked(imp.builder, end, info, zero)
        for end, (info,) in zip(whole, list_infos, strict=True)
    ]
    return (*values, *stacks)


class _State(NamedTuple):
    """A state of a loop before its first step: a tensor, or a list of the virtual machine, which
    is `in_step` for steps that extend it, and has elements of `infos`.
    """

    start: GraphExpr
    in_step: OnnxList | None = None
    infos: Sequence[TensorStructInfo] = ()

    @classmethod
    def of(cls, imp: OnnxImporter, value: Value) -> _State:
        """A state of an initial value."""
        if not isinstance(value, OnnxSequence | OnnxList):
            return cls(imp.tensor(value))
        elements, infos = list_of(imp, value)
        return cls(elements, OnnxList(None, None), infos)

    def added(self, result: Value) -> Sequence[Value]:
        """The elements that a step adds at the end of a list."""
        assert self.in_step is not None
        if not isinstance(result, OnnxList) or result.origin is not self.in_step.origin:
            raise GraphError(
                "a step of a loop changes a sequence in another way than by adding to it",
                "the number of steps is computed, so that the length of the sequence is not known",
                "insert elements at the end of the sequence, in each step as many",
            )
        return result.tail


@row("Scan", since=9)
def _scan(
    imp: OnnxImporter,
    *inputs: Value,
    body: OnnxGraph,
    num_scan_inputs: int,
    scan_input_axes: Ints = (),
    scan_input_directions: Ints = (),
    scan_output_axes: Ints = (),
    scan_output_directions: Ints = (),
) -> Result:
    count = len(inputs) - num_scan_inputs
    outputs = len(body.output) - count
    scan = _Scan(
        imp,
        body,
        inputs[:count],
        [imp.tensor(value) for value in inputs[count:]],
        scan_input_axes or [0] * num_scan_inputs,
        scan_input_directions or [0] * num_scan_inputs,
        scan_output_axes or [0] * outputs,
        scan_output_directions or [0] * outputs,
    )
    steps = scan.steps
    is_decided = isinstance(steps, int) and (steps > 0 or not outputs)
    step_count = steps if is_decided else None
    assert step_count is None or isinstance(step_count, int)
    return _written(step_count, False, imp, scan.computed, scan.unrolled)


@row("Scan")
def _scan_of_batches(
    imp: OnnxImporter,
    lengths: Value | None,
    *inputs: Value,
    body: OnnxGraph,
    num_scan_inputs: int,
    directions: Ints = (),
) -> Result:
    """Scan of version 8: the first axis of all inputs and outputs is a batch."""
    if lengths is not None:
        raise GraphError(
            "a Scan of version 8 has lengths of sequences",
            "they are computed when the model runs",
            "convert the model to version 9: onnx.version_converter.convert_version(model, 9)",
        )
    batches = imp.fixed_size(imp.shape(inputs[0])[0], "scan")
    rows: list[tuple[Value, ...]] = []
    for batch in range(batches):
        index = const(batch, "int64")
        parts = [imp.emit(R.take(imp.tensor(value), index, 0)) for value in inputs]
        row_of = _scan(
            imp,
            *parts,
            body=body,
            num_scan_inputs=num_scan_inputs,
            scan_input_directions=directions,
        )
        assert isinstance(row_of, tuple)
        assert not isinstance(row_of, OnnxSizes)
        rows.append(row_of)
    return tuple(_stacked(imp, rows, len(body.output)))


@dataclass
class _Scan:
    """A Scan: states, and the tensors whose elements its steps are given."""

    imp: OnnxImporter
    body: OnnxGraph
    initial: Sequence[Value]
    sequences: Sequence[GraphExpr]
    given_axes: Ints
    backward: Ints
    output_axes: Ints
    output_backward: Ints

    @property
    def axes(self) -> list[int]:
        """The axes of the steps."""
        pairs = zip(self.given_axes, self.sequences, strict=True)
        return [axis % self.imp.rank(sequence) for axis, sequence in pairs]

    @property
    def steps(self) -> Size:
        """The number of steps."""
        return self.imp.shape(self.sequences[0])[self.axes[0]]

    def _step(
        self, position: GraphExpr, reversed_place: GraphExpr, states: Sequence[Value]
    ) -> list[Value]:
        """The results of a step, which is given the elements of two places."""
        elements = [
            self.imp.emit(R.take(sequence, reversed_place if is_backward else position, axis))
            for sequence, is_backward, axis in zip(
                self.sequences, self.backward, self.axes, strict=True
            )
        ]
        return translate_graph(self.imp, self.body, [*states, *elements])

    def unrolled(self) -> Result:
        """All steps, one after the other."""
        assert isinstance(self.steps, int)
        count, states = len(self.initial), list(self.initial)
        parts: list[list[Value]] = []
        for step in range(self.steps):
            places = const(step, "int64"), const(self.steps - 1 - step, "int64")
            results = self._step(*places, states)
            states = results[:count]
            parts.append(results[count:])
        outputs = len(self.body.output) - count
        order = self.output_axes, self.output_backward
        return (*states, *_stacked(self.imp, parts, outputs, *order))

    def computed(self) -> Result:
        """A loop whose number of steps a call knows."""
        imp, count = self.imp, len(self.initial)
        total = imp.emit(R.reshape(imp.emit(R.shape_to_tensor(shape_expr([self.steps]))), []))
        one = const(1, "int64")

        def step(state: Sequence[GraphVar]) -> LoopStep:
            number = imp.emit(R.add(state[0], one))
            last = imp.emit(R.subtract(total, number)) if any(self.backward) else state[0]
            results = self._step(state[0], last, state[1:])
            tensors = [imp.tensor(result) for result in results]
            goes_on = imp.emit(R.less(number, total))
            infos.append([tensor_info(tensor) for tensor in tensors[count:]])
            added = [[tensor] for tensor in tensors[count:]]
            return LoopStep(goes_on, [number, *tensors[:count]], added)

        zero, infos = const(0, "int64"), list[list[TensorStructInfo]]()
        start = [zero, *[imp.tensor(value) for value in self.initial]]
        lists = [empty_list(imp.builder) for _ in self.output_axes]
        goes_on = imp.emit(R.less(zero, total))
        (_, *states), ends = loop(imp.builder, goes_on, step, start, lists)
        stacks = [
            stacked(imp.builder, end, info, zero) for end, info in zip(ends, infos[-1], strict=True)
        ]
        order = zip(stacks, self.output_axes, self.output_backward, strict=True)
        return (*states, *[self._arranged(*output) for output in order])

    def _arranged(self, stacked: GraphExpr, axis: int, is_backward: int) -> GraphExpr:
        """The elements of all steps along an axis."""
        value = self.imp.emit(R.flip(stacked, 0)) if is_backward else stacked
        return moved_axis(self.imp.builder, value, axis)


def _known_truth(imp: OnnxImporter, condition: Value) -> bool | None:
    """Whether a condition is true; None if a call decides it."""
    value = evaluate(imp.builder, condition) if isinstance(condition, GraphVar) else condition
    is_known = isinstance(value, np.ndarray | np.generic)
    return bool(np.asarray(value).item()) if is_known else None


def _stacked(
    imp: OnnxImporter,
    parts: Sequence[Sequence[Value]],
    count: int,
    axes: Ints = (),
    backward: Ints = (),
) -> list[Value]:
    """What the steps of a loop give beside its states, each in one tensor."""
    if count and not parts:
        raise GraphError(
            "a loop without steps gives a tensor",
            "the shapes of its elements are those of its steps",
            "remove the loop, or give it a step",
        )
    results: list[Value] = []
    for n in range(count):
        axis = axes[n] if axes else 0
        elements = [imp.emit(R.expand_dims(imp.tensor(step[n]), axis)) for step in parts]
        ordered = elements[::-1] if backward and backward[n] else elements
        results.append(imp.emit(R.concat(ordered, axis)))
    return results
