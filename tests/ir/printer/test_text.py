"""Whole texts: the printer of a node, options, metadata, modules of several kinds of functions."""

from __future__ import annotations

import numpy as np

from te_sched import IRModule, relax, te, tir, topi
from te_sched.ir import DummyGlobalInfo, VDevice
from te_sched.ir.printer.text import script


def module() -> IRModule:
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        out = builder.emit_te(topi.add, x, relax.const(np.ones(4, "float32")))
        builder.emit_func_output(out)
    return builder.get()


def test_modules_print_functions_of_loops_before_main() -> None:
    text = script(module())
    assert text.index("def add(") < text.index("def main(")
    assert "# from tvm.script import relax as R" in text
    assert "# from tvm.script import tir as T" in text


def test_constants_are_metadata_that_is_shown_on_demand() -> None:
    assert "# Metadata omitted." in script(module())
    shown = script(module(), show_meta=True)
    assert shown.startswith("metadata = tvm.ir.load_json(")
    assert "omitted" not in shown


def test_options_are_those_of_the_style() -> None:
    assert script(tir.Evaluate(te.var("i")), tir_prefix="TT").endswith("TT.evaluate(i)")
    assert "class Model:" in script(module(), name="Model")


def test_parts_of_graphs_print_alone() -> None:
    call = module()["main"].body.blocks[0].bindings[0].value
    assert script(call).startswith("R.call_tir(")
    assert script(relax.ShapeExpr([4, 3])) == "R.shape([4, 3])"
    assert script(relax.TensorStructInfo([4], "int8")) == 'R.Tensor((4,), dtype="int8")'


def test_a_device_prints_its_declaration() -> None:
    device = VDevice("cuda", 1)
    assert str(device) == script(device) == 'I.vdevice("cuda", 1, "global")'
    assert str(DummyGlobalInfo()) == "I.dummy_global_info()"
