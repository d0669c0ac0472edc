"""Values that depend on weights alone."""

import pytest

from te_sched.relax.analysis import computable_at_compile_time
from te_sched.script import relax as R


def names(func):
    return [var.name_hint for var in computable_at_compile_time(func)]


@pytest.mark.parametrize("inputs", [0, 1, None])
def test_values_of_inputs_are_not_known(inputs):
    @R.function(pure=False)
    def func(
        x: R.Tensor((4,), "float32"), w: R.Tensor(("n",), "float32"), v: R.Tensor((4,), "float32")
    ):
        a = R.add(v, v)
        b = R.add(x, a)
        c = R.shape_of(w)
        d = R.call_packed("f", a, sinfo_args=R.Tensor((4,), "float32"))
        return (b, c, d)

    expected = {0: ["x", "w", "v", "a", "b", "c"], 1: ["w", "v", "a", "c"], None: []}
    attrs = {} if inputs is None else {"num_input": inputs}
    assert names(func.with_attrs(attrs)) == expected[inputs]
