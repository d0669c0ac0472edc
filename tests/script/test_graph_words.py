"""The words of scripts for graphs."""

from __future__ import annotations

import pytest

from te_sched import relax, tir
from te_sched.errors import ScriptError
from te_sched.script import from_source
from te_sched.script import relax as R
from te_sched.script.frames import ScriptBuilder
from tests.script.graph_texts import described


def test_effects_stand_alone() -> None:
    @R.function(pure=False)
    def f(x: R.Tensor((), "int32")):
        R.func_attr({"relax.force_pure": False})
        R.print(x, format="{}")
        R.tuple()
        return x

    assert not f.is_pure
    assert f.attrs["relax.force_pure"] is False
    assert [one.var.name_hint for one in f.body.blocks[0].bindings] == ["_", "_"]


def test_older_spellings() -> None:
    module = from_source(
        """
@tvm.script.ir_module
class M:
    @T.prim_func
    def relu(x: T.handle, y: T.handle):
        T.evaluate(0)

    @R.function
    def main(x: Tensor((1, "m"), "float32")):
        m = T.int64()
        a = R.call_tir("env.linear", (x,), (1, m), dtype="float32")
        b = R.call_tir("relu", (a,), (1, m), dtype="float32")
        c = R.call_tir(relu, (b,), (1, m), dtype="float32")
        return c
"""
    )
    info = 'out_sinfo=R.Tensor((1, m), dtype="float32")'
    assert described(module["main"]) == [
        f'a* = R.call_dps_packed("env.linear", (x,), {info})',
        f"b* = R.call_tir(relu, (a,), {info})",
        f"c* = R.call_tir(relu, (b,), {info})",
    ]
    old = relax.Var("A", (128, 128), relax.DynTensorType(2, "float32"))
    assert old.struct_info == relax.TensorStructInfo([128, 128], "float32")
    assert relax.Var("B", relax.ShapeType(2)).struct_info == relax.ShapeStructInfo(ndim=2)
    builder = relax.BlockBuilder()
    with builder.function([old], "main"):
        builder.emit_func_output(old)
    assert builder.get()["main"].params == (old,)


def test_words_need_a_function() -> None:
    with ScriptBuilder(), pytest.raises(ScriptError, match=r"R\.arg stands outside of a function"):
        R.arg("x", R.Object())
    with pytest.raises(ScriptError, match="the sizes 'n' are names"):
        relax.Var("x", R.Tensor(("n", 4)))
    with pytest.raises(AttributeError, match=r"has no te_sched\.script\.relax\._private"):
        R._private  # noqa: B018
    with ScriptBuilder(), R.function():
        R.func_name("f")
        R.func_ret_value(1)
        with pytest.raises(ScriptError, match="function f returns twice"):
            R.func_ret_value(2)


def test_annotations_are_words_and_calls() -> None:
    assert [str(one()) for one in (R.Tensor, R.Object, R.Tuple, R.Callable)] == [
        *("R.Tensor", "R.Object", "R.Tuple", "R.Callable")
    ]
    assert repr(R.Tensor) == "R.Tensor"
    n = tir.Var("n", "int64")
    function = R.Callable((R.Tensor((n,)), R.Prim("int8")), R.Tuple(R.Object, R.Shape([n])), False)
    assert str(function) == (
        'R.Callable((R.Tensor((n,)), R.Prim("int8")), R.Tuple(R.Object, R.Shape([n])), False)'
    )
    assert str(R.Callable(ret=R.Object, purity=True)) == "R.Callable(purity=True)"
    assert str(R.Tuple([R.Tensor("int8", ndim=1)])) == 'R.Tuple(R.Tensor(dtype="int8", ndim=1))'
