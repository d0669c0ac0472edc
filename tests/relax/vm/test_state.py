"""States of machines: kept from call to call, apart from results and from other machines."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import (
    AccessError,
    ArgumentError,
    ArgumentTypeError,
    CallError,
    GraphError,
)
from te_sched.script import from_source

SUMS = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({n}, 2), "float32"), total: R.Tensor((2,), "float32"),
             count: R.Tensor((), "int64")):
        R.func_attr({{"state": {{"total": "total", "count": "count"}}, "initial_state": "first"}})
        part = R.sum(x, axis=[0])
        new = R.add(total, part)
        more = R.add(count, R.const(1, "int64"))
        return (({result},), (new, more))

    @R.function
    def first():
        return (R.const([1.0, 2.0], "float32"), R.const(0, "int64"))
"""
CACHE = """
@I.ir_module
class Module:
    @R.function
    def main(at: R.Tensor((1, 2), "int64"), row: R.Tensor((1, 2), "float32"),
             cache: R.Tensor((4, 2), "float32")):
        R.func_attr({"state": {"cache": "cache"}, "initial_state": "first"})
        new = R.scatter_elements(cache, at, row)
        total = R.sum(new)
        return (total, (new,))

    @R.function
    def first():
        return (R.zeros((4, 2), "float32"),)
"""
ONES = np.ones((1, 2), "float32")


def _machine(source: str) -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(from_source(source), "llvm"), te_sched.cpu())


def _sums(n: object = 1, result: str = "new") -> relax.VirtualMachine:
    return _machine(SUMS.format(n=n, result=result))


def _row(at: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((1, 2), at, "int64"), np.full((1, 2), at + 1, "float32")


@pytest.mark.parametrize("n", [1, '"n"'])
def test_states_are_kept_from_call_to_call(n: object) -> None:
    machine = _sums(n)
    results = [machine["main"](nd.array(ONES))[0] for _ in range(3)]
    for number, result in enumerate(results):  # no result is memory of a state
        np.testing.assert_array_equal(result.numpy(), [2 + number, 3 + number])
    assert machine.get_state("count").numpy() == 3
    np.testing.assert_array_equal(machine.get_state()["total"].numpy(), [4, 5])
    machine.reset_state()
    np.testing.assert_array_equal(machine.get_state("total").numpy(), [1, 2])


def test_a_result_that_is_a_state_is_a_copy() -> None:
    machine = _sums(result="total")
    old = machine["main"](x=ONES)[0]
    copy = machine.get_state("total")
    machine["main"](ONES)
    np.testing.assert_array_equal(old.numpy(), [1, 2])
    np.testing.assert_array_equal(copy.numpy(), [2, 3])


def test_states_are_set_by_name_or_not_at_all() -> None:
    machine = _sums()
    machine.set_state({"total": ONES[0] * 5})
    np.testing.assert_array_equal(machine["main"](ONES)[0].numpy(), [6, 6])
    with pytest.raises(ArgumentError, match=r"state count is given an array of shape \(2,\)"):
        machine.set_state({"total": ONES[0], "count": ONES[0]})
    with pytest.raises(GraphError, match="the machine has no state 'sum'"):
        machine.set_state({"sum": ONES})
    with pytest.raises(GraphError, match="the machine has no state 'totals'") as error:
        machine.get_state("totals")
    assert "did you mean" in error.value.help
    np.testing.assert_array_equal(machine.get_state("total").numpy(), [6, 6])


def test_machines_of_an_executable_have_states_of_their_own() -> None:
    executable = relax.build(from_source(SUMS.format(n=1, result="new")), "llvm")
    one, other = relax.VirtualMachine(executable), relax.VirtualMachine(executable)
    for _ in range(3):
        one["main"](ONES)
    assert (one.get_state("count").numpy(), other.get_state("count").numpy()) == (3, 0)


def test_files_keep_first_values(tmp_path: object) -> None:
    executable = relax.build(from_source(SUMS.format(n=1, result="new")), "llvm")
    relax.VirtualMachine(executable)["main"](ONES)
    executable.export_library(f"{tmp_path}/sums.so")
    machine = relax.VirtualMachine(te_sched.runtime.load_module(f"{tmp_path}/sums.so"))
    np.testing.assert_array_equal(machine["main"](ONES)[0].numpy(), [2, 3])
    assert machine.get_state("count").numpy() == 1


def test_calls_of_threads_come_one_after_the_other() -> None:
    machine = _sums()

    def run() -> None:
        for _ in range(50):
            machine["main"](ONES)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert machine.get_state("count").numpy() == 200
    np.testing.assert_array_equal(machine.get_state("total").numpy(), [201, 202])


def test_rows_are_written_in_the_memory_of_a_cache() -> None:
    machine = _machine(CACHE)
    machine["main"](*_row(0))
    memory = machine._state.arrays()["cache"]
    before = memory.address
    assert float(machine["main"](*_row(2)).numpy()) == 2 * (1 + 3)
    np.testing.assert_array_equal(memory.numpy(), [[1, 1], [0, 0], [3, 3], [0, 0]])
    assert machine._state.arrays()["cache"].address == before


def test_a_call_that_failed_half_way_is_told_of() -> None:
    machine = _machine(CACHE)
    machine["main"](*_row(1))
    with pytest.raises(ArgumentError, match="argument row of main has shape"):
        machine["main"](_row(1)[0], np.ones((1, 3), "float32"))
    with pytest.raises(CallError, match="takes 2 arguments, got 1"):
        machine["main"](_row(1)[0])
    assert machine.get_state("cache").numpy().sum() == 4  # it was not begun
    with pytest.raises(AccessError, match="write cache at 4 in dimension 0"):
        machine["main"](*_row(4))
    for use in (lambda: machine["main"](*_row(1)), machine.get_state):
        with pytest.raises(CallError, match="a call of main failed after it had begun"):
            use()
    machine.set_state({"cache": np.zeros((4, 2), "float32")})
    assert float(machine["main"](*_row(1)).numpy()) == 4


@pytest.mark.parametrize("is_watched", [False, True])  # native code, or instructions
@pytest.mark.parametrize("n", [1, '"n"'])
def test_wrong_arguments_leave_states_as_they_were(n: object, is_watched: bool) -> None:
    machine = _sums(n)
    if is_watched:
        machine.set_instrument(lambda *args: None)
    machine["main"](ONES)
    with pytest.raises(ArgumentError, match="argument x of main has ndim 1"):
        machine["main"](np.ones(2, "float32"))
    with pytest.raises(ArgumentTypeError, match="argument x of main is a str"):
        machine["main"]("x")
    assert machine.get_state("count").numpy() == 1


def test_other_ways_to_call_keep_states_too() -> None:
    machine = _sums()
    machine.set_input("main", ONES)
    machine.invoke_stateful("main")
    machine.save_function("main", "saved", ONES)
    machine["saved"]()
    machine.profile("main", ONES)
    assert machine.get_state("count").numpy() == 3


def test_states_without_first_values_are_refused() -> None:
    source = CACHE.replace('"initial_state": "first"', '"initial_state": "begin"')
    with pytest.raises(GraphError, match="function main has states without first values"):
        _machine(source)
