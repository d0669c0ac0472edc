"""C source to LLVM IR."""

import numpy as np
import pytest

from te_sched import build, te, tir
from te_sched.contrib import cc, clang
from te_sched.errors import BuildError


def test_clang_missing_says_what_else_there_is(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match="import_c"):
        clang.create_llvm("int f(void) { return 1; }\n")


def test_clang_gives_llvm_ir():
    if not clang.find_clang(required=False):
        pytest.skip("clang is not installed")
    assert "@f" in clang.create_llvm('extern "C" int f() { return 1; }\n')


SCALE = """static int twice(int x) { return 2 * x; }
extern "C" int scale(float *a, int n) {
  for (int i = 0; i < n; ++i) { a[i] *= twice(i) + FACTOR; }
  return 0;
}
"""


def _scaling(*texts):
    a = te.placeholder((4,), name="a")
    b = te.extern(
        (4,), [a], lambda ins, outs: tir.call_extern("int32", "scale", outs[0].access_ptr("rw"), 4)
    )
    c = te.compute((4,), lambda i: b[i] + 1.0, name="c")
    s = te.create_schedule(c.op)
    for text in texts:
        s[c].pragma(c.op.axis[0], "import_llvm", text)
    return build(s, [a, b, c])


@pytest.fixture
def no_clang(monkeypatch):
    if cc.get_cc() is None:
        pytest.skip("no C compiler is installed")
    monkeypatch.setattr(clang, "find_clang", lambda required=True: [])


def test_create_llvm_without_clang_carries_assembly(no_clang):
    text = clang.create_llvm(SCALE.replace("FACTOR", "3"))
    out = np.ones(4, "float32")
    _scaling(text)(np.zeros(4, "float32"), out, np.zeros(4, "float32"))
    assert out.tolist() == [3, 5, 7, 9]


def test_the_later_of_two_definitions_counts(no_clang):
    texts = [clang.create_llvm(SCALE.replace("FACTOR", factor)) for factor in "35"]
    out = np.ones(4, "float32")
    _scaling(*texts)(np.zeros(4, "float32"), out, np.zeros(4, "float32"))
    assert out.tolist() == [5, 7, 9, 11]


def test_assembly_of_two_sources_keeps_its_own_labels(no_clang):
    other = SCALE.replace("scale", "other").replace("FACTOR", "5")
    texts = [clang.create_llvm(text) for text in (other, SCALE.replace("FACTOR", "3"))]
    out = np.ones(4, "float32")
    _scaling(*texts)(np.zeros(4, "float32"), out, np.zeros(4, "float32"))
    assert out.tolist() == [3, 5, 7, 9]


def test_assembly_that_defines_a_function_again_is_refused(no_clang):
    first = SCALE.replace("FACTOR", "3") + 'extern "C" int more() { return 1; }\n'
    texts = [clang.create_llvm(text) for text in (first, SCALE.replace("FACTOR", "5"))]
    with pytest.raises(BuildError, match=r"(?s)defines scale.*define each function once"):
        _scaling(*texts)


def test_create_llvm_takes_one_long_line_for_source():
    text = clang.create_llvm("int long_name_" + "x" * 10_000 + "(void) { return 1; }")
    assert "long_name_x" in text
