"""te-sched on programs with functions of blocks and their schedules."""

import json

import pytest

PRODUCT = """
import tvm
from tvm.script import ir as I
from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def product(A: T.Buffer((64, 64)), B: T.Buffer((64, 64)), C: T.Buffer((64, 64))):
        for i, j, k in T.grid(64, 64, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

"""
SCHEDULED = (
    PRODUCT
    + """
sch = tvm.tir.Schedule(Module)
i, j, k = sch.get_loops(sch.get_block("C"))
sch.reorder(i, k, j)
sch.parallel(i)
other = sch.copy()
tvm.lower(sch.mod, simple_mode=False)
built = tvm.build(tvm.build(Module, target="llvm") and sch.mod, target="llvm")
"""
)
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


def data(done):
    return json.loads(done.stdout)


def test_schedules_lists_schedules_of_blocks(te_sched_command, program):
    first, second = data(te_sched_command("schedules", "--json", program(SCHEDULED)))["schedules"]
    assert (first["name"], first["line"], first["primitives"]) == ("product", 18, 2)
    assert (first["state"], first["target"]) == ("built", "llvm")
    assert first["arguments"] == ["A", "B", "C"]
    assert (second["line"], second["state"]) == (22, "created")


def test_the_present_module_of_a_schedule_is_found(te_sched_command, program):
    text = f"{SCHEDULED}\nsch.unroll(j)\n"
    (row,) = data(te_sched_command("lower", "--json", program(text)))["schedules"]
    assert "T.unroll" not in row["program"]  # it is unrolled
    assert row["state"] == "built"


def test_lower_takes_modules_that_were_lowered_before(te_sched_command, program):
    text = SCHEDULED.replace("and sch.mod", "and tvm.lower(sch.mod)")
    (found,) = data(te_sched_command("lower", "--json", program(text)))["schedules"]
    assert (found["number"], found["state"]) == (1, "built")


def test_lower_shows_each_step_of_a_schedule(te_sched_command, program):
    path = program(SCHEDULED)
    done = te_sched_command("lower", "--step", "--after", "schedule_ops", "-s", 1, path)
    assert ">>> sch = tir.Schedule(module)  # program.py:18" in done.stdout
    assert ">>> sch.reorder(l1, l3, l2)  # program.py:20" in done.stdout
    assert done.stdout.count('with T.block("C"):') == 3
    diff = te_sched_command("lower", "--diff", "-s", 1, path).stdout
    assert "+        for i, k, j in T.grid(64, 64, 64):" in diff


def test_explain_of_a_schedule_of_blocks(te_sched_command, program):
    done = te_sched_command("explain", "-s", 1, "--json", "--no-measure", program(SCHEDULED))
    titles = [step["title"] for step in data(done)["steps"]]
    assert titles == ["The program as given", "reorder(i, k, j)", "parallel(i)"]


def test_explain_ends_with_the_error_of_a_primitive(te_sched_command, program):
    path = program(f"{SCHEDULED}\nsch.parallel(k)\n")
    done = te_sched_command("explain", "-s", 1, "--json", "--no-measure", path)
    assert done.exit_code == 1
    *_, last = data(te_sched_command("explain", "--json", "--no-measure", path))["steps"]
    assert last["problems"][0]["fault"].startswith("cannot parallelize reduction loop k")
    assert last["title"] == "sch.parallel(k)"


def test_explain_of_a_function_of_blocks(te_sched_command, program):
    done = te_sched_command("explain", "--text", "--no-measure", program(PRODUCT))
    assert "block C  vi = i, vj = j, reduce vk = k" in done.stdout


def test_check_and_bench(te_sched_command, program):
    path = program(SCHEDULED)
    assert "nothing found" in te_sched_command("check", "-s", 1, path).stdout
    (row,) = data(te_sched_command("bench", "-s", 1, "--json", "--min-ms", 1, path))["schedules"]
    assert row["operations"] == 2 * 64**3
    assert row["error"] is None


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


CALLS = """
import tvm
from tvm.script import ir as I
from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(A: T.Buffer((8,)), B: T.Buffer((8,))):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * 2.0

    @T.prim_func
    def main(A: T.Buffer((8,)), C: T.Buffer((8,))):
        Module.double(A.data, C.data)

"""


@pytest.mark.parametrize("built", ["", "tvm.build(Module, target='llvm')\n"])
def test_functions_that_are_called_are_inlined(te_sched_command, program, built):
    path = program(CALLS + built)
    (found,) = data(te_sched_command("lower", "--json", path))["schedules"]
    assert found["name"] == "main"
    assert "* T.float32(2)" in found["program"]
    assert "nothing found" in te_sched_command("check", path).stdout


def test_functions_whose_calls_are_wrong_are_listed(te_sched_command, program):
    text = CALLS.replace("Module.double(A.data, C.data)", "Module.main(A.data, C.data)")
    found = data(te_sched_command("schedules", "--json", program(text)))["schedules"]
    assert [one["name"] for one in found] == ["double", "main"]
    assert te_sched_command("check", "--schedule", "main", program(text)).exit_code == 1
