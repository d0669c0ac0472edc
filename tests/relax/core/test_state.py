"""What the attributes of functions say about their states."""

from __future__ import annotations

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.core.state import INITIAL_STATE, STATE, StateUse, state_use_of

USE = StateUse((("cache", "layer.cache"), ("x", ""), ("n", "count")), "first")


def _function() -> relax.Function:
    params = [relax.Var(name, relax.TensorStructInfo([2], "float32")) for name in ("x", "cache")]
    return relax.Function(params, params[0])


def test_states_are_those_of_the_machine() -> None:
    assert USE.states == ("layer.cache", "count")
    assert USE.held == ("cache", "n")


def test_attributes_say_what_the_use_says() -> None:
    func = _function().with_attrs(USE.attributes())
    assert func.attrs[INITIAL_STATE] == "first"
    assert state_use_of(func, ["x", "cache", "n"]) == USE


def test_functions_without_the_attribute_have_no_state() -> None:
    assert state_use_of(_function(), ["x", "cache"]) is None


def test_states_of_unknown_parameters_are_refused() -> None:
    func = _function().with_attr(STATE, {"total": "total"})
    with pytest.raises(GraphError, match="the attribute 'state' of a function names 'total'"):
        state_use_of(func, ["x", "cache"])
