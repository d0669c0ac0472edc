"""A matrix product in a few steps: the program of the pictures in this folder."""

from te_sched import te

N = 512
A = te.placeholder((N, N), name="A")
B = te.placeholder((N, N), name="B")
k = te.reduce_axis((0, N), name="k")
C = te.compute((N, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
CL = s.cache_write(C, "local")
io, jo, ii, ji = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 64)
s[CL].compute_at(s[C], jo)
i, j = s[CL].op.axis
ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=4)
s[CL].reorder(ko, i, ki, j)
s[CL].vectorize(j)
s[CL].unroll(ki)
s[C].vectorize(ji)
s[C].parallel(io)
