"""FusePacking: calls of constants alone become one function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import IRModule, nd, relax, topi
from te_sched.relax.pipeline import MarkConstants
from te_sched.relax.transform import FoldConstant
from te_sched.relax.transform.fuse_packing import FusePacking, values_of_constants
from te_sched.target import Target

RNG = np.random.default_rng(0)
WEIGHT = RNG.random((640, 512), "float32")


def _scaled(uses: int = 1, is_visible: bool = False) -> IRModule:
    """x @ transposed(WEIGHT * 2), with the value between used once or more often."""
    x = relax.Var("x", relax.TensorStructInfo([2, 512], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            double = builder.call_te(topi.multiply, relax.const(WEIGHT), relax.const(2.0))
            value = builder.emit_output(double) if is_visible else builder.emit(double)
            weight = builder.emit_te(topi.transpose, value)
            for _ in range(1, uses):
                weight = builder.emit_te(topi.add, weight, builder.emit_te(topi.transpose, value))
            out = builder.emit_output(builder.call_te(topi.matmul, x, weight))
        builder.emit_func_output(out)
    module: IRModule = builder.get()
    return module


def _run(module: IRModule, *arrays: Any) -> Any:
    machine = relax.VirtualMachine(relax.build(module, "llvm"), nd.cpu())
    return machine["main"](*[nd.array(one) for one in arrays]).numpy()


def test_calls_of_constants_become_one_function_without_a_buffer_between() -> None:
    fused = FusePacking()(_scaled())
    (name,) = (name for name in map(str, fused.functions) if name.startswith("fused"))
    assert name == "fused_multiply_transpose"
    assert not fused[name].body.block.alloc_buffers
    call, product = (binding.value for binding in fused["main"].body.blocks[0].bindings)
    assert [str(value.args[0]) for value in (call, product)] == [name, "matmul"]
    folded = FoldConstant()(fused)["main"].body.blocks[0].bindings[0].value
    np.testing.assert_array_equal(folded.args[1].fields[1].data.numpy(), (WEIGHT * 2).T)


@pytest.mark.parametrize(("uses", "is_visible"), [(2, False), (1, True)])
def test_values_with_other_uses_stay(uses: int, is_visible: bool) -> None:
    module = _scaled(uses, is_visible)
    calls = FusePacking()(module)["main"].body.blocks[0].bindings
    assert str(calls[0].value.args[0]) == "multiply"
    data = RNG.random((2, 512), "float32")
    np.testing.assert_allclose(_run(module, data), data @ (2 * uses * WEIGHT.T), rtol=1e-4)


def test_a_module_without_calls_of_constants_stays() -> None:
    x = relax.Var("x", relax.TensorStructInfo([2, 512], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            value = builder.emit_te(topi.exp, x)
            out = builder.emit_output(builder.call_te(topi.tanh, value))
        builder.emit_func_output(out)
    module = builder.get()
    assert FusePacking()(module) is module
    assert not values_of_constants(module["main"])


def test_what_computes_values_of_constants_gets_no_schedule_and_what_reads_them_may_pack() -> None:
    marked = MarkConstants()(_scaled())
    assert marked["multiply"].attrs["tir.is_scheduled"] == 1
    assert marked["matmul"].attrs["layout_free_buffers"] == [1]
    assert "tir.is_scheduled" not in marked["matmul"].attrs


def test_builds_compute_large_weights_where_they_are_packed() -> None:
    """The function that packs the weights of a convolution folds its normalization, too."""
    channels = 192
    weight = RNG.random((channels, channels, 3, 3), "float32")
    vectors = [RNG.random(channels, "float32") + np.float32(0.5) for _ in range(4)]
    x = relax.Var("x", relax.TensorStructInfo([1, channels, 5, 5], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            conv = builder.emit(relax.op.nn.conv2d(x, relax.const(weight), padding=1))
            call = relax.op.nn.batch_norm(conv, *map(relax.const, vectors), axis=1)
            norm = builder.emit(relax.TupleGetItem(builder.emit(call), 0))
            out = builder.emit_output(relax.op.nn.relu(norm))
        builder.emit_func_output(out)
    with Target("llvm"):
        module = relax.get_pipeline("processor")(builder.get())
    binding = module["main"].body.blocks[0].bindings[0]
    packed = binding.value.args[1].fields[1].data.numpy()
    gamma, beta, mean, variance = vectors
    scale = gamma / np.sqrt(variance + np.float32(1e-5))
    expected = weight * scale.reshape(-1, 1, 1, 1)
    assert packed.ndim > 4
    np.testing.assert_array_equal(np.sort(packed.ravel()), np.sort(expected.ravel()))
    data = RNG.random((1, channels, 5, 5), "float32")
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    sums = np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True)
    shaped = [vector.reshape(-1, 1, 1) for vector in (scale, mean, beta)]
    expected = np.maximum((sums - shaped[1]) * shaped[0] + shaped[2], 0)
    np.testing.assert_allclose(_run(builder.get(), data), expected, rtol=1e-4, atol=1e-4)
