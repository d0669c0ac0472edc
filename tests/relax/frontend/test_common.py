"""Parameters that are attributes of functions."""

from __future__ import annotations

import te_sched
from te_sched import nd, relax
from te_sched.relax.frontend import detach_params


def test_detach_params_leaves_other_functions() -> None:
    x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    plain = relax.Function([x], x)
    mod = te_sched.IRModule({"main": plain.with_attr("params", [nd.empty([3])]), "other": plain})
    found, params = detach_params(mod)
    assert "params" not in found["main"].attrs
    assert found["other"] is plain
    assert "params" in mod["main"].attrs
    assert [one.shape for one in params["main"]] == [(3,)]
