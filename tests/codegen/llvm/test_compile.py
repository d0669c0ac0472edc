"""Functions compiled to object files, and what is missing in them."""

from __future__ import annotations

import pytest

from te_sched.codegen.llvm.compile import compile_functions, show_functions
from te_sched.codegen.llvm.machine import TargetMachine
from te_sched.codegen.target import Target
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.programs import elementwise

IR = "define float @g(float %x) {\n  %y = call float @h(float %x)\n  ret float %y\n}\n"
IR += "declare float @h(float)\n"


def calling(name: str, imported: str = "") -> S.PrimFunc:
    """C[i] = name(A[i])"""
    func = elementwise(
        lambda x: E.Call("float32", "tir.call_pure_extern", (E.StringImm(name), x)), ["float32"], 8
    )
    if not imported:
        return func
    body = S.AttrStmt(E.StringImm(""), "pragma_import_llvm", E.StringImm(imported), func.body)
    return S.PrimFunc(func.params, body, func.buffer_map, func.attrs)


def emitted(func: S.PrimFunc, options: str = "") -> tuple[str, tuple[str, ...]]:
    """The text that is given to LLVM, and the texts that are linked."""
    texts = []

    def emit(text: str, linked: tuple[str, ...], machine: TargetMachine) -> tuple[bytes, ...]:
        texts.append((text, linked))
        return (b"object",)

    target = Target(f"llvm {options}")
    compiled = compile_functions({"main": func}, target, is_defined=lambda name: True, emit=emit)
    assert (compiled.objects, compiled.text, compiled.target) == ((b"object",), texts[0][0], target)
    return texts[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *[("", ["fadd contract float"]), ("-fast-math", ["fadd fast float"])],
        ("-vector-width=128", ['"prefer-vector-width"="128" nounwind']),
    ],
)
def test_options_are_in_the_text(options: str, words: list[str]) -> None:
    text, _ = emitted(elementwise(lambda x: E.Add(x, x), ["float32"], 8), options)
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    ("func", "missing"),
    [
        (calling("g"), "function g"),
        (calling("g", IR), "function h"),  # of the linked text
        (calling("k", IR), "functions h, k"),
    ],
)
def test_functions_that_nothing_defines_are_named(func: S.PrimFunc, missing: str) -> None:
    with pytest.raises(BuildError, match=f"undefined external {missing}\n"):
        compile_functions({"main": func}, Target("llvm"), is_defined=lambda name: name == "other")
    assert emitted(func)[1] == ((IR,) if "h" in missing else ())


def test_functions_of_this_process_are_defined() -> None:
    compiled = compile_functions({"main": calling("cbrtf")}, Target("llvm"))
    assert compiled.whole().startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"d\x86"))
    assert compiled.metadata in compiled.objects[0]
    assert "@cbrtf(" in compiled.source("ll")
    assert "te_sched_main:" in compiled.source("asm")


def test_lines_are_shown_in_both_texts() -> None:
    func = elementwise(lambda x: E.Add(x, x), ["float32"], 8)
    store = func.body.body
    ll, asm = show_functions({"main": func}, Target("llvm"), lambda name: None, {id(store): 41})
    assert "!DILocation(line: 41" in ll
    assert ".loc\t1 41" in asm or ".loc\t0 41" in asm


def test_targets_without_code_are_refused() -> None:
    for compiling in (
        lambda target: compile_functions({}, target),
        lambda target: show_functions({}, target, lambda name: None, {}),
    ):
        with pytest.raises(BuildError, match="generates no code for metal"):
            compiling(Target("metal"))
