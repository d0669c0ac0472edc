"""Schedules: those for CPUs run and compute the same, those for GPUs lower and bind their loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import te_sched as tvm
from te_sched import te, topi
from te_sched.analysis.schedules.legality import check_legality
from te_sched.errors import ScheduleError
from te_sched.ir.stmt import Allocate, AttrStmt, BufferStore, For, Stmt
from te_sched.ir.visitor import children, walk
from te_sched.topi import nn
from tests.topi.running import Case, case, check, compute, declared, floats

IMAGE, KERNEL, A = floats(2, 4, 8, 16), floats(8, 4, 3, 3), floats(12, 32)
WEIGHTS = floats(20, 32)


def conv_relu(x: Any, k: Any) -> Any:
    return nn.relu(nn.conv2d_nchw(x, k, 1, 1, 1))


def layer(x: Any, w: Any, b: Any) -> Any:
    return topi.tanh(nn.dense(topi.exp(x), w, b))


def plain(name: str, declare: Any, *arrays: Any) -> Case:
    """A case compared with its own plain loops, which other tests compare with numpy."""
    reference = case(name, declare, None, *arrays)
    return case(name, declare, lambda *_: compute(reference), *arrays)


# The case, and the name of the schedule for it.
CASES = [
    (plain("injective", lambda x: nn.relu(topi.exp(x)), A), "injective"),
    (plain("vector", topi.exp, floats(7)), "elemwise"),
    (plain("broadcast", topi.add, A, floats(32)), "broadcast"),
    (plain("concatenate", lambda x, y: topi.concatenate([x, y], 1), A, floats(12, 7)), "injective"),
    (plain("transpose", topi.transpose, A), "injective"),
    (plain("split", lambda x: topi.split(x, 2, 1), A), "injective"),
    (plain("no_dimensions", lambda x: topi.exp(topi.sum(x)), A), "reduce"),
    (plain("sum_rows", lambda x: topi.sum(x, 1), A), "reduce"),
    (plain("sum_columns", lambda x: topi.exp(topi.sum(topi.exp(x), 0)), A), "reduce"),
    (plain("sum_all", topi.sum, floats(64, 32)), "reduce"),
    (plain("sum_keepdims", lambda x: topi.sum(x, 1, True), IMAGE), "reduce"),
    (plain("mean_subtracted", lambda x: x - topi.sum(x, 1, True) / 32, A), "reduce"),
    (plain("argmax", lambda x: topi.argmax(x, 1), A), "reduce"),
    (plain("argmin_columns", lambda x: topi.argmin(x, 0), A), "reduce"),
    (plain("softmax", nn.softmax, A), "softmax"),
    (plain("softmax_columns", lambda x: nn.softmax(x, 0), A), "softmax"),
    (plain("softmax_channels", lambda x: nn.softmax(x, 1), IMAGE), "softmax"),
    (plain("softmax_vector", nn.softmax, floats(33)), "softmax"),
    (plain("log_softmax", lambda x: nn.relu(nn.log_softmax(x)), A), "softmax"),
    (plain("dense", nn.dense, A, WEIGHTS), "dense"),
    (plain("dense_layer", layer, A, WEIGHTS, floats(20)), "dense"),
    (plain("dense_of_primes", nn.dense, floats(7, 5), floats(13, 5)), "dense"),
    (plain("matmul", topi.matmul, A, floats(32, 17)), "matmul"),
    (plain("batch_matmul", nn.batch_matmul, floats(2, 8, 6), floats(2, 10, 6)), "batch_matmul"),
    (
        plain("conv1d", lambda x, k: nn.conv1d_ncw(x, k, 1, 1), floats(1, 3, 16), floats(5, 3, 3)),
        "conv1d_ncw",
    ),
    (plain("conv2d", lambda x, k: nn.conv2d_nchw(x, k, 2, 1, 1), IMAGE, KERNEL), "conv2d_nchw"),
    (
        plain("conv2d_valid", lambda x, k: nn.conv2d_nchw(x, k, 1, 0, 1), IMAGE, KERNEL),
        "conv2d_nchw",
    ),
    (plain("conv2d_relu", conv_relu, IMAGE, KERNEL), "conv2d_nchw"),
    (
        plain(
            "conv2d_nhwc",
            lambda x, k: nn.conv2d_nhwc(x, k, 1, "SAME", 1),
            floats(1, 8, 8, 4),
            floats(3, 3, 4, 16),
        ),
        "conv2d_nhwc",
    ),
    (
        plain(
            "conv2d_groups",
            lambda x, k: nn.group_conv2d_nchw(x, k, 1, 1, 1, 2),
            IMAGE,
            floats(6, 2, 3, 3),
        ),
        "group_conv2d_nchw",
    ),
    (
        plain(
            "depthwise",
            lambda x, k: nn.depthwise_conv2d_nchw(x, k, 1, 1),
            IMAGE,
            floats(4, 2, 3, 3),
        ),
        "depthwise_conv2d_nchw",
    ),
    (
        plain(
            "transposed",
            lambda x, k: nn.conv2d_transpose_nchw(x, k, (2, 2), (1, 1), "float32", (0, 0)),
            floats(1, 4, 4, 4),
            floats(4, 3, 3, 3),
        ),
        "conv2d_transpose_nchw",
    ),
    (plain("pool_max", lambda x: nn.pool2d(x, 3, 2, 1, (1, 1, 1, 1), "max"), IMAGE), "pool"),
    (plain("pool_avg", lambda x: nn.pool2d(x, 3, 2, 1, (1, 1, 1, 1), "avg"), IMAGE), "pool"),
    (plain("global_pool", lambda x: nn.global_pool(x, "avg"), IMAGE), "adaptive_pool"),
    (plain("adaptive_pool", lambda x: nn.adaptive_pool(x, (3, 5), "avg"), IMAGE), "adaptive_pool"),
    (
        plain("layer_norm", lambda x, g, b: nn.layer_norm(x, g, b, 1), A, floats(32), floats(32)),
        "injective",
    ),
    (plain("lrn", lambda x: nn.lrn(x, 3), IMAGE), "lrn"),
    (
        plain(
            "network",
            lambda x, k, w: nn.softmax(
                nn.dense(nn.flatten(nn.global_pool(conv_relu(x, k), "max")), w)
            ),
            IMAGE,
            KERNEL,
            floats(10, 8),
        ),
        "softmax",
    ),
]
ALL = pytest.mark.parametrize(("one", "name"), CASES, ids=lambda value: str(value))


@ALL
def test_x86_schedule_computes_the_same(one: Case, name: str) -> None:
    check(one, getattr(topi.x86, f"schedule_{name}"))


@ALL
def test_generic_schedule_computes_the_same(one: Case, name: str) -> None:
    if hasattr(topi.generic, f"schedule_{name}"):
        check(one, getattr(topi.generic, f"schedule_{name}"))


def lowered(one: Case, target: Any, name: str) -> Any:
    """The lowered program of a legal schedule."""
    inputs, outputs = declared(one)
    s = getattr(target, f"schedule_{name}")(outputs)
    check_legality(s)
    return tvm.lower(s, [*inputs, *outputs])["main"].body


def is_thread(node: Any) -> bool:
    return isinstance(node, AttrStmt) and node.key == "thread_extent"


def outside(node: Any) -> Iterator[Any]:
    """The statements down to the outermost bindings of threads, which are the kernels."""
    yield node
    if not is_thread(node):
        for child in children(node):
            if isinstance(child, Stmt):
                yield from outside(child)


@ALL
def test_cuda_schedule_computes_in_kernels_only(one: Case, name: str) -> None:
    body = lowered(one, topi.cuda, name)
    assert any(map(is_thread, outside(body)))
    assert not any(isinstance(node, For | BufferStore) for node in outside(body)), body


@ALL
def test_cuda_kernels_fit_a_block(one: Case, name: str) -> None:
    for kernel in filter(is_thread, outside(lowered(one, topi.cuda, name))):
        threads: dict[str, int] = {}
        for node in filter(is_thread, walk(kernel)):
            extent = node.value.value
            assert threads.setdefault(node.node.thread_tag, extent) == extent
        assert any(tag.startswith("blockIdx") for tag in threads)
        assert np.prod([n for tag, n in threads.items() if tag.startswith("thread")]) <= 1024


def test_cuda_contraction_fetches_its_inputs_into_shared_memory() -> None:
    one = plain("dense", nn.dense, A, WEIGHTS)
    body = lowered(one, topi.cuda, "dense")
    buffers = [node.buffer_var for node in walk(body) if isinstance(node, Allocate)]
    scopes = sorted(var.pointer.scope for var in buffers)
    assert scopes == ["local", "shared", "shared"]


def test_cuda_inlines_injective_producers() -> None:
    text = str(
        lowered(plain("chain", lambda x: nn.relu(topi.exp(x) + 1), A), topi.cuda, "injective")
    )
    assert "T.allocate" not in text
    assert "T.exp" in text


def test_x86_injective_is_parallel_and_vectorized() -> None:
    text = str(lowered(plain("exp", topi.exp, A), topi.x86, "injective"))
    assert "T.parallel(12)" in text
    assert "16" in text.split("T.parallel(12)")[1]


def test_outputs_that_others_read_are_kept() -> None:
    x = te.placeholder((12, 32), name="x")
    first = topi.exp(x)
    second = topi.nn.relu(first)
    s = topi.x86.schedule_injective([first, second])
    function = tvm.build(s, [x, first, second])
    arrays = [tvm.nd.array(array.copy()) for array in (A, A, A)]
    function(*arrays)
    np.testing.assert_allclose(arrays[1].numpy(), np.exp(A), rtol=1e-5)


def test_extern_reads_what_is_not_inlined() -> None:
    x = te.placeholder((12, 32), name="x")
    y = topi.exp(x)

    def body(ins: Any, outs: Any) -> Any:
        ib = tvm.tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 12 * 32) as i:
            target[i] = source[i] * 2.0
        return ib.get()

    z = te.extern((12, 32), [y], body, dtype="float32")
    for target in (topi.generic, topi.x86):
        function = tvm.build(target.schedule_extern(z), [x, z])
        out = tvm.nd.array(np.zeros((12, 32), "float32"))
        function(tvm.nd.array(A), out)
        np.testing.assert_allclose(out.numpy(), np.exp(A) * 2, rtol=1e-5)


@pytest.mark.parametrize("target", [topi.generic, topi.x86, topi.cuda])
def test_symbolic_shapes_can_be_scheduled(target: Any) -> None:
    n, m = te.var("n"), te.var("m")
    x, w = te.placeholder((n, m), name="x"), te.placeholder((20, m), name="w")
    for out, inputs in (
        (nn.dense(x, w), [x, w]),
        (topi.sum(topi.exp(x), 1), [x]),
        (nn.softmax(x), [x]),
    ):
        s = target.schedule_dense(out)
        check_legality(s)
        assert tvm.lower(s, [*inputs, out])


def test_schedule_rejects_what_is_no_output() -> None:
    with pytest.raises(ScheduleError, match="a str is not an output"):
        topi.generic.schedule_injective("relu")


@pytest.mark.parametrize("target", [topi.x86, topi.cuda])
def test_modules_of_targets_have_the_operators(target: Any) -> None:
    X, W = te.placeholder((1, 3, 8, 8)), te.placeholder((4, 3, 5, 5))
    out = nn.relu(target.conv2d_nchw(X, W, 1, 2, 1))
    assert tuple(map(int, out.shape)) == (1, 4, 8, 8)
    assert len(target.schedule_conv2d_nchw([out])[out].leaf_iter_vars) >= 4
