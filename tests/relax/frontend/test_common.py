"""Parameters that are attributes of functions, and errors of rules."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import GraphError, InvalidShapeError
from te_sched.relax.frontend import detach_params
from te_sched.relax.frontend.common import errors_of_rules


def test_detach_params_leaves_other_functions() -> None:
    x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    plain = relax.Function([x], x)
    mod = te_sched.IRModule({"main": plain.with_attr("params", [nd.empty([3])]), "other": plain})
    found, params = detach_params(mod)
    assert "params" not in found["main"].attrs
    assert found["other"] is plain
    assert "params" in mod["main"].attrs
    assert [one.shape for one in params["main"]] == [(3,)]


def test_errors_of_rules_name_the_operator_and_the_node() -> None:
    with (
        pytest.raises(GraphError, match=r"cannot import Gemm: sizes differ") as refused,
        errors_of_rules("Gemm", lambda: "dense_1"),
    ):
        raise InvalidShapeError("sizes differ", "8 is not 4", "transpose it")
    assert "node dense_1" in str(refused.value)
    assert (refused.value.why, refused.value.help) == ("8 is not 4", "transpose it")


def test_errors_of_rules_leave_limits_of_the_machine() -> None:
    with pytest.raises(MemoryError), errors_of_rules("Gemm", lambda: "dense_1"):
        raise MemoryError
