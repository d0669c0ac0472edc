"""Which schedules and functions of a program are found, and for which target."""

import json

import pytest

from tests.cli.block_programs import PRODUCT, SCHEDULED, data

BOUND = """
import tvm
from tvm.script import tir as T

@T.prim_func
def copy(A: T.Buffer((256,)), B: T.Buffer((256,))):
    for i in range(256):
        with T.block("B"):
            vi = T.axis.spatial(256, i)
            B[vi] = A[vi]

sch = tvm.tir.Schedule(copy)
outer, inner = sch.split(sch.get_loops("B")[0], [None, 64])
sch.bind(outer, "blockIdx.x")
sch.bind(inner, "threadIdx.x")
"""


def test_the_present_module_of_a_schedule_is_found(te_sched_command, program):
    text = f"{SCHEDULED}\nsch.unroll(j)\n"
    (row,) = data(te_sched_command("lower", "--json", program(text)))["schedules"]
    assert "T.unroll" not in row["program"]  # it is unrolled
    assert row["state"] == "built"


def test_lower_takes_modules_that_were_lowered_before(te_sched_command, program):
    text = SCHEDULED.replace("and sch.mod", "and tvm.lower(sch.mod)")
    (found,) = data(te_sched_command("lower", "--json", program(text)))["schedules"]
    assert (found["number"], found["state"]) == (1, "built")


@pytest.mark.parametrize("command", ["build", "check", "bench", "lower", "explain"])
def test_threads_are_for_a_gpu(te_sched_command, program, command, tmp_path):
    options = ["-o", tmp_path / "page.html"] if command == "explain" else []
    done = te_sched_command(command, *options, program(BOUND))
    assert done.exit_code == 0, done.stderr
    found = data(te_sched_command("schedules", "--json", program(BOUND)))["schedules"]
    assert [(one["name"], one["target"]) for one in found] == [("copy", "cuda")]


def test_a_module_of_several_functions(te_sched_command, program):
    text = (
        PRODUCT
        + "sch = tvm.tir.Schedule(tvm.IRModule({'f': Module['product'], 'g': Module['product']}))\n"
    )
    (row,) = data(te_sched_command("schedules", "--json", program(text)))["schedules"]
    assert row["name"] == "product"


FUNCTION = """
import te_sched
from te_sched import te, tir
ib = tir.ir_builder.create()
buffer = tir.decl_buffer((64,), "float32", name="out")
out = ib.buffer_ptr(buffer)
x = te.thread_axis("threadIdx.x")
ib.scope_attr(x, "thread_extent", 64)
out[x.var] = 1.0
param = te.var("out", "handle")
func = tir.PrimFunc([param], ib.get(), {param: buffer})
te_sched.build({"cuda": te_sched.IRModule({"ones": func})}, target="cuda")
"""


def test_functions_that_are_built_without_a_schedule(te_sched_command, program):
    path = program(FUNCTION)
    (row,) = json.loads(te_sched_command("schedules", "--json", path).stdout)["schedules"]
    assert (row["name"], row["arguments"], row["target"]) == ("ones", ["out"], "cuda")
    assert row["primitives"] is None
    assert "launch_thread" in te_sched_command("lower", "--step", path).stdout
    assert "nothing found" in te_sched_command("check", path).stdout
    (step,) = json.loads(te_sched_command("explain", "--json", path).stdout)["steps"]
    assert step["title"] == "The program as given"


def test_a_program_keeps_its_lowering(te_sched_command, program):
    text = te_sched_command("lower", program("gemm")).stdout
    path = program(
        "import te_sched\n"
        "from te_sched import te\n"
        "A = te.placeholder((8,), name='A')\n"
        "B = te.compute((8,), lambda i: A[i], name='B')\n"
        "s = te.create_schedule(B.op)\n"
        "s[B].vectorize(B.op.axis[0])\n"
        "with te_sched.transform.PassContext(config={'tir.disable_vectorize': True}):\n"
        "    te_sched.lower(s, [A, B])\n"
    )
    assert "Broadcast" in text
    assert "for i in range(8)" in te_sched_command("lower", path).stdout


def test_names_of_tvm_and_of_te_sched_are_observed_alike(te_sched_command, program):
    path = program(
        "from tvm import te, lower as old\n"
        "from te_sched import lower as new\n"
        "from te_sched.te import create_schedule\n"
        "A = te.placeholder((2,), name='A')\n"
        "B = te.compute((2,), lambda i: A[i], name='B')\n"
        "old(te.create_schedule(B.op), [A, B])\n"
        "new(create_schedule(B.op), [A, B])\n"
    )
    done = te_sched_command("schedules", path, "--json")
    states = [one["state"] for one in json.loads(done.stdout)["schedules"]]
    assert states == ["lowered", "lowered"]
