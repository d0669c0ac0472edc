"""Variables of sizes: where they get a value, and those that get none."""

import pytest

from te_sched import relax, tir
from te_sched.relax import analysis

N, M, K = (tir.Var(name, "int64") for name in "nmk")
TENSOR, SHAPE = relax.TensorStructInfo, relax.ShapeStructInfo
FUNCTION = relax.FuncStructInfo([TENSOR([N, M * 2])], SHAPE([K]))


@pytest.mark.parametrize(
    ("info", "used", "definable"),
    [
        (TENSOR([N * M, N], "int8"), [N, M], [N]),
        (relax.TupleStructInfo([TENSOR([M + 1]), SHAPE([N, 4])]), [M, N], [N]),
        (relax.PrimStructInfo(value=K), [K], [K]),
        (FUNCTION, [N, M, K], [N, K]),
        (relax.ObjectStructInfo(), [], []),
    ],
)
def test_variables_of_struct_infos(info, used, definable):
    assert analysis.tir_vars_in_struct_info(info) == used
    assert analysis.definable_tir_vars_in_struct_info(info) == definable


def test_variables_of_a_function_that_nothing_defines_are_free():
    x = relax.Var("x", TENSOR([N], "int8"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.match_cast(x, TENSOR([M], "int8"))
        builder.emit_func_output(builder.emit(relax.op.reshape(x, relax.ShapeExpr([K, N]))))
    func = builder.get()["main"]
    assert analysis.defined_symbolic_vars(func) == [N, M]
    assert analysis.free_symbolic_vars(func) == [K]


def test_sizes_are_not_negative_once_each():
    info = relax.TupleStructInfo([TENSOR([N - 1, 4]), SHAPE([N - 1, M])])
    assert list(map(str, analysis.collect_non_negative_expressions(info))) == [
        "n - T.int64(1)",
        "m",
    ]
