"""Lowered graphs as instructions."""

import os
import signal
import sys
import threading
import tracemalloc
from collections import Counter

import numpy as np
import pytest

import te_sched
from te_sched import relax, script, tir
from te_sched.errors import CallError, GraphError

X = relax.Var("x", relax.TensorStructInfo([4], "float32"))


def test_instructions_reject_what_is_not_lowered():
    def refuse(body, text, params=(X,)):
        function = relax.Function(list(params), body, relax.ObjectStructInfo())
        with pytest.raises(GraphError, match=text):
            relax.build(function, pipeline=None)

    n = tir.Var("n", "int64")
    refuse(relax.ShapeExpr([n]), "the sizes of .* are not computed")
    refuse(relax.PrimValue(n), "the sizes of .* are not computed")
    refuse(relax.op.exp(X), "cannot run operator relax.exp")
    refuse(relax.Var("y", X.struct_info), "variable y is used where it is not defined")
    refuse(relax.Function([X], X), "cannot run")


def test_the_life_of_a_constant_ends_nothing():
    """Its number is that of a register, which was cleared where a cast constant was used last."""
    builder, n = relax.BlockBuilder(), tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n,), "float32"))
    with builder.function("main", [x]):
        sums = []
        for number in range(8):
            values = relax.const(np.full(4, number, "float32"))
            cast = builder.match_cast(values, relax.TensorStructInfo((n,), "float32"))
            sums.append(builder.emit(relax.op.add(x, cast)))
        builder.emit_func_output(relax.Tuple(sums))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())
    found = machine["main"](np.ones(4, "float32"))
    assert [one.numpy().tolist() for one in found] == [[1.0 + k] * 4 for k in range(8)]


# Functions that return a call of themselves


COUNTED = """
@I.ir_module
class Module:
    @R.function
    def main(n: R.Tensor((), "int64"), x: R.Tensor(("k",), "float32")):
        cls = Module
        return cls.loop(R.const(0, "int64"), n, x, x)

    @R.function(private=True)
    def loop(
        i: R.Tensor((), "int64"),
        n: R.Tensor((), "int64"),
        a: R.Tensor(("k",), "float32"),
        b: R.Tensor(("k",), "float32"),
    ) -> R.Tuple(R.Tensor(ndim=1, dtype="float32"), R.Tensor(ndim=1, dtype="float32")):
        cls = Module
        if R.less(i, n):
            c = R.add(a, R.const(1.0, "float32"))
            r = cls.loop(R.add(i, R.const(1, "int64")), n, b, c)
        else:
            r = (a, b)
        return r
"""
GROWING = """
@I.ir_module
class Module:
    @R.function
    def main(n: R.Tensor((), "int64"), x: R.Tensor(("k",), "float32")):
        cls = Module
        return cls.loop(n, x)

    @R.function(private=True)
    def loop(
        n: R.Tensor((), "int64"), a: R.Tensor(("k",), "float32")
    ) -> R.Tensor(ndim=1, dtype="float32"):
        cls = Module
        k = T.int64()
        if R.less(R.const(0, "int64"), n):
            m = R.subtract(n, R.const(1, "int64"))
            lv: R.Tensor((k + k,), "float32") = R.concat((a, a), axis=0)
            c = R.add(lv, R.const(1.0, "float32"))
            if R.less(m, R.const(3, "int64")):
                r = cls.loop(m, c)
            else:
                r = cls.loop(R.subtract(m, R.const(1, "int64")), a)
        else:
            r = a
        return r
"""


def machine_of(source):
    executable = relax.build(script.from_source(source), "llvm")
    return executable, relax.VirtualMachine(executable, te_sched.cpu())


def loop_text(executable):
    """The instructions of the function of a loop."""
    text = executable.as_text()
    return text[text.index("@loop:") :].split("\n\n")[0]


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_parameters_that_change_places_are_set_at_once(count):
    _, machine = machine_of(COUNTED)
    x = np.arange(3, dtype="float32")
    a, b = machine["main"](np.int64(count), x)
    first, second = x, x
    for _ in range(count):
        first, second = second, first + 1
    np.testing.assert_array_equal(a.numpy(), first)
    np.testing.assert_array_equal(b.numpy(), second)


def test_a_call_of_itself_at_the_end_is_a_jump_behind_the_checks():
    executable, machine = machine_of(COUNTED.replace('"k",', "2,"))
    lines = loop_text(executable).splitlines()[1:]
    assert not any(line.startswith("  call  loop ") for line in lines)
    (jump,) = [number for number, line in enumerate(lines) if "goto" in line]
    target = jump + int(lines[jump].split()[1])
    checks = [number for number, line in enumerate(lines) if "vm.builtin.check_" in line]
    assert len(checks) == 4
    assert target > max(checks)
    steps = 3 * sys.getrecursionlimit()
    a, _ = machine["main"](np.int64(steps), np.zeros(2, "float32"))
    np.testing.assert_array_equal(a.numpy(), np.full(2, steps // 2, "float32"))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 9])
def test_sizes_that_change_are_stored_in_each_step(count):
    executable, machine = machine_of(GROWING)
    assert loop_text(executable).count("goto") == 2
    expected, left = np.arange(3, dtype="float32"), count
    result = machine["main"](np.int64(count), expected).numpy()
    while left > 0:
        left -= 1
        if left < 3:
            expected = np.concatenate([expected, expected]) + 1
        else:
            left -= 1
    np.testing.assert_array_equal(result, expected)


def test_values_of_a_step_are_freed_before_the_next_one():
    _, machine = machine_of(COUNTED)
    x = np.zeros(1 << 18, "float32")
    machine["main"](np.int64(2), x)
    tracemalloc.start()
    try:
        machine["main"](np.int64(50), x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert x.nbytes < peak < 8 * x.nbytes


def test_a_loop_without_an_end_is_interrupted():
    _, machine = machine_of(COUNTED)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine["main"](np.int64(1 << 60), np.zeros(2, "float32"))
    timer.join()
    a, _ = machine["main"](np.int64(2), np.zeros(2, "float32"))
    assert a.numpy().tolist() == [1, 1]


def test_calls_that_are_watched_are_those_of_the_interpreter():
    _, machine = machine_of(COUNTED)
    report = machine.profile("main", np.int64(3), np.zeros(2, "float32"))
    counts = Counter(call["Name"] for call in report.calls)
    assert counts["less"] == 4
    assert counts["loop"] == 1


def test_a_recursion_without_an_end_is_not_a_loop():
    """One that calls itself in both branches is refused when it runs."""
    source = COUNTED.replace("r = (a, b)", "r = cls.loop(i, n, b, a)")
    executable, machine = machine_of(source)
    assert loop_text(executable).count("  call  loop ") == 2
    with pytest.raises(CallError, match="the call of loop is nested too deeply"):
        machine["main"](np.int64(1), np.zeros(2, "float32"))
