"""First generation: intrinsics, rules that replace them, and an intrinsic of one's own."""

import numpy as np
import tvm

n = 24
A = tvm.placeholder((n,), name="A")
unary = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "sqrt": np.sqrt, "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "abs": np.abs, "round": np.round,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
for name, reference in unary.items():
    B = tvm.compute((n,), lambda i, f=getattr(tvm, name): f(A[i]), name=name)
    f = tvm.build(tvm.create_schedule(B.op), [A, B], "llvm")
    a = np.random.uniform(0.1, 9, n).astype("float32")
    b = tvm.nd.array(np.zeros(n, "float32"))
    f(tvm.nd.array(a), b)
    np.testing.assert_allclose(b.asnumpy(), reference(a), rtol=1e-5, err_msg=name)


def cube_root(x):
    return tvm.call_pure_intrin(x.dtype, "compat_cube_root", x)


def cube_root_rule(op):
    assert isinstance(op, tvm.expr.Call)
    assert op.name == "compat_cube_root"
    if op.dtype == "float32":
        return tvm.call_pure_extern("float32", "cbrtf", op.args[0])
    return op


tvm.register_intrin_rule("llvm", "compat_cube_root", cube_root_rule, override=True)
B = tvm.compute((n,), lambda i: cube_root(A[i]) + tvm.power(A[i], 2.0), name="B")
f = tvm.build(tvm.create_schedule(B.op), [A, B], "llvm")
f(tvm.nd.array(a), b)
np.testing.assert_allclose(b.asnumpy(), np.cbrt(a) + a**2, rtol=1e-5)
