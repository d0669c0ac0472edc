"""te-sched schedules: what a program makes."""

import json

from tests.cli.block_programs import CALLS, SCHEDULED, data


def test_schedules_lists_schedules_of_blocks(te_sched_command, program):
    first, second = data(te_sched_command("schedules", "--json", program(SCHEDULED)))["schedules"]
    assert (first["name"], first["line"], first["primitives"]) == ("product", 18, 2)
    assert (first["state"], first["target"]) == ("built", "llvm")
    assert first["arguments"] == ["A", "B", "C"]
    assert (second["line"], second["state"]) == (22, "created")


def test_functions_whose_calls_are_wrong_are_listed(te_sched_command, program):
    text = CALLS.replace("Module.double(A.data, C.data)", "Module.main(A.data, C.data)")
    found = data(te_sched_command("schedules", "--json", program(text)))["schedules"]
    assert [one["name"] for one in found] == ["double", "main"]
    assert te_sched_command("check", "--schedule", "main", program(text)).exit_code == 1


def test_schedules_lists_what_a_program_makes(te_sched_command, program):
    done = te_sched_command("schedules", program("two"))
    assert done.exit_code == 0, done.stderr
    first, second, unused = [line.split() for line in done.stdout.splitlines()[2:]]
    assert first == ["1", "run_first", "program.py:7", "0", "A,", "first", "built", "llvm"]
    assert second[1] == "run_second"
    assert unused[1:] == ["unused", "program.py:9", "0", "A,", "unused", "created", "llvm"]


def test_schedules_as_json(te_sched_command, program):
    done = te_sched_command("schedules", program("gemm"), "--json")
    (found,) = json.loads(done.stdout)["schedules"]
    assert found["name"] == "C"
    assert found["primitives"] == 3
    assert found["arguments"] == ["A", "B", "C"]
    assert found["state"] == "lowered"
    assert done.stderr.startswith("a line of the program\n--- end of the output of ")
