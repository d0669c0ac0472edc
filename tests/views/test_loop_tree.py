import time
from itertools import pairwise

import pytest

import te_sched
from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import BufferLoad, FloatImm, IntImm, StringImm, Var
from te_sched.lowering.device.pipeline import device_passes
from te_sched.views.loop_tree import default_args, loop_tree, tree_text
from tests.golden.corpus import programs
from tests.golden.steps import lowered
from tests.views.programs import broken, chain, product, tiled

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


def test_schedule_that_cannot_be_lowered_says_why_and_shows_its_stages():
    lines = loop_tree(broken())
    text = tree_text(lines)
    assert lines[1].text.startswith("not lowered: ")
    assert "stage C" in text
    assert text.endswith(
        "├─ stage C\n│  └─ for i  0:8\n│     └─ stage B\n│        └─ for i  0:8\n"
        "└─ stage D\n   └─ for i  0:8"
    )
    assert str(broken()) == text


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
