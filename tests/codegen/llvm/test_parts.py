"""Modules in parts: what each has, the results of the whole, files, the passes of each."""

from __future__ import annotations

import re
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from te_sched.codegen.llvm import parts
from te_sched.codegen.llvm.compile import compile_functions
from te_sched.codegen.llvm.machine import host_machine
from te_sched.codegen.target import Target
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.calls import CALL_FUNCTION
from te_sched.lowering.join_dimensions import join_dimensions
from te_sched.runtime import csource, load_module
from te_sched.runtime.build import build_functions
from te_sched.runtime.module import Module
from tests.codegen.programs import buffer, elementwise, function

N = 1 << 12


def exponential(scale: float) -> S.PrimFunc:
    """C[i] = exp(A[i]) * scale in vectors of 8, on all threads."""

    def value(x: E.Expr) -> E.Expr:
        return E.Call(x.dtype, "tir.exp", (x,)) * E.Broadcast(E.FloatImm(scale), 8)

    return elementwise(lambda x: value(x) if "x8" in x.dtype else x, ["float32"], N, "parallel", 8)


def both() -> S.PrimFunc:
    """B = exp(A), C = exp(B) * 2, by calls; B is on the heap."""
    a, c = buffer("A", [N]), buffer("C", [N])
    data = E.Var("B", "handle", E.PointerType("float32"))

    def call(name: str, *pointers: E.Expr) -> S.Stmt:
        return S.Evaluate(E.Call("int32", CALL_FUNCTION, (E.StringImm(name), *pointers)))

    calls = S.SeqStmt((call("first", a.data, data), call("second", data, c.data)))
    room = S.Allocate(data, "float32", (E.IntImm(100_000),), ops.convert(True), calls)
    return function([a, c], room)


FUNCTIONS = {"first": exponential(1.0), "second": exponential(2.0), "main": both()}


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_LEAST_CUT", 0)
    monkeypatch.setattr(parts, "PART", 500)


def built() -> Module:
    return build_functions({name: join_dimensions(func) for name, func in FUNCTIONS.items()})


def check(module: Module) -> None:
    a, c = np.linspace(-2, 1, N, dtype="float32"), np.zeros(N, "float32")
    module["main"](a, c)
    np.testing.assert_allclose(c, 2 * np.exp(np.exp(a)), rtol=1e-6)
    module["first"](a, c)
    np.testing.assert_allclose(c, np.exp(a), rtol=1e-6)
    assert module["second"].run_repeatedly(2, a, c) > 0


def text_of(module: Module) -> str:
    assert module._compiled is not None
    return module._compiled.text


def test_the_parts_compute_what_the_whole_does() -> None:
    module = built()
    check(module)
    assert len(module.objects(Path("a.so"))) == 1 + len(FUNCTIONS)  # the first one has the tables


def test_each_part_has_its_functions_and_what_these_use() -> None:
    text = text_of(built())
    cut = parts.parts_of(text, 3)
    defined = []
    for part in cut:
        with llvm.parse_assembly(part, llvm.create_context()) as module:
            module.verify()
            defined.append({f.name for f in module.functions if not f.is_declaration})
            declared = {f.name for f in module.functions if f.is_declaration}
        assert not defined[-1] & declared
        assert len(part) < len(text)
    names = [{name for name in one if re.fullmatch("te_sched_[a-z]+", name)} for one in defined]
    assert list(map(sorted, names)) == [
        [],
        ["te_sched_first"],
        ["te_sched_second"],
        ["te_sched_main"],
    ]
    assert sum("te_sched.exp.float32x8" in one for one in defined) == 2
    assert [" global [" in part.replace("external global", "") for part in cut] == [
        True,
        *[False] * 3,
    ]
    assert ["te_sched_metadata" in part for part in cut] == [True, *[False] * 3]
    assert all(len(set(re.findall(r"^!\d+", part, re.M))) < text.count("\n!") for part in cut)
    assert parts.parts_of(text, 3) == cut


@pytest.mark.parametrize("line", ["!llvm.dbg.cu = !{!0}", "@other = global i32 0"])
def test_what_has_anything_else_is_not_cut(line: str) -> None:
    text = f"{text_of(built())}{line}\n"
    assert parts.parts_of(text, 3) == [text]


def test_short_modules_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    text = text_of(built())
    assert parts.parts_of(text, 3) == [text]
    monkeypatch.setattr(parts, "_LEAST_CUT", len(text) + 1)
    assert parts.parts_of(text, 3) == [text]
    monkeypatch.setattr(parts, "_LEAST_CUT", len(text) // 2)
    monkeypatch.setattr(parts, "PART", len(text) // 4)
    assert 1 < len(parts.parts_of(text, 3)) < 4


def test_functions_with_other_passes_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART", 10**6)
    text = text_of(built())
    assert len(parts.parts_of(text, 3)) == 1
    lanes = "".join(
        f"  %l{k} = insertelement <64 x i8> {f'%l{k - 1}' if k else 'poison'}, i8 0, i64 {k}\n"
        for k in range(64)
    )
    head = text.index("entry:\n", text.index("@te_sched_second(")) + len("entry:\n")
    cut = parts.parts_of(text[:head] + lanes + text[head:], 3)
    assert ["%l63" in part for part in cut] in ([True, False], [False, True])
    assert all(
        ("@te_sched_second(" in part.partition("define i32 @te_sched_second")[0])
        != ("%l63" in part)
        for part in cut
    )


@pytest.mark.parametrize(
    ("suffix", "has_compiler"),
    [("o", True), ("so", True), ("tar", True), ("o", False), ("tar", False)],
)
def test_files_have_all_parts(
    suffix: str, has_compiler: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_compiler and csource.find_compiler() is None:
        pytest.skip("no C compiler links them")
    if not has_compiler:
        monkeypatch.setattr(csource, "compiler_command", list)
    path = tmp_path / f"module.{suffix}"
    built().export_library(path)
    check(load_module(path))


def test_sources_are_those_of_the_parts() -> None:
    module = built()
    for name in FUNCTIONS:
        assert len(re.findall(f"^te_sched_{name}:", module.get_source("asm"), re.M)) == 1
        assert f"define i32 @te_sched_{name}(" in module.get_source("ll")
    assert host_machine().triple in module.get_source("ll")


def test_finished_parts_are_those_of_the_longer_module() -> None:
    """Each is returned once, when the functions up to its last one are written."""
    cutter, finished = parts.PartCutter(3), []
    functions = {f"f{k}": exponential(k + 1.0) for k in range(6)}
    texts = []
    compile_functions(
        {name: join_dimensions(func) for name, func in functions.items()},
        Target("llvm"),
        emit=lambda text, linked, machine: (texts.append(text), (b"",))[1],
        begin=lambda text, machine: finished.extend(cutter.finished(text)),
    )
    assert len(finished) == len(set(finished)) == 6
    first, *others = cutter.parts(texts[0])
    assert others == finished
    assert "te_sched_metadata" in first
    assert parts.parts_of(texts[0], 3) == [first, *others]
