"""Data types without their width, and handles compared as objects."""

import numpy as np
import tvm
from tvm import te, testing

testing.utils.install_request_hook(depth=3)

n = te.var("n", "int")
a = te.placeholder((n,), dtype="float", name="a")
b = te.compute((n,), lambda i: a[i].astype("int") + tvm.tir.const(1, "int"), name="b")
assert (n.dtype, a.dtype, b.dtype) == ("int32", "float32", "int32")
assert te.placeholder((n,), dtype="uint").dtype == "uint32"

s = te.create_schedule(b.op)
assert s.same_as(s)
assert s[b].same_as(s[b.op])
assert not s[b].same_as(s[a])

f = tvm.build(s, [a, b], "llvm")
x = np.array([0.5, 1.5, -2.5], "float32")
out = tvm.nd.empty((3,), "int")
f(tvm.nd.array(x), out)
np.testing.assert_array_equal(out.numpy(), x.astype("int32") + 1)
