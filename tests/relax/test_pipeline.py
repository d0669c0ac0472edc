"""Pipelines by name."""

import numpy as np
import pytest

import te_sched
from te_sched import relax
from te_sched.errors import GraphError
from te_sched.script import ir as I
from te_sched.script import relax as R


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
def test_processors_read_weights_of_parameters_as_they_are(is_constant):
    """A weight that is given with each call is not transposed first; a constant is, once."""
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
    assert any("NT_matmul" in name for name in names) is not is_constant
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"))
    given = [te_sched.nd.array(one) for one in ([x] if is_constant else [x, w])]
    np.testing.assert_allclose(machine["main"](*given).numpy(), np.maximum(x @ w.T, 0), rtol=1e-5)
