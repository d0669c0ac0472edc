"""FoldBatchnormToConv2D: graphs are run as written and as the pass makes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import IRModule, nd, relax
from te_sched.relax import op
from te_sched.relax.analysis.variables import nodes_of
from te_sched.relax.op import nn
from te_sched.relax.transform import (
    BindParams,
    DecomposeOpsForInference,
    FoldBatchnormToConv2D,
    FoldConstant,
    LegalizeOps,
)

RNG = np.random.default_rng(0)
IMAGE = RNG.uniform(-1, 1, (2, 3, 7, 6)).astype("float32")
WEIGHTS = {
    "w": RNG.uniform(-1, 1, (4, 3, 3, 3)).astype("float32"),
    "b": RNG.uniform(-1, 1, 4).astype("float32"),
    "gamma": RNG.uniform(0.5, 1, 4).astype("float32"),
    "beta": RNG.uniform(-1, 1, 4).astype("float32"),
    "mean": RNG.uniform(-1, 1, 4).astype("float32"),
    "variance": RNG.uniform(0.1, 1, 4).astype("float32"),
}
PARAMETERS = ("gamma", "beta", "mean", "variance")
Layer = Callable[[relax.BlockBuilder, Any, dict[str, Any]], Any]


def _normalized(builder: Any, value: Any, p: dict[str, Any], **options: Any) -> Any:
    given = {"axis": 1, "epsilon": 1e-3, **options}
    call = builder.emit(nn.batch_norm(value, *[p[name] for name in PARAMETERS], **given))
    return builder.emit(relax.TupleGetItem(call, 0))


def _plain(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    return _normalized(builder, builder.emit(nn.conv2d(x, p["w"], strides=2, padding=1)), p)


def _biased(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    bias = builder.emit(op.reshape(p["b"], (1, 4, 1, 1)))
    return _normalized(builder, builder.emit(op.add(builder.emit(nn.conv2d(x, p["w"])), bias)), p)


def _bias_first(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    bias = builder.emit(op.reshape(p["b"], (4, 1, 1)))
    return _normalized(builder, builder.emit(op.add(bias, builder.emit(nn.conv2d(x, p["w"])))), p)


def _without_scale(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    conv = builder.emit(nn.conv2d(x, p["w"]))
    return _normalized(builder, conv, p, scale=False, center=False)


def _channels_last(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    image = builder.emit(op.permute_dims(x, [0, 2, 3, 1]))
    kernel = builder.emit(op.permute_dims(p["w"], [2, 3, 1, 0]))
    conv = nn.conv2d(image, kernel, data_layout="NHWC", kernel_layout="HWIO")
    return _normalized(builder, builder.emit(conv), p, axis=-1)


def _grouped(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    image = builder.emit(op.concat([x, x], 1))
    return _normalized(builder, builder.emit(nn.conv2d(image, p["w"], groups=2)), p)


def _used_twice(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    conv = builder.emit(nn.conv2d(x, p["w"]))
    return op.add(conv, _normalized(builder, conv, p))


def _along_width(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    return _normalized(builder, builder.emit(nn.conv2d(x, p["w"])), p, axis=3)


def _wide_bias(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    bias = builder.emit(op.reshape(p["b"], (1, 1, 1, 4)))
    return _normalized(builder, builder.emit(op.add(builder.emit(nn.conv2d(x, p["w"])), bias)), p)


def _with_statistics(builder: Any, x: Any, p: dict[str, Any]) -> Any:
    given = [p[name] for name in PARAMETERS]
    conv = builder.emit(nn.conv2d(x, p["w"]))
    call = builder.emit(nn.batch_norm(conv, *given, axis=1))
    mean = builder.emit(op.reshape(builder.emit(relax.TupleGetItem(call, 1)), (1, 4, 1, 1)))
    return op.add(builder.emit(relax.TupleGetItem(call, 0)), mean)


def _module(layer: Layer, is_bound: bool = False) -> IRModule:
    x = relax.Var("x", relax.TensorStructInfo(list(IMAGE.shape), "float32"))
    params = {
        name: relax.Var(name, relax.TensorStructInfo(list(one.shape), "float32"))
        for name, one in WEIGHTS.items()
    }
    builder = relax.BlockBuilder()
    with builder.function("main", [x, *params.values()]):
        with builder.dataflow():
            out = builder.emit_output(layer(builder, x, params))
        builder.emit_func_output(out)
    found: IRModule = builder.get()
    return BindParams("main", WEIGHTS)(found) if is_bound else found


def _run(module: IRModule) -> Any:
    built = relax.build(LegalizeOps()(module), "llvm -opt-level=0")
    given = [nd.array(one) for one in (IMAGE, *WEIGHTS.values())]
    return relax.VirtualMachine(built, nd.cpu())["main"](
        *given[: len(module["main"].params)]
    ).numpy()


def _has_norm(module: IRModule) -> bool:
    return "batch_norm" in module.script()


@pytest.mark.parametrize(
    ("layer", "is_bound"),
    [
        *[(_plain, False), (_biased, False), (_bias_first, True)],
        *[(_without_scale, True), (_channels_last, False), (_grouped, True)],
    ],
)
def test_fold_batchnorm_equals_the_normalization(layer: Layer, is_bound: bool) -> None:
    before = _module(layer, is_bound)
    after = FoldBatchnormToConv2D()(before)
    assert _has_norm(before)
    assert not _has_norm(after)
    expected = _run(DecomposeOpsForInference()(before))
    np.testing.assert_allclose(_run(after), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layer", [_used_twice, _along_width, _wide_bias, _with_statistics])
def test_fold_batchnorm_leaves_what_it_cannot_fold(layer: Layer) -> None:
    module = _module(layer)
    after = FoldBatchnormToConv2D()(module)
    assert after["main"] is module["main"]
    assert _has_norm(after)


def test_fold_batchnorm_of_constants_alone() -> None:
    fold = FoldBatchnormToConv2D(only_constants=True)
    module = _module(_plain)
    assert fold(module)["main"] is module["main"]
    after = FoldConstant()(fold(_module(_plain, True)))
    values = [one.value for one in after["main"].body.blocks[0].bindings]
    names = [str(one.op) for one in values if isinstance(one, relax.Call)]
    assert names == ["relax.nn.conv2d", "relax.add"]


@pytest.mark.parametrize("is_built", [False, True])
def test_large_weights_stay_products_for_builds(is_built: bool) -> None:
    """The result is that of numpy, which multiplies them otherwise."""
    weight = RNG.random((4, 3, 300, 300), "float32")
    x = relax.Var("x", relax.TensorStructInfo([1, 3, 300, 300], "float32"))
    params = {name: relax.const(one) for name, one in {**WEIGHTS, "w": weight}.items()}
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            conv = builder.emit(nn.conv2d(x, params["w"]))
            out = builder.emit_output(_normalized(builder, conv, params))
        builder.emit_func_output(out)
    folded = FoldBatchnormToConv2D(only_constants=is_built)(builder.get())
    arrays = [one for one in nodes_of(folded["main"]) if isinstance(one, relax.Constant)]
    assert len(arrays) == 2 + is_built
    assert (arrays[0].data is params["w"].data) is is_built
    scale = WEIGHTS["gamma"] / np.sqrt(WEIGHTS["variance"] + np.float32(1e-3))
    products = FoldConstant()(LegalizeOps()(folded))
    arrays = [one for one in nodes_of(products["main"]) if isinstance(one, relax.Constant)]
    np.testing.assert_array_equal(arrays[0].data.numpy(), weight * scale.reshape(4, 1, 1, 1))


def test_fold_batchnorm_keeps_values_of_another_block() -> None:
    """The image is a value of a dataflow block in which the normalization does not stand."""
    x = relax.Var("x", relax.TensorStructInfo(list(IMAGE.shape), "float32"))
    p = {name: relax.const(one) for name, one in WEIGHTS.items()}
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            image = builder.emit(op.exp(x))
            conv = builder.emit_output(nn.conv2d(image, p["w"]))
        with builder.dataflow():
            out = builder.emit_output(_normalized(builder, conv, p))
        builder.emit_func_output(out)
    module = builder.get()
    assert FoldBatchnormToConv2D()(module)["main"] is module["main"]


def test_build_folds_normalizations_of_constants() -> None:
    built = relax.build(_module(_plain, True), "llvm")
    found = relax.VirtualMachine(built, nd.cpu())["main"](nd.array(IMAGE)).numpy()
    expected = _run(DecomposeOpsForInference()(_module(_plain, True)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert not [one for one in built.as_text().splitlines() if "sqrt" in one or "divide" in one]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_constants_of_16_bits_are_folded_as_numbers(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With or without ml_dtypes."""
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    x = relax.Var("x", relax.TensorStructInfo(list(IMAGE.shape), dtype))
    params = {name: relax.const(one, dtype) for name, one in WEIGHTS.items()}
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(_plain(builder, x, params))
        builder.emit_func_output(out)
    folded = FoldBatchnormToConv2D()(builder.get())
    assert not _has_norm(folded)
    halves = [one for one in nodes_of(folded["main"]) if isinstance(one, relax.Constant)]
    singles = FoldBatchnormToConv2D()(_module(_plain, is_bound=True))
    exact = [one for one in nodes_of(singles["main"]) if isinstance(one, relax.Constant)]
    assert [one.data.dtype for one in halves] == [dtype, dtype]
    for half, single in zip(halves, exact, strict=True):
        np.testing.assert_allclose(
            nd.array(half.data, dtype="float32").numpy(), single.data.numpy(), rtol=0.05, atol=0.02
        )
