"""Pipelines by name."""

import numpy as np
import pytest

import te_sched
from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.pipeline import Pipeline, WidenHalves
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from te_sched.target import Target
from te_sched.transform import PassContext


def test_get_pipeline_rejects_an_unknown_name():
    with pytest.raises(GraphError, match="there is no pipeline 'zerro'"):
        relax.get_pipeline("zerro")


def test_register_pipeline_rejects_a_name_twice():
    with pytest.raises(GraphError, match="the name of a pipeline is 'zero'"):
        relax.register_pipeline("zero")


@I.ir_module
class Layer:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 4), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z


@pytest.mark.parametrize("is_packed", [False, True])
def test_static_shape_tuning_takes_what_a_folder_has(tmp_path, is_packed):
    options = {"target": "llvm -num-cores=1", "work_dir": tmp_path, "cpu_weight_prepack": is_packed}
    tuned = relax.get_pipeline("static_shape_tuning", total_trials=0, **options)(Layer)
    names = [str(name) for name in tuned.get_global_vars()]
    if is_packed:
        assert names == ["fused_matmul_relu1", "main", "main_transform_params"]
    else:
        assert names == ["fused_matmul_relu", "main"]
    machine = relax.VirtualMachine(relax.build(tuned, "llvm"), te_sched.cpu())
    x, w = (np.random.rand(*size).astype("float32") for size in ((8, 16), (16, 4)))
    weights = [te_sched.nd.array(w)]
    if is_packed:
        weights = machine["main_transform_params"](weights)
    found = machine["main"](te_sched.nd.array(x), *weights).numpy()
    np.testing.assert_allclose(found, np.maximum(x @ w, 0), 1e-5)


def test_zero_warns_of_operators_without_a_rule():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.shape_of(x)))
    with pytest.warns(UserWarning, match="no legalization rule for relax.shape_of"):
        relax.get_pipeline("zero", enable_warning=True)(builder.get())


@pytest.mark.parametrize("is_constant", [False, True])
def test_processors_read_transposed_weights_as_they_are(is_constant):
    """Neither a weight that is given with each call nor a constant is transposed first."""
    numbers = np.random.default_rng(0)
    x, w = (numbers.random(size, "float32") for size in ((1, 32), (48, 32)))
    params = [relax.Var("x", relax.TensorStructInfo((1, 32), "float32"))]
    if not is_constant:
        params.append(relax.Var("w", relax.TensorStructInfo((48, 32), "float32")))
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        weight = relax.const(w) if is_constant else params[1]
        product = builder.emit(relax.op.matmul(params[0], relax.op.permute_dims(weight)))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(product)))
    with te_sched.target.Target("llvm"):
        names = list(map(str, relax.get_pipeline("processor")(builder.get()).functions))
    assert not any("transpose" in name for name in names)
    assert any("NT_matmul" in name for name in names)
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"))
    given = [te_sched.nd.array(one) for one in ([x] if is_constant else [x, w])]
    np.testing.assert_allclose(machine["main"](*given).numpy(), np.maximum(x @ w.T, 0), rtol=1e-5)


@te_sched.instrument.pass_instrument
class Names:
    def __init__(self):
        self.names = []

    def run_before_pass(self, mod, info):
        self.names.append(info.name)


@pytest.mark.parametrize("name", ["zero", "default", "default_build", "processor"])
def test_the_passes_of_a_pipeline_do_what_it_does(name):
    """The pipeline and its passes one by one: the same text, and the same calls of instruments."""
    pipeline, together, alone = relax.get_pipeline(name), Names(), Names()
    with Target("llvm"), PassContext(instruments=[together]):
        expected = pipeline(Layer)
    module = Layer
    with Target("llvm"), PassContext(instruments=[alone]):
        for transform in relax.get_pipeline(name).passes:
            module = transform(module)
    assert module.script() == expected.script()
    assert together.names == [pipeline.info.name, "sequential", *alone.names]


@pytest.mark.parametrize("name", ["zero", "default", "default_build", "processor", "gpu"])
def test_pipelines_consist_of_the_public_passes(name):
    kinds = {getattr(relax.transform, one) for one in relax.transform.__all__}
    internal = {"NameKernelSizes", "WidenHalves", "SplitConcatenations", "MarkConstants"}
    internal |= {"ApplyDefaultSchedule", "FusePacking"}
    passes = relax.get_pipeline(name).passes
    assert all(type(one) in kinds or one.info.name in internal for one in passes)


def test_a_pipeline_has_its_target_around_it():
    targets = []

    class Look(te_sched.transform.ModulePass):
        def transform_module(self, mod, *_):
            targets.append(Target.current())
            return mod

    pipeline = Pipeline("look", [Look()], Target("llvm -num-cores=3"))
    assert pipeline(Layer) is Layer
    assert str(targets[0]) == "llvm -num-cores=3"
    assert str(pipeline) == "Run Module pass: look at the optimization level 0"


def test_a_pass_for_unscheduled_functions_leaves_others():
    @T.prim_func
    def func(A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "float16")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * A[vi] + A[vi]

    module = te_sched.IRModule({"f": func, "g": func.with_attr("tir.is_scheduled", 1)})
    widened = WidenHalves()(module)
    assert "float32" in widened["f"].script()
    assert widened["g"] is module["g"]


NOTES = []


@te_sched.register_func("pipeline.note", override=True)
def _note(x, out=None):
    NOTES.append("pure" if out is None else "dps")
    if out is not None:
        out.copyfrom(x)
    return x


@I.ir_module
class Noting:
    @R.function(private=True)
    def helper(x: R.Tensor((8, 16), "float32"), y: R.Tensor((8, 16), "float32")):
        return x

    @T.prim_func(private=True)
    def unused(A: T.Buffer((4,), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 4), "float32")):
        with R.dataflow():
            _a = R.call_dps_packed("pipeline.note", (x,), out_sinfo=R.Tensor((8, 16), "float32"))
            _b = R.call_pure_packed("pipeline.note", x, sinfo_args=R.Tensor((8, 16), "float32"))
            _dead = R.exp(x)
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z


@pytest.mark.parametrize("has_constant", [False, True])
def test_builds_keep_calls_of_functions_of_the_program(has_constant):
    """Also if functions are fused, and if weights are packed."""
    x, w = np.ones((8, 16), "float32"), np.ones((16, 4), "float32")
    params = {"w": w} if has_constant else None
    machine = relax.VirtualMachine(relax.build(Noting, "llvm", params))
    arrays = [te_sched.nd.array(one) for one in ([x] if has_constant else [x, w])]
    NOTES.clear()
    assert machine["main"](*arrays).numpy()[0, 0] == 16
    assert NOTES == ["dps", "pure"]
    assert machine["helper"](arrays[0], arrays[0]).numpy().shape == (8, 16)
    with Target("llvm"):
        names = {str(name) for name in relax.get_pipeline("processor")(Noting).functions}
    assert names == {"helper", "main", "fused_matmul_relu"}
    assert "note" not in relax.transform.DeadCodeElimination()(Noting).script()
