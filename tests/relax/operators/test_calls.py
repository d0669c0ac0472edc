"""Calls of functions and operators of memory: struct infos and errors."""

import pytest

from te_sched import nd, relax, tir
from te_sched.errors import CallError, GraphError
from te_sched.ir import VDevice
from te_sched.relax import op

X = relax.Var("x", relax.TensorStructInfo([4, 3], "float32"))
S = relax.Var("s", relax.ShapeStructInfo(ndim=2))
F = relax.GlobalVar("f")
INFO = relax.TensorStructInfo([4, 3], "float32")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (op.call_tir(F, X, INFO), 'R.Tensor((4, 3), dtype="float32")'),
        (op.call_tir(F, X, (2,), dtype="int8"), 'R.Tensor((2,), dtype="int8")'),
        (op.call_tir(F, X, [INFO, INFO]), "R.Tuple("),
        (op.call_tir_inplace(F, X, 0, INFO), 'R.Tensor((4, 3), dtype="float32")'),
        (op.call_dps_packed("f", X, INFO), 'R.Tensor((4, 3), dtype="float32")'),
        (op.call_pure_packed("f", X, sinfo_args=[INFO]), 'R.Tensor((4, 3), dtype="float32")'),
        (op.call_inplace_packed("f", X, inplace_indices=0), 'R.Tensor((4, 3), dtype="float32")'),
        (op.call_builtin_with_ctx("f", [X]), "R.Object"),
        (op.null_value(), "R.Object"),
        (op.shape_of(X), "R.Shape([4, 3])"),
        (op.shape_to_tensor(relax.ShapeExpr([4, 3])), 'R.Tensor((2,), dtype="int64")'),
        (op.shape_to_tensor(S), 'R.Tensor((2,), dtype="int64")'),
        (op.tensor_to_shape(relax.const([2, 3], "int64")), "R.Shape(ndim=2)"),
        (op.memory.view(X, [12]), 'R.Tensor((12,), dtype="float32")'),
        (op.memory.view(X, [2], "int32", 8), 'R.Tensor((2,), dtype="int32")'),
        (op.memory.alloc_storage([4], 0, "global", "uint8"), "R.Object"),
        (op.vm.alloc_tensor(X, 0, S, "int8"), 'R.Tensor(dtype="int8", ndim=2)'),
        (op.builtin.stop_lift_params(X), 'R.Tensor((4, 3), dtype="float32")'),
    ],
)
def test_struct_infos(call, text):
    assert str(relax.BlockBuilder().normalize(call).struct_info).startswith(text)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: op.call_tir(F, X), "call_tir has no out_sinfo"),
        (lambda: op.call_tir(F, X, INFO, name=3), "call_tir takes no name"),
        (lambda: op.call_tir(F, X, S.struct_info), "the result of call_tir is R.Shape"),
        (lambda: relax.Call(op.call_tir(F, X, INFO).op, [F]), "call_tir has no out_sinfo"),
        (lambda: op.call_tir_inplace(F, X, [0, 0], [INFO, INFO]), "inplace_indices"),
        (lambda: op.call_tir_inplace(F, X, -1, INFO), "inplace_indices"),
        (lambda: op.call_tir_inplace(F, X, 3, INFO), "has no argument 3"),
        (lambda: op.call_tir_inplace(F, S, 0, INFO), "argument 0 of relax.call_tir_inplace is"),
        (lambda: relax.Call(op.call_pure_packed("f").op, []), "has no function"),
        (lambda: op.tensor_to_shape(X), "expected a tensor of int64"),
        (lambda: op.shape_to_tensor(X), "expected a shape"),
        (lambda: op.memory.view(X, X), "expected a shape"),
        (lambda: op.memory.view(X, [13]), "relax.memory.view makes"),
        (lambda: op.memory.view(X, [12], None, 4), "relax.memory.view makes"),
        (lambda: op.memory.view(X, [2], None, -4), "offset of relax.memory.view is -4"),
        (lambda: op.builtin.alloc_tensor(X, "int8", 0), "the shape of relax.builtin.alloc_tensor"),
    ],
)
def test_calls_reject(make, text):
    with pytest.raises(GraphError, match=text):
        relax.BlockBuilder().normalize(make())


def test_sizes_of_functions_are_arguments():
    n = tir.Var("n", "int64")
    call = op.call_tir(F, X, INFO, tir_vars=[n])
    assert call.args[2].values == (n,)
    assert op.call_tir_with_grad(F, X, INFO, "g", {"k": 1}).attrs.te_grad_name == "g"


def test_hints_have_the_numbers_of_devices():
    for where in (nd.cuda(1), VDevice("cuda", 1), "cuda:1"):
        assert op.hint_on_device(X, where).attrs == {"dev_type": 2, "dev_id": 1}
    with pytest.raises(CallError, match="unknown device 'nothing'"):
        op.hint_on_device(X, "nothing")


def test_pools_of_gradients_have_sizes_of_int32():
    call = op.grad.max_pool2d_backward(X, X, 3)
    assert [str(one.dtype) for one in call.attrs.pool_size] == ["int32", "int32"]
    assert call.attrs.strides[0].dtype == "int64"
