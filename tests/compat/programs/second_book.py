"""Second generation, as in courses: padding, convolution, data types, libraries, errors."""

import numpy as np
import tvm
from tvm import te


def padding(X, p, val=0):
    height, width = X.shape[-2:]
    return te.compute(
        (*X.shape[:-2], height + 2 * p, width + 2 * p),
        lambda *i: te.if_then_else(
            te.any(i[-2] < p, i[-2] >= height + p, i[-1] < p, i[-1] >= width + p),
            val,
            X[i[:-2] + (i[-2] - p, i[-1] - p)],
        ),
        name="padded",
    )


channels, size, k, p = 3, 12, 3, 1
X = te.placeholder((channels, size, size), name="x")
K = te.placeholder((4, channels, k, k), name="k")
padded = padding(X, p)
rc, rh, rw = (te.reduce_axis((0, extent)) for extent in (channels, k, k))
Y = te.compute(
    (4, size, size),
    lambda o, h, w: te.sum(padded[rc, h + rh, w + rw] * K[o, rc, rh, rw], axis=[rc, rh, rw]),
    name="Y",
)
s = te.create_schedule(Y.op)
s[padded].compute_inline()
s[Y].parallel(s[Y].op.axis[0])
mod = tvm.build(s, [X, K, Y])
x, w = np.random.rand(channels, size, size), np.random.rand(4, channels, k, k)
x, w = x.astype("float32"), w.astype("float32")
y = np.empty((4, size, size), "float32")
args = [tvm.nd.array(one) for one in (x, w, y)]
mod(*args)
big = np.pad(x, ((0, 0), (p, p), (p, p)))
windows = np.lib.stride_tricks.sliding_window_view(big, (k, k), axis=(1, 2))
np.testing.assert_allclose(args[-1].asnumpy(), np.einsum("chwij,ocij->ohw", windows, w), rtol=1e-4)

folder = tvm.contrib.utils.tempdir()
mod.export_library(folder.relpath("conv.so"))
loaded = tvm.runtime.load_module(folder.relpath("conv.so"))
loaded(*args)
try:
    mod(*args[:2])
except tvm.TVMError as error:
    assert isinstance(error, tvm.error.TVMError)
else:
    raise AssertionError("a call without its output went through")

for source, goal in (("float32", "int32"), ("int32", "float64"), ("bool", "int8")):
    S = te.placeholder((5,), dtype=source, name="S")
    T = te.compute(S.shape, lambda i: S[i].astype(goal), name="T")
    f = tvm.build(te.create_schedule(T.op), [S, T])
    values = np.array([0, 1, 2, 3, 4]).astype(source)
    out = tvm.nd.array(np.zeros(5, goal))
    f(tvm.nd.array(values), out)
    np.testing.assert_array_equal(out.asnumpy(), values.astype(goal))
