"""First generation: a pass over statements, by itself and inside of lowering; build_config."""

import numpy as np
import tvm

n = tvm.const(64)
A = tvm.placeholder((n,), name="A")
B = tvm.compute((n,), lambda i: A[i] * 3.0, name="B")
s = tvm.create_schedule(B.op)
plain = tvm.lower(s, [A, B], simple_mode=True)


def by_eights(stmt):
    loops = []

    def find(op):
        if isinstance(op, tvm.stmt.For) and isinstance(op.extent, tvm.expr.IntImm):
            if op.extent.value % 8 == 0:
                loops.append(op)

    tvm.ir_pass.PostOrderVisit(stmt, find)

    def change(op):
        if op not in loops:
            return None
        outer, inner = tvm.var(op.loop_var.name + ".outer"), tvm.var(op.loop_var.name + ".inner")
        body = tvm.ir_pass.Substitute(op.body, {op.loop_var: outer * 8 + inner})
        body = tvm.make.For(inner, 0, 8, tvm.stmt.For.Vectorized, 0, body)
        return tvm.make.For(outer, 0, op.extent.value // 8, tvm.stmt.For.Serial, 0, body)

    return tvm.ir_pass.IRTransform(stmt, None, change, ["For"])


assert "T.vectorized(8)" in str(by_eights(plain)), by_eights(plain)
with tvm.build_config(add_lower_pass=[(1, by_eights)]):
    lowered = tvm.lower(s, [A, B], simple_mode=True)
    f = tvm.build(s, [A, B], "llvm")
assert ":i_outer * 8 + 8]" in str(lowered).replace("cse_var_1", "i_outer * 8"), lowered
a, b = tvm.nd.array(np.arange(64, dtype="float32")), tvm.nd.array(np.zeros(64, "float32"))
f(a, b)
np.testing.assert_array_equal(b.asnumpy(), np.arange(64) * 3.0)

short = tvm.compute((4,), lambda i: A[i] + 1.0, name="short")
s = tvm.create_schedule(short.op)
with tvm.build_config(auto_unroll_max_step=16, unroll_explicit=True, partition_const_loop=True):
    assert "short[3]" in str(tvm.lower(s, [A, short]))
assert "short[3]" not in str(tvm.lower(s, [A, short]))
assert tvm.ir_pass.Simplify(tvm.var("x") * 0 + 4).value == 4
