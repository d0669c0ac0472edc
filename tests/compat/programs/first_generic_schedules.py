"""First generation: the generic schedules of topi are those of the target in scope."""

import topi
import tvm

X = tvm.placeholder((8, 32), name="X")
total = topi.sum(X, axis=1)
with tvm.target.cuda():
    text = str(tvm.lower(topi.generic.schedule_reduce(total), [X, total], simple_mode=True))
    softmax = topi.nn.softmax(X)
    assert "threadIdx.x" in str(tvm.lower(topi.generic.nn.schedule_softmax(softmax), [X]))
assert "blockIdx.x" in text
with tvm.target.create("llvm"):
    assert "blockIdx.x" not in str(tvm.lower(topi.generic.schedule_reduce(total), [X, total]))
