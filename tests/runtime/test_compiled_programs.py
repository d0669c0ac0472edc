"""Builds that were done before: found, and only where they would come out the same."""

from __future__ import annotations

import ctypes
import linecache
import os
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest

import te_sched
from te_sched import config, te
from te_sched.driver import steps
from te_sched.errors import AccessError
from te_sched.ir.intrinsic_table import EFFECTS
from te_sched.ir.op import RULES
from te_sched.runtime import compiled_objects, registry
from te_sched.runtime.fingerprint import environment
from te_sched.script import tir as T


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "STARTED", time.time_ns() + 10**10)
    environment.cache_clear()
    with (
        mock.patch.dict(RULES, clear=True),  # other tests register some
        mock.patch.dict(EFFECTS, steps._EFFECTS, clear=True),
        config.scoped(cache=True, cache_dir=str(tmp_path / "cache"), verify_passes=False),
    ):
        yield tmp_path / "cache"
    environment.cache_clear()


@pytest.fixture
def compiled(monkeypatch):
    """How many objects were compiled, as a list that grows."""
    done = []

    def counted(*args):
        if "te_sched_functions" in args[0]:  # and not what the runtime consists of
            done.append(args[0])
        return original(*args)

    original = compiled_objects.compile_objects
    monkeypatch.setattr(compiled_objects, "compile_objects", counted)
    return done


def program(scale=2.0, value=lambda x: x):
    a = te.placeholder((te.var("n"),), name="A")
    b = te.compute(a.shape, lambda i: value(a[i] * scale), name="B")
    return te.create_schedule(b.op), [a, b]


def check(module, scale=2.0):
    a, b = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    module(a, b)
    np.testing.assert_array_equal(b, a * np.float32(scale))


def test_a_second_build_neither_lowers_nor_compiles(compiled, monkeypatch):
    check(te_sched.build(*program()))
    monkeypatch.delattr("te_sched.driver.steps.lower_schedule")
    check(te_sched.build(*program()))
    assert len(compiled) == 1


def test_what_was_built_before_is_found_in_one_step(capsys):
    for first, last in (("find_built", "compile_functions"), ("find_built", "find_built")):
        te_sched.build(*program(), show="steps")
        names = [row.split()[0] for row in capsys.readouterr().out.splitlines()]
        assert (names[0], names[-1]) == (first, last)


def test_another_program_is_compiled(compiled):
    check(te_sched.build(*program()))
    check(te_sched.build(*program(3.0)), 3.0)
    assert len(compiled) == 2


def test_a_schedule_that_comes_to_the_same_loops_is_lowered_alone(compiled):
    s, args = program()
    check(te_sched.build(s, args))
    s[args[1]].split(args[1].op.axis[0], nparts=1)
    s2, args2 = program()
    s2[args2[1]].pragma(args2[1].op.axis[0], "unknown_hint")
    check(te_sched.build(s2, args2))
    assert len(compiled) == 1


def test_name_target_and_options_count(compiled):
    te_sched.build(*program())
    te_sched.build(*program(), name="other")
    te_sched.build(*program(), target="llvm -opt-level=1")
    with te_sched.transform.PassContext(config={"tir.add_lower_pass": [(1, lambda f, *_: f)]}):
        te_sched.build(*program())
    assert len(compiled) == 3


def test_source_and_export_of_what_was_found(tmp_path):
    first, second = te_sched.build(*program()), te_sched.build(*program())
    assert first.get_source("asm") == second.get_source("asm")
    second.export_library(tmp_path / "kept.o")
    check(te_sched.runtime.load_module(tmp_path / "kept.o"))


def test_a_damaged_object_is_compiled_again(compiled, folder):
    te_sched.build(*program())
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-3] + b"???")
    check(te_sched.build(*program()))
    assert len(compiled) == 2


def test_a_function_that_is_registered_otherwise_counts(compiled):
    def calling(x):
        return te_sched.tir.call_extern("float32", "kept_probe", x)

    kind = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)
    try:
        te_sched.register_extern("kept_probe", lambda x: x)
        check(te_sched.build(*program(value=calling)))
        check(te_sched.build(*program(value=calling)))
        assert len(compiled) == 1
        te_sched.register_extern("kept_probe", kind(lambda x: x))
        check(te_sched.build(*program(value=calling)))
        assert len(compiled) == 2
        registry.remove_extern("kept_probe")
        with pytest.raises(te_sched.BuildError, match="kept_probe"):
            te_sched.build(*program(value=calling))
    finally:
        registry.remove_extern("kept_probe")


def test_rules_and_effects_of_the_user_count(monkeypatch):
    s, args = program(value=lambda x: te_sched.tir.exp(x))
    te_sched.build(s, args)
    monkeypatch.setitem(
        RULES, "tir.exp", {"llvm": (99, lambda call: te_sched.tir.const(0.0, "float32"))}
    )
    a, b = np.ones(2, "float32"), np.ones(2, "float32")
    te_sched.build(s, args)(a, b)
    np.testing.assert_array_equal(b, [0.0, 0.0])
    monkeypatch.delitem(RULES, "tir.exp")
    monkeypatch.setitem(EFFECTS, "tir.own", EFFECTS["tir.exp"])
    assert not found(s, args)
    monkeypatch.delitem(EFFECTS, "tir.own")
    assert found(s, args)


def found(s, args):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("te_sched.driver.steps.check_legality", lambda s: 1 / 0)
        try:
            return bool(te_sched.build(s, args))
        except ZeroDivisionError:
            return False


def test_unsound_schedules_are_refused_each_time():
    a = te.placeholder((8,), name="A")
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((1,), lambda i: te.sum(a[k], k), name="B")
    s = te.create_schedule(b.op)
    s[b].parallel(k)
    te_sched.build(s, [a, b], verify=False)
    for _ in range(2):
        with pytest.raises(te_sched.BuildError, match="axis k"):
            te_sched.build(s, [a, b])


def test_functions_that_were_lowered_before_are_kept_too(compiled):
    lowered = te_sched.lower(*program())
    check(te_sched.build(lowered))
    check(te_sched.build(lowered))
    assert len(compiled) == 1


_PROCESS = """
import sys, time
from te_sched import config
config.STARTED = time.time_ns() + 10**10
import te_sched
from te_sched import te
from te_sched.runtime import compiled_objects
if sys.argv[1] == "found":
    compiled_objects.compile_objects = None
a = te.placeholder((8,), name="A")
b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
te_sched.build(te.create_schedule(b.op), [a, b])
"""


def test_another_process_finds_it(tmp_path):
    environ = {**os.environ, "TE_SCHED_CACHE": "1", "TE_SCHED_CACHE_DIR": str(tmp_path / "shared")}
    for what in ("made", "found"):
        command = [sys.executable, "-c", _PROCESS, what]
        subprocess.run(command, env=environ, check=True, timeout=60)


def test_code_from_a_file_is_read_each_time(tmp_path, compiled):
    path = tmp_path / "code.ll"

    def built(value):
        path.write_text(f"define float @own() {{\n  ret float {value}\n}}\n")
        b = te.compute((4,), lambda i: te_sched.tir.call_extern("float32", "own"), name="B")
        s = te.create_schedule(b.op)
        s[b].pragma(b.op.axis[0], "import_llvm", str(path))
        result = np.zeros(4, "float32")
        te_sched.build(s, [b])(result)
        return result[0]

    assert [built("2.0"), built("3.0"), built("3.0")] == [2.0, 3.0, 3.0]
    assert len(compiled) == 2


GATHER = """
A, I = te.placeholder((8,), name="A"), te.placeholder((8,), "int32", name="I")
B = te.compute((8,), lambda i: A[I[i]], name="B")
built = te_sched.build(te.create_schedule(B.op), [A, I, B], "llvm")
"""
LOOPS = """
@T.prim_func
def gather(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[I[vi]]


built = te_sched.build(gather, target="llvm")
"""


@pytest.mark.parametrize(("source", "line"), [(GATHER, 3), (LOOPS, 3)])
def test_errors_of_calls_have_the_lines_of_today(source, line, compiled, tmp_path):
    arrays = [np.zeros(8, "float32"), np.full(8, 9, "int32"), np.zeros(8, "float32")]
    file = tmp_path / "program.py"
    for above in (0, 5):
        file.write_text("\n" * above + source)
        linecache.checkcache()
        names = {"te": te, "te_sched": te_sched, "T": T, "__name__": "program"}
        exec(compile(file.read_text(), str(file), "exec"), names)
        with pytest.raises(AccessError, match="read A at 9 in dimension 0") as caught:
            names["built"](*arrays)
        assert f"program.py:{line + above}" in caught.value.where
    assert len(compiled) == 1
