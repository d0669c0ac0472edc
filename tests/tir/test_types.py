"""Types of variables, and what constructors refuse."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir import PrimType, TupleType
from te_sched.ir.calls import call_tir
from te_sched.script import from_source
from te_sched.target import Target


def test_variables_have_a_type() -> None:
    assert te.var("x", "int8").type_annotation == PrimType("int8")
    pointer = tir.PointerType(PrimType("float32"), "shared")
    for var in (te.var("p", pointer), tir.Var("p", pointer)):
        assert var.dtype == "handle"
        assert var.type_annotation == pointer
        assert var.type_annotation.element_type.dtype == "float32"
        assert var.type_annotation.storage_scope == "shared"
    assert pointer.script() == 'T.handle("float32", "shared")'
    assert PrimType("int32").script() == "T.int32"


def test_constants_of_literals() -> None:
    assert te.const(3.4e39).dtype == te.const(-3.4e39).dtype == "float64"
    assert te.const(float("inf")).dtype == te.const(3.4e38).dtype == "float32"
    assert str(te.exp(2)) == "T.exp(T.float32(2))"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda x: tir.Let(x, te.var("y", "int64"), x),
            r"variable x of tir.Let has dtype int32, and its value int64",
        ),
        (lambda x: tir.FloatImm("int32", 1.0), r"tir.FloatImm has dtype int32, expected a float"),
        (lambda x: call_tir(3, x), r"the function of call_tir is 3, expected its name"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        wrong(te.var("x"))


def test_expressions_have_no_truth_as_in_numpy() -> None:
    with pytest.raises(ValueError, match=r"n > 0 has no truth value in Python"):
        bool(te.var("n") > 0)


def test_targets_are_read_again_in_attributes() -> None:
    for target in (
        Target("nvidia/nvidia-a100", host="llvm"),
        Target("cuda -arch=sm_70 -max_num_threads=512"),
        Target("llvm -mattr=+avx2,-avx512f -num-cores=4"),
    ):
        func = tir.PrimFunc([], tir.Evaluate(0)).with_attr("target", target)
        again = from_source(func.script())
        assert again.attrs["target"] == target
        assert again.script() == func.script()


def test_conditions_of_vectors_are_combined_lane_by_lane() -> None:
    func = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n'
        "    T.evaluate((A[0:4] > 0) and (A[4:8] > 0))\n"
        "    T.evaluate((A[0:4] > 0) or (A[4:8] > 0))\n"
    )
    ops = [one.value.op.name for one in func.body.seq]
    assert ops == ["tir.bitwise_and", "tir.bitwise_or"]


def test_functions_of_a_module_are_called() -> None:
    module = from_source(
        "@I.ir_module\nclass Module:\n"
        "    @T.prim_func\n    def main():\n        tir.call_tir(Module.part)\n"
        "    @T.prim_func\n    def part():\n        T.evaluate(0)\n",
        {"tir": tir},
    )
    assert "Module.part()" in module.script()
    assert str(call_tir(module.get_global_var("part"))) == "part()"


def test_types_of_several_values() -> None:
    pair = TupleType([PrimType("float32"), tir.PointerType("int8", "shared")])
    assert str(pair) == pair.script() == 'T.Tuple(T.float32, T.handle("int8", "shared"))'
    assert (str(TupleType([])), pair.fields[0]) == ("None", PrimType("float32"))


def test_reductions_have_the_parameters_of_tvm() -> None:
    x, y, i = tir.Var("x", "float32"), tir.Var("y", "float32"), tir.IterVar((0, 8), "i", 2)
    A = tir.decl_buffer((8,), name="A")
    plus = tir.CommReducer((x,), (y,), (x + y,), (te.const(0.0),))
    made = tir.Reduce(plus, [A[i]], [i], i < 4, 0, init=[1.0])
    assert isinstance(made, tir.Reduce)
    assert "init=[T.float32(1)]" in str(made)
    assert "condition=T.bool(True)" in str(tir.Reduce(plus, [A[i]], [i], None, 0))
    with pytest.raises(DeclarationError, match="has 2 values and 0 initial values, index 0"):
        tir.Reduce(plus, [A[i], A[i]], [i], None, 0)
    with pytest.raises(DeclarationError, match="rdom"):
        tir.Reduce(plus, [A[i]], [i.var], None, 0)


def test_sequences_in_sequences_are_joined() -> None:
    pair = tir.SeqStmt([tir.Evaluate(0), tir.Evaluate(1)])
    assert str(pair).splitlines() == ["T.evaluate(0)", "T.evaluate(1)"]
    joined = tir.SeqStmt([pair, tir.Evaluate(2)])
    assert str(joined).splitlines() == ["T.evaluate(1)", "T.evaluate(2)"]
