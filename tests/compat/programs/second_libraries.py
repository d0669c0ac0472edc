"""Second generation: libraries in all forms, the local session, buffers of intrinsics by config."""

import numpy as np
import tvm
from tvm import rpc, te
from tvm.contrib import cc, utils

n = tvm.runtime.convert(32)
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
f = tvm.build(te.create_schedule(B.op), [A, B], target="llvm", name="add_one")
folder = utils.tempdir()
f.export_library(folder.relpath("lib.tar"))
f.export_library(folder.relpath("lib.so"), fcompile=cc.create_shared, options=["-O1"])
f.save(folder.relpath("lib.ll"))
assert "define" in open(folder.relpath("lib.ll")).read()
remote = rpc.LocalSession()
for name in ("lib.tar", "lib.so"):
    remote.upload(folder.relpath(name))
    loaded = remote.load_module(name)
    dev = remote.cpu()
    a = tvm.nd.array(np.random.uniform(size=32).astype(A.dtype), dev)
    b = tvm.nd.array(np.zeros(32, dtype=A.dtype), dev)
    loaded(a, b)
    np.testing.assert_equal(b.numpy(), a.numpy() + 1)
    timer = loaded.time_evaluator(loaded.entry_name, dev, number=3)
    assert timer(a, b).mean > 0

x = te.placeholder((4,), name="x")
y = te.compute((4,), lambda i: x[i] * 2.0, name="y")


def twice(ins, outs):
    assert outs[0].offset_factor == 4
    ib = tvm.tir.ir_builder.create()
    source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, 4) as i:
        result[i] = source[i] + source[i]
    return ib.get()


with tvm.target.build_config(offset_factor=4):
    intrinsic = tvm.decl_tensor_intrin(y.op, twice)
C = te.compute((32,), lambda i: A[i] * 2.0, name="C")
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=4)
s[C].tensorize(inner, intrinsic)
tvm.build(s, [A, C])(a, b)
np.testing.assert_equal(b.numpy(), a.numpy() * 2)
