# ruff: noqa: F841, SIM108  (scripts)
"""The tree of a graph as text."""

from __future__ import annotations

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.testing import dump_ast
from te_sched.relax.testing.ast_printer import ASTPrinter
from te_sched.script import relax as R


def test_trees_with_struct_infos_and_types() -> None:
    call = relax.op.sum(relax.Var("x", R.Tensor((2,), "int8")), axis=0)
    assert dump_ast(call, include_type_annotations=True) == (
        """Call(
    op=Op(name="relax.sum"),
    args=[
        Var(
            name_hint="x",
            struct_info=TensorStructInfo(
                dtype=int8,
                shape=ShapeExpr(
                    values=[PrimExpr(value=`T.int64(2)`)],
                    struct_info=ShapeStructInfo(
                        ndim=1,
                        values=[PrimExpr(value=`T.int64(2)`)]
                    ),
                    checked_type_=ShapeType(ndim=1)
                )
            ),
            checked_type_=DynTensorType(
                ndim=1,
                dtype=int8
            )
        )
    ],
    attrs={
        "axis": [0],
        "keepdims": False
    }
)"""
    )


def test_every_class_is_printed() -> None:
    @R.function
    def f(x: R.Tensor(("n",), "float32"), c: R.Prim("bool"), g: R.Callable((R.Object,), R.Object)):
        with R.dataflow():
            y = R.add(x, R.const(1.0))
            R.output(y)
        t = (y, x)
        if c:
            z = R.match_cast(t[0], R.Tensor((4,), "float32"))
        else:
            z = y
        d = R.call_dps_packed("f", (x, R.str("s"), R.dtype("int8"), R.prim_value(3)), R.Tensor(()))
        return d

    text = dump_ast(f, include_struct_info_annotations=False, include_call_attrs=False)
    for part in (
        *("Function(", "DataflowBlock(", "BindingBlock(", "MatchCast(", "TupleGetItem(", "Tuple("),
        *("SeqExpr(", 'ExternFunc(global_symbol="f")', "Constant(data=1.0)", "is_pure=True"),
        *('StringImm(value="s")', "DataTypeImm(value=int8)", "sinfo_args=[", "ndim=0"),
        'attrs={"global_symbol": "f"}',
    ):
        assert part in text, part


def test_types_and_refusals() -> None:
    printer = ASTPrinter(indent_str="  ")
    nested = relax.TupleType([relax.ShapeType(), relax.PackedFuncType()])
    assert printer.visit_type_(nested) == (
        "TupleType(\n  fields=[\n    ShapeType(ndim=-1),\n    PackedFuncType()\n  ]\n)"
    )
    assert printer.visit_struct_info_(R.Prim("int8")) == "PrimStructInfo(dtype=int8)"
    assert dump_ast(relax.GlobalVar("f")) == 'GlobalVar(name_hint="f")'
    with pytest.raises(GraphError, match="3 is not part of a graph"):
        dump_ast(3)
