"""Reports of the calls in a function: TVM's columns as a table, as CSV and as JSON."""

import csv
import io
import json

import numpy as np

import te_sched
from te_sched import relax
from te_sched.relax.vm.bytecode import ShapeTuple
from tests.relax.vm.machines import Symbolic, machine


def test_a_report_has_the_columns_of_tvm():
    x = relax.Var("x", relax.TensorStructInfo((4, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        once = builder.emit(relax.op.exp(x))
        builder.emit_func_output(builder.emit(relax.op.sum(once, axis=1)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu(), profile=True)
    report = machine.profile("main", te_sched.nd.array(np.ones((4, 3), "float32")))
    kernel = next(one for one in report.calls if not one["Name"].startswith("vm.builtin"))
    assert kernel["Argument Shapes"].startswith("float32[4, 3], float32[4")
    assert (kernel["Device"], kernel["Count"]) == ("cpu0", 1)
    assert 0 < kernel["Percent"] < 100
    assert kernel["Duration (us)"] < report.total == report.device_metrics["cpu0"]["Duration (us)"]
    table, settings = str(report).split("\n\n")
    head, *_, total, whole = table.splitlines()
    assert head.split()[:5] == ["Name", "Duration", "(us)", "Percent", "Device"]
    assert (total.split()[0], whole.split()[0], whole.split()[2:]) == (
        "Sum",
        "Total",
        ["cpu0", "1"],
    )
    assert settings.splitlines()[::2] == ["Configuration", "Executor: VM"]
    found = list(csv.DictReader(io.StringIO(report.csv())))
    assert [one["Name"] for one in found] == [one["Name"] for one in report.calls]
    assert list(found[0]) == sorted(kernel)
    saved = json.loads(report.json())
    assert saved["calls"][0]["Name"] == {"string": report.calls[0]["Name"]}
    assert saved["device_metrics"]["cpu0"]["Duration (us)"] == {"microseconds": report.total}
    assert len(report.table(aggregate=False).splitlines()) == len(report.calls) + 9


def test_calls_are_watched_and_profiled():
    vm = machine(Symbolic, profile=True)
    x, s = np.zeros((3, 4), "float32"), ShapeTuple([3, 5])
    report = vm.profile("main", x, s)
    assert "add" in str(report)
    assert report.calls[0]["Duration (us)"] > 0
    seen = []

    def instrument(function, name, before_run, result, *args):
        seen.append((name, before_run))
        if name == "add":
            return relax.VMInstrumentReturnKind.SKIP_RUN
        return None

    vm.set_instrument(instrument)
    vm["main"](x, s)
    assert ("add", True) in seen
    assert ("add", False) not in seen
    vm.set_instrument(None)
    count = len(seen)
    vm["main"](x, s)
    assert len(seen) == count


def test_instruments_are_removed():
    vm = machine(Symbolic)
    seen = []
    vm.set_instrument(lambda function, name, *rest: seen.append(name))
    vm.set_instrument(None)
    vm["main"](np.zeros((3, 4), "float32"), ShapeTuple([3, 5]))
    assert seen == []
