"""te-sched build: code as text and as files."""

import numpy as np
import pytest

import te_sched
from te_sched.codegen.cuda import nvrtc


@pytest.mark.parametrize(
    ("name", "emit", "part"),
    [
        ("gemm", "llvm", "define "),
        ("gemm", "asm", ".text"),
        ("gemm", "ir", "T.parallel(8)"),
        ("gpu", "cuda", "__global__ void"),
        ("gpu", "ir", "threadIdx.x"),
        ("old", "llvm", "define "),
    ],
)
def test_build_prints_code(te_sched_command, program, name, emit, part):
    done = te_sched_command("build", "--emit", emit, program(name))
    assert done.exit_code == 0, done.stderr
    assert part in done.stdout


def test_build_prints_what_runs_by_default(te_sched_command, program):
    assert "__global__ void" in te_sched_command("build", program("gpu")).stdout
    assert "define " in te_sched_command("build", program("gemm")).stdout


@pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC")
def test_build_prints_ptx(te_sched_command, program):
    done = te_sched_command("build", "--emit", "ptx", "-t", "cuda -arch=sm_90", program("gpu"))
    assert ".target sm_90" in done.stdout


def test_build_titles_several(te_sched_command, program):
    text = te_sched_command("build", program("two")).stdout
    assert "; schedule 1: run_first (program.py:7), llvm" in text
    assert "; schedule 2: run_second (program.py:7), llvm" in text


def test_build_saves_an_object(te_sched_command, program, tmp_path):
    file = tmp_path / "gemm.o"
    done = te_sched_command("build", "--emit", "object", "-o", file, program("gemm"))
    assert done.exit_code == 0, done.stderr
    a, b = np.ones((64, 32), "float32"), np.ones((32, 64), "float32")
    c = np.zeros((64, 64), "float32")
    te_sched.runtime.load_module(str(file))(a, b, c)
    assert (c == 32).all()


def test_build_saves_text(te_sched_command, program, tmp_path):
    file = tmp_path / "gemm.ll"
    done = te_sched_command("build", "-q", "-o", file, program("gemm"))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert "define " in file.read_text()


def test_build_rejects_an_object_on_a_terminal(te_sched_command, program):
    done = te_sched_command("build", "--emit", "object", program("gemm"))
    assert done.exit_code == 2
    assert "name a file: -o NAME.o" in done.stderr


def test_build_rejects_code_of_another_target(te_sched_command, program):
    done = te_sched_command("build", "--emit", "cuda", program("gemm"))
    assert done.exit_code == 2
    assert "is built for llvm" in done.stderr
    assert "use --emit llvm or asm" in done.stderr
    done = te_sched_command("build", "--emit", "asm", program("gpu"))
    assert "use --emit cuda or ptx" in done.stderr


def test_build_rejects_kernels_where_there_are_none(te_sched_command, program):
    done = te_sched_command("build", "--target", "cuda", program("old"))
    assert done.exit_code == 1
    assert "bind axes of stage B" in done.stderr
    text = """
import te_sched
from te_sched import te, tir
A = te.placeholder((4,), name="A")
body = lambda i, o: tir.call_packed("cli.nothing", i[0], o[0])
B = te.extern((4,), [A], body, name="B", dtype="float32")
s = te.create_schedule(B.op)
"""
    done = te_sched_command("build", "--target", "cuda", program(text))
    assert done.exit_code == 2
    assert "none of its axes is bound to threads" in done.stderr


@pytest.mark.parametrize("emit", ["llvm", "object"])
@pytest.mark.parametrize("folder", ["/proc", "/no_such_folder"])
def test_build_rejects_a_file_that_cannot_be_written(te_sched_command, program, emit, folder):
    done = te_sched_command("build", "--emit", emit, "-o", f"{folder}/gemm.o", program("gemm"))
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert "help: " in done.stderr


def test_build_rejects_a_file_of_no_kind(te_sched_command, program, tmp_path):
    done = te_sched_command("build", "--emit", "object", "-o", tmp_path / "x.y", program("gemm"))
    assert done.exit_code == 2
    assert "use .so, .o or .tar" in done.stderr


def test_build_rejects_one_file_for_several(te_sched_command, program, tmp_path):
    done = te_sched_command("build", "-o", tmp_path / "x.ll", program("two"))
    assert done.exit_code == 2
    assert "has 3 schedules\n  why: 1 (run_first), 2 (run_second); not lowered or built: 3 (" in (
        done.stderr
    )
    assert "choose one: --schedule 1" in done.stderr


def test_build_goes_on_after_a_schedule_that_cannot_be_built(te_sched_command, program):
    text = (
        "import te_sched\n"
        "from te_sched import te\n"
        "A = te.placeholder((8, 8), name='A')\n"
        "k = te.reduce_axis((0, 8), name='k')\n"
        "for name in ('wrong', 'right'):\n"
        "    C = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name=name)\n"
        "    s = te.create_schedule(C.op)\n"
        "    s[C].parallel(k if name == 'wrong' else C.op.axis[0])\n"
    )
    done = te_sched_command("build", program(text))
    assert done.exit_code == 1
    assert "cannot parallelize reduction axis k of stage wrong" in done.stderr
    assert "schedule 2: right" in done.stdout
