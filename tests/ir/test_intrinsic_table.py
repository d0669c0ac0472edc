"""The table of intrinsics, and those who read it without generating code."""

import numpy as np
import pytest

from te_sched import te, tir
from te_sched.arith.fold import fold_call
from te_sched.ir import expr as E
from te_sched.ir.intrinsic_table import FOLDED, INTRINSICS, Effect

NUMBERS = {"int32": (-(2**31), -7, 0, 1, 5, 2**31 - 1), "int64": (-(2**63), -7, 0, 5, 2**40)}


@pytest.mark.parametrize("op", FOLDED)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_folding_gives_what_numpy_does(op, dtype):
    row = INTRINSICS[op.removeprefix("tir.")]
    for first in NUMBERS[dtype]:
        for second in (0, 3, 31) if row.arity == 2 else (0,):
            values = (first, second)[: row.arity]
            kind = "int32" if row.name == "clz" else dtype
            call = E.Call(kind, op, tuple(E.IntImm(value, dtype) for value in values))
            expected = row.meaning(*(np.array(value, dtype) for value in values))
            assert fold_call(call).value == int(expected)


def test_functions_that_users_call_are_in_the_table():
    """What te and tir make of a float, or of an integer, is a call of an intrinsic of the table."""
    x, n = E.Var("x", "float32"), E.Var("n", "int32")
    for name, row in INTRINSICS.items():
        function = getattr(te, name, getattr(tir, name, None))
        if function is None or not row.types:
            continue
        value = x if row.types == "float" else n
        second = [n] if name == "ldexp" else [value] * (row.arity - 1)
        made = function(value, *second)
        assert made.op == f"tir.{name}"
        assert len(made.args) == row.arity
        assert row.effect is Effect.PURE


def test_functions_have_the_meaning_of_the_table_as_their_text():
    assert te.exp10.__doc__.startswith(INTRINSICS["exp10"].text)
    assert tir.shift_left.__doc__.startswith(INTRINSICS["shift_left"].text)
