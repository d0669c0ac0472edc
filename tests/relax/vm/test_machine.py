"""The virtual machine: values of graphs against numpy, and errors of calls."""

import numpy as np
import pytest

import te_sched
from te_sched import IRModule, relax
from te_sched.errors import ArgumentError, ArgumentTypeError, CallError, GraphError
from te_sched.relax.vm.bytecode import ShapeTuple
from te_sched.script import ir as I
from te_sched.script import relax as R
from tests.relax.vm.machines import CPU, Symbolic, machine


@I.ir_module
class Closures:
    @R.function
    def inner(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        return R.call_pure_packed("test.vm.add", x, y, sinfo_args=(R.Tensor(),))

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        clo = R.make_closure(Closures.inner, (x,))
        res = R.invoke_pure_closure(clo, (y,), sinfo_args=(R.Tensor(),))
        return res

    @R.function
    def make(x: R.Tensor((2,), "float32")):
        clo = R.make_closure(Closures.inner, (x,))
        return clo


def test_closures_run():
    x, y = np.array([1.0, 2.0], "float32"), np.array([3.0, 5.0], "float32")
    vm = machine(Closures)
    np.testing.assert_array_equal(vm["main"](x, y).numpy(), x + y)
    closure = vm["make"](x)
    np.testing.assert_array_equal(vm.invoke_closure(closure, y).numpy(), x + y)
    with pytest.raises(CallError, match="cannot call 3: it is an int, expected a closure"):
        vm.invoke_closure(3)


def test_closures_have_the_last_arguments():
    @I.ir_module
    class Lifted:
        @R.function
        def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
            @R.function
            def minus(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                return R.subtract(a, y)

            return minus(x)

    vm = machine(relax.transform.LambdaLift()(Lifted))
    x, y = np.array([1.0, 2.0], "float32"), np.array([3.0, 5.0], "float32")
    np.testing.assert_array_equal(vm["main"](x, y).numpy(), x - y)


def test_symbolic_sizes_are_computed():
    x = np.arange(12, dtype="float32").reshape(3, 4)
    vm = machine(Symbolic)
    out, shape, number = vm["main"](x, ShapeTuple([3, 5]))
    np.testing.assert_array_equal(out.numpy(), 2 * x.reshape(-1))
    assert (shape, number) == ([8, 2], 15)
    assert vm["nothing"]() == ()


@pytest.mark.parametrize(
    ("x", "s", "error", "text"),
    [
        (np.zeros((3, 4), "int8"), [3, 5], ArgumentError, "x of main has dtype int8"),
        (np.zeros((3,), "float32"), [3, 5], ArgumentError, "x of main has ndim 1, expected 2"),
        (np.zeros((3, 5), "float32"), [3, 5], ArgumentError, r"x of main has shape \(3, 5\)"),
        (np.zeros((3, 4), "float32"), [2, 5], ArgumentError, r"s of main has shape \(2, 5\)"),
        (np.zeros((3, 4), "float32"), [2], ArgumentError, "s of main has 1 sizes, expected 2"),
        (3, [3, 5], ArgumentTypeError, "x of main is an int, expected a tensor"),
    ],
)
def test_calls_reject_values_that_do_not_fit(x, s, error, text):
    with pytest.raises(error, match=text):
        machine(Symbolic)["main"](x, ShapeTuple(s))


def test_functions_are_known_by_name():
    vm = machine(Closures)
    with pytest.raises(GraphError, match="the executable has no function 'mian'"):
        vm["mian"]


def test_unregistered_functions_are_found_at_load():
    @I.ir_module
    class Unknown:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")):
            a = R.call_packed("doc.absent1", x, sinfo_args=(R.Object,))
            b = R.call_packed("doc.absent2", a, sinfo_args=(R.Object,))
            return b

    executable = relax.build(Unknown, "llvm")
    with pytest.raises(GraphError, match=r"not registered: doc\.absent1, doc\.absent2"):
        relax.VirtualMachine(executable, CPU)


def test_inputs_are_kept():
    x, y = np.array([1.0, 2.0], "float32"), np.array([3.0, 5.0], "float32")
    vm = machine(Closures)
    with pytest.raises(ArgumentError, match="function main has no inputs"):
        vm.invoke_stateful("main")
    vm.set_input("main", x, y=y)
    with pytest.raises(ArgumentError, match="function main was not called"):
        vm.get_outputs("main")
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main").numpy(), x + y)
    with pytest.raises(CallError, match="function main has inputs that were set"):
        vm["main"]()
    with pytest.raises(CallError, match=r"main\(\) is called with wrong names: z"):
        vm.set_input("main", x, z=y)


def test_saved_functions_have_arguments():
    x = np.array([1.0, 2.0], "float32")
    vm = machine(Closures)
    vm.save_function("main", "twice", x, x)
    np.testing.assert_array_equal(vm["twice"]().numpy(), 2 * x)
    assert vm.time_evaluator("twice", CPU, number=2)().mean > 0
    with pytest.raises(CallError, match="function main is saved under its own name"):
        vm.save_function("main", "main", x, x)


def test_machines_reject_other_devices():
    executable = relax.build(Closures, "llvm")
    with pytest.raises(CallError, match="the device of a VirtualMachine is 'cpu'"):
        relax.VirtualMachine(executable, "cpu")
    with pytest.raises(CallError, match="a VirtualMachine has no device"):
        relax.VirtualMachine(executable, [])


def test_arguments_may_be_given_by_name():
    vm = machine(Closures)
    x, y = np.array([1.0, 2.0], "float32"), np.array([3.0, 5.0], "float32")
    np.testing.assert_array_equal(vm["main"](x, y=y).numpy(), x + y)
    np.testing.assert_array_equal(vm["main"](y=y, x=x).numpy(), x + y)
    with pytest.raises(CallError, match=r"main\(\) is called with wrong names: other"):
        vm["main"](x, other=y)


def test_callbacks_are_called_although_nothing_uses_their_results() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32"), note: R.Callable((R.Tensor((4,), "float32"),), R.Tuple)):
        y = R.multiply(x, R.const(2.0))
        _ = note(y)
        return R.tuple()

    noted: list[list[float]] = []
    machine = relax.VirtualMachine(relax.build(IRModule({"main": main}), "llvm"), te_sched.cpu())
    x = te_sched.nd.array(np.arange(4, dtype="float32"))
    machine["main"](x, lambda y: noted.append(y.numpy().tolist()))
    assert noted == [[0.0, 2.0, 4.0, 6.0]]
