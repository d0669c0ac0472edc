"""Lowered graphs as instructions."""

import numpy as np
import pytest

import te_sched
from te_sched import relax, tir
from te_sched.errors import GraphError

X = relax.Var("x", relax.TensorStructInfo([4], "float32"))


def test_instructions_reject_what_is_not_lowered():
    def refuse(body, text, params=(X,)):
        function = relax.Function(list(params), body, relax.ObjectStructInfo())
        with pytest.raises(GraphError, match=text):
            relax.build(function, pipeline=None)

    n = tir.Var("n", "int64")
    refuse(relax.ShapeExpr([n]), "the sizes of .* are not computed")
    refuse(relax.PrimValue(n), "the sizes of .* are not computed")
    refuse(relax.op.exp(X), "cannot run operator relax.exp")
    refuse(relax.Var("y", X.struct_info), "variable y is used where it is not defined")
    refuse(relax.Function([X], X), "cannot run")


def test_the_life_of_a_constant_ends_nothing():
    """Its number is that of a register, which was cleared where a cast constant was used last."""
    builder, n = relax.BlockBuilder(), tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n,), "float32"))
    with builder.function("main", [x]):
        sums = []
        for number in range(8):
            values = relax.const(np.full(4, number, "float32"))
            cast = builder.match_cast(values, relax.TensorStructInfo((n,), "float32"))
            sums.append(builder.emit(relax.op.add(x, cast)))
        builder.emit_func_output(relax.Tuple(sums))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())
    found = machine["main"](np.ones(4, "float32"))
    assert [one.numpy().tolist() for one in found] == [[1.0 + k] * 4 for k in range(8)]
