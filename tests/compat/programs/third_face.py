"""Third generation without an alias: `import te_sched as tvm`."""

import numpy as np
import te_sched as tvm
from te_sched import te

A = te.placeholder((10, 10), name="A")
B = te.compute((10, 10), lambda i, j: tvm.tir.Select(i <= j, te.exp(A[i, j]), tvm.tir.const(0.0)))
s = te.create_schedule(B.op)
with tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 100}}):
    assert "for" not in str(tvm.lower(s, [A, B])).partition("func_attr")[2]
with tvm.target.Target("llvm"):
    f = tvm.build(s, [A, B])
a = np.random.rand(10, 10).astype("float32")
b = tvm.nd.array(np.zeros((10, 10), "float32"), tvm.cpu(0))
f(tvm.nd.array(a), b)
tvm.testing.assert_allclose(b.numpy(), np.triu(np.exp(a)), rtol=1e-5)
assert not tvm.cuda(0).exist
assert tvm.contrib.utils.tempdir().listdir() == []
assert issubclass(tvm.error.TVMError, Exception)
assert tvm.arith.Analyzer().can_prove(tvm.tir.const(1) < 2)
