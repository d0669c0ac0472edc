"""Second generation: a GPU schedule that prints anywhere and runs where there is a GPU."""

import numpy as np
import tvm
import tvm.testing
from tvm import te

n = 256
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: te.if_then_else(te.all(i > 0, j > 0), A[i, j], 0.0), name="B")
s = te.create_schedule(B.op)
shared = s.cache_read(A, "shared", [B])
bx, by, tx, ty = s[B].tile(*B.op.axis, 16, 16)
s[B].bind(bx, te.thread_axis("blockIdx.x"))
s[B].bind(by, te.thread_axis("blockIdx.y"))
s[B].bind(tx, te.thread_axis((0, 16), "threadIdx.x"))
s[B].bind(ty, te.thread_axis((0, 16), "threadIdx.y"))
s[shared].compute_at(s[B], by)
text = tvm.lower(s, [A, B], simple_mode=True).script()
assert 'scope="shared"' in text or '"shared"' in text
for target in ("cuda", "opencl"):
    dev = tvm.device(target, 0)
    if not dev.exist or not tvm.testing.device_enabled(target):
        print("skipped", target, dev)
        continue
    f = tvm.build(s, [A, B], target)
    print(f.imported_modules[0].get_source())
    a = np.random.rand(n, n).astype("float32")
    b = tvm.nd.empty((n, n), "float32", dev)
    f(tvm.nd.array(a, dev), b)
    a[0] = a[:, 0] = 0
    tvm.testing.assert_allclose(b.numpy(), a)
assert [name for name, _ in tvm.testing.enabled_targets()][0] == "llvm"
assert tvm.cuda(0).max_threads_per_block is None or tvm.cuda(0).exist
