"""First generation: reductions, rfactor, reducers of one's own, several results."""

import numpy as np
import tvm

rows, columns = 13, 37
A = tvm.placeholder((rows, columns), name="A")
k = tvm.reduce_axis((0, columns), "k")
total = tvm.compute((rows,), lambda i: tvm.sum(A[i, k], axis=k), name="total")
k = tvm.reduce_axis((0, columns), "k")
largest = tvm.compute((rows,), lambda i: tvm.max(A[i, k], axis=k), name="largest")
k = tvm.reduce_axis((0, columns), "k")
smallest = tvm.compute(
    (rows,), lambda i: tvm.min(tvm.select(A[i, k] > 0, A[i, k], tvm.max_value("float32")), axis=k)
)
product = tvm.comm_reducer(lambda x, y: x * y, lambda t: tvm.const(1, dtype=t), name="product")
k = tvm.reduce_axis((0, columns), "k")
multiplied = tvm.compute((rows,), lambda i: product(A[i, k], axis=k), name="multiplied")


def later(left, right):
    first = tvm.select(left[1] >= right[1], left[0], right[0])
    return first, tvm.select(left[1] >= right[1], left[1], right[1])


argmax = tvm.comm_reducer(
    later, lambda t0, t1: (tvm.const(-1, t0), tvm.min_value(t1)), name="argmax"
)
k = tvm.reduce_axis((0, columns), "k")
where, what = tvm.compute((rows,), lambda i: argmax((k.var, A[i, k]), axis=k), name="where_what")

s = tvm.create_schedule([t.op for t in (total, largest, smallest, multiplied, where)])
outer, inner = s[total].split(total.op.reduce_axis[0], factor=8)
partial = s.rfactor(total, outer)
s[partial].parallel(partial.op.axis[1])
f = tvm.build(s, [A, total, largest, smallest, multiplied, where, what], "llvm")
a = np.random.uniform(-1, 1, (rows, columns)).astype("float32")
out = [tvm.nd.array(np.zeros(rows, t.dtype)) for t in (total, largest, smallest, multiplied)]
out += [tvm.nd.array(np.zeros(rows, "int32")), tvm.nd.array(np.zeros(rows, "float32"))]
f(tvm.nd.array(a), *out)
got = [one.asnumpy() for one in out]
np.testing.assert_allclose(got[0], a.sum(1), rtol=1e-4, atol=1e-5)
np.testing.assert_array_equal(got[1], a.max(1))
np.testing.assert_array_equal(got[2], np.where(a > 0, a, np.inf).min(1))
np.testing.assert_allclose(got[3], a.prod(1), rtol=1e-3)
np.testing.assert_array_equal(got[4], a.argmax(1))
np.testing.assert_array_equal(got[5], a.max(1))
