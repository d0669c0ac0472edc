"""Types of values of graphs: what struct infos become without sizes, and back."""

from __future__ import annotations

import pytest

from te_sched import relax
from te_sched.ir.graph import as_struct_info
from te_sched.ir.graph_types import (
    DynTensorType,
    FuncType,
    ObjectType,
    PackedFuncType,
    ShapeType,
    type_of,
)

TENSOR = relax.TensorStructInfo([4, 3], "int8")


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (TENSOR, 'R.Tensor(ndim=2, dtype="int8")'),
        (relax.ShapeStructInfo([4, 3]), "R.Shape(ndim=2)"),
        (relax.ObjectStructInfo(), "R.Object"),
        (relax.FuncStructInfo.opaque_func(), "R.PackedFunc"),
        (relax.PrimStructInfo("int32"), "T.int32"),
    ],
)
def test_types_have_no_sizes(info: relax.StructInfo, text: str) -> None:
    assert type_of(info).script() == text


def test_types_of_functions_and_tuples_have_those_of_their_parts() -> None:
    found = type_of(relax.FuncStructInfo([TENSOR], relax.TupleStructInfo([TENSOR])))
    assert isinstance(found, FuncType)
    assert found.arg_types == (DynTensorType(2, "int8"),)
    assert list(found.ret_type.fields) == [DynTensorType(2, "int8")]
    assert FuncType([ObjectType()], ShapeType())._relax_script() == (
        "R.Callable((R.Object,), R.Shape(ndim=-1))"
    )


def test_types_are_equal_by_their_fields() -> None:
    assert DynTensorType(2, "int8") == DynTensorType(2, "int8") != DynTensorType(1, "int8")
    assert PackedFuncType() == PackedFuncType()


def test_expressions_have_types_once_they_are_normalized() -> None:
    x = relax.Var("x", TENSOR)
    assert x.checked_type == DynTensorType(2, "int8")
    assert relax.Var("x")._checked_type_ is None


def test_struct_infos_are_made_of_types() -> None:
    made = as_struct_info(DynTensorType(2, "int8"))
    assert made == relax.TensorStructInfo(dtype="int8", ndim=2)
    assert as_struct_info(ShapeType(2)) == relax.ShapeStructInfo(ndim=2)
    assert as_struct_info(ObjectType()) == relax.ObjectStructInfo()
