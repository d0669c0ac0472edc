"""Modules: functions by name, source, timing, targets, and freeing."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.llvm.machine import machine_of
from te_sched.codegen.target import Target
from te_sched.errors import CallError
from te_sched.ir import ops
from te_sched.runtime.build import build_functions
from tests.codegen.programs import build, elementwise
from tests.runtime.adding import N, adder

HOST = machine_of(Target("llvm")).triple


def apply(function) -> float:
    a, b = np.zeros(N, "float32"), np.zeros(N, "float32")
    function(a, b)
    return float(b[0])


def test_several_functions() -> None:
    programs = {
        f"add{k}": elementwise(lambda x, k=k: ops.add(x, float(k)), ["float32"], N) for k in (1, 2)
    }
    module = build_functions(programs)
    assert module.function_names == ("add1", "add2")
    assert [apply(module), apply(module["add2"]), apply(module.get_function("add1"))] == [1, 2, 1]
    with pytest.raises(CallError, match="use one of add1, add2"):
        module["add3"]


@pytest.mark.parametrize(
    "name", ["main", "expf", "malloc", "memcpy", "my-function", "ü", 'quo"te', "printf"]
)
def test_names_do_not_clash(name: str) -> None:
    module = adder(1.0, name)
    assert module.entry_name == name
    assert apply(module) == apply(module[module.entry_name]) == 1


def test_source() -> None:
    module = adder(1.0)
    assert (
        "define noundef i32 @te_sched_main" in module.get_source()
        or "@te_sched_main(" in module.get_source("ll")
    )
    assert "te_sched_main:" in module.get_source("asm")
    with pytest.raises(CallError, match='use "ll" or "asm"'):
        module.get_source("cuda")


def test_the_triple_of_this_computer_needs_no_vendor() -> None:
    arch, _, *rest = HOST.split("-")
    A = te.placeholder((N,), name="A")
    B = te.compute((N,), lambda i: A[i] + 1.0, name="B")
    target = f"llvm -mtriple={'-'.join([arch, *rest])}"
    assert apply(te_sched.build(te.create_schedule(B.op), [A, B], target)) == 1.0


def test_code_goes_with_its_module() -> None:
    module = adder(1.0)
    code = weakref.ref(module._code)
    function = module["main"]
    del module
    gc.collect()
    assert apply(function) == 1  # a function keeps its code
    del function
    gc.collect()
    assert code() is None


def test_modules_cannot_be_pickled_or_copied() -> None:
    module = build(elementwise(lambda x: ops.add(x, x), ["float32"], 4))
    for one in (module, module["main"], module.entry_func):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(CallError, match=r"cannot pickle or copy a (module|compiled func)"):
                way(one)


WRONG_ARGUMENTS: dict[str, Callable[[Any], object]] = {
    r"the module has no function \['x'\]": lambda module: module[["x"]],
    "argument name of get_function": lambda module: module.get_function(3),
    "argument name of implements_function": lambda module: module.implements_function(["x"]),
    "argument fmt of get_source": lambda module: module.get_source(3),
    "argument fcompile of export_library": lambda module: module.export_library("x.so", 3),
    "argument fmt of save": lambda module: module.save("x.so", 3),
}


@pytest.mark.parametrize("target", ["llvm", "cuda"])
@pytest.mark.parametrize("fault", WRONG_ARGUMENTS)
def test_modules_of_all_targets_refuse_the_same(target: str, fault: str) -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    if target == "cuda":
        s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.raises(CallError, match=fault):
        WRONG_ARGUMENTS[fault](te_sched.build(s, [a, b], target))
