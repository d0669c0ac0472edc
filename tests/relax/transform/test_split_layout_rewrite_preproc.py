"""Packing of weights as a function of its own, which constants fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import IRModule, nd, relax, topi
from te_sched.relax.pipeline import MarkConstants
from te_sched.relax.transform import SplitLayoutRewritePreproc
from te_sched.script import from_source
from te_sched.target import Target

_SOURCE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(X: T.Buffer((8, 8)), W: T.Buffer((8, 8)), Out: T.Buffer((8, 8))):
        W_rewrite = T.alloc_buffer((2, 8, 4))
        for i, j in T.grid(8, 8):
            with T.block("W_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": T.bool(True)})
                W_rewrite[vj // 4, vi, vj % 4] = W[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("Out"):
                vi, vj = T.axis.remap("SS", [i, j])
                Out[vi, vj] = X[vi, vj] + W_rewrite[vj // 4, vi, vj % 4]

    @R.function
    def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.f, (x, w), out_sinfo=R.Tensor((8, 8), "float32"))
            R.output(gv)
        return gv
"""


def _run(module: IRModule, *arrays: Any) -> Any:
    machine = relax.VirtualMachine(relax.build(module, "llvm"), nd.cpu())
    return machine["main"](*[nd.array(one) for one in arrays]).numpy()


def test_functions_in_two_compute_the_same() -> None:
    module = from_source(_SOURCE)
    split = SplitLayoutRewritePreproc()(module)
    assert sorted(map(str, split.functions)) == ["f_prepacked", "f_weight_prepack", "main"]
    numbers = np.random.default_rng(0)
    x, w = (numbers.random((8, 8), "float32") for _ in range(2))
    np.testing.assert_allclose(_run(split, x, w), x + w)


def test_a_source_that_is_read_again_stays() -> None:
    text = _SOURCE.replace("X[vi, vj] + W_rewrite", "W[vi, vj] + W_rewrite")
    module = from_source(text)
    assert SplitLayoutRewritePreproc()(module) is module


def test_weights_that_are_constants_are_packed_when_the_graph_is_built() -> None:
    numbers = np.random.default_rng(1)
    weight = numbers.random((64, 48), "float32")
    x = relax.Var("x", relax.TensorStructInfo((2, 64), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]), builder.dataflow():
        product = builder.emit(relax.op.matmul(x, relax.const(weight)))
        out = builder.emit_output(relax.op.nn.relu(product))
        builder.emit_func_output(out)
    with Target("llvm"):
        module = relax.get_pipeline("processor")(builder.get())
    call = module["main"].body.blocks[0].bindings[0].value
    assert str(call.args[0]).endswith("_prepacked")
    assert call.args[1].fields[1].data.numpy().ndim == 3
    data = numbers.random((2, 64), "float32")
    np.testing.assert_allclose(_run(builder.get(), data), data @ weight, rtol=1e-5)


@pytest.mark.parametrize(("is_reused", "expected"), [(False, [1]), (True, None)])
def test_layouts_are_free_of_parameters_that_are_constant_in_all_calls(
    is_reused: bool, expected: Any
) -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        found = builder.emit_te(topi.add, x, relax.const(np.ones((2, 4), "float32")))
        if is_reused:
            found = builder.emit_te(topi.add, found, found)
        builder.emit_func_output(found)
    module = MarkConstants()(builder.get())
    assert module["add"].attrs.get("layout_free_buffers") == expected
