"""te_sched needs numpy, sympy, llvmlite, click and pygments, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What may be installed here and is not needed: imports of it fail in the program below.
OPTIONAL = """
cupy torch nvidia ml_dtypes scipy numba halide tvm graphviz matplotlib pandas tqdm IPython ipykernel
ipywidgets jupyter_client nbclient nbconvert nbformat jupytext notebook playwright pytest
mkdocs mkdocstrings material mypy ruff rich psutil PIL jinja2 yaml
"""

PROGRAM = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OPTIONAL.split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())

import numpy as np
import te_sched
from te_sched import te, topi

A = te.placeholder((40,), name="A")
B = te.compute((40,), lambda i: te.exp(A[i]), name="B")
s = te.create_schedule(topi.nn.relu(B).op)
C = s.outputs[0].output(0)
outer, inner = s[C].split(C.op.axis[0], 8)
s[C].vectorize(inner)
s[C].parallel(outer)
assert "T.parallel" in str(te_sched.lower(s, [A, C], simple_mode=True))
assert str(s) and str(s.trace) and s._repr_html_()
a, c = np.zeros(40, "float32"), np.empty(40, "float32")
te_sched.build(s, [A, C])(a, c)
np.testing.assert_array_equal(c, 1)

g = te.create_schedule(B.op)
g[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
module = te_sched.build(g, [A, B], target="cuda")
device = te_sched.emulated_cuda(0)
x, y = te_sched.nd.array(a, device), te_sched.nd.empty((40,), "float32", device)
module(x, y)
module.check(x, y)
np.testing.assert_allclose(y.numpy(), 1)

te_sched.explain(s, [A, C]).save(sys.argv[1])
from te_sched.cli.main import main
main(["doctor"])
"""


def test_a_program_runs_without_optional_packages(tmp_path):
    code = f"OPTIONAL = {OPTIONAL!r}\n{PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "report.html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_what_is_needed_is_not_blocked_above():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {one.split(">")[0] for one in project["dependencies"]}
    assert needed == {"numpy", "sympy", "llvmlite", "click", "pygments"}
    assert not needed & set(OPTIONAL.split())
