"""First generation: recurrences, with one state and with two."""

import numpy as np
import tvm

steps, width = tvm.var("steps"), tvm.var("width")
X = tvm.placeholder((steps, width), name="X")
state = tvm.placeholder((steps, width))
start = tvm.compute((1, width), lambda _, i: X[0, i])
update = tvm.compute((steps, width), lambda t, i: state[t - 1, i] + X[t, i])
running = tvm.scan(start, update, state, inputs=[X], name="running")
s = tvm.create_schedule(running.op)
f = tvm.build(s, [X, running], "llvm", name="running")
x = np.random.normal(size=(7, 5)).astype("float32")
out = tvm.nd.array(np.zeros((7, 5), "float32"))
f(tvm.nd.array(x), out)
np.testing.assert_allclose(out.asnumpy(), np.cumsum(x, axis=0), rtol=1e-5, atol=1e-6)

m, n, l = 6, 4, 3
A = tvm.placeholder((m, n), name="A")
B = tvm.placeholder((m, l), name="B")
s1, s2 = tvm.placeholder((m, n)), tvm.placeholder((m, l))
i1, i2 = (tvm.compute((1, t.shape[1]), lambda _, i, t=t: t[0, i]) for t in (A, B))
u1 = tvm.compute((m, n), lambda t, i: s1[t - 1, i] + A[t, i])
u2 = tvm.compute((m, l), lambda t, i: s2[t - 1, i] * s1[t - 1, 0])
r1, r2 = tvm.scan([i1, i2], [u1, u2], [s1, s2], inputs=[A, B], name="two")
s = tvm.create_schedule(r1.op)
f = tvm.build(s, [A, B, r1, r2], "llvm")
a, b = (np.random.normal(size=(m, c)).astype("float32") for c in (n, l))
p, q = tvm.nd.array(np.zeros((m, n), "float32")), tvm.nd.array(np.zeros((m, l), "float32"))
f(tvm.nd.array(a), tvm.nd.array(b), p, q)
first = np.cumsum(a, axis=0)
second = [b[0]]
for t in range(1, m):
    second.append(second[-1] * first[t - 1, 0])
np.testing.assert_allclose(p.asnumpy(), first, rtol=1e-5, atol=1e-6)
np.testing.assert_allclose(q.asnumpy(), np.array(second), rtol=1e-4, atol=1e-6)
