from __future__ import annotations

import time
from itertools import pairwise

import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import BufferLoad, FloatImm, IntImm, StringImm, Var
from te_sched.ir.stmt import IRModule
from te_sched.lowering.device.pipeline import device_passes
from te_sched.script import from_source
from te_sched.views.loop_tree import default_args, loop_tree, tree_text
from tests.golden.corpus import programs
from tests.golden.steps import lowered
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, function, program
from tests.views.programs import chain, product, scheduled, tiled

PROGRAMS = programs("primitives", "gemm_gpu", "programs")


def test_tree_shows_loops_memory_and_attachment_as_nesting():
    s, *_ = tiled()
    assert tree_text(loop_tree(s)) == (
        "main(A: float32[64, 32], B: float32[32, 64], C: float32[64, 64])\n"
        "└─ stage C\n"
        "   └─ parallel i.outer  0:8\n"
        "      └─ for j.outer  0:4\n"
        "         ├─ C.local: float32[8, 16] local, 512 bytes\n"
        "         ├─ stage C.local\n"
        "         │  └─ for i.c  0:8\n"
        "         │     └─ for j.c  0:16\n"
        "         │        ├─ C.local[i.c + i.outer * 8, j.c + j.outer * 16] = 0.0\n"
        "         │        └─ for k  0:32\n"
        "         │           └─ C.local[i.c + i.outer * 8, j.c + j.outer * 16] += "
        "A[i.c + i.outer * 8, k] * B[k, j.c + j.outer * 16]\n"
        "         └─ for i.inner  0:8\n"
        "            └─ vectorized j.inner  0:16\n"
        "               └─ C[i.inner + i.outer * 8, j.inner + j.outer * 16] = "
        "C.local[i.inner + i.outer * 8, j.inner + j.outer * 16]"
    )


def test_lines_tell_extents_annotations_memory_and_stages():
    s, *_ = tiled()
    lines = loop_tree(s)
    loops = [
        (one.text.split()[1], one.extent, one.annotation) for one in lines if one.kind == "loop"
    ]
    assert loops[:3] == [("i.outer", 8, "parallel"), ("j.outer", 4, ""), ("i.c", 8, "")]
    (memory,) = [one for one in lines if one.kind == "memory"]
    assert (memory.scope, memory.nbytes, memory.stages) == ("local", 512, ("C.local",))
    assert [one.stages for one in lines if one.kind == "stage"] == [("C",), ("C.local",)]
    assert all(one.node is not None for one in lines)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_every_known_program_has_a_tree(program):
    for (s, _), module in zip(program.steps(te_sched), lowered(program), strict=True):
        of_schedule = loop_tree(s)
        assert "not lowered" not in tree_text(of_schedule)
        of_program = loop_tree(module)
        for lines in (of_schedule, of_program):
            assert lines[0].kind == "function"
            assert any(one.kind == "compute" for one in lines)
            steps = pairwise(lines)
            assert all(after.depth <= before.depth + 1 for before, after in steps)
            assert all(one.text and "T." not in one.text for one in lines)


def test_symbolic_sizes_and_guards():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((n,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], 4)
    text = tree_text(loop_tree(s))
    assert "B: float32[n] global, n * 4 bytes" in text
    assert "for i.outer  0:(n + 3) // 4" in text
    assert "if i.inner + i.outer * 4 < n" in text


def test_nested_loops_of_one_name_are_told_apart():
    s = chain(2, attached=True)
    X0 = s.stages[1]
    X0.split(X0.op.axis[0], nparts=1)
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4,), lambda i: B[i, i] + B[0, i], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    assert "for i_1  0:" in tree_text(loop_tree(s))


def test_facts_about_memory_and_loops_are_told():
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((62, 64), lambda i, j: B[i, j] + B[i + 2, j], name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    s[B].compute_at(s[C], i)
    s[B].storage_align(B.op.axis[0], 16, 1)
    s[B].double_buffer()
    s[C].prefetch(A, j, 1)
    s[C].pragma(j, "unroll_explicit", True)
    text = str(s)
    assert "B: stride of dimension 0 is a multiple of 16 plus 1" in text
    assert "B: double buffer" in text
    assert "A: prefetch, 1 ahead" in text
    assert "for j  0:64  pragma unroll_explicit=True" in text


def test_loops_of_threads_and_annotations():
    tx = E.IterVar(None, Var("tx"), "ThreadIndex", "threadIdx.x")
    notes = {"how": StringImm("well")}
    zero, four = IntImm(0), IntImm(4)
    body = S.For(Var("i"), zero, four, "thread_binding", S.Evaluate(zero), tx, notes)
    (_, line) = loop_tree(S.PrimFunc((), body, {}))
    assert line.text == "threadIdx.x i  0:4  how=well"
    assert (line.kind, line.annotation, line.extent) == ("thread", "threadIdx.x", 4)


def test_intrinsics_and_externs_name_what_they_are_given():
    by_name = {one.name: one for one in PROGRAMS}
    tensorized = [s for s, _ in by_name["18_tensorize"].steps(te_sched)][-1]
    assert "gemv_update(&C[i, j.outer * 16], &A[i, 0], &B[j.outer * 16, 0], " in str(tensorized)
    extern = [s for s, _ in by_name["groups_and_extern"].steps(te_sched)][-1]
    assert "├─ stage Z\n│  └─ tvm.contrib.cblas.matmul(X, Y, Z, False, False)" in str(extern)


def test_programs_with_other_statements():
    a = decl_buffer((8,), name="a")
    store = S.BufferStore(a, FloatImm(1.0), (IntImm(0),))
    loop = S.While(E.LT(BufferLoad(a, (IntImm(0),)), FloatImm(4.0)), store)
    fetch = S.Prefetch(a, (E.Range(IntImm(2), IntImm(3)),))
    branch = S.IfThenElse(E.LT(IntImm(1), IntImm(2)), store, S.Evaluate(IntImm(0)))
    body = S.AssertStmt(
        E.LT(IntImm(1), IntImm(2)), StringImm("no"), S.SeqStmt((loop, fetch, branch))
    )
    param = Var("a", "handle")
    text = tree_text(loop_tree(S.IRModule({"f": S.PrimFunc((param,), body, {param: a})})))
    assert text == (
        "f(a: float32[8])\n"
        "├─ assert 1 < 2\n"
        "└─ stage a\n"
        "   ├─ while a[0] < 4.0\n"
        "   │  └─ a[0] = 1.0\n"
        "   ├─ prefetch a[2:5]\n"
        "   ├─ if 1 < 2\n"
        "   │  └─ a[0] = 1.0\n"
        "   └─ else"
    )


def test_kernels_show_their_threads():
    s, A, B, C = product()
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    host = te_sched.lower(s, [A, B, C])["main"]
    lines = loop_tree(device_passes(host))
    threads = [(one.annotation, one.extent) for one in lines if one.kind == "thread"]
    assert threads == [("blockIdx.x", 64), ("threadIdx.x", 64)]
    assert [one.depth for one in lines if one.kind == "function"] == [0, 0]


def test_a_thread_has_one_name_in_all_stages():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + A[63 - i], name="B")
    s = te.create_schedule(B.op)
    shared = s.cache_read(A, "shared", [B])
    tx = te.thread_axis("threadIdx.x", name="tx")
    for tensor in (shared, B):
        s[tensor].bind(s[tensor].op.axis[0], tx)
    assert str(s).count("threadIdx.x tx  0:64") == 2
    assert "tx_1" not in str(s)


def test_scalars_empty_extents_and_strange_names():
    A = te.placeholder((), name="A")
    B = te.compute((), lambda: A() + 1.0, name="<b>")
    assert "<b>[] = A[] + 1.0" in tree_text(loop_tree(te.create_schedule(B.op)))
    C = te.compute((0, 1), lambda i, j: te.const(1.0), name="C")
    assert "for i  0:0" in tree_text(loop_tree(te.create_schedule(C.op)))


def test_schedule_of_an_input_alone():
    A = te.placeholder((4,), name="A")
    assert tree_text(loop_tree(te.create_schedule(A.op))) == "main(A: float32[4])"


def test_arguments_of_a_scan_leave_out_its_state():
    (scan,) = [one for one in programs("programs") if one.name == "scan_cumsum"]
    s, _ = next(iter(scan.steps(te_sched)))
    assert [tensor.name for tensor in default_args(s)] == ["X", "scan"]


def test_long_chains_take_no_time():
    start = time.process_time()
    lines = loop_tree(chain(1000))
    assert len(lines) == 4000
    assert time.process_time() - start < 5


def test_other_things_have_no_tree():
    with pytest.raises(DeclarationError, match="cannot make a loop tree of an int"):
        loop_tree(3)


def test_a_tree_shows_blocks_with_the_values_of_their_iterators() -> None:
    text = """\
main(A: float32[8, 8], B: float32[8, 8], D: float32[8, 8])
├─ C: float32[8, 8] global, 256 bytes
├─ for i  0:8
│  └─ for j  0:8
│     └─ for k  0:8
│        └─ block C  vi = i, vj = j, reduce vk = k
│           ├─ init
│           │  └─ C[vi, vj] = 0.0
│           └─ C[vi, vj] += A[vi, vk] * B[vk, vj]
└─ for i  0:8
   └─ for j  0:8
      └─ block D  vi = i, vj = j
         └─ D[vi, vj] = max(C[vi, vj], 0.0)"""
    func = program(MATMUL)
    assert tree_text(loop_tree(func)) == text
    assert str(tir.Schedule(func)) == text
    kinds = [line.kind for line in loop_tree(func)]
    assert kinds.count("block") == 2
    assert "stage" not in kinds


def test_a_tree_shows_conditions_annotations_and_memory_of_blocks() -> None:
    sch = scheduled()
    sch.annotate("D", "note", 3)
    sch.split(sch.get_loops("A_local")[0], [None, 3])
    lines = [line.text for line in loop_tree(sch)]
    assert "A_local: float32[8, 8] local, 256 bytes" in lines
    assert "where ax0_0 * 3 + ax0_1 < 8" in lines
    assert "parallel i_0  0:2" in lines
    assert "block D  vi = i, vj = j  note=3" in lines


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (OTHERS["view"], ["V = A[vi]", "B[vi] = V[]"]),
        (OTHERS["scan"], ["block B  vi = i, scan vj = j"]),
        (OTHERS["opaque"], ["block B", "B[i] = A[i]"]),
        (function("A:8", "V = T.decl_buffer((4,), data=A.data)\nV[0] = 1.0"), ["A[0] = 1.0"]),
        (
            function(
                "A:2",
                'C = T.allocate_const([1.0, 2.0], "float32", [2])\n'
                "V = T.decl_buffer((2,), data=C)\nA[0] = V[1]",
            ),
            ["V: float32[2] global, 8 bytes", "A[0] = V[1]"],
        ),
    ],
)
def test_a_tree_shows_views_kinds_of_iterators_and_constants(body: str, shown: list[str]) -> None:
    lines = [line.text for line in loop_tree(program(body))]
    assert [one for one in shown if one not in lines] == []


def test_a_module_has_the_trees_of_its_functions() -> None:
    module = from_source(GIVEN + OTHERS["two functions"])
    heads = [line.text for line in loop_tree(module) if line.kind == "function"]
    assert [head.partition("(")[0] for head in heads] == ["f", "g"]
    private = IRModule({"f": program(MATMUL).without_attr("global_symbol")})
    assert loop_tree(private)[0].text.startswith("f(")
