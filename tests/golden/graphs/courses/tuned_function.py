"""One function of a graph is tuned and put back, in three ways: by hand, by passes over the graph,
and by the pipeline that tunes. What a search finds differs from run to run.
"""

import tempfile

import numpy as np
import tvm
from tvm import meta_schedule as ms
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Layer:
    @R.function
    def main(
        x: R.Tensor((8, 32), "float32"),
        w: R.Tensor((32, 16), "float32"),
        b: R.Tensor((16,), "float32"),
    ):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, b)
            out = R.nn.relu(z)
            R.output(out)
        return out


rng = np.random.default_rng(0)
x, w, b = (rng.normal(size=size).astype("float32") for size in ((8, 32), (32, 16), (16,)))
target = tvm.target.Target("llvm -num-cores 1")
module = relax.get_pipeline("zero")(Layer)
names = [str(one.name_hint) for one in module.get_global_vars()]
print(names)


def check(module):
    machine = relax.VirtualMachine(relax.build(module, target), tvm.cpu())
    found = machine["main"](*[tvm.nd.array(one) for one in (x, w, b)]).numpy()
    np.testing.assert_allclose(found, np.maximum(x @ w + b, 0), rtol=1e-4, atol=1e-4)


name = names[0]
alone = tvm.IRModule.from_expr(module[name].with_attr("global_symbol", "main"))
trials = {"max_trials_global": 2, "num_trials_per_iter": 2, "strategy": "replay-trace"}
with tempfile.TemporaryDirectory() as folder:
    database = ms.tune_tir(alone, target=target, work_dir=folder, **trials)
    schedule = ms.tir_integration.compile_tir(database, alone, target)
    exchanged = tvm.IRModule(dict(module.functions.items()))
    tuned = schedule.mod["main"].with_attr("global_symbol", name)
    exchanged.update_func(exchanged.get_global_var(name), tuned)
    print(isinstance(schedule, tvm.tir.Schedule), schedule.trace is not None)
    check(exchanged)
    with target, database:
        applied = relax.transform.MetaScheduleApplyDatabase()(module)
    print(bool(applied[name].attrs["tir.is_scheduled"]))
    check(applied)
    options = {"total_trials": 0, "target": target, "work_dir": folder}  # of the same folder
    check(relax.get_pipeline("static_shape_tuning", **options)(Layer))
    print(len(ms.database.JSONDatabase(work_dir=folder)))
