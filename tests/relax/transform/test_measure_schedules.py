"""The fastest of several default schedules, by measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import IRModule, dlight, nd, relax, te, topi
from te_sched.errors import GraphError
from te_sched.ir.stmt import PrimFunc
from te_sched.relax.transform import measure_schedules
from te_sched.relax.transform.measure_schedules import MeasureSchedules, fastest, timed_call
from te_sched.target import Target

LLVM = Target("llvm")
X, W = (
    np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")
    for shape in ((24, 48), (48, 64))
)


def product() -> PrimFunc:
    a, b = te.placeholder(X.shape, name="A"), te.placeholder(W.shape, name="B")
    func = te.create_prim_func([a, b, topi.nn.relu(topi.nn.matmul(a, b))])
    return func.with_attr("layout_free_buffers", [1])


def graph() -> IRModule:
    x = relax.Var("x", relax.TensorStructInfo(X.shape, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.matmul(x, relax.const(W)))
        builder.emit_func_output(result)
    return builder.get()


def choices() -> list[PrimFunc]:
    return [one.mod["main"] for one in dlight.cpu.Default().apply(product(), LLVM, True)]


def test_each_choice_computes_the_same_in_another_way() -> None:
    found = choices()
    assert len({str(one) for one in found}) == len(found) > 2
    assert str(found[0]) == str(dlight.cpu.Default().apply(product(), LLVM, False).mod["main"])
    for one in found:
        out = nd.empty((24, 64))
        te_sched.build(one, target="llvm")(nd.array(X), nd.array(W), out)
        np.testing.assert_allclose(out.numpy(), np.maximum(X @ W, 0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("gain", "place"), [(0.5, 2), (0.99, 0)])
def test_the_fastest_is_taken_if_it_is_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, gain: float, place: int
) -> None:
    def taken(calls: Sequence[Any], seconds: float) -> list[float]:
        assert seconds > 0
        for call in calls:
            call()
        return [gain if number == 2 else 1.0 for number in range(len(calls))]

    monkeypatch.setattr(measure_schedules, "least_in_turn", taken)
    assert str(fastest(product(), LLVM)) == str(choices()[place])


def test_functions_without_a_choice_or_with_indices_are_left() -> None:
    a = te.placeholder((8,), name="A")
    assert fastest(te.create_prim_func([a, topi.exp(a)]), LLVM) is None
    index = te.placeholder((16,), "int32", name="index")
    rows = te.compute((16, 32), lambda i, j: te.placeholder((2, 32), name="R")[index[i], j])
    (table,) = [one for one in rows.op.input_tensors if one is not index]
    weight = te.placeholder((32, 64), name="W")
    func = te.create_prim_func([table, index, weight, topi.nn.matmul(rows, weight)])
    assert fastest(func, LLVM) is None


def test_calls_leave_out_what_packs_constants() -> None:
    """A packed constant is an argument; the call takes arrays of its shape."""
    timed_call(choices()[0], LLVM)()
    module = IRModule({"main": choices()[0].with_attr("global_symbol", "main")})
    split = relax.transform.SplitLayoutRewritePreproc()(module)
    assert any("prepacked" in str(name) for name in split.functions)


def test_no_more_is_measured_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_schedules, "fastest", lambda func, target: func)
    module = IRModule({"main": product()})
    with LLVM:
        assert "tir.is_scheduled" not in MeasureSchedules(0.0)(module)["main"].attrs
        assert MeasureSchedules(5.0)(module)["main"].attrs["tir.is_scheduled"] == 1
    with pytest.raises(GraphError, match="MeasureSchedules does not know the target"):
        MeasureSchedules(1.0)(module)


def test_graphs_are_built_with_measured_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def taken(calls: Sequence[Any], seconds: float) -> list[float]:
        asked.append(len(calls))
        return [-float(number) for number in range(len(calls))]

    monkeypatch.setattr(measure_schedules, "least_in_turn", taken)
    with te_sched.config.scoped(cache=False):
        machine = relax.VirtualMachine(relax.build(graph(), "llvm", measure=5.0), te_sched.cpu())
    np.testing.assert_allclose(machine["main"](nd.array(X)).numpy(), X @ W, rtol=1e-4, atol=1e-4)
    assert asked
    assert asked[0] > 1


@pytest.mark.parametrize(
    ("measure", "target"), [(-1.0, "llvm"), (float("nan"), "llvm"), (1.0, "cuda")]
)
def test_times_that_cannot_be_spent_are_refused(measure: float, target: str) -> None:
    with pytest.raises(GraphError, match="seconds on target"):
        relax.build(graph(), target, measure=measure)
