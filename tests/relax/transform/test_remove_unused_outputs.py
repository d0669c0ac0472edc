"""RemoveUnusedOutputs: results of private functions that no call uses."""

from te_sched import relax
from te_sched.script import ir as I
from te_sched.script import relax as R
from tests.relax.transform.private import (
    BOTH,
    FIRST,
    Private,
    check_private,
    check_stays,
    made_public,
    passed_on,
)


def test_private_functions():
    check_private(
        relax.transform.RemoveUnusedOutputs()(Private),
        first=FIRST,
        both=BOTH.replace("(c, a)", "c"),
        main="(x, y) a* = first(x, y); b* = both((x, y)); d* = add(a, b); d",
    )


def test_functions_that_others_use_in_other_ways_stay():
    check_stays(relax.transform.RemoveUnusedOutputs(), made_public("both"), "both")
    check_stays(relax.transform.RemoveUnusedOutputs(), passed_on("both"), "both")


def test_results_that_are_all_used_stay():
    @I.ir_module
    class Used:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Used
            pair = cls.both(x)
            y = R.add(pair[0], pair[1])
            return y

        @R.function(private=True)
        def both(
            x: R.Tensor((4,), "float32"),
        ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
            y = R.negative(x)
            return (x, y)

    check_stays(relax.transform.RemoveUnusedOutputs(), Used, "both")
