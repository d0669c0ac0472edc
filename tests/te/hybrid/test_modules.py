"""Hybrid scripts as text: saved, loaded, called; a text that is not a plain script is refused."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import build, te
from te_sched.errors import CallError, DeclarationError
from te_sched.te.hybrid import HybridModule

ROWS = """\
def rows(n, a, factors):
    total = output_tensor((n,), dtype='float32')
    for i in parallel(n):
        for j in range(a.shape[1]):
            if a[i, j] > 0.5 and not j == 2:
                total[i] += a[i, j] * factors[j][0]
            else:
                total[i] = max(total[i], float32(-j)) if j else total[i]
    return total
"""


def test_loaded_script_computes_the_same_as_python(tmp_path):
    first = HybridModule(ROWS.rstrip(), "rows")
    first.save(tmp_path / "rows.py")
    module = HybridModule()
    module.load(tmp_path / "rows.py")
    assert (tmp_path / "rows.py").read_text() == ROWS
    assert (module.name, repr(module)) == ("rows", "<te.hybrid.HybridModule rows>")
    assert module.get_source() == first.get_source()
    a = np.random.rand(5, 3).astype("float32")
    factors = [[2], [3], [4]]
    expected = np.zeros(5, "float32")
    for i in range(5):
        for j in range(3):
            if a[i, j] > 0.5 and j != 2:
                expected[i] += a[i, j] * factors[j][0]
            elif j:
                expected[i] = max(expected[i], -j)
    np.testing.assert_allclose(module(5, a, factors), expected, rtol=1e-6)


def test_elements_of_lists_are_read_by_several_indices():
    @te.hybrid.script
    def weighted(a, factors):
        total = output_tensor((a.shape[0],), "float32")  # noqa: F821
        for i in parallel(a.shape[0]):  # noqa: F821
            for j in const_range(a.shape[1]):  # noqa: F821
                total[i] += a[i, j] * factors[j, 0]
        return total

    A, factors = te.placeholder((5, 3), name="A"), [[2], [3], [4]]
    T = weighted(A, factors)
    a, out = np.random.rand(5, 3).astype("float32"), np.zeros(5, "float32")
    build(te.create_schedule(T.op), [A, T])(a, out)
    np.testing.assert_allclose(out, a @ np.float32([2, 3, 4]), rtol=1e-5)
    np.testing.assert_allclose(weighted(a, np.array(factors)), out, rtol=1e-5)


def test_error_of_a_loaded_script_has_its_line(tmp_path):
    text = "def one(a):\n    b = output_tensor((4,), 'float32')\n    a[0] = 1.0\n    return b\n"
    (tmp_path / "one.py").write_text(text)
    module = HybridModule()
    module.load(str(tmp_path / "one.py"))
    with pytest.raises(DeclarationError, match=r"script .*one\.py:3"):
        module(te.placeholder((4,), name="A"))


REFUSED = {
    "def f(a):\n    return a +": r"<f> as a hybrid script: it is not Python: ",
    "import os\n\ndef f(a):\n    return a": "<f> as a hybrid script: it is not one function",
    "f = 1": "it is not one function",
    "@print\ndef f(a):\n    return a": "its parameters are more than names",
    "def f(a=print()):\n    return a": "<f>:1 as a hybrid script: its parameters are more than",
    "def f(a: print()):\n    return a": "its parameters are more than names",
    "def f(a, *, b=print()):\n    return a": "its parameters are more than names",
    "def f(*a):\n    return a": "its parameters are more than names",
    "def f(a) -> print():\n    return a": "its parameters are more than names",
    "async def f(a):\n    return a": "it is not one function",
    "def f(a):\n    import os\n    return a": "<f>:2 as a hybrid script: .* no Import",
    "def f(a):\n    return [b for b in a]": "hybrid scripts have no ListComp",
    "def f(a):\n    return (lambda: a)()": "it calls|hybrid scripts have no Lambda",
    "def f(a):\n    return f'{a}'": "hybrid scripts have no JoinedStr",
    "def f(a):\n    return a.__class__": "hybrid scripts have no attribute __class__",
    "def f(a):\n    return a.tofile('x')": "it calls a.tofile|no attribute tofile",
    "def f(a):\n    return open": "name open is not defined",
    "def f(a):\n    return __import__('os')": "name __import__ is not defined|it calls __import__",
    "def f(a):\n    return a('os')": "it calls a",
    "def f(a):\n    exp = a\n    return exp(1)": "it calls exp",
    "def f(a):\n    global exp\n    return a": "hybrid scripts have no Global",
}


@pytest.mark.parametrize("text", REFUSED)
def test_text_is_refused_before_anything_of_it_runs(text, capsys):
    with pytest.raises(CallError, match=f"cannot load .*({REFUSED[text]})"):
        HybridModule(text, "f")
    assert capsys.readouterr().out == ""


def test_empty_module_and_missing_file_are_refused(tmp_path):
    with pytest.raises(CallError, match="the HybridModule has no script"):
        HybridModule()(1)
    with pytest.raises(CallError, match=r"cannot load .*nope\.py: No such file"):
        HybridModule().load(tmp_path / "nope.py")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("x = 'x' * 1000000000000", "a text computes 1000000000000 items"),
        ("x = 1 << 1000000000000", "a text computes an integer of 1000000000001 bits"),
        ("x = '%1000000000d' % 3", "a text formats a string by %"),
        ("x = (a.shape,) * 1000000000000", "a text computes 1000000000000 items"),
    ],
)
def test_large_values_of_a_loaded_script_are_refused(line, fault):
    text = f"def f(a):\n    b = output_tensor((4,), 'float32')\n    {line}\n    return b\n"
    module = HybridModule(text, "f")
    for argument in (te.placeholder((4,), name="A"), np.zeros(4, "float32")):
        with pytest.raises(DeclarationError, match=fault):
            module(argument)


def test_endless_unrolling_of_a_loaded_script_is_refused():
    text = """\
def f(a):
    b = output_tensor((4,), 'float32')
    for i in const_range(1000000000):
        b[0] = 1.0
    return b
"""
    with pytest.raises(DeclarationError, match=r"a text takes more than .* steps"):
        HybridModule(text, "f")(te.placeholder((4,), name="A"))


def test_products_that_are_assigned_compute_what_python_computes():
    text = """\
def f(a):
    b = output_tensor((4,), 'float32')
    for i in range(4):
        b[i] = 2.0
        b[i] *= a[i] + 1.0
        b[i] += 1.0
    return b
"""
    a = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(HybridModule(text, "f")(a), 2 * (a + 1) + 1)


def test_errors_of_a_loaded_script_that_runs_as_python():
    text = "def f(a):\n    b = output_tensor((4,), 'float32')\n    b[0] = a[7]\n    return b\n"
    with pytest.raises(CallError, match="hybrid script f fails: IndexError"):
        HybridModule(text, "f")(np.zeros(4, "float32"))
