"""Graphs in TVMScript: the text is that of TVM 0.19."""

from __future__ import annotations

from pathlib import Path

import pytest

from te_sched import IRModule, relax, tir
from te_sched.ir import VDevice
from te_sched.ir.printer.graph import uses_tir
from te_sched.script import ir as I
from te_sched.script import relax as R
from tests.script.graph_program import Module

GOLDEN = Path(__file__).parents[2] / "golden" / "graphs" / "module.txt"
N = tir.Var("n", "int64")
X = relax.Var("x", relax.TensorStructInfo([N, 4], "float32"))
CALL = relax.op.add(X, X)


def test_module_is_printed_as_by_tvm() -> None:
    inferred = Module["aaa"].script(show_all_struct_info=False)
    text = GOLDEN.read_text().replace("T.float32(1.0)", "T.float32(1)")
    assert f"{Module.script()}\n{inferred}\n" == text


def test_values_are_printed_with_what_they_use() -> None:
    shown = 'n = T.int64()\nx: R.Tensor((n, 4), dtype="float32")\nR.add(x, x)'
    assert CALL.script(verbose_expr=True) == shown
    assert str(CALL) == "R.add(x, x)"


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (relax.Tuple([]), "R.tuple()"),
        (relax.Tuple([X]), "(x,)"),
        (relax.TupleGetItem(relax.Tuple([X, X]), 1), "(x, x)[1]"),
        (relax.ExternFunc("f"), 'R.ExternFunc("f")'),
        (relax.Call(relax.ExternFunc("f"), [X]), 'R.call_packed("f", x)'),
        (relax.GlobalVar("f")(X), "f(x)"),
        (relax.PrimValue(True), "R.prim_value(True)"),
        (relax.StringImm('a"b\nc'), 'R.str("a\\"b\\nc")'),
        (relax.const(1.5, "float16"), 'R.const(1.5, "float16")'),
        (
            relax.op.hint_on_device(X, R.cpu()),
            "R.hint_on_device(x, R.device(dev_type=1, dev_id=0))",
        ),
        (
            relax.op.hint_on_device(X, VDevice("cuda", 1)),
            "R.hint_on_device(x, R.device(dev_type=2, dev_id=1))",
        ),
        (
            relax.op.call_tir_with_grad(relax.GlobalVar("f"), [X], X.struct_info, "g"),
            'R.call_tir_with_grad(f, (x,), out_sinfo=R.Tensor((n, 4), dtype="float32"), '
            'te_grad_name="g")',
        ),
        (
            relax.op.matmul(X, X, out_dtype="void"),
            'R.matmul(x, x, out_dtype="void")',
        ),
    ],
)
def test_expressions(node: relax.Expr, text: str) -> None:
    assert str(node) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (
            relax.VarBinding(relax.Var("R", X.struct_info), CALL),
            'n = T.int64()\nx: R.Tensor((n, 4), dtype="float32")\n'
            'R_1: R.Tensor((n, 4), dtype="float32") = R.add(x, x)',
        ),
        (relax.VarBinding(relax.Var("y"), relax.Tuple([])), "y = R.tuple()"),
        (
            relax.VarBinding(relax.Var("y"), relax.SeqExpr([], relax.const(1))),
            'y = R.const(1, "int32")',
        ),
        (relax.DataflowBlock([]), "with R.dataflow():\n    R.output()"),
        (
            relax.If(relax.const(True), relax.PrimValue(1), relax.PrimValue(2)),
            'if R.const(True, "bool"):\n    R.prim_value(1)\nelse:\n    R.prim_value(2)',
        ),
        pytest.param(
            relax.Function.create_empty([relax.Var("p", R.Object())], R.Object()),
            "# from tvm.script import relax as R\n\n@R.function(private=True)\n"
            "def main(p: R.Object) -> R.Object:\n    pass",
            marks=pytest.mark.not_read_back("it has no body"),
        ),
    ],
)
def test_parts(node: object, text: str) -> None:
    assert str(node) == text


def test_nested_function_in_a_dataflow_block() -> None:
    @R.function
    def outer(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():

            @R.function(pure=False)
            def inner(y: R.Tensor((2, "m"), "float32")) -> R.Tensor((2, "m"), "float32"):
                R.func_attr({"a": 1})
                return y

            z = R.add(x, x)
            R.output(z)
        return z

    lines = outer.script().splitlines()
    at = lines.index("        @R.function(pure=False)")
    assert lines[at - 3 : at] == [
        "        # from tvm.script import tir as T",
        "        # from tvm.script import relax as R",
        "        ",
    ]
    assert lines[at + 1].startswith("        def inner(y: R.Tensor((2, m), ")
    assert lines[at + 2] == '            R.func_attr({"a": 1})'
    assert lines[-2:] == ["        R.output(z)", "    return z"]


def test_devices_of_a_module() -> None:
    @I.ir_module
    class Devices:
        I.module_global_infos(
            {"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 1)], "d": [I.dummy_global_info()]}
        )

        @R.function
        def main(x: R.Tensor((2,), "int8", "llvm"), y: R.Tensor((2,), "int8", "vdevice:1")):
            z = R.to_vdevice(x, "cuda")
            return z

    text = Devices.script()
    assert 'y: R.Tensor((2,), dtype="int8", vdevice="cuda:0")' in text
    assert 'R.to_vdevice(x, dst_vdevice="cuda:0")' in text
    assert '"d": [I.dummy_global_info()], "vdevice": [I.vdevice("llvm", 0, "global"), ' in text
    other = relax.TensorStructInfo([2], "int8", VDevice("metal"))
    assert str(other) == 'R.Tensor((2,), dtype="int8", vdevice=I.vdevice("metal", 0, "global"))'


def test_options() -> None:
    function = Module["nop3"]
    named = IRModule({"nop3": function}).script(relax_prefix="Q", name="Named")
    assert "class Named:" in named
    assert "@Q.function" in named
    assert "cls = " not in Module.script(module_alias="")
    assert "Module.zzz(x, x)" in Module.script(module_alias="")


def test_parts_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    Module["nop"].show(show_meta=True)
    relax.VarBinding(relax.Var("y"), relax.Tuple([])).show(black_format=False)
    assert capsys.readouterr().out.endswith("return R.tuple()\ny = R.tuple()\n")


def test_words_in_strings_are_no_uses() -> None:
    assert uses_tir(['x = f("T.max", T.int64())'])
    assert not uses_tir(['x = f("T.max", RT.max)'])
