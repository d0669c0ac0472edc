"""GroupQueryAttention beside onnxruntime: prompts, steps with caches, and models as exported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.beside_onnxruntime import (
    DOMAIN,
    check,
    helper,
    model_of,
    numpy_helper,
    onnx,
)

RNG = np.random.default_rng(0)
HEADS, GROUPS, DEPTH = 4, 2, 16
OUTPUTS = ["y", "present_key", "present_value"]
TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}


def real(*shape: int) -> Any:
    """Normally distributed numbers."""
    return RNG.normal(size=shape).astype("float32")


def attention(inputs: list[str], outputs: list[str] = OUTPUTS, **attrs: Any) -> Any:
    """A node of GroupQueryAttention."""
    counts = {"num_heads": HEADS, "kv_num_heads": GROUPS}
    return helper.make_node(
        "GroupQueryAttention", inputs, outputs, domain=DOMAIN, **counts, **attrs
    )


def inputs_of(last: list[int], length: int, total: int, past: int, is_packed: bool = False) -> Any:
    """The inputs of a node for batches whose last keys are at these places."""
    batch = len(last)
    widths = [HEADS * DEPTH, GROUPS * DEPTH, GROUPS * DEPTH]
    widths = [sum(widths)] if is_packed else widths
    inputs = {name: real(batch, length, width) for name, width in zip("qkv", widths, strict=False)}
    inputs |= {name: real(batch, GROUPS, past, DEPTH) for name in ("pk", "pv")}
    return {**inputs, "last": np.int32(last), "total": np.asarray(total, "int32")}


def names_of(inputs: Any, more: tuple[str, ...] = ()) -> list[str]:
    """The inputs of a node; those that are packed are left out."""
    names = ["q", "k", "v", "pk", "pv", "last", "total", *more]
    return [name if name in (*inputs, *more) else "" for name in names]


# Places of the last keys of batches, new rows, the greatest number of keys, rows of the past.
CALLS = {
    "prompt": ([4, 4], 5, 5, 0),
    "prompt with a buffer": ([4], 5, 5, 9),
    "step": ([5, 5], 1, 6, 5),
    "step of several lengths": ([3, 5], 1, 6, 5),
    "step with a buffer": ([5, 2], 1, 6, 9),
    "several rows after the past": ([7], 3, 8, 5),
}
OPTIONS = {
    "plain": {},
    "window": {"local_window_size": 3},
    "softcap": {"softcap": 0.5, "scale": 1.5},
    "smooth": {"smooth_softmax": 1},
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("option", OPTIONS)
def test_attention_beside_onnxruntime(call: str, option: str) -> None:
    inputs = inputs_of(*CALLS[call])
    totals = {"total": inputs.pop("total")}
    node = attention(names_of({**inputs, **totals}), **OPTIONS[option])
    check(model_of([node], inputs, totals, OUTPUTS), inputs, **TOLERANCE)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(
    "call", ["prompt", "step of several lengths", "several rows after the past"]
)
def test_rotation_inside_of_packed_operands(call: str, interleaved: int) -> None:
    inputs = inputs_of(*CALLS[call], is_packed=True)
    tables = {"cos": real(16, DEPTH // 2), "sin": real(16, DEPTH // 2)}
    names = names_of(inputs, ("cos", "sin"))
    node = attention(names, do_rotary=1, rotary_interleaved=interleaved)
    check(model_of([node], inputs, tables, OUTPUTS), inputs, **TOLERANCE)


@pytest.mark.parametrize("call", ["prompt", "step"])
def test_positions_bias_and_sinks_are_given(call: str) -> None:
    last, length, total, past = CALLS[call]
    inputs = inputs_of(last, length, total, past)
    more = {
        "cos": real(16, DEPTH // 2),
        "sin": real(16, DEPTH // 2),
        "places": np.arange(3, 3 + length) + np.zeros((len(last), 1), "int64"),
        "bias": real(1, HEADS, length, total),
        "sinks": real(HEADS),
    }
    node = attention(names_of(inputs, tuple(more)), do_rotary=1, softcap=2.0)
    check(model_of([node], inputs, more, OUTPUTS), inputs, **TOLERANCE)


def exported_model() -> Any:
    """Attention as exporters write it: lengths are those of a mask, all sizes are open."""
    sizes = {
        "q": ["batch", "length", (HEADS + 2 * GROUPS) * DEPTH],
        "pk": ["batch", GROUPS, "past", DEPTH],
        "pv": ["batch", GROUPS, "past", DEPTH],
        "mask": ["batch", "whole"],
    }
    kinds = {"mask": onnx.TensorProto.INT64}
    constants = {"one": np.int64([1]), "axis": np.int64([1]), "place": np.asarray(1, "int64")}
    constants |= {"cos": real(16, DEPTH // 2), "sin": real(16, DEPTH // 2)}
    nodes = [
        helper.make_node("ReduceSum", ["mask", "axis"], ["sum"], keepdims=0),
        helper.make_node("Sub", ["sum", "one"], ["less"]),
        helper.make_node("Cast", ["less"], ["last"], to=onnx.TensorProto.INT32),
        helper.make_node("Shape", ["mask"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "place"], ["size"], axis=0),
        helper.make_node("Cast", ["size"], ["total"], to=onnx.TensorProto.INT32),
        attention(["q", "", "", "pk", "pv", "last", "total", "cos", "sin"], do_rotary=1),
    ]
    inputs = [
        helper.make_tensor_value_info(name, kinds.get(name, 1), shape)
        for name, shape in sizes.items()
    ]
    outputs = [helper.make_tensor_value_info(name, 1, None) for name in OUTPUTS]
    initial = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "model", inputs, outputs, initial)
    versions = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def test_steps_of_an_exported_model() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = exported_model()
    machine = relax.VirtualMachine(
        relax.build(from_onnx(model), "llvm -opt-level=0"), te_sched.cpu()
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    keys = values = np.zeros((2, GROUPS, 0, DEPTH), "float32")
    for length in (5, 1, 1):
        mask = np.ones((2, keys.shape[2] + length), "int64")
        inputs = {"q": real(2, length, 128), "pk": keys, "pv": values, "mask": mask}
        expected = session.run(None, inputs)
        results = [part.numpy() for part in machine["main"](*map(nd.array, inputs.values()))]
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, **TOLERANCE)
        _, keys, values = results


def test_import_rejects_what_attention_does_not_have() -> None:
    inputs = inputs_of(*CALLS["step"])
    node = attention(names_of(inputs), causal=0)
    with pytest.raises(GraphError, match="an input, an output or an attribute that is not supp"):
        from_onnx(model_of([node], inputs, {}, OUTPUTS))
