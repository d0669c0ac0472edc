"""Second generation: tir.For with the kinds of loops as its attributes, and with device_api."""

import numpy as np
import tvm
from tvm import te, tir

A = te.placeholder((32,), name="A")
B = te.compute((32,), lambda i: A[i] * 2.0, name="B")


@tir.transform.prim_func_pass(opt_level=0)
def vectorize(f, mod, ctx):
    def changed(loop):
        outer, inner = te.var("outer"), te.var("inner")
        body = tir.stmt_functor.substitute(loop.body, {loop.loop_var: outer * 8 + inner})
        body = tir.For(inner, 0, 8, tir.For.Vectorized, 0, body)
        return tir.For(outer, 0, loop.extent // 8, tir.For.Serial, 0, body)

    loops = []
    tir.stmt_functor.post_order_visit(
        f.body, lambda one: loops.append(one) if isinstance(one, tir.For) else None
    )
    assert len(loops) == 1
    return f.with_body(tir.stmt_functor.ir_transform(f.body, None, changed, ["tir.For"]))


with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, vectorize)]}):
    lowered = tvm.lower(te.create_schedule(B.op), [A, B])
    assert "T.Broadcast(T.float32(2), 8)" in str(lowered), lowered
f = tvm.build(lowered, target="llvm")
a, b = tvm.nd.array(np.arange(32, dtype="float32")), tvm.nd.empty((32,))
f(a, b)
np.testing.assert_array_equal(b.asnumpy(), 2 * a.asnumpy())
