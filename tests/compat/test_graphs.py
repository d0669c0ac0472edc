"""The names of the first notebooks about graphs, and of TVM 0.21 and later."""

from __future__ import annotations

import numpy as np

from te_sched import nd, register_func, relax


def test_operators_of_the_first_notebooks(as_tvm: None) -> None:
    from tvm import relax as older

    infos = {"x": (2, 8), "w": (3, 8), "b": (3,)}
    params = [
        relax.Var(name, relax.TensorStructInfo(one, "float32")) for name, one in infos.items()
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        found = older.op.dense(*params[:2])
        found = older.op.relu(older.add(builder.emit(found), params[2]))
        builder.emit_func_output(builder.emit(found))
    x, w, b = (np.random.rand(*one).astype("float32") - 0.5 for one in infos.values())
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"))
    found = machine["main"](*map(nd.array, (x, w, b))).numpy()
    np.testing.assert_allclose(found, np.maximum(x @ w.T + b, 0), rtol=1e-5)
    assert older.op.nn.dense is older.op.dense


SCRIPT = """
@tvm.script.ir_module
class Module:
    @R.function
    def main(x: Tensor[(4, "n"), "float32"]) -> Tensor((4, "n"), "float32"):
        n = T.int64()
        with relax.dataflow():
            y = relax.multiply(x, x)
            relax.output(y)
        return y
"""


def test_words_of_the_first_notebooks(as_tvm: None) -> None:
    import tvm
    from tvm import relax as older
    from tvm.script import relax as R
    from tvm.script import tir as T

    found = tvm.script.from_source(SCRIPT, {"tvm": tvm, "relax": older, "R": R, "T": T})
    assert 'main(x: R.Tensor((4, "n"), dtype="float32"))' in found.script()
    assert "with R.dataflow():" in found.script()


def test_names_of_later_versions(as_tvm: None) -> None:
    import tvm

    assert tvm.register_global_func is register_func
    array = tvm.runtime.tensor(np.ones(3, "float32"))
    assert isinstance(array, tvm.runtime.Tensor)
