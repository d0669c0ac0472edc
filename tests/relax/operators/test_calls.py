"""Calls of functions: struct infos and errors."""

import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError
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
