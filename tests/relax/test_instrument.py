"""The instrument that checks graphs before and after each pass."""

from __future__ import annotations

import pytest

from te_sched import IRModule, relax, transform
from te_sched.errors import GraphError
from te_sched.pass_context import PassContext
from te_sched.relax.instrument import WellFormedInstrument

INFO = relax.TensorStructInfo([4], "float32")
X = relax.Var("x", INFO)


def module(*params: relax.Var) -> IRModule:
    """A module with a function that returns x."""
    body = relax.SeqExpr([], X)
    return relax.transform.Normalize()(IRModule({"f": relax.Function([*params], body, INFO)}))


GOOD, BROKEN = module(X), module()


def run(before: IRModule, after: IRModule, **options: bool) -> IRModule:
    """The module of a pass that returns another one."""
    change = transform.module_pass(lambda module, context: after, opt_level=0)
    with PassContext(instruments=[WellFormedInstrument(**options)]):
        return change(before)


@pytest.mark.parametrize(
    ("before", "after", "validates_before"),
    [(BROKEN, GOOD, True), (GOOD, BROKEN, True), (GOOD, BROKEN, False)],
)
def test_modules_that_are_not_well_formed_are_refused(
    before: IRModule, after: IRModule, validates_before: bool
) -> None:
    with pytest.raises(GraphError, match="variable x"):
        run(before, after, validate_before_transform=validates_before)


def test_a_module_is_checked_after_the_pass_alone() -> None:
    assert run(BROKEN, GOOD, validate_before_transform=False) is GOOD
    assert run(GOOD, GOOD) is GOOD
