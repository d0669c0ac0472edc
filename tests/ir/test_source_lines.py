"""The lines that declare the parts of functions, in errors and apart from the program."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import AccessError, BuildError, ScheduleError, SourceLocation, Subject
from te_sched.ir import load_json, save_json, structural_equal, structural_hash
from te_sched.ir.source_lines import SourceLines
from te_sched.script import tir as T

HERE = re.escape(__file__)


@T.prim_func
def summed(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    C = T.alloc_buffer((16, 16), "float32")
    for i, k in T.grid(16, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = A[vi, vk] + 1.0
    for i in range(16):
        for k in T.parallel(16):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] += C[vi, vk]


@T.prim_func
def gathered(P: T.Buffer((8,), "int32"), A: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = A[P[v]]


def line_of(text: str) -> int:
    """The line of this file that has a text."""
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def test_errors_of_a_script_name_the_lines_of_its_buffers_and_loops():
    first = line_of("def summed")
    loop, stored = line_of("for k in T.parallel(16)"), line_of("B[vi] = 0.0")
    where = rf"where: buffer B \(declared at {HERE}:{first}, assigned in lines {stored} and "
    where += rf"{stored + 1}\), loop k \(declared at {HERE}:{loop}\), {HERE}:"
    with pytest.raises(BuildError, match=where):
        te_sched.build(summed)


@pytest.mark.parametrize(
    ("options", "device"),
    [({}, None), ({"sanitize": True}, None), ({"target": "cuda"}, te_sched.emulated_cuda(0))],
)
def test_errors_of_calls_name_the_lines_of_a_script(options, device):
    """Also of a program that the cache has."""
    schedule = tir.Schedule(gathered)
    if device is not None:
        schedule.bind(schedule.get_loops("D")[0], "threadIdx.x")
    arrays = [te_sched.nd.array(np.full(8, 9, "int32"), device) for _ in range(3)]
    first, assigned = line_of("def gathered"), line_of("D[v] = A[P[v]]")
    where = rf"of buffer D \(declared at {HERE}:{first}, assigned in line {assigned}\), {HERE}:"
    for _ in range(2):
        module = te_sched.build(schedule.mod, **options)
        with pytest.raises(AccessError, match=where):
            module[module.function_names[0]](*arrays)


def test_errors_of_schedules_of_blocks_name_the_lines_of_the_script():
    schedule = tir.Schedule(summed)
    _, inner = schedule.get_loops("B")
    schedule.get_block("C")
    block = line_of('with T.block("B")')
    with pytest.raises(ScheduleError, match=rf"block B \(declared at {HERE}:{block}\)"):
        schedule.vectorize(inner)


def test_functions_of_tensors_name_the_lines_of_the_tensors():
    A = te.placeholder((16, 16), name="A")
    k = te.reduce_axis((0, 16), name="k")
    B = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="B")
    schedule = tir.Schedule(te.create_prim_func([A, B]))
    with pytest.raises(ScheduleError, match=rf"block B \(declared at {HERE}:{B.op.place.line}\)"):
        schedule.parallel(schedule.get_loops("B")[1])


def test_lowered_schedules_name_the_lines_of_their_stages():
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1.0, name="B")
    lines = te_sched.lower(te.create_schedule(B.op), [A, B])["main"].lines
    (stage,) = lines.located([Subject("stage", "B")])
    assert str(stage) == f"stage B (declared at {__file__}:{B.op.place.line})"


def test_findings_of_check_have_the_lines_of_a_script():
    (race,) = te_sched.analysis.check(summed).refuted
    loop = line_of("for k in T.parallel(16)")
    assert race.where.endswith(f"loop k (declared at {__file__}:{loop})")
    assert f"  where: {race.where}\n" in str(race)


def test_findings_of_check_have_the_lines_of_a_schedule():
    A = te.placeholder((16,), name="A")
    B = te.compute((4,), lambda i: A[i + 14], name="B")
    (outside,) = te_sched.analysis.check(te.create_schedule(B.op), [A, B]).refuted
    assert outside.where == f"stage B (declared at {__file__}:{B.op.place.line})"


def test_lines_are_not_part_of_a_program():
    bare = te_sched.ir.visitor.replace(summed, lines=SourceLines())
    assert structural_equal(bare, summed)
    assert structural_hash(bare) == structural_hash(summed)
    assert bare.script() == summed.script()
    assert save_json(bare) == save_json(summed)
    assert __file__ not in save_json(summed)
    assert __file__.encode() not in pickle.dumps(summed)
    assert structural_equal(load_json(save_json(summed)), summed)
    assert copy.deepcopy(summed).lines is summed.lines


def test_loops_of_one_name_are_told_apart_by_what_is_inside():
    lines = SourceLines()
    for number in (2, 6):
        lines.add("loop", "i", SourceLocation("a.py", number))
    lines.add("block", "B", SourceLocation("a.py", 7))
    loop = Subject("loop", "i")
    (either,) = lines.located([loop])
    assert str(either) == "loop i (declared at a.py:2 and a.py:6)"
    located = [str(one) for one in lines.located([Subject("block", "B"), loop])]
    assert located == ["block B (declared at a.py:7)", "loop i (declared at a.py:6)"]


def test_lines_of_another_file_and_of_many_assignments():
    lines = SourceLines()
    lines.add("buffer", "A", SourceLocation("a.py", 2))
    lines.add("assignment", "A", SourceLocation("b.py", 3))
    (buffer,) = lines.located([Subject("buffer", "A")])
    assert str(buffer) == "buffer A (declared at a.py:2, assigned at b.py:3)"
    for number in (5, 6, 7):
        lines.add("assignment", "A", SourceLocation("b.py", number))
    (buffer,) = lines.located([Subject("buffer", "A")])
    assert str(buffer) == "buffer A (declared at a.py:2)"


@T.prim_func
def twice(A: T.Buffer((9, 9), "float32"), P: T.Buffer((9, 9), "float32")):
    C = T.alloc_buffer((9, 9), "float32")
    for i, j in T.grid(9, 9):  # of C
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(9, 9):  # of P
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = C[vi, vj] + 1.0


@pytest.mark.parametrize(
    ("schedule", "loops"),
    [
        (lambda sch, i, j: sch.split(i, [3, 2]), ["of C"]),
        (lambda sch, i, j: sch.compute_at("P", i), ["of C"]),
        (lambda sch, i, j: sch.fuse(i, j), ["of C", "of P"]),
    ],
)
def test_errors_of_primitives_know_loops_of_one_name_apart(schedule, loops):
    sch = tir.Schedule(twice)
    outer, inner = sch.get_loops("C")[0], sch.get_loops("P")[1]
    with pytest.raises(ScheduleError) as caught:
        schedule(sch, outer, inner)
    lines = [one.lines for one in caught.value.about if getattr(one, "kind", "") == "loop"]
    assert lines == [f"declared at {__file__}:{line_of(f'(9, 9):  # {text}')}" for text in loops]


@T.prim_func
def row(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8,), "int32", offset_factor=1)
    B = T.match_buffer(b, (8,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        for j in range(8):
            with T.block("copied"):
                v = T.axis.spatial(8, j)
                B[v] = A[v]


@T.prim_func
def row_beyond(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8,), "int32", offset_factor=1)
    B = T.match_buffer(b, (8,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        for j in T.serial(8):
            B[j] = A[j + 100]


@T.prim_func
def copied(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


def test_names_of_an_intrinsic_have_no_lines_of_the_function():
    tir.TensorIntrin.register("source_lines_row", row, row_beyond, override=True)
    sch = tir.Schedule(copied)
    sch.tensorize(sch.get_loops("B")[1], "source_lines_row")
    lines = sch.mod["main"].lines
    assert not lines.of("loop", "j")
    assert not lines.of("assignment", "B")
    assert lines.of("loop", "i") == copied.lines.of("loop", "i")
    assert lines.of("buffer", "B") == copied.lines.of("buffer", "B")
    with pytest.raises(BuildError, match="reads A at 100") as caught:
        te_sched.build(sch.mod)
    assert f":{line_of('B[vi, vj] = A[vi, vj]')}" not in caught.value.where
    again = lines.with_part(row_beyond.lines)
    assert not again.of("loop", "j")


def test_names_of_an_intrinsic_alone_have_its_lines():
    lines, part = SourceLines(), SourceLines()
    lines.add("loop", "i", SourceLocation("a.py", 1))
    part.add("loop", "k", SourceLocation("a.py", 9))
    part.add("buffer", "A", SourceLocation("a.py", 8))
    joined = lines.with_part(part, without=["A"])
    assert joined.of("loop", "k") == [SourceLocation("a.py", 9)]
    assert joined.of("loop", "i") == [SourceLocation("a.py", 1)]
    assert not joined.of("buffer", "A")
