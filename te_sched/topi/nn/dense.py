"""Matrix products: dense, matmul, batch_matmul, bias_add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.te.tensor import Tensor
from te_sched.topi import broadcast, elementwise
from te_sched.topi.utils import (
    Size,
    as_constant,
    check_rank,
    check_same,
    check_tensor,
    compute,
    is_same,
    normalized_axis,
    tensor_of,
)


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """The product of two matrices, each optionally transposed, plus an optional bias (columns,).

    The last two parameters have no effect: layouts are rewritten after the declaration.

    >>> X, W = te.placeholder((4, 8), name="X"), te.placeholder((8, 16), name="W")
    >>> topi.nn.matmul(X, W).op.body[0].source[0]
    X[i0, k] * W[k, i1]
    """
    return _product(tensor_a, tensor_b, bias, out_dtype, bool(transpose_a), bool(transpose_b))


def _product(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    out_dtype: str | None,
    transpose_a: bool,
    transpose_b: bool,
    second: str = "tensor_b",
) -> Tensor:
    """The product of two matrices, of which the second has the name `second` in errors."""
    tag = "dense" if transpose_b and not transpose_a else "matmul"
    a, b = check_rank(a, 2, "nn.matmul"), check_rank(b, 2, "nn.matmul")
    rows, inner = a.shape[int(transpose_a)], a.shape[1 - int(transpose_a)]
    columns = b.shape[1 - int(transpose_b)]
    check_same(b.shape[int(transpose_b)], inner, "nn.matmul", f"inner extent of {second}")
    dtype = a.dtype if out_dtype is None else out_dtype
    k = te.reduce_axis((0, inner), "k")

    def element(i: Any, j: Any) -> Any:
        x = a(k, i) if transpose_a else a(i, k)
        y = b(j, k) if transpose_b else b(k, j)
        return te.sum(x.astype(dtype) * y.astype(dtype), axis=k)

    name = f"T_matmul_{'NT'[int(transpose_a)]}{'NT'[int(transpose_b)]}"
    free = {"layout_free_placeholders": [b]}
    product = tensor_of((rows, columns), element, name, tag, "i", free)
    if bias is None:
        return product
    shapes = [product.shape, check_tensor(bias, "nn.matmul").shape]
    broadcast.broadcast_shape(shapes, "nn.matmul: product and bias")
    biased: Tensor = broadcast.add(product, elementwise.cast(bias, dtype))
    return biased


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """data @ weight.T + bias, of shapes (batch, in), (out, in) and (out,).

    The last two parameters have no effect: layouts are rewritten after the declaration.

    >>> X, W = te.placeholder((4, 8), name="X"), te.placeholder((16, 8), name="W")
    >>> topi.nn.dense(X, W).shape
    [4, 16]
    """
    return _product(data, weight, bias, out_dtype, False, True, "weight")


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Sequence[Size] | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """The product of each pair of matrices of two batches; a batch of extent 1 is broadcast.

    The last two parameters have no effect: layouts are rewritten after the declaration.

    >>> X, W = te.placeholder((2, 4, 8), name="X"), te.placeholder((2, 16, 8), name="W")
    >>> topi.nn.batch_matmul(X, W).shape
    [2, 4, 16]
    """
    a, b = check_rank(tensor_a, 3, "nn.batch_matmul"), check_rank(tensor_b, 3, "nn.batch_matmul")
    transpose_a, transpose_b = bool(transpose_a), bool(transpose_b)
    rows, inner = a.shape[1 + int(transpose_a)], a.shape[2 - int(transpose_a)]
    columns = b.shape[2 - int(transpose_b)]
    check_same(b.shape[1 + int(transpose_b)], inner, "nn.batch_matmul", "inner extent of tensor_b")
    (batch,) = broadcast.broadcast_shape([a.shape[:1], b.shape[:1]], "nn.batch_matmul")
    dtype = a.dtype if out_dtype is None else out_dtype
    k = te.reduce_axis((0, inner), "k")

    def of_batch(tensor: Tensor, index: Any) -> Any:
        extent = tensor.shape[0]
        return 0 if as_constant(extent) == 1 and not is_same(extent, batch) else index

    def element(n: Any, i: Any, j: Any) -> Any:
        first, second = of_batch(a, n), of_batch(b, n)
        x = a(first, k, i) if transpose_a else a(first, i, k)
        y = b(second, j, k) if transpose_b else b(second, k, j)
        return te.sum(x.astype(dtype) * y.astype(dtype), axis=k)

    shape = tuple(oshape) if oshape is not None else (batch, rows, columns)
    name = f"T_batch_matmul_{'NT'[int(transpose_a)]}{'NT'[int(transpose_b)]}"
    return compute(
        shape,
        lambda *i: element(*i),
        name,
        "batch_matmul",
        attrs={"layout_free_placeholders": [b]},
        varargs_names=["b", "i", "j"],
    )


def bias_add(data: Tensor, bias: Tensor, axis: int = 1) -> Tensor:
    """data plus a bias for each index along `axis`.

    >>> A, V = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="V")
    >>> topi.nn.bias_add(A, V).op.body[0]
    A[i0, i1] + V[i1]
    """
    source, amounts = check_tensor(data, "nn.bias_add"), check_rank(bias, 1, "nn.bias_add")
    at = normalized_axis(axis, source.ndim, "nn.bias_add")
    check_same(amounts.shape[0], source.shape[at], "nn.bias_add", "extent of bias")
    return te.compute(
        source.shape, lambda *i: source(*i) + amounts(i[at]), name="T_add", tag="broadcast"
    )
