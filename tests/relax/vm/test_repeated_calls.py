"""Repeated calls of functions with open sizes: the results are those of the interpreter."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.relax.vm.interpreter import InterpretedFunction
from te_sched.relax.vm.repeated_calls import RepeatedFunction
from tests.relax.vm.test_recorded_calls import machine_of

N = te_sched.tir.Var("n", "int64")
ROWS = relax.TensorStructInfo([N, 4], "float32")
WEIGHT = np.arange(16, dtype="float32").reshape(4, 4) / 8


def products(builder: Any, x: Any) -> list[Any]:
    """Two results, with values between."""
    product = builder.emit(relax.op.matmul(builder.emit(relax.op.exp(x)), relax.const(WEIGHT)))
    return [relax.op.add(product, x), relax.op.sum(product, axis=0)]


def rows(count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).random((count, 4), "float32")


def expected(x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    product = np.exp(x) @ WEIGHT
    return [product + x, product.sum(axis=0)]


def watched(machine: relax.VirtualMachine) -> list[str]:
    """The names of builtins that the interpreter calls from now on."""
    names: list[str] = []
    function = machine.interpreted("main")
    run = InterpretedFunction.__call__

    class Counted(InterpretedFunction):
        def __call__(self, *args: object) -> object:
            names.append(self.name)
            return run(self, *args)

    function.__class__ = Counted
    return names


@pytest.mark.parametrize("count", [0, 1, 3, 70])
def test_repeated_calls_give_the_results_of_the_first(count: int) -> None:
    machine = machine_of(products, ROWS)
    calls = watched(machine)
    for seed in range(5):
        x = rows(count, seed)
        for own, value in zip(machine["main"](nd.array(x)), expected(x), strict=True):
            np.testing.assert_allclose(own.numpy(), value, rtol=1e-5)
    assert len(calls) == (2 if count else 5)  # the second one is recorded, unless it is empty


def test_results_of_calls_do_not_share_memory() -> None:
    machine = machine_of(products, ROWS)
    results = [machine["main"](nd.array(rows(3, seed))) for seed in range(5)]
    for seed, own in enumerate(results):
        np.testing.assert_allclose(own[0].numpy(), expected(rows(3, seed))[0], rtol=1e-5)


def test_sizes_are_remembered_side_by_side() -> None:
    machine = machine_of(products, ROWS)
    calls = watched(machine)
    for _ in range(4):
        for count in (2, 200, 5):
            own = machine["main"](nd.array(rows(count)))
            np.testing.assert_allclose(own[1].numpy(), expected(rows(count))[1], rtol=1e-4)
    assert len(calls) == 6
    for count in range(1, 100):  # other sizes take the places of the oldest
        machine["main"](nd.array(rows(count)))
    own = machine["main"](nd.array(rows(5)))
    np.testing.assert_allclose(own[0].numpy(), expected(rows(5))[0], rtol=1e-5)


def test_arguments_of_other_dtypes_are_refused_after_repeated_calls() -> None:
    machine = machine_of(products, ROWS)
    for _ in range(3):
        machine["main"](nd.array(rows(3)))
    with pytest.raises(te_sched.errors.ArgumentError, match="has dtype float64"):
        machine["main"](nd.array(rows(3).astype("float64")))
    with pytest.raises(te_sched.errors.ArgumentError, match="has ndim 1"):
        machine["main"](nd.array(rows(3).reshape(-1)))


def test_numbers_are_part_of_the_sizes() -> None:
    count = te_sched.tir.Var("count", "int64")
    infos = relax.TensorStructInfo([N], "float32"), relax.ShapeStructInfo([N, count])

    def build(builder: Any, x: Any, shape: Any) -> list[Any]:
        column = builder.emit(relax.op.expand_dims(relax.op.exp(x), 1))
        return [relax.op.broadcast_to(column, relax.ShapeExpr([N, count]))]

    machine = machine_of(build, *infos)
    x = nd.array(np.array([0.5, 1.5], "float32"))
    for _ in range(3):
        for width in (2, 3):
            (own,) = machine["main"](x, relax.vm.ShapeTuple([2, width]))
            np.testing.assert_allclose(
                own.numpy(), np.exp(x.numpy())[:, None] + np.zeros((1, width)), rtol=1e-6
            )


def test_arguments_that_share_memory_are_not_recorded() -> None:
    machine = machine_of(lambda builder, x, y: [relax.op.subtract(x, y)], ROWS, ROWS)
    x = nd.array(rows(3))
    for _ in range(3):
        assert not machine["main"](x, x)[0].numpy().any()
    y = nd.array(rows(3, 1))
    np.testing.assert_array_equal(machine["main"](x, y)[0].numpy(), x.numpy() - y.numpy())


def test_arguments_that_are_not_aligned_are_interpreted() -> None:
    function = machine_of(products, ROWS).interpreted("main")
    repeated = RepeatedFunction(function, [])
    memory = np.zeros(4 * 4 * 3 + 64, "uint8")
    begin = -memory.ctypes.data % 64 + 4
    x = memory[begin : begin + 48].view("float32").reshape(3, 4)
    x[:] = rows(3)
    array = nd.NDArray(x, "float32", te_sched.cpu())
    for _ in range(3):
        own: Any = repeated(array)
        np.testing.assert_allclose(own[0].numpy(), expected(rows(3))[0], rtol=1e-5)


def test_instruments_watch_all_calls() -> None:
    machine = machine_of(products, ROWS)
    function = machine["main"]
    for _ in range(3):
        function(nd.array(rows(3)))
    names: list[str] = []
    machine.set_instrument(lambda function, name, before, result, *args: names.append(name))
    function(nd.array(rows(3)))
    assert "vm.builtin.match_shape" in names


def test_threads_repeat_a_call_at_the_same_time() -> None:
    machine = machine_of(products, ROWS)
    machine["main"](nd.array(rows(50)))
    machine["main"](nd.array(rows(50)))
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = rows(50, seed)
        for _ in range(20):
            own = machine["main"](nd.array(x))
            if not np.allclose(own[0].numpy(), expected(x)[0], rtol=1e-4):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
