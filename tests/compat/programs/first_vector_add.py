"""First generation: names of tvm itself, contexts, asnumpy, an object file linked and loaded."""

from __future__ import absolute_import, print_function

import numpy as np
import tvm
from tvm.contrib import cc, util

target = "llvm"
n = tvm.var("n")
X = tvm.placeholder((n,), name="X")
Y = tvm.placeholder((n,), name="Y")
Z = tvm.compute(X.shape, lambda i: X[i] + Y[i] * tvm.const(2.0, "float32"), name="Z")
print(type(Z), isinstance(Z, tvm.tensor.Tensor))

gpu_schedule = tvm.create_schedule(Z.op)
block, thread = gpu_schedule[Z].split(Z.op.axis[0], factor=64)
gpu_schedule[Z].bind(block, tvm.thread_axis("blockIdx.x"))
gpu_schedule[Z].bind(thread, tvm.thread_axis("threadIdx.x"))
text = str(tvm.lower(gpu_schedule, [X, Y, Z], simple_mode=True))
assert "threadIdx.x" in text
if tvm.module.enabled("cuda") and tvm.gpu(0).exist:
    print(tvm.build(gpu_schedule, [X, Y, Z], "cuda").imported_modules[0].get_source())

s = tvm.create_schedule(Z.op)
outer, inner = s[Z].split(Z.op.axis[0], nparts=4)
s[Z].parallel(outer)
axpy = tvm.build(s, [X, Y, Z], target, target_host="llvm", name="axpy")

ctx = tvm.context(target, 0)
count = 1003
x = tvm.nd.array(np.random.uniform(size=count).astype(X.dtype), ctx)
y = tvm.nd.array(np.random.uniform(size=count).astype(Y.dtype), ctx)
z = tvm.nd.array(np.zeros(count, dtype=Z.dtype), ctx=ctx)
axpy(x, y, z)
np.testing.assert_allclose(z.asnumpy(), x.asnumpy() + 2 * y.asnumpy(), rtol=1e-5)

folder = util.tempdir()
axpy.save(folder.relpath("axpy.o"))
cc.create_shared(folder.relpath("axpy.so"), [folder.relpath("axpy.o")])
assert sorted(folder.listdir()) == ["axpy.o", "axpy.so"]
again = tvm.module.load(folder.relpath("axpy.so"))
w = tvm.nd.empty((count,), "float32", ctx)
again(x, y, w)
np.testing.assert_array_equal(w.asnumpy(), z.asnumpy())
timer = axpy.time_evaluator(axpy.entry_name, ctx, number=3)
assert timer(x, y, z).mean > 0
assert "define" in axpy.get_source()
