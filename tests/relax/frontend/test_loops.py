"""Loops of models: states, elements, and sizes that change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, script, tir
from te_sched.errors import GraphError
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax.frontend.control_flow import bind_result, bindings, finished
from te_sched.relax.frontend.loops import (
    Body,
    LoopStep,
    empty_list,
    extended,
    item,
    joined,
    length,
    loop,
    moved_axis,
    stacked,
)
from te_sched.relax.frontend.tensors import tensor_info

ONE = relax.const(1, "int64")
N = tir.Var("n", "int64")


def counted(
    make: Callable[[relax.BlockBuilder, Sequence[GraphVar]], Body],
    shape: Sequence[object],
    state: Callable[[relax.BlockBuilder, GraphVar], list[GraphExpr]] = lambda builder, x: [x],
    count_of_lists: int = 0,
) -> IRModule:
    """A function (x, count) of a loop of `count` steps, whose state is counted and made of x."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    count = relax.Var("count", relax.TensorStructInfo((), "int64"))
    with builder.function("main", [x, count]), bindings(builder, True):
        body = make(builder, [x, count])

        def step(values: Sequence[GraphVar]) -> LoopStep:
            number = builder.emit(relax.op.add(values[0], ONE))
            inner = body(values[1:])
            goes_on = builder.emit(relax.op.less(number, count))
            infos.append([tensor_info(value) for (value,) in inner.added])
            return LoopStep(goes_on, [number, *inner.state], inner.added)

        zero = relax.const(0, "int64")
        first = builder.emit(relax.op.less(zero, count))
        start = [zero, *state(builder, x)]
        infos = list[list[TensorStructInfo]]()
        lists = [empty_list(builder) for _ in range(count_of_lists)]
        (_, *values), ends = loop(builder, first, step, start, lists)
        stacks = [stacked(builder, *pair, x) for pair in zip(ends, infos[-1], strict=True)]
        builder.emit_func_output(bind_result(builder, relax.Tuple([*values, *stacks])))
    module = finished(builder, True)
    relax.analysis.well_formed(module)
    return module


def check(module: IRModule, reference: Callable[..., object], *shapes: tuple[int, ...]) -> None:
    """Compare what a loop computes with a function of numpy, for several numbers of steps; also
    after its text was read back.
    """
    text = module.script(show_meta=True)
    for source in (module, script.from_source(text)):
        machine = relax.VirtualMachine(relax.build(source, "llvm -opt-level=0"), nd.cpu())
        for shape in shapes:
            for count in (0, 1, 6):
                x = np.arange(1, 1 + np.prod(shape), dtype="float32").reshape(shape) / 8
                results = machine["main"](nd.array(x), nd.array(np.int64(count)))
                expected = reference(x, count)
                assert len(results) == len(expected)
                for result, array in zip(results, expected, strict=True):
                    assert result.shape == array.shape
                    np.testing.assert_allclose(result.numpy(), array, rtol=1e-5)


@pytest.mark.parametrize("shape", [(3,), (N,)], ids=str)
def test_a_state_keeps_its_sizes_and_elements_are_stacked(shape: tuple[object, ...]) -> None:
    def make(builder: relax.BlockBuilder, around: Sequence[GraphVar]) -> Body:
        def body(state: Sequence[GraphVar]) -> LoopStep:
            y = builder.emit(relax.op.multiply(state[0], relax.const(1.5, "float32")))
            y = builder.emit(relax.op.add(y, around[0]))
            return LoopStep(relax.const(True), [y], [[builder.emit(relax.op.sum(y))], [y]])

        return body

    def reference(x: np.ndarray, count: int) -> list[np.ndarray]:
        y, rows = x, [np.zeros((0, *x.shape), "float32")]
        for _ in range(count):
            y = y * np.float32(1.5) + x
            rows.append(y[None])
        stacked = np.concatenate(rows)
        return [y, stacked.sum(1), stacked]

    module = counted(make, shape, count_of_lists=2)
    check(module, reference, (3,), *([(5,)] if shape[0] is N else []))


@pytest.mark.parametrize("shape", [(2, 3), (N, 3)], ids=str)
def test_sizes_that_change_alike_are_one_variable(shape: tuple[object, ...]) -> None:
    """Two tensors grow, and are added in the step; one shrinks by what the step knows."""

    def make(builder: relax.BlockBuilder, around: Sequence[GraphVar]) -> Body:
        def body(state: Sequence[GraphVar]) -> LoopStep:
            both = builder.emit(relax.op.add(state[0], state[1]))
            longer = [
                builder.emit(relax.op.concat([one, around[0]], 0)) for one in (both, state[1])
            ]
            return LoopStep(relax.const(True), longer)

        return body

    def reference(x: np.ndarray, count: int) -> list[np.ndarray]:
        a, b = x, x
        for _ in range(count):
            a, b = np.concatenate([a + b, x]), np.concatenate([b, x])
        return [a, b]

    module = counted(make, shape, lambda builder, x: [x, x])
    params = module["loop"].params
    sizes = [param.struct_info.shape.values[0] for param in params[2:4]]
    assert sizes[0] is sizes[1]
    check(module, reference, (2, 3))


def test_sizes_that_change_apart_are_two_variables() -> None:
    def make(builder: relax.BlockBuilder, around: Sequence[GraphVar]) -> Body:
        def body(state: Sequence[GraphVar]) -> LoopStep:
            a = builder.emit(relax.op.concat([state[0], around[0]], 0))
            b = builder.emit(relax.op.concat([state[1], around[0], around[0]], 0))
            return LoopStep(relax.const(True), [a, b])

        return body

    def reference(x: np.ndarray, count: int) -> list[np.ndarray]:
        return [np.tile(x, 1 + count), np.tile(x, 1 + 2 * count)]

    check(counted(make, (2,), lambda builder, x: [x, x]), reference, (2,))


def test_loops_in_one_another_capture_values_and_sizes() -> None:
    """The inner loop has as many steps as a size, and uses a state of the outer one."""

    def make(builder: relax.BlockBuilder, around: Sequence[GraphVar]) -> Body:
        def outer(state: Sequence[GraphVar]) -> LoopStep:
            limit = builder.emit(relax.op.shape_to_tensor(relax.ShapeExpr([N])))
            limit = builder.emit(relax.op.reshape(limit, []))

            def inner(values: Sequence[GraphVar]) -> LoopStep:
                number = builder.emit(relax.op.add(values[0], ONE))
                y = builder.emit(relax.op.add(values[1], state[0]))
                return LoopStep(builder.emit(relax.op.less(number, limit)), [number, y])

            zero = relax.const(0, "int64")
            first = builder.emit(relax.op.less(zero, limit))
            (_, y), _ = loop(builder, first, inner, [zero, around[0]])
            half = relax.const(0.5, "float32")
            return LoopStep(relax.const(True), [builder.emit(relax.op.multiply(y, half))])

        return outer

    def reference(x: np.ndarray, count: int) -> list[np.ndarray]:
        y = x
        for _ in range(count):
            y = (x + len(x) * y) / 2
        return [y]

    check(counted(make, (N,)), reference, (3,), (1,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda builder, y: [builder.emit(relax.op.astype(y, "int32"))], "the rank and dtype of"),
        (lambda builder, y: [builder.emit(relax.op.sum(y))], "changes the rank and dtype of ten"),
        (lambda builder, y: [y, y], "a step of a loop gives another state"),
    ],
)
def test_steps_with_another_state_are_refused(make: Any, message: str) -> None:
    def body(builder: relax.BlockBuilder, around: Sequence[GraphVar]) -> Body:
        return lambda state: LoopStep(relax.const(True), make(builder, state[0]))

    with pytest.raises(GraphError, match=message):
        counted(body, (4,))


@pytest.mark.parametrize("condition", [relax.const([True, False]), relax.const(1)], ids=str)
def test_conditions_that_are_not_a_bool_are_refused(condition: GraphExpr) -> None:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo([4], "float32"))
    message = "the condition of a loop is R.Tensor"
    with builder.function("main", [x]):
        with pytest.raises(GraphError, match=message):
            loop(builder, condition, lambda state: LoopStep(relax.const(True), state), [x])
        with pytest.raises(GraphError, match=message):
            loop(builder, relax.const(True), lambda state: LoopStep(condition, state), [x])
        builder.emit_func_output(x)


def test_functions_of_steps_that_were_written_again_are_removed() -> None:
    def make(builder: relax.BlockBuilder, around: Sequence[GraphVar]) -> Body:
        def outer(state: Sequence[GraphVar]) -> LoopStep:
            inner: Body = lambda values: LoopStep(relax.const(False), values)  # noqa: E731
            (y,), _ = loop(builder, relax.const(True), inner, [state[0]])
            return LoopStep(relax.const(True), [builder.emit(relax.op.concat([y, around[0]], 0))])

        return outer

    names = list(counted(make, (2,)).functions)
    assert len([name for name in names if name.startswith("loop")]) == 2


def test_lists_are_joined_stacked_and_read() -> None:
    """Two lists share their first element; those that are joined differ in a size."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((N, 3), "float32"))
    with builder.function("main", [x]), bindings(builder, True):
        first = extended(builder, empty_list(builder), [x])
        y = builder.emit(relax.op.exp(x))
        wide = builder.emit(relax.op.concat([x, x], 0))
        info = tensor_info(x)
        both, rows = extended(builder, first, [y]), extended(builder, first, [wide, y])
        moved = moved_axis(builder, stacked(builder, both, info, x), -1)
        last = item(builder, both, info, relax.const(-1))
        whole = joined(builder, rows, info, x, -2)
        none = joined(builder, empty_list(builder), info, x, 1)
        results = [moved, last, whole, none, length(builder, rows)]
        builder.emit_func_output(bind_result(builder, relax.Tuple(results)))
    machine = relax.VirtualMachine(
        relax.build(finished(builder, True), "llvm -opt-level=0"), nd.cpu()
    )
    data = np.arange(6, dtype="float32").reshape(2, 3) / 4
    expected = [
        np.stack([data, np.exp(data)], -1),
        np.exp(data),
        np.concatenate([data, data, data, np.exp(data)]),
        np.zeros((2, 0), "float32"),
        np.array(3),
    ]
    for result, array in zip(machine["main"](nd.array(data)), expected, strict=True):
        np.testing.assert_allclose(result.numpy(), array, rtol=1e-6, strict=True)


PASSES = (
    *("CanonicalizeBindings", "DataflowUseInplaceCalls", "DeadCodeElimination"),
    *("EliminateCommonSubexpr", "ExpandTupleArguments", "InlinePrivateFunctions", "LambdaLift"),
    *("NormalizeGlobalVar", "RemoveUnusedOutputs", "RemoveUnusedParameters", "TopologicalSort"),
)


@pytest.mark.parametrize("name", PASSES)
def test_passes_keep_what_a_loop_computes(name: str) -> None:
    """The state grows, a value is computed twice, and a tensor of the state is never used."""

    def make(builder: relax.BlockBuilder, around: Sequence[GraphVar]) -> Body:
        def body(state: Sequence[GraphVar]) -> LoopStep:
            y, unused = state
            sums = [builder.emit(relax.op.sum(y, 0)) for _ in range(2)]
            total = builder.emit(relax.op.add(*sums))
            longer = builder.emit(relax.op.concat([y, around[0]], 0))
            return LoopStep(relax.const(True), [longer, unused], [[total]])

        return body

    def reference(x: np.ndarray, count: int) -> list[np.ndarray]:
        totals = [np.tile(x, (1 + n, 1)).sum(0) * 2 for n in range(count)]
        return [np.tile(x, (1 + count, 1)), x, np.array(totals, "float32").reshape(-1, 3)]

    def state(builder: relax.BlockBuilder, x: GraphVar) -> list[GraphExpr]:
        return [x, x]

    module = getattr(relax.transform, name)()(counted(make, (N, 3), state, 1))
    relax.analysis.well_formed(module)
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), nd.cpu())
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for count in (0, 3):
        results = machine["main"](nd.array(x), nd.array(np.int64(count)))
        for result, expected in zip(results, reference(x, count), strict=True):
            np.testing.assert_allclose(result.numpy(), expected, strict=True)


def test_states_of_a_shape_that_is_not_known_are_rejected() -> None:
    from te_sched import relax
    from te_sched.relax.frontend import loops

    info = relax.TensorStructInfo(None, "float32", None, 1)
    with pytest.raises(GraphError, match="tensor 0 of the state of a loop has a shape that is not"):
        loops._shaped_info(relax.Var("x", info), 0)


def test_steps_that_change_a_size_are_rejected_where_sizes_are_kept() -> None:
    from te_sched import relax
    from te_sched.relax.frontend import loops

    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    builder = relax.BlockBuilder()

    def longer(state):
        return loops.LoopStep(relax.const(True), [builder.emit(relax.op.concat([state[0]] * 2))])

    with builder.function("main", [x]):
        with pytest.raises(GraphError, match="shape"):
            loops.loop(builder, relax.const(True), longer, [x], keeps_sizes=True)
        builder.emit_func_output(x)
