"""The public names of the IR."""

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError


def test_node_constructors_convert_and_do_not_fold():
    n = te.var("n")
    made = tir.Mul(n, 0)
    assert isinstance(made, tir.Mul)
    assert not isinstance(made, tir.Add)
    assert made.b.value == 0


def test_select_checks_types():
    x = te.var("x", "float32")
    assert tir.Select(x > 0, x, 0).dtype == "float32"
    with pytest.raises(
        DeclarationError, match=r"values of tir\.Select have different dtypes: float32 and int32"
    ):
        tir.Select(x > 0, x, te.var("n"))


def test_constants_and_variables():
    assert tir.IntImm("int8", 5).dtype == "int8"
    assert tir.SizeVar("n", "int64").is_size
    axis = tir.IterVar((0, 3), "i", 2)
    assert (axis.kind, axis.dom.extent.value) == ("CommReduce", 3)


def test_statements_take_expressions():
    loop = tir.For(te.var("i"), 0, 4, 1, tir.call_extern("int32", "f"))
    assert (loop.kind, loop.extent.value) == ("parallel", 4)
    with pytest.raises(DeclarationError, match="use one of serial"):
        tir.For(te.var("i"), 0, 4, "round", tir.Evaluate(0))
