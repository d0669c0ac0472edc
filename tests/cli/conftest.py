"""Programs in files, and calls of te-sched with them in this process."""

import pytest
from click.testing import CliRunner

from te_sched import compat
from te_sched.cli.main import main
from tests.compat.conftest import without_tvm  # noqa: F401 (a fixture)

GEMM = """
import te_sched as tvm
from te_sched import te
A = te.placeholder((64, 32), name="A")
B = te.placeholder((32, 64), name="B")
k = te.reduce_axis((0, 32), name="k")
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
io, jo, ii, ji = s[C].tile(*s[C].op.axis, 8, 16)
s[C].vectorize(ji)
s[C].parallel(io)
print("a line of the program")
tvm.lower(s, [A, B, C], simple_mode=True)
"""

GPU = """
import numpy as np, tvm
from tvm import te
n = 256
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
s = te.create_schedule(B.op)
bx, tx = s[B].split(B.op.axis[0], factor=64)
s[B].bind(bx, te.thread_axis("blockIdx.x"))
s[B].bind(tx, te.thread_axis("threadIdx.x"))
f = tvm.build(s, [A, B], "cuda", name="double")
a = tvm.nd.array(np.ones(n, "float32"), tvm.cuda(0))
b = tvm.nd.empty((n,), "float32", tvm.cuda(0))
f(a, b)
assert b.numpy().sum() == 2 * n
"""

OLD = """
import tvm
n = tvm.var("n")
A = tvm.placeholder((n,), name="A")
B = tvm.compute(A.shape, lambda i: A[i] + 1.0, name="B")
s = tvm.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], factor=8)
print(tvm.lower(s, [A, B], simple_mode=True))
"""

RACE = """
import te_sched
from te_sched import te
A = te.placeholder((8, 8), name="A")
k = te.reduce_axis((0, 8), name="k")
C = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="C")
s = te.create_schedule(C.op)
s[C].parallel(k)
te_sched.lower(s, [A, C])
"""

BROKEN = """
from te_sched import te
A = te.placeholder((64,), name="A")
C = te.compute((64,), lambda i: A[i] + 1.0, name="C")
s = te.create_schedule(C.op)
(i,) = s[C].op.axis
s[C].split(i, 8)
def work():
    s[C].split(i, 4)
work()
"""

TWO = """
import te_sched
from te_sched import te
A = te.placeholder((8,), name="A")
for name in ("first", "second"):
    B = te.compute((8,), lambda i: A[i] + 1.0, name=name)
    s = te.create_schedule(B.op)
    te_sched.build(s, [A, B], target="llvm", name=f"run_{name}")
unused = te.create_schedule(te.compute((8,), lambda i: A[i], name="unused").op)
"""

TEXTS = {"gemm": GEMM, "gpu": GPU, "old": OLD, "race": RACE, "broken": BROKEN, "two": TWO}


@pytest.fixture(autouse=True)
def _as_tvm(without_tvm):  # noqa: F811 (a fixture)
    yield
    compat.uninstall()


@pytest.fixture
def program(tmp_path):
    """The path of one of the programs above, or of any text."""

    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(TEXTS.get(text, text))
        return str(path)

    return write


@pytest.fixture
def te_sched_command():
    """A function that calls te-sched and returns click's result: exit_code, stdout, stderr."""

    def call(*words):
        return CliRunner().invoke(main, [str(word) for word in words])

    return call
