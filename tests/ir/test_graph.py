"""Nodes of graphs: what they are made of, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import IRModule, relax, tir
from te_sched.errors import DeclarationError, LoweringError, ParameterError
from te_sched.instrument import pass_instrument
from te_sched.ir.graph import OpAttrs, as_expr, as_struct_info, update_struct_info
from te_sched.relax.analysis.well_formed import check_well_formed
from te_sched.relax.vm.executable import Executable
from te_sched.transform import module_pass

INFO = relax.TensorStructInfo([4], "float32")
X = relax.Var("x", INFO)
endless: list[Any] = []
endless.append(endless)


def test_attributes_are_read_by_name() -> None:
    attrs = OpAttrs(axis=1, keepdims=False)
    assert attrs.axis == 1
    with pytest.raises(AttributeError):
        _ = attrs.other


def test_tuples_know_their_struct_infos() -> None:
    pair = relax.Tuple((X, X))
    assert pair.struct_info == relax.TupleStructInfo([INFO, INFO])
    assert relax.TupleGetItem(pair, 1).struct_info == INFO
    assert relax.Tuple((X, relax.Var("y"))).struct_info_ is None


def test_a_result_of_other_sizes_than_those_of_parameters_is_not_known() -> None:
    n = tir.Var("n", "int64")
    y = relax.Var("y", relax.TensorStructInfo([n], "float32"))
    func = relax.Function([X], relax.SeqExpr([], y, y.struct_info))
    assert func.ret_struct_info == relax.TensorStructInfo(dtype="float32", ndim=1)


def test_arrays_of_numpy_become_arrays_of_a_device() -> None:
    assert relax.Constant(np.ones(3, "float32")).data.numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relax.Var(3), "the name of a variable is 3"),
        (lambda: relax.Var("x", None, 3), "of_type is 3"),
        (
            lambda: relax.Var("x", (1, 4), "int8"),
            r"not a shape and a dtype(.|\n)*Var\('x', relax.TensorStructInfo\(\(1, 4\), 'int8'\)\)",
        ),
        (lambda: relax.Var("x", X.struct_info, "int8"), r"Var\('x', R.Tensor\("),
        (
            lambda: relax.TensorStructInfo(4, 3),
            "argument shape of relax.TensorStructInfo must be a list",
        ),
        (lambda: relax.Constant(3), "the data of a constant is 3"),
        (lambda: relax.TupleGetItem(relax.Tuple((X,)), 1), "a tuple of 1 value has no element 1"),
        (lambda: relax.Call(X, [X]), "which is not a function"),
        (lambda: relax.BindingBlock(3), "the bindings of a block are 3"),
        (lambda: relax.DataTypeImm(3), "the dtype is 3"),
        (lambda: relax.ExternFunc(3), "cannot make an ExternFunc of 3"),
        (lambda: relax.ExternFunc("f", None, 3), "cannot make an ExternFunc of 3"),
        (lambda: relax.StringImm(3), "the string is 3"),
        (lambda: relax.SeqExpr(3, X), "the blocks of a sequence are 3"),
        (lambda: relax.TupleGetItem(3, 0), "element 0 of 3"),
        (lambda: relax.FuncType(3, None), "the types of arguments are 3"),
        (lambda: relax.get_shape_of(3), "3 has no shape"),
        (lambda: relax.VirtualMachine(3), "cannot make a VirtualMachine of 3"),
        (lambda: relax.build(IRModule({}), params=3), "argument params of build is 3"),
        (lambda: relax.build(IRModule({}), pipeline=3), "the pipeline is 3"),
        (lambda: relax.get_pipeline(3), "argument name of relax.get_pipeline is 3"),
        (lambda: relax.get_pipeline("zero", option=3), "does not take these options"),
        (lambda: relax.Function([3], X), "a parameter of a function is 3"),
        (lambda: relax.Tuple(3), "the values of Tuple are 3"),
        (lambda: relax.Tuple(endless), "convert a tuple"),
        (lambda: as_struct_info(3), "3 is not a struct info"),
        (lambda: as_expr(object), "is not an expression of a graph"),
        (lambda: relax.Var("x").struct_info, "has no struct info yet"),
        (lambda: relax.TensorStructInfo(X), "the shape of TensorStructInfo is x"),
        (lambda: relax.BlockBuilder(3), "argument mod of BlockBuilder is 3"),
        (lambda: relax.const(object()), "cannot make a constant of"),
        (lambda: Executable(3, None, {}), "argument bytecode of relax.vm.Executable is 3"),
        (
            lambda: relax.call_tir_with_grad(relax.GlobalVar("f"), (X,), INFO, "g", 3),
            "argument te_grad_kwargs of relax.op.call_tir_with_grad is 3",
        ),
        (
            lambda: relax.BlockBuilder().normalize(
                relax.op.nn.relu(relax.Var("s", relax.ShapeStructInfo([4])))
            ),
            "argument 0 of relax.nn.relu",
        ),
        (
            lambda: check_well_formed(
                IRModule({"f": relax.Function([relax.DataflowVar("d", INFO)], X)})
            ),
            "is a DataflowVar",
        ),
    ],
)
def test_refused(make: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        make()


def test_passes_and_instruments_are_checked() -> None:
    broken = module_pass(lambda mod, context: 3, opt_level=0)
    with pytest.raises(LoweringError, match="must return a module, got an int"):
        broken(IRModule({}))
    with pytest.raises(LoweringError, match="pass_instrument cannot decorate an int"):
        pass_instrument(3)


def test_parameters_that_lose_their_struct_info_are_found() -> None:
    param = relax.Var("p", INFO)
    func = relax.Function([param], relax.const(1.0))
    update_struct_info(param, None)
    with pytest.raises(DeclarationError, match="parameter p has no struct info"):
        check_well_formed(IRModule({"f": func}))


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: relax.Var("x", shape=(1, 2)), "relax.Var has no parameter shape"),
        (lambda: relax.Tuple(), "relax.Tuple is called without fields"),
        (lambda: relax.TensorStructInfo((2,), dtyp="int32"), "relax.TensorStructInfo has no param"),
        (lambda: IRModule(a=1), "te_sched.IRModule has no parameter a"),
        (
            lambda: tir.Var("n", dtyp="int32"),
            r"tir.Var has no parameter dtyp \(did you mean 'dtype",
        ),
    ],
)
def test_constructors_refuse_parameters_that_they_lack(make, fault):
    with pytest.raises(ParameterError, match=fault):
        make()
