"""From lowered functions to a module."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.runtime import load_module
from te_sched.runtime.build import build_functions
from tests.codegen.programs import build, elementwise
from tests.runtime.saved import N, check, needs_compiler

A = te.placeholder((4,), name="A")


def built(element: Any, imported: str = "") -> Any:
    c = te.compute((4,), element, name="C")
    s = te.create_schedule(c.op)
    if imported:
        s[c].pragma(c.op.axis[0], "import_llvm", imported)
    return te_sched.build(s, [A, c])


def test_empty_module_is_refused() -> None:
    with pytest.raises(BuildError, match="cannot build a module without functions"):
        build_functions({})


@needs_compiler
@pytest.mark.parametrize("suffix", [".o", ".so"])
def test_c_source_travels_with_the_module(suffix: str, tmp_path: Path) -> None:
    program = elementwise(
        lambda x: E.Call("float32", "tir.call_extern", (E.StringImm("next_up"), x)), ["float32"], N
    )
    source = E.StringImm("float next_up(float x) { return x + 1; }\n")
    body = S.AttrStmt(E.StringImm(""), "pragma_import_c", source, program.body)
    build(S.PrimFunc(program.params, body, program.buffer_map, program.attrs)).export_library(
        tmp_path / f"m{suffix}"
    )
    check(load_module(tmp_path / f"m{suffix}"))


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


@pytest.mark.parametrize("call", [tir.call_extern, tir.call_pure_extern])
def test_extern_functions(call: Any) -> None:
    with pytest.raises(BuildError, match=r"external functions no_such_a, no_such_b\n"):
        built(lambda i: call("float32", "no_such_a", A[i]) + call("float32", "no_such_b", A[i]))
