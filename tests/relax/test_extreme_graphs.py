"""Graphs that are deep, wide or endless: a result, or an error before anything is changed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import relax, te, topi
from te_sched.errors import CallError, GraphError, OperandError
from te_sched.garbage import garbage_kept
from te_sched.ir.printer.names import UniqueNames
from te_sched.script import from_source

ZEROS = np.zeros(4, "float32")


def tensor(name: str = "x") -> Any:
    return relax.Var(name, relax.TensorStructInfo((4,), "float32"))


def machine_of(params: list[Any], value: Any) -> Any:
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(value))
    return relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())


def test_deep_expression_is_written_and_built() -> None:
    x = value = tensor()
    for _ in range(400):
        value = relax.op.add(value, relax.const(1.0))
    assert (machine_of([x], value)["main"](ZEROS).numpy() == 400).all()


@pytest.mark.not_read_back("Python reads at most 200 nested parentheses")
def test_deep_tuple_is_written() -> None:
    x = value = tensor()
    for _ in range(1000):
        value = relax.Tuple([value])
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(value))
    assert builder.get().script().count("(" * 900)


def test_function_of_more_parameters_than_native_calls_have() -> None:
    params = [tensor(f"p{k}") for k in range(1100)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(relax.op.add(params[0], params[-1])))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())
    assert (machine["main"](*[ZEROS + 1] * 1100).numpy() == 2).all()


def test_build_rejects_more_arguments_than_native_calls_have() -> None:
    inputs = [te.placeholder((4,), name=f"A{k}") for k in range(1100)]
    output = te.compute((4,), lambda i: inputs[0][i] + inputs[-1][i], name="B")
    schedule = te.create_schedule(output.op)
    with pytest.raises(CallError, match="function main has 1101 arguments"):
        te_sched.build(schedule, [*inputs, output], "llvm", name="main")


def test_call_rejects_recursion_without_an_end() -> None:
    module = from_source(
        """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y: R.Tensor((4,), "float32") = Module.main(x)
        return y
"""
    )
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    # Without garbage collection: at the limit, what it calls fails, and pytest reports that.
    with garbage_kept(), pytest.raises(CallError, match="the call of main is nested too deeply"):
        machine["main"](ZEROS)


def test_call_rejects_result_that_is_nested_too_deeply() -> None:
    x = tensor()
    value: Any = relax.op.exp(x)
    for _ in range(150):
        value = relax.Tuple([value])
    machine = machine_of([x], value)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        with garbage_kept(), pytest.raises(CallError, match="nested too deeply"):
            machine["main"](ZEROS)
    finally:
        sys.setrecursionlimit(limit)


def test_call_rejects_tuple_in_itself() -> None:
    given = relax.Var("x", relax.ObjectStructInfo())
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CallError, match="a tuple is nested too deeply"):
        machine_of([given], given)["main"](endless)


def test_call_te_rejects_list_in_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(GraphError, match="call a function of tensor expressions"):
        relax.BlockBuilder().call_te(topi.nn.relu, endless)


def test_pattern_rejects_list_in_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(GraphError, match="a list of patterns contains itself"):
        relax.dpl.is_tuple(endless)


def test_iteration_rejects_values_that_are_not_tuples() -> None:
    """Python asks for elements 0, 1, ... without an end otherwise."""
    with pytest.raises(OperandError, match="cannot iterate over x"):
        list(tensor())
    pair = relax.Var("t", relax.TupleStructInfo([relax.ObjectStructInfo()] * 2))
    assert [one.index for one in pair] == [0, 1]
    assert len(list(relax.ShapeExpr([4, 3]))) == 2


def test_refused_expression_leaves_the_block_as_it_was() -> None:
    x, y = tensor(), relax.Var("y", relax.TensorStructInfo((3,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        with builder.dataflow():
            with pytest.raises(GraphError, match="do not fit"):
                builder.emit(relax.op.add(relax.op.exp(x), y))
            result = builder.emit_output(relax.op.exp(x))
        builder.emit_func_output(result)
    bindings = builder.get()["main"].body.blocks[0].bindings
    assert [str(one.value.op) for one in bindings] == ["relax.exp"]


def test_names_are_found_without_asking_for_all_numbers() -> None:
    class Counted(set[str]):
        asked = 0

        def __contains__(self, name: object) -> bool:
            Counted.asked += 1
            return super().__contains__(name)

    names = UniqueNames(separator="")
    names.used = Counted()
    found = [names.take("lv") for _ in range(1000)]
    assert found[:3] == ["lv", "lv1", "lv2"]
    assert len(set(found)) == 1000
    assert Counted.asked < 4000
    names.give_back(["lv5"])
    assert names.take("lv") == "lv5"


def test_function_rejects_attributes_that_are_not_a_dictionary() -> None:
    with pytest.raises(te_sched.TeSchedError, match="the attributes of a function are 3"):
        relax.Function([tensor()], tensor(), attrs=3)


def test_operators_reject_other_kinds_of_attributes() -> None:
    x = tensor()
    with pytest.raises(GraphError, match="scale is 'a'"):
        relax.op.nn.attention(x, x, x, scale="a")
    with pytest.raises(GraphError, match=r"argument axis of relax\.op\.flip is None"):
        relax.op.flip(x, None)
    with pytest.raises(GraphError, match=r"the dtype of relax\.builtin\.alloc_tensor is x"):
        relax.BlockBuilder().normalize(relax.op.builtin.alloc_tensor((4,), x, 0))
    with pytest.raises(GraphError, match="cannot divide 'n' channels into 2 groups"):
        relax.frontend.nn.Conv1D("n", 4, 3, groups=2)
    with pytest.raises(te_sched.TeSchedError, match="the data of a constant is x"):
        relax.Constant(x)
