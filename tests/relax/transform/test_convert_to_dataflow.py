"""ConvertToDataflow: the dataflow blocks of pure bindings."""

import pytest

from te_sched import IRModule, relax
from te_sched.script import relax as R
from tests.relax.transform.cleaned import check_kept


def test_the_graph_computes_the_same():
    check_kept(relax.transform.ConvertToDataflow(), 5)


@pytest.mark.parametrize(
    ("min_size", "kinds"),
    [
        (1, ["DataflowBlock", "BindingBlock", "DataflowBlock"]),
        (2, ["DataflowBlock", "BindingBlock"]),
    ],
)
def test_effects_divide_blocks_of_a_least_size(min_size, kinds):
    @R.function(pure=False)
    def func(x: R.Tensor((4,), "float32")):
        a = R.add(x, x)
        b = R.exp(a)
        c = R.call_packed("f", b, sinfo_args=R.Tensor((4,), "float32"))
        d = R.add(b, c)
        return d

    module = relax.transform.ConvertToDataflow(min_size)(IRModule({"main": func}))
    assert [type(block).__name__ for block in module["main"].body.blocks] == kinds
