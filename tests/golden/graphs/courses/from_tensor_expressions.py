"""A module made of tensor expressions by a builder: several results, symbolic sizes, functions that
are shared, and a PrimFunc that is added as it is.
"""

import numpy as np
import tvm
from tvm import relax, te, tir, topi


def scale(A, factor):
    return te.compute(A.shape, lambda *i: A(*i) * factor, name="scaled")


def sum_and_difference(A, B):
    total = te.compute(A.shape, lambda i, j: A[i, j] + B[i, j], name="total")
    return [total, te.compute(A.shape, lambda i, j: A[i, j] - B[i, j], name="difference")]


def row_sums(A):
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((A.shape[0],), lambda i: te.sum(A[i, k], axis=k), name="sums")


def run(module, *arrays):
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    return machine["main"](*[tvm.nd.array(one) for one in arrays])


n = tir.Var("n", "int64")
x, y = (relax.Var(name, relax.TensorStructInfo((n, 8), "float32")) for name in "xy")
bb = relax.BlockBuilder()
with bb.function("main", [x, y]):
    with bb.dataflow():
        pair = bb.emit_te(sum_and_difference, x, y)
        left = bb.emit_te(scale, pair[0], 2.0)
        right = bb.emit_te(scale, pair[1], 2.0)
        both = bb.emit_te(topi.add, left, right)
        sums = bb.emit_te(row_sums, both, primfunc_name_hint="totals")
        out = bb.emit_output((both, sums))
    bb.emit_func_output(out)
module = bb.get()
print(module.script())
print([str(one.name_hint) for one in module.get_global_vars()], pair.struct_info)
print(relax.analysis.well_formed(module))
for rows in (1, 5):
    a, b = (np.random.rand(rows, 8).astype("float32") for _ in range(2))
    product, totals = run(module, a, b)
    np.testing.assert_allclose(product.numpy(), 4 * a, rtol=1e-5)
    np.testing.assert_allclose(totals.numpy(), 4 * a.sum(1), rtol=1e-5)

# The same expression as the argument of two operators is computed once.
bb = relax.BlockBuilder()
v = relax.Var("v", relax.TensorStructInfo((2, 3), "float32"))
with bb.function("main", [v]):
    exponent = relax.op.exp(v)
    ratio = bb.emit(exponent / relax.op.sum(exponent, axis=1, keepdims=True))
    bb.emit_func_output(ratio)
print(bb.get()["main"].script())
data = np.arange(6, dtype="float32").reshape(2, 3)
want = np.exp(data) / np.exp(data).sum(1, keepdims=True)
np.testing.assert_allclose(run(bb.get(), data).numpy(), want, rtol=1e-5)

A = te.placeholder((2, 3), name="A")
flip = te.create_prim_func([A, te.compute((3, 2), lambda i, j: A[j, i], name="B")])
bb = relax.BlockBuilder()
name = bb.add_func(flip.with_attr("global_symbol", "flip"), "flip")
with bb.function("main", [v]):
    result = relax.TensorStructInfo((3, 2), "float32")
    bb.emit_func_output(bb.emit(relax.call_tir(name, [v], result)))
print(bb.get().script())
print(run(bb.get(), data))
