"""Operators and small models on the emulated device, beside references and the processor."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, tir
from te_sched.ir.op import Op
from te_sched.ir.visitor import walk
from te_sched.relax import op
from te_sched.relax.frontend.recurrent import Cell, State, emit_recurrence
from te_sched.relax.operators.registry import OPERATORS
from tests.relax.operator_tables import Results, floats

EMULATED = te_sched.emulated_cuda(0)
RNG = np.random.default_rng(0)
Arrays = Mapping[str, Any]
Body = Callable[..., list[relax.Expr]]  # of a builder and the variables of the arrays


# Operators


def _tables() -> Iterator[tuple[str, Results]]:
    """The tables of all files of operators, with one case of each operator."""
    for path in sorted((Path(__file__).parent / "operators").glob("test_*.py")):
        try:
            module = importlib.import_module(f"tests.relax.operators.{path.stem}")
        except pytest.skip.Exception:  # without torch
            continue
        for value in vars(module).values():
            if isinstance(value, Results):
                yield path.stem.removeprefix("test_"), value.of_each_operator("cuda", EMULATED)


TABLES = dict(_tables())


@pytest.mark.filterwarnings("ignore:LegalizeOps computes relax.nn.batch_norm")
@pytest.mark.parametrize("name", TABLES)
def test_operators_compute_on_a_gpu_what_their_references_do(name: str) -> None:
    for case in TABLES[name]:
        TABLES[name].check(case)


def others(builder: relax.BlockBuilder, x: Any) -> list[Any]:
    """What has a rule and stands in no table: shapes and messages, and a bias of attention."""
    query = op.reshape(x, (1, 2, 1, 3))
    bias = relax.const(floats(1, 1, 2, 2))
    builder.emit(op.print(x, format="{}"))
    builder.emit(op.assert_op(op.equal(op.sum(x), op.sum(x))))
    return [
        op.add(op.shape_to_tensor(op.shape_of(x)), relax.const(1, "int64")),
        op.nn.attention(query, query, query, bias),
        op.nn.adaptive_avg_pool2d(query),  # windows of one element
        *(x.dtype.type_code, x.dtype.bits, x.dtype.lanes, op.inspect.tensor_ndim(x)),
        *(x.shape[1], x.strides[0], x.byte_offset, x.elem_offset),
    ]


def operators_of(module: te_sched.IRModule) -> set[str]:
    """The operators that the function of a module calls."""
    calls = [node for node in walk(module["main"]) if isinstance(node, relax.Call)]
    return {call.op.name for call in calls if isinstance(call.op, Op)}


def test_every_operator_with_a_rule_computes_on_a_gpu() -> None:
    pytest.importorskip("torch")  # without it, some files of operators have no table
    have_rules = {
        name
        for name, columns in OPERATORS.items()
        if columns.legalize or columns.exact or columns.packed
    }
    have_rules.remove("relax.nn.dropout")  # graphs for inference leave it out
    have = check({"x": floats(2, 3)}, others)
    have = have.union(*[operators_of(table.module()) for table in TABLES.values()])
    assert have_rules <= have


# Models


def check(arrays: Arrays, body: Body, open_sizes: Arrays | None = None) -> set[str]:
    """A function has on the emulated device the results that it has on the processor; the operators
    that it calls.
    """
    sizes = open_sizes or {}
    variables = [
        relax.Var(name, relax.TensorStructInfo(sizes.get(name, x.shape), str(x.dtype)))
        for name, x in arrays.items()
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        results = [builder.emit(result) for result in body(builder, *variables)]
        builder.emit_func_output(relax.Tuple(results))
    results = []
    for target, device in (("llvm -opt-level=0", te_sched.cpu()), ("cuda", EMULATED)):
        machine = relax.VirtualMachine(relax.build(builder.get(), target), device)
        results.append(machine["main"](*[nd.array(x, device) for x in arrays.values()]))
    for value, other in zip(*results, strict=True):
        if not isinstance(value, nd.NDArray):
            assert value == other
            continue
        assert other.device == EMULATED
        assert value.numpy().any()
        np.testing.assert_allclose(other.numpy(), value.numpy(), 1e-4, 1e-5)
    return operators_of(builder.get())


def test_rows_of_an_open_length() -> None:
    def body(builder: relax.BlockBuilder, x: Any) -> Any:
        return [op.nn.softmax(x), op.mean(x, 1), op.permute_dims(x)]

    check({"x": floats(3, 40)}, body, {"x": (3, tir.Var("n", "int64"))})


def test_a_transformer() -> None:
    length, width, heads = 5, 16, 2

    def body(builder: relax.BlockBuilder, x: Any, norm: Any, qkv: Any, up: Any, down: Any) -> Any:
        normed = op.nn.rms_norm(x, norm, [-1])
        parts = op.reshape(op.matmul(normed, qkv), (1, length, 3 * heads, width // heads))
        parts = builder.emit(op.split(op.permute_dims(parts, [0, 2, 1, 3]), 3, 1))
        q, k, v = [builder.emit(relax.TupleGetItem(parts, n)) for n in range(3)]
        scores = op.nn.softmax(op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])))
        mixed = op.permute_dims(op.matmul(scores, v), [0, 2, 1, 3])
        x = builder.emit(op.add(x, op.reshape(mixed, (1, length, width))))
        return [op.add(x, op.matmul(op.nn.gelu(op.matmul(x, up)), down))]

    arrays = {
        **{"x": floats(1, length, width), "norm": floats(width), "qkv": floats(width, 3 * width)},
        **{"up": floats(width, 24), "down": floats(24, width)},
    }
    check(arrays, body)


def test_a_convolutional_network() -> None:
    def body(builder: relax.BlockBuilder, x: Any, w: Any, v: Any, matrix: Any) -> Any:
        one, zero = [relax.const(np.full(4, number, "float32")) for number in (1.5, 0.2)]
        y = op.nn.batch_norm(op.nn.conv2d(x, w, padding=1), one, zero, zero, one, 1)
        y = builder.emit(op.nn.relu(relax.TupleGetItem(builder.emit(y), 0)))
        z = op.nn.relu(op.add(y, op.nn.conv2d(y, v, padding=1, groups=2)))
        pooled = op.mean(op.nn.max_pool2d(z, (2, 2), (2, 2)), [2, 3])
        return [op.nn.log_softmax(op.matmul(pooled, matrix))]

    arrays = {"x": floats(2, 3, 6, 6), "w": floats(4, 3, 3, 3), "v": floats(4, 2, 3, 3)}
    check({**arrays, "matrix": floats(4, 5)}, body)


def test_an_lstm() -> None:
    cell = Cell(4, (tir.sigmoid, tir.tanh, tir.tanh))

    def body(builder: relax.BlockBuilder, words: Any, table: Any, w: Any, r: Any, v: Any) -> Any:
        embedded = op.reshape(op.take(table, op.reshape(words, (10,)), 0), (5, 2, 3))
        lengths = relax.const(np.array([5, 3], "int32"))
        products = builder.emit(op.matmul(embedded, w))
        states = emit_recurrence(builder, products, State(r, lengths=lengths), cell, False)
        return [*states, op.matmul(states[1], v)]

    arrays = {"words": RNG.integers(0, 7, (5, 2)), "table": floats(7, 3), "w": floats(3, 16)}
    check({**arrays, "r": floats(4, 16), "v": floats(4, 2)}, body)


def test_a_detector_whose_boxes_are_counted_by_the_call() -> None:
    def body(builder: relax.BlockBuilder, boxes: Any, features: Any, w: Any) -> Any:
        scores = builder.emit(op.sigmoid(op.permute_dims(op.matmul(features, w), [0, 2, 1])))
        limits = [relax.const(np.array(x)) for x in (np.int64(4), np.float32(0.5), np.float32(0.3))]
        name, info = "relax.run.non_max_suppression", relax.TensorStructInfo(None, "int64", ndim=2)
        is_centered = relax.const(False, "bool")
        call = op.call_pure_packed(name, boxes, scores, *limits, is_centered, sinfo_args=info)
        n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
        shape = relax.TensorStructInfo((n, 3), "int64")
        selected = builder.match_cast(builder.emit(call), shape)
        places = op.squeeze(op.strided_slice(selected, [1], [2], [3]), [1])
        chosen = op.take(op.squeeze(boxes, [0]), builder.emit(places), 0)
        likely = builder.emit(op.nonzero(op.greater(scores, relax.const(np.float32(0.5)))))
        likely = builder.match_cast(likely, relax.TensorStructInfo((3, m), "int64"))
        return [op.multiply(chosen, relax.const(np.float32(2))), op.permute_dims(likely)]

    check({"boxes": floats(1, 9, 4, low=0), "features": floats(1, 9, 5), "w": floats(5, 2)}, body)


def test_a_quantized_network() -> None:
    scale, zero = relax.const(np.float32(0.02)), relax.const(np.int8(3))
    weight = RNG.integers(-90, 90, (12, 8)).astype("int8")
    scales = relax.const(floats(8, low=0.01, high=0.05))
    zeros = relax.const(np.zeros(8, "int8"))

    def body(builder: relax.BlockBuilder, x: Any) -> Any:
        small = builder.emit(op.quantize(x, scale, zero))
        sums = op.matmul(small, relax.const(weight), "int32")
        y = op.multiply(op.astype(sums, "float32"), relax.const(np.float32(1e-3)))
        rounded = op.dequantize(relax.const(weight), scales, zeros, 1)
        halves = op.matmul(op.astype(x, "float16"), op.astype(rounded, "float16"))
        return [sums, op.nn.relu(y), op.quantize(y, scale, zero), halves]

    check({"x": floats(3, 12)}, body)
