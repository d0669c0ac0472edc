"""Rows of products of matrices."""

from __future__ import annotations

from te_sched.ir.graph import GraphExpr, TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.matrices import determinant, lu_factors
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import row
from te_sched.relax.frontend.onnx.sizes import Value


@row("MatMul")
def _matmul(imp: OnnxImporter, a: Value, b: Value) -> GraphExpr:
    return imp.emit(R.matmul(imp.tensor(a), imp.tensor(b)))


@row("Gemm")
def _gemm(
    imp: OnnxImporter,
    a: Value,
    b: Value,
    c: Value | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    a, b = imp.tensor(a), imp.tensor(b)
    if alpha != 1.0:
        a = imp.emit(R.multiply(a, const(alpha, imp.dtype(a))))
    a = imp.emit(R.permute_dims(a, [1, 0])) if transA else a
    b = imp.emit(R.permute_dims(b, [1, 0])) if transB else b
    y = imp.emit(R.matmul(a, b))
    if c is None:
        return y
    c = imp.tensor(c)
    if beta != 1.0:
        c = imp.emit(R.multiply(c, const(beta, imp.dtype(c))))
    return imp.emit(R.add(y, c))


@row("Einsum")
def _einsum(imp: OnnxImporter, *values: Value, equation: str) -> Value:
    return imp.emit(R.einsum([imp.tensor(value) for value in values], equation))


@row("Det")
def _det(imp: OnnxImporter, x: Value) -> GraphExpr:
    call = imp.builder.emit_te(lu_factors, imp.tensor(x))
    factors, pivots = [imp.emit(TupleGetItem(call, index)) for index in range(2)]
    return imp.builder.emit_te(determinant, factors, pivots)
