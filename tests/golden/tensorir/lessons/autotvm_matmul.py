"""AutoTVM: a template of a TE schedule with a search space, tuned, its best configuration applied."""
import pathlib
import tempfile

import numpy as np
import tvm
from tvm import autotvm, te


@autotvm.template("seeds/matmul")
def matmul(n, l, m, dtype):
    A, B = te.placeholder((n, l), name="A", dtype=dtype), te.placeholder((l, m), name="B", dtype=dtype)
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    y, x = s[C].op.axis
    k = s[C].op.reduce_axis[0]
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    cfg.define_knob("vec", [0, 1])
    yo, yi = cfg["tile_y"].apply(s, C, y)
    xo, xi = cfg["tile_x"].apply(s, C, x)
    s[C].reorder(yo, xo, k, yi, xi)
    if cfg["vec"].val:
        s[C].vectorize(xi)
    return s, [A, B, C]


N, L, M = 64, 64, 64
task = autotvm.task.create("seeds/matmul", args=(N, L, M, "float32"), target="llvm")
print(len(task.config_space))
print(task.config_space.get(7))
measure = autotvm.measure_option(builder=autotvm.LocalBuilder(), runner=autotvm.LocalRunner(number=2, repeat=1))
with tempfile.TemporaryDirectory() as folder:
    log = str(pathlib.Path(folder) / "matmul.log")
    tuner = autotvm.tuner.RandomTuner(task)
    tuner.tune(n_trial=6, measure_option=measure, callbacks=[autotvm.callback.log_to_file(log)])
    assert len(pathlib.Path(log).read_text().splitlines()) == 6
    with autotvm.apply_history_best(log):
        with tvm.target.Target("llvm"):
            s, args = matmul(N, L, M, "float32")
            func = tvm.build(s, args)
a, b = (np.random.rand(N, N).astype("float32") for _ in range(2))
c = tvm.nd.empty((N, M))
func(tvm.nd.array(a), tvm.nd.array(b), c)
np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)
