"""Rows of operators of ONNX whose attributes are graphs.

Loops of a number of steps that is known are written step by step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.control_flow import conditional
from te_sched.relax.frontend.onnx.evaluation import evaluate
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.nodes import translate_graph
from te_sched.relax.frontend.onnx.protobufs import OnnxGraph
from te_sched.relax.frontend.onnx.registry import Ints, Result, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size

_MOST_STEPS = 1024


@row("If")
def _if(
    imp: OnnxImporter, condition: Value, *, then_branch: OnnxGraph, else_branch: OnnxGraph
) -> Result:
    is_true = _known_truth(imp, condition)
    if is_true is not None:
        return tuple(translate_graph(imp, then_branch if is_true else else_branch))

    def results_of(graph: OnnxGraph) -> Sequence[GraphExpr]:
        return [imp.tensor(value) for value in translate_graph(imp, graph)]

    tensor = imp.tensor(condition)
    if imp.rank(tensor):
        tensor = imp.emit(R.reshape(tensor, []))
    return tuple(
        conditional(
            imp.builder, tensor, lambda: results_of(then_branch), lambda: results_of(else_branch)
        )
    )


@row("Loop")
def _loop(
    imp: OnnxImporter,
    most: Value | None,
    condition: Value | None,
    *initial: Value,
    body: OnnxGraph,
) -> Result:
    steps = _steps(imp, [] if most is None else imp.ints(most, 0))
    goes_on = True if condition is None else _goes_on(imp, condition)
    states, parts = list(initial), list[list[Value]]()
    for step in range(steps):
        if not goes_on:
            break
        inputs = [np.array(step), np.array(True), *states]
        new_condition, *results = translate_graph(imp, body, inputs)
        goes_on = _goes_on(imp, new_condition)
        states = results[: len(states)]
        parts.append(results[len(states) :])
    return (*states, *_stacked(imp, parts, len(body.output) - 1 - len(states)))


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
    states, sequences = list(inputs[:count]), inputs[count:]
    axes = [
        axis % imp.rank(sequence)
        for axis, sequence in zip(scan_input_axes or [0] * num_scan_inputs, sequences, strict=True)
    ]
    steps = _steps(imp, [imp.shape(sequences[0])[axes[0]]])
    backward = scan_input_directions or [0] * num_scan_inputs
    parts: list[list[Value]] = []
    for step in range(steps):
        places = [steps - 1 - step if is_backward else step for is_backward in backward]
        elements = [
            imp.emit(R.take(imp.tensor(sequence), const(place, "int64"), axis))
            for sequence, place, axis in zip(sequences, places, axes, strict=True)
        ]
        results = translate_graph(imp, body, [*states, *elements])
        states = results[:count]
        parts.append(results[count:])
    outputs = len(body.output) - count
    stacked = _stacked(imp, parts, outputs, scan_output_axes, scan_output_directions)
    return (*states, *stacked)


def _steps(imp: OnnxImporter, numbers: Sequence[Size]) -> int:
    """The number of steps of a loop; GraphError if a call decides it, or if there are too many."""
    steps = numbers[0] if len(numbers) == 1 else None
    if not isinstance(steps, int):
        raise GraphError(
            "a loop has a number of steps that is computed when the model runs",
            "the steps of a loop are written one after the other",
            imp.help_with_shapes if numbers else "give the loop a number of steps",
        )
    if steps > _MOST_STEPS:
        raise GraphError(
            f"a loop has {steps} steps, expected at most {_MOST_STEPS}",
            "the steps of a loop are written one after the other",
            "export the model with an operator for the loop, such as LSTM or CumSum",
        )
    return steps


def _known_truth(imp: OnnxImporter, condition: Value) -> bool | None:
    """Whether a condition is true; None if a call decides it."""
    value = evaluate(imp.builder, condition) if isinstance(condition, GraphVar) else condition
    is_known = isinstance(value, np.ndarray | np.generic)
    return bool(np.asarray(value).item()) if is_known else None


def _goes_on(imp: OnnxImporter, condition: Value) -> bool:
    """Whether a loop has another step; GraphError if a call decides it."""
    is_true = _known_truth(imp, condition)
    if is_true is None:
        raise GraphError(
            "a loop ends by a condition that is computed when the model runs",
            "the steps of a loop are written one after the other",
            "export the model with a loop of a known number of steps",
        )
    return is_true


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
