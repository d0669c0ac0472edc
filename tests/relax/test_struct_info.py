"""What calls give: whether arguments fit, the values of sizes, common struct infos."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import register_func, relax, tir
from te_sched.errors import DeclarationError, GraphError
from te_sched.relax.struct_info import (
    BaseCheckResult,
    get_shape_of,
    is_base_of,
    struct_info_base_check,
    struct_info_lca,
)
from te_sched.script import relax as R

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")
F32 = "float32"
CHECKS: list[tuple[Any, Any, str]] = [
    (R.Object(), R.Prim("int8"), "PASS"),
    (R.Prim("int8"), R.Object(), "FAIL_L1"),
    (R.Prim("int8"), R.Tensor(), "FAIL_L0"),
    (R.Prim("int8"), R.Prim("int16"), "FAIL_L0"),
    (R.Prim("int64"), R.Prim(value=N), "PASS"),
    (R.Prim(value=N), R.Prim("int64"), "FAIL_L2"),
    (R.Prim(value=N), R.Prim(value=N + 1), "FAIL_L0"),
    (R.Prim(value=N), R.Prim(value=M), "FAIL_L2"),
    (R.Shape(), R.Shape([N]), "PASS"),
    (R.Shape(ndim=1), R.Shape(), "FAIL_L1"),
    (R.Shape(ndim=1), R.Shape([N, N]), "FAIL_L0"),
    (R.Shape(ndim=1), R.Shape([N]), "PASS"),
    (R.Shape([N]), R.Shape(ndim=1), "FAIL_L2"),
    (R.Shape([N + N]), R.Shape([2 * N]), "PASS"),
    (R.Tensor(), R.Tensor((N,), F32), "PASS"),
    (R.Tensor((N,), F32), R.Tensor((N,)), "FAIL_L1"),
    (R.Tensor((N,), F32), R.Tensor((N,), "int8"), "FAIL_L0"),
    (R.Tensor(ndim=1), R.Tensor(), "FAIL_L1"),
    (R.Tensor(ndim=1), R.Tensor(ndim=2), "FAIL_L0"),
    (R.Tensor((N,)), R.Tensor(ndim=1), "FAIL_L2"),
    (R.Tensor((3,)), R.Tensor((4,)), "FAIL_L0"),
    (R.Tuple(R.Object), R.Tuple(R.Prim("int8")), "PASS"),
    (R.Tuple(R.Object), R.Tuple(), "FAIL_L0"),
    (R.Tuple(R.Shape([3]), R.Object), R.Tuple(R.Shape(), R.Object), "FAIL_L1"),
    (R.Callable(), R.Callable((R.Object,), R.Object), "PASS"),
    (R.Callable((R.Object,), R.Object), R.Callable(purity=True), "FAIL_L2"),
    (R.Callable((R.Object,), R.Object, True), R.Callable((R.Object,), R.Object, False), "FAIL_L0"),
    (R.Callable((R.Object,), R.Object), R.Callable((), R.Object), "FAIL_L0"),
    (
        R.Callable((R.Tensor((3,)),), R.Tensor((3,))),
        R.Callable((R.Tensor((N,)),), R.Tensor((N,))),
        "PASS",
    ),
]


@pytest.mark.parametrize(("base", "given", "result"), CHECKS)
def test_checks(base: Any, given: Any, result: str) -> None:
    assert struct_info_base_check(base, given) is BaseCheckResult[result]
    assert is_base_of(base, given) is (result == "PASS")


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        (R.Tensor((3,), F32), R.Tensor((N,), F32), R.Tensor(dtype=F32, ndim=1)),
        (R.Tensor((3,), F32), R.Tensor((3,), "int8"), R.Tensor((3,))),
        (R.Tensor((3,), F32), R.Tensor((3, 3), F32), R.Tensor(dtype=F32)),
        (R.Shape([3]), R.Shape([4]), R.Shape(ndim=1)),
        (R.Shape([3]), R.Shape([4, 4]), R.Shape()),
        (R.Prim(value=N), R.Prim(value=M), R.Prim("int64")),
        (R.Prim("int8"), R.Prim("int16"), R.Object()),
        (R.Prim("int8"), R.Shape(), R.Object()),
        (R.Tuple(R.Shape([3])), R.Tuple(R.Shape([4])), R.Tuple(R.Shape(ndim=1))),
        (R.Tuple(R.Shape), R.Tuple(R.Shape, R.Shape), R.Object()),
        (
            R.Callable((R.Object,), R.Shape([3])),
            R.Callable((), R.Shape([3])),
            R.Callable(ret=R.Shape([3]), purity=True),
        ),
    ],
)
def test_common_struct_infos(a: Any, b: Any, common: Any) -> None:
    assert struct_info_lca(a, b) == struct_info_lca(b, a) == common
    assert struct_info_lca(a, a) == a


def called(info: Any, *args: Any, sinfo_args: Any = None) -> Any:
    call = relax.Call(relax.Var("f", info), args, None, sinfo_args or [])
    return relax.BlockBuilder().normalize(call).struct_info


def test_calls() -> None:
    x = relax.Var("x", R.Tensor((3, 4), F32))
    f = R.Callable((R.Tensor((N, M), F32),), R.Tuple(R.Tensor((M,), F32), R.Shape([N + 1])))
    assert called(f, x) == R.Tuple(R.Tensor((4,), F32), R.Shape([4]))
    unknown = relax.Var("u", R.Tensor(ndim=2, dtype=F32))
    assert called(f, unknown) == R.Tuple(R.Tensor(ndim=1, dtype=F32), R.Shape(ndim=1))
    nested = R.Callable((R.Tuple(R.Shape([N]), R.Prim(value=M)),), R.Shape([N + M]))
    assert called(nested, relax.Tuple([relax.ShapeExpr([3]), relax.PrimValue(4)])) == R.Shape([7])
    assert called(R.Callable(), x) == R.Object()
    assert called(R.Callable(), x, sinfo_args=[R.Shape()]) == R.Shape()
    assert called(R.Callable(), x, sinfo_args=[R.Shape(), R.Object()]) == R.Tuple(R.Shape, R.Object)
    assert called(R.Object(), x) == R.Object()


def test_calls_that_do_not_fit() -> None:
    f = R.Callable((R.Tensor((N,), F32),), R.Object)
    with pytest.raises(GraphError, match="f is called with 0 arguments, expected 1"):
        called(f)
    with pytest.raises(GraphError, match="argument 0 of f is"):
        called(f, relax.PrimValue(3))


def test_shapes_of_tensors() -> None:
    known = relax.Var("x", R.Tensor((3, 4)))
    assert get_shape_of(known) is known.struct_info.shape
    assert str(get_shape_of(relax.Var("y", R.Tensor()))) == "R.shape_of(y)"
    with pytest.raises(GraphError, match="p has no shape"):
        get_shape_of(relax.Var("p", R.Prim("int8")))


def test_registered_functions_derive_results():
    def halved(call, builder):
        (size,) = call.args[0].struct_info.shape.values
        return relax.TensorStructInfo([builder.analyzer.simplify(size // 2)], "float32")

    register_func("doc.tests.halved", halved, override=True)
    info = relax.FuncStructInfo.opaque_func(derive_func="doc.tests.halved", purity=True)
    assert str(info) == 'R.Callable(derive_func="doc.tests.halved", purity=True)'

    @R.function
    def main(x: R.Tensor(("n * 2",), "float32"), n: R.Prim(value="n")):
        f = R.ExternFunc("f", R.Callable(derive_func="doc.tests.halved", purity=True))
        y = f(x)
        return y

    assert str(main.ret_struct_info) == 'R.Tensor((n,), dtype="float32")'
    x = relax.Var("x", relax.TensorStructInfo([8], "float32"))
    call = relax.Call(relax.ExternFunc("f", info), [x])
    assert (
        str(relax.BlockBuilder().normalize(call).struct_info) == 'R.Tensor((4,), dtype="float32")'
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("doc.tests.absent", "which derives the results of .*, is not registered"),
        ("doc.tests.three", "which derives the results of .*, returns 3"),
    ],
)
def test_rejects_derivations_that_give_no_struct_info(name, message):
    register_func("doc.tests.three", lambda call, builder: 3, override=True)
    info = relax.FuncStructInfo.opaque_func(derive_func=name)
    with pytest.raises(GraphError, match=message):
        relax.BlockBuilder().normalize(relax.Call(relax.ExternFunc("f", info), []))


def test_rejects_derivations_of_known_results():
    with pytest.raises(DeclarationError, match="FuncStructInfo with derive_func='f' has param"):
        relax.FuncStructInfo.opaque_func(ret=relax.PrimStructInfo("int64"), derive_func="f")


def test_rejects_arguments_that_may_not_fit():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    info = relax.FuncStructInfo([x.struct_info], x.struct_info)
    unknown = relax.Var("unknown", relax.ObjectStructInfo())
    call = relax.Call(relax.Var("f", info), [unknown])
    with pytest.raises(GraphError, match=r"argument 0 of f is R\.Object, expected R\.Tensor"):
        relax.BlockBuilder().normalize(call)


def test_deeply_nested_struct_infos_are_compared():
    info: relax.StructInfo = relax.ObjectStructInfo()
    other: relax.StructInfo = relax.ObjectStructInfo()
    for _ in range(2000):
        info, other = relax.TupleStructInfo([info]), relax.TupleStructInfo([other])
    assert info.is_base_of(other)
