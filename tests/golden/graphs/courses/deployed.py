"""An executable: profiled, timed, watched, saved, and loaded by another process."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((8, 64), "float32"), w: R.Tensor((64, 32), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            o = R.nn.relu(y)
            R.output(o)
        return o


x, w = (np.random.rand(*size).astype("float32") for size in ((8, 64), (64, 32)))
device = tvm.cpu()
arrays = [tvm.nd.array(one, device) for one in (x, w)]
executable = relax.build(relax.get_pipeline("zero")(Model), "llvm")

machine = relax.VirtualMachine(executable, device, profile=True)
report = machine.profile("main", *arrays)
print(str(report).split("\n")[0].split())
print(report.csv().split("\n")[0])
names = [one["Name"] for one in report.calls]
print([name for name in names if not name.startswith("vm.builtin")])
saved = json.loads(report.json())
print(sorted(saved), saved["device_metrics"]["cpu0"]["Name"], saved["configuration"]["Executor"])

machine = relax.VirtualMachine(executable, device)
times = machine.time_evaluator("main", device, number=3, repeat=2)(*arrays)
print(len(times.results), times.mean > 0, times.min <= times.median <= times.max)
machine.save_function("main", "with_arrays", *arrays)
np.testing.assert_allclose(machine["with_arrays"]().numpy(), np.maximum(x @ w, 0), rtol=1e-4)
print(machine.time_evaluator("with_arrays", device, number=2)().mean > 0)


def watch(function, name, before_run, result, *args):
    if before_run and not name.startswith("vm.builtin"):
        print(name, [tuple(one.shape) for one in args])


machine.set_instrument(watch)
machine["main"](*arrays)

OTHER = """
import sys
import numpy as np, tvm
from tvm import relax
machine = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
data = np.load(sys.argv[2])
found = machine["main"](tvm.nd.array(data["x"]), tvm.nd.array(data["w"])).numpy()
np.testing.assert_allclose(found, np.maximum(data["x"] @ data["w"], 0), rtol=1e-4)
print("loaded, and ran")
"""
with tempfile.TemporaryDirectory() as folder:
    library, data, program = (os.path.join(folder, one) for one in ("m.so", "d.npz", "run.py"))
    executable.export_library(library)
    np.savez(data, x=x, w=w)
    with open(program, "w") as file:
        file.write(OTHER)
    is_other = "te_sched" in tvm.TVMError.__module__
    runner = ["-m", "te_sched", "run"] if is_other else []
    command = [sys.executable, *runner, program, library, data]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout.strip() or done.stderr)
