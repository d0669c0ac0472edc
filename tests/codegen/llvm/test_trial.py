"""What LLVM ends a process on is an error: it is compiled in another process first."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, te, tir
from te_sched.codegen.llvm import trial
from te_sched.errors import BuildError

IS_X86 = platform.machine() in ("x86_64", "AMD64")
A = te.placeholder((16,), name="A")


@pytest.fixture(autouse=True)
def without_cache():
    with config.scoped(cache=False):
        yield


def build(element: Any, target: str = "llvm", imported: str = "", dtype: str = "float32") -> Any:
    a = te.placeholder((16,), dtype, name="A")
    b = te.compute((16,), lambda i: element(a[i]), name="B")
    s = te.create_schedule(b.op)
    if imported:
        s[b].pragma(b.op.axis[0], "import_llvm", imported)
    return te_sched.build(s, [a, b], target)


@pytest.mark.skipif(not IS_X86, reason="the processors are x86-64's")
@pytest.mark.parametrize(
    "options", ["-mcpu=i686", "-mattr=-64bit", "-mattr=-64bit-mode", "-mattr=-sse"]
)
def test_target_that_llvm_dies_of_is_refused(options: str) -> None:
    with pytest.raises(BuildError, match=f"cannot compile for target 'llvm {options}'"):
        build(lambda x: x + 1, f"llvm {options}")


@pytest.mark.skipif(not IS_X86, reason="the triples are x86-64's")
@pytest.mark.parametrize("system", ["linux-wasm", "linux-gnu-coff", "linux-goff"])
def test_triple_that_llvm_dies_of_is_refused(system: str) -> None:
    with pytest.raises(BuildError, match="LLVM says: "):
        build(lambda x: x + 1, f"llvm -mtriple=x86_64-unknown-{system}")


@pytest.mark.skipif(not IS_X86, reason="the processors are x86-64's")
@pytest.mark.parametrize("options", ["-mattr=-avx", "-mattr=-f16c", "-mattr=-sse3"])
def test_halves_without_instructions(options: str) -> None:
    """-avx takes the conversions of float16 away, which the features of the host name."""
    a, b = np.arange(16, dtype="float16"), np.zeros(16, "float16")
    build(lambda x: x * x, f"llvm {options}", dtype="float16")(a, b)
    np.testing.assert_array_equal(b, a * a)


IDENTITY = "define float @f(float %x) {{\n {} ret float %x\n}}\n"
IDENTITY += "declare float @llvm.nvvm.ex2.approx.f(float)\n"
IMPORTED = {
    "unknown instruction": 'call void asm sideeffect "foo bar", ""()\n',
    "no register": 'call <64 x float> asm sideeffect "nop", "=r"()\n',
    "intrinsic elsewhere": "%y = call float @llvm.nvvm.ex2.approx.f(float %x)\n"
    "%p = alloca float\n store volatile float %y, ptr %p\n",
}
MODULES = {
    "assembly": 'module asm "bogus stuff"\n',
    "label": 'module asm "f:"\n',
    "brackets": "@g = global " + "{" * 100_000 + "\n",
    "link options": '!llvm.linker.options = !{!0}\n!0 = !{!"-lfoo"}\n',
}


@pytest.mark.parametrize("name", [*IMPORTED, *MODULES])
def test_imported_text_that_llvm_dies_of_is_refused(name: str) -> None:
    text = MODULES.get(name, "") + IDENTITY.format(IMPORTED.get(name, ""))
    with pytest.raises(
        BuildError, match=r"pragma import_llvm is not valid LLVM IR(?s:.*)LLVM says"
    ):
        build(lambda x: tir.call_pure_extern("float32", "f", x), imported=text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define i32 @te_sched_main(ptr %x) {\n ret i32 0\n}\n", "defines te_sched_main"),
        ('module asm "te_sched_main:"\n', "defines te_sched_main"),
        ("@te_sched_slots = global i32 0\n", "cannot combine the LLVM IR of a pragma"),
    ],
)
def test_imported_names_of_generated_code_are_refused(text: str, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        build(
            lambda x: tir.call_pure_extern("float32", "f", x), imported=text + IDENTITY.format("")
        )


@pytest.mark.parametrize(
    ("name", "operands"),
    [("llvm.vscale", 0), ("llvm.ctlz.i32", 1), ("llvm.dbg.value", 1), ("llvm.cttz.elts", 1)],
)
def test_intrinsic_that_llvm_dies_of_is_refused(name: str, operands: int) -> None:
    with pytest.raises(BuildError, match=f"cannot compile the intrinsic {name} with the result"):
        build(lambda x: tir.call_llvm_pure_intrin("int32", name, *[x] * operands).astype("float32"))


def test_usual_intrinsics_are_not_tried(monkeypatch) -> None:
    monkeypatch.setattr(trial, "_run", None)
    a, b = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    build(lambda x: tir.call_llvm_pure_intrin("float32", "llvm.sqrt", x))(a, b)
    np.testing.assert_array_equal(b, np.sqrt(a))


def test_nothing_is_refused_where_there_are_no_processes(monkeypatch) -> None:
    monkeypatch.setattr(trial.sys, "executable", "/no/such/python")
    trial.compile_apart.cache_clear()
    assert trial.compile_apart("x86_64", "", "-64bit", 2, "") == ("", "")
    trial.compile_apart.cache_clear()
