"""Graphs built frame by frame."""

# ruff: noqa: F841  (names of scripts)

from __future__ import annotations

import numpy as np
import pytest

from te_sched import IRModule, nd, relax, te, tir
from te_sched.errors import ScriptError
from te_sched.ir import assert_structural_equal
from te_sched.ir.structural import structural_equal
from te_sched.script import from_source
from te_sched.script import relax as R
from te_sched.script import tir as T
from te_sched.script.frames import ScriptBuilder
from tests.script.graph_texts import described

SCALED = """
@I.ir_module
class M:
    @T.prim_func
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("scale"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * 2.0

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = M
        LAST R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((5,), "float32"))
"""


@pytest.mark.parametrize("last", ["return", "z = R.exp(x)\n        return", "return R.exp(x),"])
def test_a_call_that_does_not_fit_is_marked(last: str) -> None:
    with pytest.raises(ScriptError, match="scale is called with") as caught:
        from_source(SCALED.replace("LAST", last))
    shown, carets = caught.value.excerpt.splitlines()[-2:]
    assert "R.call_tir" in shown[carets.index("^") :]


def test_names_of_sizes_are_those_of_the_function() -> None:
    text = """
@I.ir_module
class M:
    @R.function
    def first(x: R.Tensor(("n", 4), "float32")):
        return x

    @R.function
    def second(x: R.Tensor(("n", m), "float32")):
        return x
"""
    values = {"n": te.var("n"), "m": tir.Var("m", "int64")}
    module = from_source(text, values)
    first, second = (module[name].params[0].struct_info for name in ("first", "second"))
    assert first.shape.values[0].dtype == "int64"
    assert not first.shape.values[0].same_as(second.shape.values[0])
    assert second.shape.values[1].same_as(values["m"])


def test_branches_bind_one_variable() -> None:
    @R.function
    def f(x: R.Tensor((2,), "float32"), n: R.Prim(value="n")):
        n = T.int64()
        if n > 4:
            a = R.add(x, x)
            y = R.add(a, a)
        elif R.prim_value(n > 2):
            y = (x, x)[0]
        else:
            y = R.match_cast(x, R.Tensor((2,), "float32"))
        if True:
            z = y
        return z

    outer = f.body.blocks[0].bindings[0]
    assert str(outer.value.cond) == "R.prim_value(n > 4)"
    assert outer.var.name_hint == "y"
    assert outer.var.struct_info == relax.TensorStructInfo([2], "float32")
    assert outer.value.true_branch.body.name_hint == "y_then"
    inner = outer.value.false_branch.blocks[0].bindings[0].value
    assert isinstance(inner.false_branch.blocks[0].bindings[0], relax.MatchCast)
    assert_structural_equal(f, from_source(f.script()))


def test_branches_may_end_with_dataflow_blocks() -> None:
    @R.function
    def f(x: R.Tensor((2,), "float32"), c: R.Prim("bool")):
        if c:
            with R.dataflow():
                a = R.exp(x)
                y = R.add(a, a)
                R.output(y)
        else:
            y = R.add(x, x)
        return y

    branch = f.body.blocks[0].bindings[0].value.true_branch
    assert [one.var.name_hint for one in branch.blocks[0].bindings] == ["a", "y_then"]
    assert branch.body is branch.blocks[0].bindings[1].var
    assert isinstance(branch.blocks[0], relax.DataflowBlock)
    assert 'y: R.Tensor((2,), dtype="float32") = y_then' in f.script()
    assert_structural_equal(f, from_source(f.script()))
    machine = relax.VirtualMachine(relax.build(IRModule.from_expr(f), "llvm"))
    x = np.array([0, 1], "float32")
    np.testing.assert_allclose(machine["f"](nd.array(x), True).numpy(), 2 * np.exp(x), rtol=1e-6)
    assert machine["f"](nd.array(x), False).numpy().tolist() == [0, 2]


def test_return_in_a_dataflow_block_makes_outputs() -> None:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.add(a, a)
            return (b, R.add(b, b))

    names = [text.partition(" = ")[0] for text in described(f)]
    assert names == ["a", "b*", "lv2*"]
    assert str(f.body.body.fields[0]) == "b"


def test_frames_build_the_same() -> None:
    with ScriptBuilder() as builder, R.function():
        R.func_name("f")
        R.func_attr({"Primitive": 1})
        x = R.arg("x", R.Tensor((4,), "float32"))
        R.func_ret_struct_info(R.Tensor(ndim=1))
        with R.dataflow() as block:
            a = ScriptBuilder.name("a", R.emit(R.add(x, x)))
            b = ScriptBuilder.name("b", R.emit(R.add(a, a), R.Tensor((4,), "float32")))
            R.output(b)
        cast = ScriptBuilder.name("c", R.emit_match_cast(block.output_vars[0], R.Tensor((4,))))
        R.emit_var_binding(relax.VarBinding(relax.Var("d", cast.struct_info), cast))
        R.func_ret_value(cast)

    @R.function
    def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,)):
        R.func_attr({"Primitive": 1})
        with R.dataflow():
            a = R.add(x, x)
            b: R.Tensor((4,), "float32") = R.add(a, a)
            R.output(b)
        c = R.match_cast(b, R.Tensor((4,)))
        d = c
        return c

    made = builder.get()
    assert made.script().replace("lv", "a") == f.script()
    assert structural_equal(made, f)
