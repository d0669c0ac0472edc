"""CanonicalizeBindings: names of values that have one, elements of known tuples."""

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.relax.transform.cleaned import check_kept, check_overwritten


def test_casts_must_be_consistent():
    @I.ir_module
    class Broken:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((5,), "float32")):
            n = T.int64()
            a = R.match_cast(x, R.Tensor((n,), "float32"))
            b = R.match_cast(y, R.Tensor((n,), "float32"))
            return (a, b)

    with pytest.raises(GraphError, match="MatchCast statements must be consistent: n is"):
        relax.transform.CanonicalizeBindings()(Broken)


def test_the_graph_computes_the_same():
    check_kept(relax.transform.CanonicalizeBindings(), 5)


def test_values_that_are_overwritten_are_not_shared():
    check_overwritten(relax.transform.CanonicalizeBindings())
