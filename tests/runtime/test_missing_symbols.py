"""Names that nothing defines: told when a program is built or loaded, by name.

A packed function may be registered later, so that there is a warning alone.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError, CallError
from te_sched.runtime import registry

A = te.placeholder((4,), name="A")


def built(element: Any, imported: str = "") -> Any:
    c = te.compute((4,), element, name="C")
    s = te.create_schedule(c.op)
    if imported:
        s[c].pragma(c.op.axis[0], "import_llvm", imported)
    return te_sched.build(s, [A, c])


def packed(name: str) -> Any:
    c = te.extern((4,), [A], lambda i, o: tir.call_packed(name, i[0], o[0]), name="C")
    return te_sched.build(te.create_schedule(c.op), [A, c])


def test_errors_of_llvm_in_a_cycle() -> None:
    """The collector frees what their frames hold, LLVM's objects too, in any order."""
    text = "define void @f() {\n call void @llvm.no.such()\n ret void\n}\n"
    text += "declare void @llvm.no.such()\n"
    for _ in range(50):
        with pytest.raises(BuildError, match=r"intrinsic llvm\.no\.such") as caught:
            built(lambda i: A[i], text)
        error: Any = caught.value
        error.itself = error
        del caught, error
        gc.collect()


@pytest.mark.parametrize("call", [tir.call_extern, tir.call_pure_extern])
def test_extern_functions(call: Any) -> None:
    with pytest.raises(BuildError, match=r"external functions no_such_a, no_such_b\n"):
        built(lambda i: call("float32", "no_such_a", A[i]) + call("float32", "no_such_b", A[i]))


def test_packed_functions() -> None:
    with pytest.warns(UserWarning, match=r"packed function 'no\.such'.*register_func"):
        function = packed("no.such")
    with pytest.raises(CallError, match=r"no function is registered as 'no\.such'"):
        function(np.zeros(4, "float32"), np.zeros(4, "float32"))


def test_packed_functions_of_a_loaded_module(tmp_path: Path) -> None:
    te_sched.register_func("missing.later", lambda a, c: np.copyto(c.numpy(), a.numpy()))
    packed("missing.later").export_library(tmp_path / "m.o")
    registry.remove_global_func("missing.later")
    with pytest.warns(UserWarning, match=r"packed function 'missing\.later'"):
        te_sched.runtime.load_module(tmp_path / "m.o")


def test_functions_that_imported_code_calls() -> None:
    text = """
    declare float @no_such_c(float)
    declare float @unused(float)
    define float @mine(float %x) {
      %y = call float @no_such_c(float %x)
      ret float %y
    }
    """
    element = lambda i: tir.call_pure_extern("float32", "mine", A[i])  # noqa: E731
    with pytest.raises(BuildError, match=r"external function no_such_c\n"):
        built(element, text)
    function, out = built(element, text.replace("no_such_c", "sinf")), np.zeros(4, "float32")
    function(np.ones(4, "float32"), out)
    np.testing.assert_allclose(out, np.sin(np.float32(1)), rtol=1e-6)


def test_llvm_intrinsics() -> None:
    one = tir.const(1, "uint32")
    with pytest.raises(BuildError, match=r"unknown LLVM intrinsic llvm\.nosuch"):
        built(lambda i: tir.call_llvm_intrin("float32", "llvm.nosuch", one, A[i]))
    with pytest.raises(BuildError, match=r"must begin with llvm\., got nosuch"):
        built(lambda i: tir.call_llvm_intrin("float32", "nosuch", one, A[i]))
