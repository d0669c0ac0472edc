"""ExpandTupleArguments: fields of tuples become parameters of private functions."""

from te_sched import relax
from tests.relax.transform.private import (
    FIRST,
    MAIN,
    Nested,
    Private,
    check_private,
    check_stays,
    made_public,
    passed_on,
)


def test_private_functions():
    check_private(
        relax.transform.ExpandTupleArguments()(Private),
        first=FIRST,
        both="(t_0, t_1) c* = negative(t_0); (c, t_0)",
        main=MAIN.replace("(x, y))", "x, y)").replace("both((", "both("),
    )


def test_functions_that_others_use_in_other_ways_stay():
    check_stays(relax.transform.ExpandTupleArguments(), made_public("both"), "both")
    check_stays(relax.transform.ExpandTupleArguments(), passed_on("both"), "both")


def test_tuples_in_tuples_are_parameters_each():
    module = relax.transform.ExpandTupleArguments()(Nested)
    assert [one.name_hint for one in module["both"].params] == ["args_0_0", "args_0_1", "args_1"]
