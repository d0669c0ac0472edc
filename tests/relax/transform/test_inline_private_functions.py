"""InlinePrivateFunctions: private functions in the place of their calls."""

from te_sched import relax
from tests.relax.transform.private import (
    Private,
    check_private,
    check_stays,
    made_public,
    passed_on,
)


def test_private_functions():
    check_private(
        relax.transform.InlinePrivateFunctions()(Private),
        main="(x, y) c* = negative(x); a* = (x, y)[0]; c* = negative(a); d* = add(c, c); d",
    )


def test_functions_that_others_use_in_other_ways_stay():
    check_stays(relax.transform.InlinePrivateFunctions(), made_public("both"), "both")
    check_stays(relax.transform.InlinePrivateFunctions(), passed_on("both"), "both")
