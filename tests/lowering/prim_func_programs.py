"""Programs of tensor expressions, as parameters of create_prim_func.

They take the library as an argument, so that the same programs run under TVM, which printed the
texts in tests/golden/tensorir/prim_func.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[[Any], list[Any]]] = {}
OVERRIDES = {
    "int64_indices": "int64",
    "int64_of_data": "int64",
    "wide_argmax": "int64",
    "resized": "int64",
}


def program(make: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    PROGRAMS[make.__name__] = make
    return make


def inputs(tvm: Any) -> tuple[Any, Any]:
    te = tvm.te
    return te.placeholder((8, 16), name="A"), te.placeholder((16, 4), name="B")


@program
def matmul_and_add(tvm: Any) -> list[Any]:
    te, (A, B) = tvm.te, inputs(tvm)
    k = te.reduce_axis((0, 16), "k")
    C = te.compute((8, 4), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((8, 4), lambda i, j: C[i, j] + 1.0, name="D")
    return [A, B, D]


@program
def int64_indices(tvm: Any) -> list[Any]:
    return matmul_and_add(tvm)


@program
def all_are_parameters(tvm: Any) -> list[Any]:
    te, (A, B) = tvm.te, inputs(tvm)
    k = te.reduce_axis((0, 16), "k")
    C = te.compute((8, 4), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C, te.compute((8, 4), lambda i, j: C[i, j] + 1.0, name="D")]


@program
def argmax(tvm: Any) -> list[Any]:
    te, tir, (A, _) = tvm.te, tvm.tir, inputs(tvm)
    chosen = te.comm_reducer(
        lambda x, y: (
            tir.Select(x[1] >= y[1], x[0], y[0]),
            tir.Select(x[1] >= y[1], x[1], y[1]),
        ),
        lambda a, b: (tir.const(-1, a), te.min_value(b)),
        name="argmax",
    )
    ids = te.placeholder((8, 16), "int32", name="ids")
    k = te.reduce_axis((0, 16), "k")
    first, best = te.compute((8,), lambda i: chosen((ids[i, k], A[i, k]), axis=k), name="best")
    return [ids, A, first, best]


@program
def equal_names(tvm: Any) -> list[Any]:
    te = tvm.te
    n = te.var("n")
    X = te.placeholder((n, 4), name="X")
    return [X, te.compute((n, 4), lambda i, j: X[i, j] * 2.0, name="X")]


@program
def padding(tvm: Any) -> list[Any]:
    A, _ = inputs(tvm)
    return [A, tvm.topi.nn.pad(A, [1, 1], [1, 1])]


@program
def softmax(tvm: Any) -> list[Any]:
    A, _ = inputs(tvm)
    return [A, tvm.topi.nn.softmax(A)]


@program
def rank_zero(tvm: Any) -> list[Any]:
    te = tvm.te
    R = te.placeholder((), name="R")
    return [R, te.compute((), lambda: R() + 1.0, name="S")]


@program
def sum_to_rank_zero(tvm: Any) -> list[Any]:
    te, (A, _) = tvm.te, inputs(tvm)
    k = te.reduce_axis((0, 16), "k")
    return [A, te.compute((), lambda: te.sum(A[0, k], axis=k), name="S")]


@program
def attributes(tvm: Any) -> list[Any]:
    te, (A, _) = tvm.te, inputs(tvm)
    notes = {"x": 1, "s": "text", "k": [1, 2], "layout_free_placeholders": [A]}
    return [A, te.compute((8,), lambda i: A[i, 0] * 2.0, name="F", attrs=notes)]


@program
def maximum(tvm: Any) -> list[Any]:
    te, (A, _) = tvm.te, inputs(tvm)
    k = te.reduce_axis((0, 16), "k")
    return [A, te.compute((8,), lambda i: te.max(A[i, k], axis=k), name="H")]


@program
def no_inputs(tvm: Any) -> list[Any]:
    return [tvm.te.compute((8, 4), lambda i, j: i + j, name="q")]


@program
def two_outputs(tvm: Any) -> list[Any]:
    te, (A, _) = tvm.te, inputs(tvm)
    U, V = te.compute((8,), lambda i: (A[i, 0] + 1.0, A[i, 1] * 2.0), name="UV")
    return [A, U, V]


@program
def dependent_axes(tvm: Any) -> list[Any]:
    te, (A, _) = tvm.te, inputs(tvm)
    k1 = te.reduce_axis((0, 4), "k1")
    k2 = te.reduce_axis((0, k1 + 1), "k2")
    return [A, te.compute((8,), lambda i: te.sum(A[i, k1 + k2], axis=[k1, k2]), name="H")]


@program
def equal_block_names(tvm: Any) -> list[Any]:
    te, (A, _) = tvm.te, inputs(tvm)
    G = te.compute((8, 16), lambda i, j: te.if_then_else(i < 4, A[i, j] + 1.0, 0.0), name="G")
    return [A, te.compute((8, 16), lambda i, j: G[i, j] + 1.0, name="G")]


@program
def int64_of_data(tvm: Any) -> list[Any]:
    te, (A, _) = tvm.te, inputs(tvm)
    ids = te.placeholder((8,), "int32", name="ids")
    J = te.compute((8,), lambda i: A[i, ids[i] + i] * 2.0, name="J")
    return [A, ids, J, te.compute((8,), lambda i: i + ids[i], name="K")]


@program
def variable_as_parameter(tvm: Any) -> list[Any]:
    te = tvm.te
    n = te.var("n")
    X = te.placeholder((n,), name="X")
    return [n, X, te.compute((n,), lambda i: X[i] * 2.0, name="Y")]


@program
def shape_of_an_expression(tvm: Any) -> list[Any]:
    te = tvm.te
    n = te.var("n")
    X = te.placeholder((n,), name="X")
    return [X, te.compute((n, n + 1), lambda i, j: X[i] * 2.0, name="Y")]


@program
def extern(tvm: Any) -> list[Any]:
    te, (A, _) = tvm.te, inputs(tvm)
    E = te.extern((8, 16), [A], lambda i, o: tvm.tir.call_packed("f", i[0], o[0]), name="E")
    return [A, te.compute((8, 16), lambda i, j: E[i, j] + 1.0, name="F")]


@program
def dense(tvm: Any) -> list[Any]:
    A, _ = inputs(tvm)
    W = tvm.te.placeholder((4, 16), name="W")
    return [A, W, tvm.topi.nn.relu(tvm.topi.nn.dense(A, W))]


@program
def transpose_and_sum(tvm: Any) -> list[Any]:
    A, _ = inputs(tvm)
    return [A, tvm.topi.sum(tvm.topi.transpose(A), axis=0)]


@program
def batch_matmul(tvm: Any) -> list[Any]:
    te = tvm.te
    X, Y = te.placeholder((2, 4, 8), name="X"), te.placeholder((2, 6, 8), name="Y")
    return [X, Y, tvm.topi.nn.batch_matmul(X, Y)]


@program
def conv2d(tvm: Any) -> list[Any]:
    te = tvm.te
    X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((6, 4, 3, 3), name="W")
    return [X, W, tvm.topi.nn.conv2d_nchw(X, W, 1, 1, 1)]


@program
def free_layouts(tvm: Any) -> list[Any]:
    te, (A, B) = tvm.te, inputs(tvm)
    k = te.reduce_axis((0, 16), "k")
    free = {"layout_free_placeholders": [B]}
    C = te.compute((8, 4), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C", attrs=free)
    free = {"layout_free_placeholders": [C]}
    D = te.compute((8, 4), lambda i, j: C[i, j] + 1.0, name="D", attrs=free)
    return [A, B, D]


@program
def combiner_of_axes(tvm: Any) -> list[Any]:
    te = tvm.te
    A, W = te.placeholder((5, 6), "int32", name="A"), te.placeholder((5,), "int32", name="W")
    k = te.reduce_axis((0, 6), "k")

    def element(i: Any) -> Any:
        weighted = te.comm_reducer(lambda x, y: x + W[i] * y, lambda _: te.const(0, "int32"))
        return weighted(A[i, k], axis=[k])

    return [A, W, te.compute((5,), element, name="C")]


@program
def adaptive_average(tvm: Any) -> list[Any]:
    A = tvm.te.placeholder((1, 2, 16, 40), name="A")
    return [A, tvm.topi.nn.adaptive_pool(A, [12, 30], pool_type="avg")]


@program
def wide_argmax(tvm: Any) -> list[Any]:
    A = tvm.te.placeholder((2, 6, 5), "uint8", name="A")
    return [A, tvm.topi.argmax(A, axis=1)]


@program
def resized(tvm: Any) -> list[Any]:
    A = tvm.te.placeholder((2, 3, 8, 8), name="A")
    oh, ow = tvm.te.var("oh", "int64"), tvm.te.var("ow", "int64")
    options = {"coordinate_transformation_mode": "asymmetric", "rounding_method": "round"}
    roi = (0.0, 0.0, 0.0, 0.0)
    return [A, tvm.topi.image.resize2d(A, roi, (oh, ow), method="nearest_neighbor", **options)]


@program
def extern_of_two(tvm: Any) -> list[Any]:
    te, tir = tvm.te, tvm.tir
    A = te.placeholder((8,), name="A")

    def call(ins: Any, outs: Any) -> Any:
        buffers = [ins[0].access_ptr("r"), outs[0].access_ptr("w"), outs[1].access_ptr("w")]
        return tir.call_extern("int32", "f", *buffers)

    found = te.extern([(8,), (4,)], [A], call, name="B", dtype=["float32", "int32"])
    return [A, *found, te.compute((8,), lambda i: A[i] + 1.0, name="C.x")]
