"""The text of a function: scopes of aliases, captured values, errors that end it."""

from __future__ import annotations

import pytest

from te_sched.codegen.llvm.function import STACK_ITEM_LIMIT, AliasScopes
from te_sched.codegen.llvm.module import ModuleText
from te_sched.codegen.llvm.types import Value
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from tests.codegen.llvm.instructions import new_function, text_of

A, B, C = (E.Var(name, "handle") for name in "abc")
X = E.Var("x")


def test_accesses_name_their_scope_and_those_of_the_others() -> None:
    module = ModuleText()
    scopes = AliasScopes(module)
    for data in (A, B, A):
        scopes.add(data)
    suffixes = [scopes.suffix(data) for data in (A, B, C)]
    scopes.close()
    lines = dict(
        line.split(" = ", 1) for line in module.render(b"").splitlines() if line.startswith("!")
    )

    def listed(suffix: str, kind: str) -> str:
        return lines[suffix.split(kind + " ")[1].split(",")[0]]

    own = [listed(suffix, "!alias.scope") for suffix in suffixes[:2]]
    others = [listed(suffix, "!noalias") for suffix in suffixes[:2]]
    assert own[0] == others[1] != own[1] == others[0]
    assert suffixes[2] == ""
    assert [scopes.holds(data) for data in (A, B, C)] == [True, True, False]


def test_values_of_the_enclosing_function_are_captured_once() -> None:
    outer = new_function()
    outer.environment.update({X: Value("%x", "int32", 0, 9, False, 4), A: Value("@a", "handle")})
    outer.plain[X] = Value("%exact", "int32")
    inner = new_function(parent=outer)
    for _ in range(2):
        exact = inner.lookup(X)
    inner.indexing += 1
    assuming = inner.lookup(X)
    assert (assuming.lo, assuming.hi, assuming.data, assuming.multiple) == (0, 9, False, 4)
    assert inner.lookup(A).text == "@a"  # a constant is not captured
    assert [(offset, value.text) for offset, value in inner.captured] == [(0, "%x"), (8, "%exact")]
    assert f"{exact.text} = load i32, ptr" in inner.prologue[3]
    with pytest.raises(BuildError, match="variable b"):
        inner.lookup(B)


def test_errors_free_what_is_live_the_last_first() -> None:
    out = new_function()
    out.live += ["%p", "%q"]
    out.fail_if("%bad", "too large", "it is 9", "less")
    release = "load ptr, ptr getelementptr inbounds (ptr, ptr @te_sched_slots, i64 0), align 8"
    assert text_of(out).splitlines() == [
        "br i1 %bad, label %fail.1, label %ok.2",
        "fail.1:",
        f"%v3 = {release}",
        "call void %v3(ptr %q) nounwind",
        f"%v4 = {release}",
        "call void %v4(ptr %p) nounwind",
        "ret i32 1",
        "ok.2:",
    ]
    assert out.signature.failures == [["too large", "it is 9", "less"]]
    assert out.block == "ok.2"
    inner = new_function(parent=out)
    inner.error_slot = "%error"
    inner.leave("-3")
    assert text_of(inner).endswith(
        "cmpxchg ptr %error, i32 0, i32 -3 monotonic monotonic\nret void"
    )


def test_the_stack_is_limited() -> None:
    out = new_function()
    sizes = [STACK_ITEM_LIMIT + 1, *[STACK_ITEM_LIMIT] * 4, 1]
    assert [out.take_stack(size) for size in sizes] == [False, *[True] * 4, False]


def test_slots_and_intrinsics_are_declared_once() -> None:
    out = new_function()
    for _ in range(2):
        out.load_slot(kind="thread", name="size")
        out.intrinsic("smax", "int32x4", "%x", "%y")
    out.load_slot(kind="thread", name="now")
    assert [one["name"] for one in out.module.imports] == ["size", "now"]
    assert text_of(out).count("@te_sched_slots, i64 0)") == 2
    assert (
        out.module.render(b"").count("declare <4 x i32> @llvm.smax.v4i32(<4 x i32>, <4 x i32>)")
        == 1
    )
