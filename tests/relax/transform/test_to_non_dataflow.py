"""ToNonDataflow: dataflow blocks become ordinary ones."""

from te_sched import relax
from tests.relax.described import described
from tests.relax.transform.lowered import chained


def test_variables_become_ordinary_ones():
    module = relax.transform.ToNonDataflow()(chained(1))
    assert described(module["main"]) == "(x) lv* = exp(x); gv* = exp(lv); gv"
    assert relax.analysis.well_formed(module)


def test_ordinary_blocks_stay():
    module = relax.transform.ToNonDataflow()(chained(1))
    assert relax.transform.ToNonDataflow()(module)["main"] is module["main"]
