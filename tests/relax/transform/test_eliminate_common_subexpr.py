"""EliminateCommonSubexpr: equal values are computed once."""

import pytest

from te_sched import IRModule, relax
from te_sched.script import relax as R
from tests.relax.described import described
from tests.relax.transform.cleaned import check_kept, check_overwritten


@pytest.mark.parametrize(
    ("call_only", "text"),
    [
        (
            False,
            "(x) a = (x, x); b = a; lv2 = a[0]; lv3 = a[1]; c = add(lv2, lv3); lv5 = lv2; "
            "lv6 = lv3; d = c; e* = multiply(c, c); e",
        ),
        (
            True,
            "(x) a = (x, x); b = (x, x); lv2 = a[0]; lv3 = b[1]; c = add(lv2, lv3); lv5 = a[0]; "
            "lv6 = b[1]; d = add(lv5, lv6); e* = multiply(c, d); e",
        ),
    ],
)
def test_tuples_are_equal_unless_only_calls_are_asked_for(call_only, text):
    @R.function
    def func(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = (x, x)
            b = (x, x)
            c = R.add(a[0], b[1])
            d = R.add(a[0], b[1])
            e = R.multiply(c, d)
            R.output(e)
        return e

    found = relax.transform.EliminateCommonSubexpr(call_only=call_only)(IRModule({"main": func}))
    assert described(found["main"]) == text


def test_calls_with_effects_are_made_twice():
    @R.function(pure=False)
    def func(x: R.Tensor((4,), "float32")):
        a = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
        b = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
        return (a, b)

    module = IRModule({"main": func})
    assert relax.transform.EliminateCommonSubexpr()(module)["main"] is func


def test_the_graph_computes_the_same():
    check_kept(relax.transform.EliminateCommonSubexpr(), 8)


def test_values_that_are_overwritten_are_not_shared():
    check_overwritten(relax.transform.EliminateCommonSubexpr())
