"""replace_global_vars: functions with other names."""

import pytest

from te_sched import IRModule
from te_sched.errors import GraphError
from te_sched.relax.transform.replace_global_vars import replace_global_vars
from te_sched.script import tir as T
from tests.relax.transform.private import BOTH, FIRST, Private, check_private


def test_calls_in_programs_are_renamed():
    @T.prim_func
    def caller():
        T.evaluate(0)

    module = replace_global_vars(IRModule({"caller": caller}), {"caller": "other"})
    assert [str(name) for name in module.functions] == ["other"]
    assert module["other"].attrs["global_symbol"] == "other"


def test_calls_in_graphs_are_renamed():
    module = replace_global_vars(Private, {"first": "both", "both": "first"})
    check_private(
        module,
        first=BOTH,
        both=FIRST,
        main="(x, y) a* = both(x, y); b* = first((x, y)); c* = b[0]; d* = add(a, c); d",
    )


def test_two_functions_of_one_name_are_refused():
    with pytest.raises(GraphError, match="two functions would have the name both"):
        replace_global_vars(Private, {"first": "both"})
