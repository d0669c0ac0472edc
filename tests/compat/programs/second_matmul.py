"""Second generation: tvm.te, a blocked product with packed input, cache and vectors, timed."""

import numpy as np
import tvm
from tvm import relay, te, topi
import tvm.testing
from tvm.topi.utils import get_const_tuple

M = K = N = 64
block = 16
target = tvm.target.Target("llvm -opt-level=2")
dev = tvm.device(target.kind.name, 0)
A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
packed = te.compute((N // block, K, block), lambda b, k, j: B[k, b * block + j], name="packed")
k = te.reduce_axis((0, K), name="k")
C = te.compute(
    (M, N),
    lambda i, j: te.sum(A[i, k] * packed[j // block, k, tvm.tir.indexmod(j, block)], axis=k),
    name="C",
)
s = te.create_schedule(C.op)
cache = s.cache_write(C, "global")
io, jo, ii, ji = s[C].tile(C.op.axis[0], C.op.axis[1], block, block)
s[cache].compute_at(s[C], jo)
ic, jc = s[cache].op.axis
(kc,) = s[cache].op.reduce_axis
ko, ki = s[cache].split(kc, factor=4)
s[cache].reorder(ko, ic, ki, jc)
s[cache].vectorize(jc)
s[cache].unroll(ki)
s[C].parallel(io)
b, _, jp = s[packed].op.axis
s[packed].vectorize(jp)
s[packed].parallel(b)
assert s[cache].op.name == "C.global"
print(tvm.lower(s, [A, B, C], simple_mode=True))
with target, tvm.transform.PassContext(opt_level=3, config={"tir.disable_vectorize": False}):
    assert tvm.target.Target.current().kind.name == "llvm"
    func = tvm.build(s, [A, B, C], name="product")
with relay.build_config(opt_level=2):
    assert func.entry_name
a, b = (
    tvm.nd.array(np.random.rand(*get_const_tuple(t.shape)).astype(t.dtype), dev) for t in (A, B)
)
c = tvm.nd.array(np.zeros((M, N), dtype="float32"), dev)
func(a, b, c)
tvm.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-4)
evaluator = func.time_evaluator(func.entry_name, dev, number=2, repeat=2)
assert len(evaluator(a, b, c).results) == 2
with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
    assert "Broadcast" not in str(tvm.lower(s, [A, B, C]))
assert topi.utils is not None
