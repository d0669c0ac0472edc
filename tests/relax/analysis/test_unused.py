"""Bindings that nothing uses."""

import pytest

from te_sched.relax.analysis import remove_all_unused
from te_sched.script import relax as R
from tests.relax.described import described


@R.function(pure=False)
def func(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.add(x, x)
        b = R.exp(a)
        c = R.negative(x)
        _d = R.call_dps_packed("f", (x,), R.Tensor((4,), "float32"))
        R.output(b, c)
    _e = R.call_packed("g", c, sinfo_args=R.Tensor((4,), "float32"))
    _f = R.match_cast(x, R.Tensor((4,), "float32"))
    _g = R.add(b, b)
    return x


@pytest.mark.parametrize("keeps_program_calls", [False, True])
def test_calls_with_effects_and_casts_stay(keeps_program_calls):
    text = described(remove_all_unused(func, keeps_program_calls))
    assert ("call_dps_packed" in text) == keeps_program_calls
    assert [name in text for name in ("add(", "exp(", "negative(x)", "= g(c)", "_f* =")] == [
        *(False, False, True, True, True)
    ]


def test_visible_variables_of_a_block_count_as_used():
    block = remove_all_unused(func.body.blocks[0])
    assert [one.var.name_hint for one in block.bindings] == ["a", "b", "c"]


def test_other_values_stay():
    assert remove_all_unused(3) == 3
