"""First generation: a tensor intrinsic with reset and update, its function as LLVM IR."""

import numpy as np
import tvm

DOT = """
define i32 @compat_dot(ptr %out, ptr %a, ptr %b, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %pa = getelementptr float, ptr %a, i32 %i
  %pb = getelementptr float, ptr %b, i32 %i
  %x = load float, ptr %pa
  %y = load float, ptr %pb
  %m = fmul float %x, %y
  %old = load float, ptr %out
  %sum = fadd float %old, %m
  store float %sum, ptr %out
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
define i32 @compat_dot_reset(ptr %out) {
  store float 0.0, ptr %out
  ret i32 0
}
"""
N, M, L = 8, 6, 32


def dot_intrinsic(length):
    a = tvm.placeholder((length,), name="a")
    b = tvm.placeholder((length,), name="b")
    k = tvm.reduce_axis((0, length), name="k")
    c = tvm.compute((1,), lambda _: tvm.sum(a[k] * b[k], axis=k), name="c")
    buffers = {
        t: tvm.decl_buffer(t.shape, t.dtype, name=t.op.name, offset_factor=1, strides=[1])
        for t in (a, b, c)
    }

    def emit(ins, outs):
        def update():
            ib = tvm.ir_builder.create()
            pointers = [outs[0].access_ptr("rw"), *(one.access_ptr("r") for one in ins)]
            ib.emit(tvm.call_extern("int32", "compat_dot", *pointers, length))
            return ib.get()

        def reset():
            ib = tvm.ir_builder.create()
            ib.emit(tvm.call_extern("int32", "compat_dot_reset", outs[0].access_ptr("w")))
            return ib.get()

        return None, reset(), update()

    return tvm.decl_tensor_intrin(c.op, emit, binds=buffers)


A = tvm.placeholder((N, L), name="A")
B = tvm.placeholder((M, L), name="B")
k = tvm.reduce_axis((0, L), name="k")
C = tvm.compute((N, M), lambda i, j: tvm.sum(A[i, k] * B[j, k], axis=k), name="C")
s = tvm.create_schedule(C.op)
i, j = C.op.axis
jo, ji = s[C].split(j, factor=1)
ko, ki = s[C].split(C.op.reduce_axis[0], factor=8)
s[C].reorder(i, jo, ko, ji, ki)
s[C].tensorize(ji, dot_intrinsic(8))
s[C].pragma(i, "import_llvm", DOT)
f = tvm.build(s, [A, B, C], target="llvm", name="product")
a, b = (np.random.uniform(size=shape).astype("float32") for shape in ((N, L), (M, L)))
c = tvm.nd.array(np.zeros((N, M), "float32"))
f(tvm.nd.array(a), tvm.nd.array(b), c)
np.testing.assert_allclose(c.asnumpy(), a @ b.T, rtol=1e-4)
