"""Python loops as an operation, between two others, by the names of two generations."""

import numpy
import tvm
from tvm import hybrid, te
from tvm.te.hybrid import script

assert tvm.hybrid.script is te.hybrid.script is script


@hybrid.script
def running_maximum(a):
    b = output_tensor(a.shape, a.dtype)
    for i in parallel(a.shape[0]):
        best = a[i, 0]
        for j in range(a.shape[1]):
            best = max(best, a[i, j])
            b[i, j] = best
    return b


n = tvm.var("n")
A = tvm.placeholder((n, 7), name="A")
B = tvm.compute((n, 7), lambda i, j: A[i, j] * 2.0, name="B")
C = running_maximum(B)
D = tvm.compute((n, 7), lambda i, j: C[i, j] + 1.0, name="D")
s = tvm.create_schedule(D.op)
f = tvm.build(s, [A, D], "llvm")

x = numpy.random.rand(5, 7).astype("float32")
out = tvm.nd.array(numpy.zeros((5, 7), "float32"), tvm.cpu(0))
f(tvm.nd.array(x), out)
expected = numpy.maximum.accumulate(x * 2, axis=1)
tvm.testing.assert_allclose(out.asnumpy(), expected + 1, rtol=1e-5)
tvm.testing.assert_allclose(running_maximum(x * 2), expected)
assert f.time_evaluator(f.entry_name, ctx=tvm.cpu(0), number=1)(tvm.nd.array(x), out).mean > 0

source = te.hybrid.build(tvm.create_schedule(B.op), [A], [B])
numpy.testing.assert_allclose(source(x), x * 2)
assert isinstance(source, te.hybrid.HybridModule)
from tvm.te.hybrid.runtime import HYBRID_GLOBALS, bind  # noqa: E402

assert HYBRID_GLOBALS["bind"] is bind
