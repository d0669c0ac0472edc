"""Operators of the machine as calls of its functions."""

import pytest

import te_sched
from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax import transform
from te_sched.relax.op import builtin, call_dps_packed


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "CallTIRRewrite",
            call_dps_packed("f", (), relax.TensorStructInfo(ndim=1, dtype="int8")),
            "cannot allocate a result",
        ),
        (
            "LowerAllocTensor",
            builtin.alloc_tensor(relax.Var("s", relax.ShapeStructInfo(ndim=1)), "int8", 0),
            "cannot allocate a tensor of shape s",
        ),
        (
            "LowerRuntimeBuiltin",
            builtin.alloc_tensor([4], "int8", 0),
            "relax.builtin.alloc_tensor is left in the graph",
        ),
    ],
)
def test_passes_reject(name, value, text):
    params = [one for one in value.args if isinstance(one, relax.Var)]
    module = te_sched.IRModule({"main": relax.Function(params, value, relax.ObjectStructInfo())})
    with pytest.raises(GraphError, match=text):
        getattr(transform, name)()(module)


def test_views_get_what_they_keep_of_a_tensor():
    x = relax.Var("x", relax.TensorStructInfo([4, 2], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.memory.view(x, [8])))
    func = relax.transform.LowerRuntimeBuiltin()(builder.get())["main"]
    call = func.body.blocks[0].bindings[0].value
    assert str(call.op.struct_info).startswith('R.Callable(derive_func="tvm.relax.struct_info')
    assert (call.args[2].value, call.args[3].value.value) == ("float32", 0)
    assert str(call.struct_info) == 'R.Tensor((8,), dtype="float32")'
