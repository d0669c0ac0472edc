"""Instructions that are interpreted."""

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import CallError
from te_sched.script import ir as I
from te_sched.script import relax as R
from tests.relax.vm.choosing import choosing
from tests.relax.vm.machines import CPU, Symbolic, machine


def test_branches_run():
    machine = relax.VirtualMachine(choosing(), CPU)
    a, b = np.array([2.0]), np.array([5.0])
    assert machine["main"](1, a, b).numpy() == 7
    assert machine["main"](0, a, b).numpy() == 10


@I.ir_module
class Recursive:
    @R.function
    def power(n: R.Tensor((1,), "float32")) -> R.Tensor:
        cond = R.call_pure_packed("test.vm.equal_zero", n, sinfo_args=(R.Tensor((), "bool"),))
        if cond:
            res = R.const(1.0)
        else:
            less = R.call_pure_packed(
                "test.vm.subtract_one", n, sinfo_args=(R.Tensor((1,), "float32"),)
            )
            tmp = Recursive.power(less)
            res = R.call_pure_packed("test.vm.add", tmp, tmp, sinfo_args=(R.Tensor((), "float32"),))
        return res


def test_recursion_runs():
    assert machine(Recursive)["power"](np.array([5.0], "float32")).numpy() == 32.0


def test_calls_reject_wrong_counts():
    vm = machine(Symbolic)
    with pytest.raises(CallError, match=r"main\(\) takes 2 arguments, got 1"):
        vm["main"](np.zeros((3, 4), "float32"))
    with pytest.raises(CallError, match=r"main\(\) takes 2 arguments, got 0"):
        vm.set_input("main")
