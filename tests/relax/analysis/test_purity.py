"""Which calls have effects."""

import pytest

from te_sched import relax
from te_sched.relax import op
from te_sched.relax.analysis.purity import calls_program, contains_impure_call, is_impure_call

INFO = relax.TensorStructInfo([4], "float32")
X = relax.Var("x", INFO)
CALLEES = {
    purity: relax.Var("f", relax.FuncStructInfo([INFO], INFO, purity)) for purity in (True, False)
}


@pytest.mark.parametrize(
    ("call", "is_impure", "is_of_program"),
    [
        (op.add(X, X), False, False),
        (op.print(X, format="{}"), True, False),
        (relax.Call(CALLEES[True], [X]), False, True),
        (relax.Call(CALLEES[False], [X]), True, True),
        (relax.Call(relax.ExternFunc("f"), [X]), True, True),
        (op.call_dps_packed("f", (X,), INFO), False, True),
    ],
)
def test_calls(call, is_impure, is_of_program):
    assert is_impure_call(call) == is_impure
    assert calls_program(call) == is_of_program
    assert contains_impure_call(call) == is_impure


def test_functions_that_a_graph_defines_are_not_searched():
    inner = relax.Function([X], relax.Call(relax.ExternFunc("f"), [X]), INFO, is_pure=False)
    outer = relax.Function(
        [X], relax.SeqExpr([], relax.Tuple([inner, X])), relax.ObjectStructInfo()
    )
    assert contains_impure_call(inner)
    assert not contains_impure_call(outer)


def test_calls_of_itself_do_not_count():
    name = relax.GlobalVar("f")
    func = relax.Function([X], relax.Call(name, [X]), INFO)
    assert contains_impure_call(func)
    assert not contains_impure_call(func, name)
