"""What a measurement is, and the bases of builders and runners."""

from __future__ import annotations

import pytest

from te_sched import autotvm
from te_sched.autotvm import measure
from te_sched.autotvm.measure import MeasureErrorNo
from te_sched.errors import DeclarationError
from tests.autotvm.templates import MadeUpRunner


def test_results_print_as_tvms() -> None:
    result = measure.MeasureResult((1.5,), MeasureErrorNo.WRONG_ANSWER, 3.5, 4.5)
    assert repr(result) == "MeasureResult(costs=(1.5,), error_no=5, all_cost=3.5, timestamp=4.5)"


def test_options_reject_other_parts() -> None:
    with pytest.raises(DeclarationError, match=r"'x' is not a builder") as caught:
        autotvm.measure_option("x", MadeUpRunner())
    assert caught.value.help.startswith('pass "local", autotvm.LocalBuilder()')
    with pytest.raises(DeclarationError, match="None is not a runner"):
        autotvm.measure_option("local", None)
    assert isinstance(autotvm.measure_option("local", "local")["runner"], autotvm.LocalRunner)


def test_parts_need_their_methods() -> None:
    with pytest.raises(DeclarationError, match="MeasureBuilder has no method build"):
        measure.Builder().build([])
    with pytest.raises(DeclarationError, match="MeasureRunner has no method run"):
        measure.Runner().run([], [])
